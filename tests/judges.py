"""What tcptrace and tshark, programs of others, say of a packet capture."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Sender:
    """What tcptrace counts of the side of a connection that sent more data."""

    unique_bytes: int
    """Bytes of data, each counted once."""
    data_segments: int
    """Segments with data, retransmissions included."""
    retransmissions: int
    """Segments with data sent again."""
    segments: int
    """All segments, those without data included."""


def tcptrace(capture: Path) -> list[Sender]:
    """The sender of each connection in `capture`, a pcapng file, in the order of first packets."""
    classic = capture.with_suffix(".pcap")
    try:
        _run("editcap", "-F", "pcap", capture, classic)
        report = _run("tcptrace", "-l", "-n", classic)
    finally:
        # A capture may lie in a store, which holds nothing else.
        classic.unlink(missing_ok=True)
    return [_sender(text) for text in report.split("TCP connection ")[1:] if "host" in text]


def _sender(text: str) -> Sender:
    # Two columns: from the connecting side to the other, and back.
    columns: list[dict[str, int]] = [{}, {}]
    for line in text.splitlines():
        pairs = re.findall(r"([a-z][\w/. ]*?):\s+(\d+)", line)
        if len(pairs) == 2 and pairs[0][0] == pairs[1][0]:
            for column, (name, value) in zip(columns, pairs, strict=True):
                column[name] = int(value)
    sender = max(columns, key=lambda column: column["unique bytes sent"])
    return Sender(
        sender["unique bytes sent"],
        sender["actual data pkts"],
        sender["rexmt data pkts"],
        sender["total packets"],
    )


def packets(capture: Path, *fields: str, only: str = "tcp") -> list[list[str]]:
    """tshark's `fields` of each packet of `capture` that its filter `only` lets pass.

    Sequence numbers are relative and windows scaled, as tshark shows them.
    """
    wanted = [word for field in fields for word in ("-e", field)]
    told = _run("tshark", "-n", "-r", capture, "-Y", only, "-T", "fields", *wanted)
    return [line.split("\t") for line in told.splitlines()]


def numbers(capture: Path, field: str, only: str = "tcp") -> list[int]:
    """tshark's `field`, a whole number, of each packet that `only` lets pass and that has it."""
    return [int(value) for [value] in packets(capture, field, only=only) if value]


def _run(*command: str | Path) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, f"{command[0]}: {done.stderr}"
    return done.stdout
