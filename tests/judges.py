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


@dataclass(frozen=True)
class Report:
    """What tcptrace's long report (`-l -r -W`) says of a connection."""

    total_packets: int
    """Those of both directions."""
    elapsed_s: float
    """From the first packet of either direction to the last, in whole microseconds."""
    reset: bool
    """Whether either end sent an RST."""
    columns: list[dict[str, float]]
    """By its own names and in its own units: from the connecting side to the other, and back."""


def tcptrace(capture: Path) -> list[Sender]:
    """The sender of each connection in `capture`, a pcapng file, in the order of first packets."""
    return [_sender(report.columns) for report in tcptrace_reports(capture)]


def tcptrace_reports(capture: Path) -> list[Report]:
    """All that tcptrace says of each connection in `capture`, in the order of first packets."""
    classic = capture.with_suffix(".pcap")
    try:
        _run("editcap", "-F", "pcap", capture, classic)
        report = _run("tcptrace", "-l", "-r", "-W", "-n", classic)
    finally:
        # A capture may lie in a store, which holds nothing else.
        classic.unlink(missing_ok=True)
    return [_report(text) for text in report.split("TCP connection ")[1:] if "host" in text]


def _report(text: str) -> Report:
    columns: list[dict[str, float]] = [{}, {}]
    for line in text.splitlines():
        pairs = re.findall(r"  ([A-Za-z](?:\S| (?=\S))*?):\s+(\d+(?:\.\d+)?)( pkts)?", line)
        if len(pairs) == 2 and pairs[0][0] == pairs[1][0]:
            for column, (name, value, unit) in zip(columns, pairs, strict=True):
                # One name, in bytes and in packets.
                key = name + unit if name == "initial window" else name
                column[key] = float(value)
    [total] = re.findall(r"^\ttotal packets:\s+(\d+)", text, re.MULTILINE)
    [[hours, minutes, seconds]] = re.findall(r"elapsed time:\s+(\d+):(\d+):([\d.]+)", text)
    # Its hours have 24 minutes.
    elapsed_s = (24 * int(hours) + int(minutes)) * 60 + float(seconds)
    return Report(int(total), elapsed_s, "complete conn: RESET" in text, columns)


def _sender(columns: list[dict[str, float]]) -> Sender:
    sender = max(columns, key=lambda column: column["unique bytes sent"])
    return Sender(
        int(sender["unique bytes sent"]),
        int(sender["actual data pkts"]),
        int(sender["rexmt data pkts"]),
        int(sender["total packets"]),
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
