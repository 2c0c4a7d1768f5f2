"""Captures of the simulator and of the real kernel, at both ends and at the bottleneck."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cclab
from guests import results_of
from judges import classic
from lossy import study_of_two

if TYPE_CHECKING:
    from pathlib import Path

RUNS = ("simulator", "simulator unscaled", "kernel", "kernel unscaled")
"""With window scaling, and without."""

POINTS = {"bottleneck": "bottleneck", "sender": "short.sender", "receiver": "short.receiver"}

SAYS = {
    "bottleneck": "two flows that lose packets, at the entry of the link where they do",
    "sender": "one of the flows, beside its sender",
    "receiver": "one of the flows, beside its receiver",
}


def simulated(folder: Path) -> dict[str, Path]:
    """What the simulator's captures are by name: with window scaling, and without."""
    found: dict[str, Path] = {}
    for name, stack in zip(RUNS[:2], ("linux-6.12", "ns3-3.1x"), strict=True):
        study = f'stack = "{stack}"\n' + study_of_two(POINTS.values())
        file = folder / f"{name}.toml"
        file.write_text(study)
        captures = cclab.run(file, out=folder / name).runs[0].trace.captures
        found |= _captures(name, captures, folder)
    return found


def emulated(folder: Path) -> dict[str, Path]:
    """What the kernel's captures are by name: with window scaling, and without.

    Delay is added on the sending hosts by netem, so that packets are captured after it.
    """
    found: dict[str, Path] = {}
    delayed = 'delay_at = "sender"'
    unscaled = 'sysctl = { "net.ipv4.tcp_window_scaling" = 0 }'
    for name, more in zip(RUNS[2:], (delayed, f"{delayed}\n{unscaled}"), strict=True):
        study = study_of_two(POINTS.values(), of_each=more)
        study = study.replace(
            "[network.bottleneck]", '[network]\nby = "kernel"\n[network.bottleneck]'
        )
        captures = results_of(folder / name, study).runs[0].trace.captures
        found |= _captures(name, captures, folder)
    return found


def _captures(name: str, captures: Path, folder: Path) -> dict[str, Path]:
    """Those of a run, in microseconds: all three are to read the same times."""
    found = {}
    for point, file in POINTS.items():
        converted = folder / f"{name} {point}.pcap"
        classic(captures / f"{file}.pcapng", converted)
        found[f"{name}/{point}"] = converted
    return found
