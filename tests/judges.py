"""What tcptrace and tshark, programs of others, say of a packet capture."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

from waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Sequence
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
    end: str
    """`complete`, `reset` or `open`, as it was seen."""
    columns: list[dict[str, float]]
    """By its own names and in its own units: from the connecting side to the other, and back."""
    words: list[dict[str, str]]
    """What is told in words instead of a number, such as `Y/N`."""


def tcptrace(capture: Path) -> list[Sender]:
    """The sender of each connection in `capture`, a pcapng file, in the order of first packets."""
    return [_sender(report.columns) for report in tcptrace_reports(capture)]


def tcptrace_reports(capture: Path) -> list[Report]:
    """All that tcptrace says of each connection in `capture`, in the order of first packets.

    Of a capture whose link layer it does not know it says nothing.
    """
    if capture.suffix == ".pcap":
        return _reports(capture)
    converted = capture.with_suffix(".pcap")
    try:
        classic(capture, converted)
        return _reports(converted)
    finally:
        # A capture may lie in a store, which holds nothing else.
        converted.unlink(missing_ok=True)


def classic(capture: Path, converted: Path) -> None:
    """Writes `capture` to `converted` as tcptrace reads captures: pcap, in microseconds."""
    _run("editcap", "-F", "pcap", capture, converted)


def merge(captures: Sequence[Path], merged: Path) -> None:
    """Writes `captures`, one after the other, to `merged`, a pcapng file."""
    _run("mergecap", "-a", "-F", "pcapng", "-w", merged, *captures)


def _reports(capture: Path) -> list[Report]:
    done = _done("tcptrace", "-l", "-r", "-W", "-n", capture)
    if "did not understand link format" in done.stderr:
        return []
    report = _output(done)
    return [_report(text) for text in report.split("TCP connection ")[1:] if "host" in text]


def _report(text: str) -> Report:
    columns: list[dict[str, float]] = [{}, {}]
    words: list[dict[str, str]] = [{}, {}]
    for line in text.splitlines():
        pairs = re.findall(r"  ([A-Za-z](?:\S| (?=\S))*?):\s+([YN\d]\S*)( pkts)?", line)
        if len(pairs) == 2 and pairs[0][0] == pairs[1][0]:
            for side, (name, value, unit) in enumerate(pairs):
                # One name, in bytes and in packets.
                key = name + unit if name == "initial window" else name
                if re.fullmatch(r"\d+(\.\d+)?", value):
                    columns[side][key] = float(value)
                else:
                    words[side][key] = value
    [total] = re.findall(r"^\ttotal packets:\s+(\d+)", text, re.MULTILINE)
    [[hours, minutes, seconds]] = re.findall(r"elapsed time:\s+(\d+):(\d+):([\d.]+)", text)
    [complete] = re.findall(r"complete conn: (yes|no|RESET)", text)
    end = {"yes": "complete", "no": "open", "RESET": "reset"}[complete]
    # Its hours have 24 minutes.
    elapsed_s = (24 * int(hours) + int(minutes)) * 60 + float(seconds)
    return Report(int(total), elapsed_s, end, columns, words)


def _sender(columns: list[dict[str, float]]) -> Sender:
    sender = max(columns, key=lambda column: column["unique bytes sent"])
    return Sender(
        int(sender["unique bytes sent"]),
        int(sender["actual data pkts"]),
        int(sender["rexmt data pkts"]),
        int(sender["total packets"]),
    )


def packets(
    capture: Path, *fields: str, only: str = "tcp", options: Sequence[str] = ()
) -> list[list[str]]:
    """tshark's `fields` of each packet of `capture` that its filter `only` lets pass.

    Sequence numbers are relative and windows scaled, as tshark shows them.
    """
    wanted = [word for field in fields for word in ("-e", field)]
    told = _run("tshark", "-2", "-n", "-r", capture, "-Y", only, "-T", "fields", *wanted, *options)
    return [line.split("\t") for line in told.splitlines()]


@dataclass(frozen=True)
class Conversation:
    """A line of tshark's `-z conv,tcp`."""

    ends: tuple[str, str]
    """Address and port of each, as `10.0.0.1:5001`."""
    packets: tuple[int, int]
    """What each end sent."""
    started_s: float
    """Since the capture's first packet."""
    duration_s: float
    """With four digits after the point."""


def dissected(
    capture: Path, fields: Sequence[str]
) -> tuple[list[dict[str, str]], list[Conversation]]:
    """tshark's `fields` of each TCP segment in `capture`, and its table of conversations.

    Sequence numbers are relative and windows scaled. A field that a segment does not have is left
    out; one that it has more than once is told with commas between.
    """
    wanted = [word for field in fields for word in ("-e", field)]
    told = _run("tshark", "-2", "-n", "-r", capture, "-T", "fields", *wanted, "-z", "conv,tcp")
    lines, _, table = told.partition("=" * 80)
    segments = [
        {field: value for field, value in zip(fields, line.split("\t"), strict=True) if value}
        for line in lines.splitlines()
    ]
    conversations = [
        Conversation((a, b), (int(of_a), int(of_b)), float(started), float(duration))
        for a, b, of_b, of_a, started, duration in re.findall(
            r"^(\S+)\s+<->\s+(\S+)\s+(\d+) \S+ \w+\s+(\d+) \S+ \w+\s+\d+ \S+ \w+\s+(\S+)\s+(\S+)$",
            table,
            re.MULTILINE,
        )
    ]
    return [segment for segment in segments if "tcp.stream" in segment], conversations


def numbers(capture: Path, field: str, only: str = "tcp") -> list[int]:
    """tshark's `field`, a whole number, of each packet that `only` lets pass and that has it."""
    return [int(value) for [value] in packets(capture, field, only=only) if value]


def _run(*command: str | Path) -> str:
    return _output(_done(*command))


def _done(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)


def _output(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 0, f"{done.args[0]}: {done.stderr}"
    return done.stdout
