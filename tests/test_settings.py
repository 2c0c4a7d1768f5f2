"""Kernel settings that the simulator honours do what they do in the kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import cclab

if TYPE_CHECKING:
    from pathlib import Path


def flow(folder: Path, path: str, of_flow: str, setting: str) -> dict[str, Any]:
    """The flow of a run of 10 s with `setting`, a line of `[flow.sysctl]`."""
    file = folder / "study.toml"
    file.write_text(
        f'duration = "10s"\n[network.bottleneck]\nrate = "100Mbit"\n{path}\n'
        f'queue = {{ limit = "1000p" }}\n'
        f'[[flow]]\nname = "one"\ncc = "reno"\n{of_flow}\n[flow.sysctl]\n{setting}\n'
    )
    return cclab.run(file, out=folder / "out").flows.row(0, named=True)


def test_without_a_part_of_the_window_to_wait_for_the_window_is_filled(tmp_path: Path) -> None:
    """`tcp_tso_win_divisor`: 40 segments a round trip of 10 ms and one segment's 0.12 ms."""
    window = 40 * 1448
    expected = window * 8 / (0.01 + 1514 * 8 / 100e6)
    path = 'delay = "5ms"'
    of_flow = f'rwnd = "{window + 700}B"\ndelayed_ack = 1'
    goodput = {
        divisor: flow(tmp_path, path, of_flow, f'"net.ipv4.tcp_tso_win_divisor" = {divisor}')[
            "goodput_bps"
        ]
        for divisor in (3, 255)
    }
    assert goodput[255] == pytest.approx(expected, rel=0.01)
    assert goodput[3] < 0.97 * expected


def test_without_rack_a_lost_retransmission_waits_for_the_timeout(tmp_path: Path) -> None:
    """`tcp_recovery`: of n packets n p^2 are retransmissions that are lost again."""
    loss = 0.05
    path = f'delay = "150us"\nloss = {{ rate = {loss}, at = "receiver" }}'
    with_rack, without = (
        flow(tmp_path, path, "", f'"net.ipv4.tcp_recovery" = {value}') for value in (1, 0)
    )
    lost_again = without["segments_sent"] * loss**2
    assert without["rtos"] > 0.5 * lost_again
    assert with_rack["rtos"] < 0.2 * with_rack["segments_sent"] * loss**2
    assert without["goodput_bps"] < 0.6 * with_rack["goodput_bps"]
