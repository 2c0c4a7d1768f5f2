"""What cclab, tcptrace and tshark say of a capture, side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

import cclab
from judges import Conversation, Report, dissected, merge, tcptrace_reports

if TYPE_CHECKING:
    from pathlib import Path

Row = dict[str, Any]
Segment = dict[str, str]

FIELDS = (
    "frame.time_epoch",
    "ip.src",
    "ip.dst",
    "ipv6.src",
    "ipv6.dst",
    "ip.dsfield.ecn",
    "ipv6.tclass.ecn",
    "tcp.srcport",
    "tcp.dstport",
    "tcp.stream",
    "tcp.completeness",
    "tcp.flags",
    "tcp.len",
    "tcp.seq",
    "tcp.ack",
    "tcp.time_relative",
    "tcp.window_size",
    "tcp.window_size_scalefactor",
    "tcp.options.mss_val",
    "tcp.options.wscale.shift",
    "tcp.options.sack_perm",
    "tcp.options.sack.count",
    "tcp.options.sack_le",
    "tcp.options.sack_re",
    "tcp.options.sack.dsack_le",
    "tcp.options.timestamp.tsval",
    "tcp.analysis.retransmission",
    "tcp.analysis.spurious_retransmission",
    "tcp.analysis.out_of_order",
    "tcp.analysis.duplicate_ack",
    "tcp.analysis.lost_segment",
    "tcp.analysis.ack_lost_segment",
    "tcp.analysis.keep_alive",
    "tcp.analysis.zero_window",
    "tcp.analysis.zero_window_probe",
    "tcp.analysis.window_full",
    "tcp.analysis.bytes_in_flight",
    "tcp.analysis.ack_rtt",
    "tcp.analysis.initial_rtt",
)
"""What is asked of tshark."""

FIN, SYN, RST, PSH, ACK, URG, ECE, CWR = (1 << bit for bit in range(8))


@dataclass(frozen=True)
class Direction:
    """What is said of one direction of a connection."""

    place: str
    """Number of the connection, and `a` for what its first packet's sender sent, or `b`."""
    row: Row
    """By cclab, a row of `connections`."""
    report: Report
    """By tcptrace, of the connection."""
    column: dict[str, float]
    """By tcptrace, of the direction."""
    words: dict[str, str]
    """By tcptrace, of the direction, what is told in words."""
    conversation: Conversation
    """By tshark, of the connection."""
    packets: int
    """By tshark, in its table of conversations."""
    sent: list[Segment]
    """By tshark, of each segment of the direction."""
    heard: list[Segment]
    """By tshark, of each segment of the other direction."""


@dataclass(frozen=True)
class Pair:
    """What is said of one segment."""

    place: str
    """Its number in the capture."""
    row: Row
    """By cclab, a row of `segments`."""
    segment: Segment
    """By tshark."""
    first: int
    """tshark's number of the capture's first connection."""
    source: str
    """Who sent it, by cclab."""

    @property
    def sender(self) -> str:
        """Who sent it, by tshark."""
        return _ends(self.segment)[0]


@dataclass(frozen=True)
class Block:
    """What is said of one SACK block."""

    place: str
    """The number of its segment in the capture."""
    row: Row
    """By cclab, a row of `sacks`."""
    of: Row
    """By cclab, the row of `segments` that it should belong to."""
    told: tuple[int, int, bool]
    """By tshark: its first byte, the one after its last, whether it is a D-SACK."""


@dataclass(frozen=True)
class Testimony:
    """What is said of a capture."""

    rows: list[Row]
    """By cclab, of each direction."""
    table: list[Row]
    """By cclab, of each segment."""
    blocks: list[Row]
    """By cclab, of each SACK block."""
    reports: list[Report]
    """By tcptrace, of each connection."""
    segments: list[Segment]
    """By tshark, of each segment."""
    conversations: list[Conversation]
    """By tshark, of each connection."""

    def connections(self, judge: str) -> int:
        """As many as `judge` counts."""
        return len(self.reports if judge == "tcptrace" else self.conversations)

    def directions(self, judge: str) -> list[Direction]:
        """Both directions of each connection; none if `judge` counts other connections."""
        if self.connections(judge) != len(self.rows) // 2:
            return []
        streams = sorted({int(segment["tcp.stream"]) for segment in self.segments})
        found = []
        for index, row in enumerate(self.rows):
            number, side = divmod(index, 2)
            report = self.reports[number] if judge == "tcptrace" else NOTHING
            conversation = self.conversations[number]
            of_stream = [s for s in self.segments if int(s["tcp.stream"]) == streams[number]]
            found.append(
                Direction(
                    f"{number + 1}{'ab'[side]}",
                    row,
                    report,
                    report.columns[side],
                    report.words[side],
                    conversation,
                    conversation.packets[conversation.ends.index(_source(row))],
                    [segment for segment in of_stream if _ends(segment)[0] == _source(row)],
                    [segment for segment in of_stream if _ends(segment)[1] == _source(row)],
                )
            )
        return found

    def pairs(self) -> list[Pair]:
        """Each segment."""
        first = min(int(segment["tcp.stream"]) for segment in self.segments)
        return [
            Pair(f"#{number}", row, segment, first, self._sender(row))
            for number, (row, segment) in enumerate(
                zip(self.table, self.segments, strict=True), start=1
            )
        ]

    def sacked(self) -> list[Block]:
        """Each SACK block."""
        theirs = [
            block
            for number, segment in enumerate(self.segments, start=1)
            for block in _blocks(number, segment)
        ]
        return [
            Block(f"#{number}", row, self.table[number - 1], told)
            for row, (number, told) in zip(self.blocks, theirs, strict=True)
        ]

    def _sender(self, row: Row) -> str:
        """The end that a row of `segments` names."""
        return _source(self.rows[2 * (row["connection"] - 1) + row["sender"]])


NOTHING = Report(0, 0.0, "open", [{}, {}], [{}, {}])


def testimonies(captures: dict[str, Path], folder: Path) -> dict[str, Testimony]:
    """What all three say of each of `captures`, classic pcap with times in microseconds.

    They are merged in `folder`, for tshark takes longer to start than to read them: no two may
    have the same addresses and ports.
    """
    merged = folder / "merged.pcapng"
    merge(list(captures.values()), merged)
    segments, conversations = dissected(merged, FIELDS)
    conversations.sort(key=lambda conversation: conversation.started_s)
    found = {}
    for name, capture in captures.items():
        series = folder / f"{capture.stem} series"
        document = cclab.analyze(capture, series=series).document
        assert document["problems"] == [], f"{name}: {document['problems']}"
        rows = document["connections"]
        ends = {_source(row) for row in rows}
        found[name] = Testimony(
            rows,
            pl.read_parquet(series / "segments.parquet").to_dicts(),
            pl.read_parquet(series / "sacks.parquet").to_dicts(),
            tcptrace_reports(capture),
            [segment for segment in segments if set(_ends(segment)) <= ends],
            [conversation for conversation in conversations if set(conversation.ends) <= ends],
        )
    return found


def _blocks(number: int, segment: Segment) -> list[tuple[int, tuple[int, int, bool]]]:
    """The SACK blocks of tshark's segment with that number; only the first may be a D-SACK."""
    if "tcp.options.sack_le" not in segment:
        return []
    starts, ends = (
        [int(edge) for edge in segment[f"tcp.options.sack_{side}"].split(",")]
        for side in ("le", "re")
    )
    duplicate = "tcp.options.sack.dsack_le" in segment
    return [
        (number, (start, end, duplicate and index == 0))
        for index, (start, end) in enumerate(zip(starts, ends, strict=True))
    ]


def _source(row: Row) -> str:
    return f"{row['source']}:{row['source_port']}"


def _ends(segment: Segment) -> tuple[str, str]:
    """Who sent it, and to whom."""
    version = "ip" if "ip.src" in segment else "ipv6"
    return (
        f"{segment[f'{version}.src']}:{segment['tcp.srcport']}",
        f"{segment[f'{version}.dst']}:{segment['tcp.dstport']}",
    )
