"""cclab's tables `segments` and `sacks` by tshark's fields of the same segment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agreement.directions import ACK, FIN, RST, SYN, Block, Pair
from agreement.field import UNTOLD, Field

if TYPE_CHECKING:
    from collections.abc import Callable

    from agreement.directions import Row, Segment
    from agreement.field import Value

LETTERS = "FSRP.UEWe"
"""Control bits as tcpdump writes them, the lowest first."""

KINDS = {
    "spurious_retransmission": "spurious",
    "retransmission": "retransmit",
    "out_of_order": "out-of-order",
    "keep_alive": "keep-alive",
    "zero_window_probe": "probe",
    "duplicate_ack": "duplicate-ack",
}
"""What tcp.analysis marks, the first that a segment has, by what it is called here."""


def _field(
    column: str,
    name: str,
    theirs: Callable[[Segment], Value],
    how: str = "",
    ours: Callable[[Value], Value] = lambda value: value,
) -> Field[Pair]:
    return Field(
        f"segments.{column}",
        "tshark",
        name,
        lambda pair: ours(pair.row[column]),
        lambda pair: theirs(pair.segment),
        how,
    )


def _flags(segment: Segment) -> int:
    return int(segment["tcp.flags"], 16)


def _kind(segment: Segment) -> str:
    """SYNs, FINs without data and RSTs are that, whatever else they are."""
    flags, length = _flags(segment), int(segment["tcp.len"])
    if flags & RST:
        return "rst"
    if flags & SYN:
        return "syn"
    if flags & FIN and length == 0:
        return "fin"
    for mark, kind in KINDS.items():
        if f"tcp.analysis.{mark}" in segment:
            return kind
    return "new" if length > 0 else "ack"


def _signed(value: Value) -> Value:
    """A number of 32 bits that may be below 0."""
    return (value + 2**31) % 2**32 - 2**31 if isinstance(value, int) else value


def _rtt(pair: Pair) -> Value:
    """tshark's, where there is one and it is in the table: Karn's rule leaves others out."""
    told = pair.segment.get("tcp.analysis.ack_rtt")
    if told is None or pair.row["rtt_ns"] is None:
        return UNTOLD
    return int(told.replace(".", ""))


def _in_flight(pair: Pair) -> Value:
    told = pair.segment.get("tcp.analysis.bytes_in_flight")
    if told is None or pair.row["outstanding_bytes"] is None:
        return UNTOLD
    return int(told)


def _kinds(column: str, payload: bool) -> Field[Pair]:
    """Kinds of segments that have payload, or have none."""

    def theirs(pair: Pair) -> Value:
        return _kind(pair.segment) if (pair.row["payload"] > 0) is payload else UNTOLD

    how = "its marks, by what they are called here"
    return Field(column, "tshark", "tcp.analysis", lambda pair: pair.row["kind"], theirs, how)


def _where(row: Row) -> str:
    return f"{row['connection']} {row['sender']} {row['time_ns']}"


SEGMENTS: tuple[Field[Pair], ...] = (
    Field(
        "segments.connection",
        "tshark",
        "tcp.stream",
        lambda pair: pair.row["connection"],
        lambda pair: int(pair.segment["tcp.stream"]) - pair.first + 1,
        "from 1",
    ),
    Field(
        "segments.sender",
        "tshark",
        "ip.src, tcp.srcport",
        lambda pair: pair.source,
        lambda pair: pair.sender,
        "the `source` that it means",
    ),
    _field(
        "time_ns",
        "frame.time_epoch",
        lambda segment: int(segment["frame.time_epoch"].replace(".", "")),
        "in nanoseconds",
    ),
    _field("seq", "tcp.seq", lambda segment: _signed(int(segment["tcp.seq"]))),
    _field("payload", "tcp.len", lambda segment: int(segment["tcp.len"])),
    _field(
        "flags",
        "tcp.flags",
        lambda segment: "".join(
            letter for bit, letter in enumerate(LETTERS) if _flags(segment) >> bit & 1
        ),
        "in tcpdump's letters",
    ),
    _field(
        "ack",
        "tcp.ack",
        lambda segment: _signed(int(segment["tcp.ack"])) if _flags(segment) & ACK else None,
        "where there is the bit ACK",
    ),
    _field(
        "window_bytes",
        "tcp.window_size",
        lambda segment: None if _flags(segment) & RST else int(segment["tcp.window_size"]),
        "RSTs left out",
    ),
    Field(
        "segments.outstanding_bytes",
        "tshark",
        "tcp.analysis.bytes_in_flight",
        lambda pair: pair.row["outstanding_bytes"],
        _in_flight,
        "where both have one",
    ),
    Field(
        "segments.rtt_ns",
        "tshark",
        "tcp.analysis.ack_rtt",
        lambda pair: pair.row["rtt_ns"],
        _rtt,
        "in nanoseconds, where both have one",
    ),
    _kinds("segments.kind with payload", True),
    _kinds("segments.kind without", False),
)

SACKS: tuple[Field[Block], ...] = (
    Field(
        "sacks.connection, sacks.sender, sacks.time_ns",
        "tshark",
        "tcp.options.sack_le",
        lambda block: _where(block.row),
        lambda block: _where(block.of),
        "those of the segment that has it",
    ),
    Field(
        "sacks.start, sacks.end",
        "tshark",
        "tcp.options.sack_le, tcp.options.sack_re",
        lambda block: f"{block.row['start']} to {block.row['end']}",
        lambda block: "{} to {}".format(*map(_signed, block.told[:2])),
    ),
    Field(
        "sacks.duplicate",
        "tshark",
        "tcp.options.sack.dsack_le",
        lambda block: block.row["duplicate"],
        lambda block: block.told[2],
        "whether the segment has it, of its first block",
    ),
)
