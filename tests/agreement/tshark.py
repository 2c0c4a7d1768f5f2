"""cclab's columns by tshark's fields: of its table of conversations, of headers, and those that
its analysis of sequence numbers (tcp.analysis) adds."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from agreement.directions import ACK, CWR, ECE, FIN, RST, SYN, URG
from agreement.field import Field

if TYPE_CHECKING:
    from collections.abc import Callable

    from agreement.directions import Direction, Segment
    from agreement.field import Value


def _flags(segment: Segment) -> int:
    return int(segment["tcp.flags"], 16)


def _length(segment: Segment) -> int:
    return int(segment["tcp.len"])


def _is_data(segment: Segment) -> bool:
    return _length(segment) > 0


def _is_bare_ack(segment: Segment) -> bool:
    return not _is_data(segment) and _flags(segment) & (SYN | FIN | RST | ACK) == ACK


def _is_syn_or_fin(segment: Segment) -> bool:
    return bool(_flags(segment) & (SYN | FIN))


def _flagged(segments: list[Segment], flag: str) -> list[Segment]:
    return [segment for segment in segments if f"tcp.analysis.{flag}" in segment]


def _values(segments: list[Segment], field: str) -> list[float]:
    return [float(segment[field]) for segment in segments if field in segment]


def _in_syn(field: str, direction: Direction) -> str | None:
    """An option in the first SYN; None if it is not there."""
    syns = [segment for segment in direction.sent if _flags(segment) & SYN]
    return syns[0].get(field) if syns else None


def _number_in_syn(field: str, direction: Direction) -> int | None:
    value = _in_syn(field, direction)
    return None if value is None else int(value)


def _windows(direction: Direction) -> list[float]:
    """Those of segments; where windows are scaled, but those of SYNs."""
    without = RST | (SYN if direction.row["window_scaling"] else 0)
    segments = [segment for segment in direction.sent if not _flags(segment) & without]
    return _values(segments, "tcp.window_size")


def _field(
    column: str,
    name: str,
    theirs: Callable[[Direction], Value],
    how: str = "",
    rounding: float = 0.0,
) -> Field[Direction]:
    """A column as it is."""
    return Field(
        column, "tshark", name, lambda direction: direction.row[column], theirs, how, rounding
    )


def _count(column: str, flag: str, *, of: Callable[[Segment], bool] = _is_data) -> Field[Direction]:
    """A column that counts the segments of the direction that `of` admits and that have a flag."""
    return _field(
        column,
        f"tcp.analysis.{flag}",
        lambda direction: sum(map(of, _flagged(direction.sent, flag))),
    )


def _bits(column: str, name: str, bit: int, without: int = 0) -> Field[Direction]:
    """A column that counts the segments with a control bit, those `without` others."""
    return _field(
        column,
        "tcp.flags",
        lambda direction: sum(
            _flags(segment) & (bit | without) == bit for segment in direction.sent
        ),
        f"how many have the bit {name}{', SYNs left out' if without else ''}",
    )


def _any(_: Segment) -> bool:
    return True


def _of_none(values: list[float], of: Callable[[list[float]], float]) -> float | None:
    return of(values) if values else None


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


def _rtts(direction: Direction) -> list[float]:
    return _values(direction.heard, "tcp.analysis.ack_rtt")


def _end(direction: Direction) -> str:
    seen = int((direction.sent or direction.heard)[-1]["tcp.completeness"])
    both_syns, fin, rst = 3, 16, 32
    if seen & rst:
        return "reset"
    return "complete" if seen & both_syns == both_syns and seen & fin else "open"


def _scaling(direction: Direction) -> float | None:
    """Whether a factor is known that is more than none."""
    unknown, unscaled = -1, -2
    factors = _values(direction.sent, "tcp.window_size_scalefactor")
    last = factors[-1] if factors else unknown
    return None if last == unknown else last != unscaled


def _idle(direction: Direction) -> float | None:
    times = _values(direction.sent, "tcp.time_relative")
    return max((after - before for before, after in pairwise(times)), default=None)


def _between_data(direction: Direction) -> float | None:
    data = [segment for segment in direction.sent if _is_data(segment)]
    times = _values(data, "tcp.time_relative")
    return times[-1] - times[0] if times else None


def _is_sack(segment: Segment) -> bool:
    return "tcp.options.sack.count" in segment


def _agreed_on_ecn(direction: Direction) -> bool | None:
    """Whether one SYN has ECE and CWR, and the other ECE alone (RFC 3168 section 6.1.1)."""
    told = []
    for segments in (direction.sent, direction.heard):
        syns = [_flags(segment) for segment in segments if _flags(segment) & SYN]
        if not syns:
            return None
        told.append(syns[0] & (ECE | CWR))
    return sorted(told) == [ECE, ECE | CWR]


def _is_marked(segment: Segment) -> bool:
    congestion_experienced = "3"
    ecn = segment.get("ip.dsfield.ecn") or segment.get("ipv6.tclass.ecn")
    return ecn == congestion_experienced


def _missed(direction: Direction) -> bool:
    return bool(
        _flagged(direction.sent, "lost_segment") or _flagged(direction.heard, "ack_lost_segment")
    )


FIELDS: tuple[Field[Direction], ...] = (
    _field("packets", "conv,tcp: frames", lambda direction: direction.packets),
    _field(
        "started_ns",
        "frame.time_epoch",
        lambda direction: min(
            int(segment["frame.time_epoch"].replace(".", ""))
            for segment in direction.sent + direction.heard
        ),
        "of the first segment, in nanoseconds",
    ),
    _field(
        "elapsed_s",
        "conv,tcp: duration",
        lambda direction: direction.conversation.duration_s,
        rounding=0.5e-4,
    ),
    _field(
        "first_packet_s",
        "tcp.time_relative",
        lambda direction: _of_none(_values(direction.sent[:1], "tcp.time_relative"), min),
        "of the first segment",
    ),
    _field(
        "last_packet_s",
        "tcp.time_relative",
        lambda direction: _of_none(_values(direction.sent[-1:], "tcp.time_relative"), max),
        "of the last segment",
    ),
    _field("idle_max_s", "tcp.time_relative", _idle, "the most between two segments"),
    _field("data_s", "tcp.time_relative", _between_data, "from the first with data to the last"),
    _field(
        "handshake_rtt_s",
        "tcp.analysis.initial_rtt",
        lambda direction: _of_none(
            _values(direction.sent + direction.heard, "tcp.analysis.initial_rtt"), max
        ),
    ),
    _field(
        "data_packets",
        "tcp.len",
        lambda direction: sum(map(_is_data, direction.sent)),
        "how many are not 0",
    ),
    _field(
        "total_bytes",
        "tcp.len",
        lambda direction: sum(map(_length, direction.sent)),
        "their sum",
    ),
    _field(
        "segment_min_bytes",
        "tcp.len",
        lambda direction: min(filter(None, map(_length, direction.sent)), default=None),
        "the least that is not 0",
    ),
    _field(
        "segment_max_bytes",
        "tcp.len",
        lambda direction: max(filter(None, map(_length, direction.sent)), default=None),
        "the most, if not 0",
    ),
    _field(
        "pure_acks",
        "tcp.flags",
        lambda direction: sum(map(_is_bare_ack, direction.sent)),
        "ACK without SYN, FIN, RST and payload",
    ),
    _bits("syns", "SYN", SYN),
    _bits("fins", "FIN", FIN),
    _bits("rsts", "RST", RST),
    _bits("urgent_packets", "URG", URG),
    _bits("ece_packets", "ECE", ECE, without=SYN),
    _bits("cwr_packets", "CWR", CWR, without=SYN),
    _field("ecn", "tcp.flags", _agreed_on_ecn, "ECE and CWR in one SYN, ECE in the other"),
    _field(
        "ce_packets",
        "ip.dsfield.ecn, ipv6.tclass.ecn",
        lambda direction: sum(map(_is_marked, direction.sent)),
        "how many are 3",
    ),
    _field(
        "sacks",
        "tcp.options.sack.count",
        lambda direction: sum(map(_is_sack, direction.sent)),
        "how many have it",
    ),
    _field(
        "sack_blocks",
        "tcp.options.sack.count",
        lambda direction: sum(_values(direction.sent, "tcp.options.sack.count")),
        "their sum",
    ),
    _field(
        "sack_blocks_max",
        "tcp.options.sack.count",
        lambda direction: _of_none(_values(direction.sent, "tcp.options.sack.count"), max),
        "the most",
    ),
    _field(
        "dsacks",
        "tcp.options.sack.dsack_le",
        lambda direction: len(_values(direction.sent, "tcp.options.sack.dsack_le")),
        "how many have it",
    ),
    Field(
        "missed_bytes",
        "tshark",
        "tcp.analysis.lost_segment, tcp.analysis.ack_lost_segment",
        lambda direction: direction.row["missed_bytes"] > 0,
        _missed,
        "whether there are any; the latter of the other direction",
    ),
    _count("retransmitted_packets", "retransmission"),
    _field(
        "retransmitted_bytes",
        "tcp.analysis.retransmission",
        lambda direction: sum(map(_length, _flagged(direction.sent, "retransmission"))),
        "the sum of their `tcp.len`",
    ),
    _count("retransmitted_syn_fin", "retransmission", of=_is_syn_or_fin),
    _count("out_of_order_packets", "out_of_order"),
    Field(
        "retransmitted_packets + out_of_order_packets",
        "tshark",
        "tcp.analysis.retransmission + tcp.analysis.out_of_order",
        lambda direction: (
            direction.row["retransmitted_packets"] + direction.row["out_of_order_packets"]
        ),
        lambda direction: sum(
            _is_data(segment)
            for flag in ("retransmission", "out_of_order")
            for segment in _flagged(direction.sent, flag)
        ),
        "the sum of both counts",
    ),
    _field(
        "duplicate_acks",
        "tcp.analysis.duplicate_ack",
        lambda direction: len(_flagged(direction.heard, "duplicate_ack")),
        "of the other direction",
    ),
    _count("spurious_retransmits", "spurious_retransmission"),
    _count("keep_alives", "keep_alive", of=_any),
    _count("window_probes", "zero_window_probe", of=_any),
    _count("window_full_packets", "window_full", of=_any),
    _count("zero_windows", "zero_window", of=_any),
    _field(
        "mss_announced_bytes",
        "tcp.options.mss_val",
        lambda direction: _number_in_syn("tcp.options.mss_val", direction),
    ),
    _field(
        "window_scale_announced",
        "tcp.options.wscale.shift",
        lambda direction: _number_in_syn("tcp.options.wscale.shift", direction),
    ),
    _field("window_scaling", "tcp.window_size_scalefactor", _scaling, "-1 is unknown, -2 none"),
    Field(
        "sack_permitted",
        "tshark",
        "tcp.options.sack_perm",
        lambda direction: bool(direction.row["sack_permitted"]),
        lambda direction: _in_syn("tcp.options.sack_perm", direction) is not None,
        "whether a SYN has it",
    ),
    _field(
        "timestamps",
        "tcp.options.timestamp.tsval",
        lambda direction: bool(_values(direction.sent, "tcp.options.timestamp.tsval")),
        "whether any segment has it",
    ),
    _field(
        "window_min_bytes",
        "tcp.window_size",
        lambda direction: _of_none(_windows(direction), min),
        "the least, without SYNs where scaled",
    ),
    _field(
        "window_mean_bytes",
        "tcp.window_size",
        lambda direction: _of_none(_windows(direction), _mean),
        "their mean, without SYNs where scaled",
    ),
    _field(
        "window_max_bytes",
        "tcp.window_size",
        lambda direction: _of_none(_windows(direction), max),
        "the most, without SYNs where scaled",
    ),
    Field(
        "outstanding_max_bytes",
        "tshark",
        "tcp.analysis.bytes_in_flight",
        lambda direction: direction.row["outstanding_max_bytes"] or 0,
        lambda direction: max(_values(direction.sent, "tcp.analysis.bytes_in_flight"), default=0),
        "the most; 0 where there is none",
    ),
    _field(
        "rtt_samples",
        "tcp.analysis.ack_rtt",
        lambda direction: len(_rtts(direction)),
        "how many, of the other direction",
    ),
    _field("rtt_min_s", "tcp.analysis.ack_rtt", lambda d: _of_none(_rtts(d), min), "the least"),
    _field("rtt_mean_s", "tcp.analysis.ack_rtt", lambda d: _of_none(_rtts(d), _mean), "the mean"),
    _field("rtt_max_s", "tcp.analysis.ack_rtt", lambda d: _of_none(_rtts(d), max), "the most"),
    _field("end", "tcp.completeness", _end, "RST is reset; both SYNs and a FIN complete"),
)
