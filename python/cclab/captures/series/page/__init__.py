"""The interactive page of a capture: one HTML file that needs no network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from cclab import pages, units
from cclab.captures.series.across import across
from cclab.captures.series.page import data
from cclab.captures.series.tables import endpoint, name_of
from cclab.captures.series.talks import name_of as talk_name
from cclab.captures.words import shares, spoken

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cclab.captures.series.flows import Flows
    from cclab.captures.series.page.document import CapturePage, Panel, ShownDirection
    from cclab.captures.series.tables import Direction, Tables
    from cclab.captures.series.talks import Talk, Talks

MOST_ROWS = 500
"""Rows of the table of connections, and of that of conversations."""

RULE = (
    f"at most {data.MOST:,} marks of a kind and direction. Beyond that, of all that falls on one "
    "dot of the finest grid that keeps to it (4,096 across or fewer) the first is kept, bars that "
    "touch are joined, and curves keep the extremes of 4,096 columns: no mark's dot is empty. The "
    "tables (Parquet, and CSV if asked for) have all."
)

_HEADINGS = (
    ("series", False),
    ("#", True),
    ("from", False),
    ("to", False),
    ("data (bytes)", True),
    ("throughput (Mbit/s)", True),
    ("sent again", True),
    ("late", True),
    ("RTT mean ({rtt})", True),
    ("began (s)", True),
    ("lasted (s)", True),
    ("limited by", False),
)
_TALK_HEADINGS = (
    ("series", False),
    ("#", True),
    ("speaks", False),
    ("from", False),
    ("to", False),
    ("datagrams", True),
    ("payload (bytes)", True),
    ("throughput (Mbit/s)", True),
    ("size mean (bytes)", True),
    ("gap median ({gap})", True),
    ("gap p99 ({gap})", True),
    ("gap sd ({gap})", True),
    ("handshake RTT ({rtt})", True),
    ("began (s)", True),
    ("lasted (s)", True),
)


@dataclass(frozen=True)
class _Table:
    """A table of directions."""

    headings: list[str]
    numeric: list[bool]
    """Whether a column holds numbers."""
    rows: list[tuple[str, list[str]]]
    """The name of each direction with a series, and its cells."""
    hidden: str
    """What is not in them, in words."""


_TOGETHER = {
    "whole": "from the first data to the last",
    "overlap": "while all flows were active",
    "congested": "while the bottleneck was congested",
    "asked": "as asked for",
}
"""The intervals in which flows are compared, in words."""
_WORDS = (
    ("segment", "A bar from its first sequence number to its last, when it was captured."),
    ("sequence number", "Relative to the sender's initial one: the first byte of data is 1."),
    ("acknowledged", "The highest ACK so far."),
    ("window's edge", "The ACK plus the window that the receiver advertised with it."),
    ("in flight", "Payload between the highest ACK and the highest byte sent."),
    ("time between packets", "Of this direction, at the point of capture."),
    ("sent again", "Segments with data that were captured before."),
    (
        "late",
        "Segments with data that were not captured before, behind some that were: lost before the "
        "point of capture and sent again, or overtaken.",
    ),
    (
        "gap sd",
        "The standard deviation of the times between datagrams: how unevenly they come. The jitter "
        "of RFC 3550 needs the times at which they were sent, which only RTP tells.",
    ),
    (
        "handshake RTT",
        "From the first Initial packet of QUIC to the first answer with a long header: from the "
        "capture point to the server and back, and the time that it takes to answer.",
    ),
    (
        "RTT",
        "From the capture point to the receiver and back; none where a segment was sent twice.",
    ),
    (
        "Jain's index",
        "(Σx)² / (n Σx²) of what each of the n active flows sent in a bin. Those with less than a "
        "hundredth of the data of the largest do not count.",
    ),
    ("time", "Since the capture's first packet."),
)


def html(
    title: str,
    document: dict[str, Any],
    flows: Flows,
    directions: Sequence[ShownDirection],
) -> str:
    """The page of a capture, with the series of `directions`, each as `drawn` gives it.

    It opens on the largest of them. `document` is what `cclab analyze --json` prints of it.
    """
    directions = sorted(directions, key=lambda direction: -direction["bytes"])
    tables, talks = flows.tables, flows.talks
    sums = across(flows)
    chosen = {direction["name"] for direction in directions}
    over = data.across(sums)
    ends = [row[1] for row in (d["span"] for d in directions)]
    content: CapturePage = {
        "span": (0.0, max([sums.bins * sums.bin_s, *ends, 1e-3])),
        "rule": RULE,
        "across": over,
        "congested": _congested(document),
        "directions": directions,
    }
    return pages.render(
        __name__,
        "page.html.j2",
        title=title,
        facts=_facts(document, tables, talks),
        problems=[(p["code"], str(p["count"]), "", p["message"]) for p in document["problems"]],
        connections=_rows(tables, chosen),
        talks=_talk_rows(talks, chosen),
        directions=directions,
        across=over,
        together=_together(document),
        congested=_congested(document),
        bin=f"{1e3 * sums.bin_s:g} ms",
        definitions=_WORDS,
        data=content,
        programs=("layers.js", "drawing.js", "panel.js", "page.js"),
    )


def drawn(direction: Direction) -> ShownDirection:
    """The page's data of a direction, thinned to what a screen can show."""
    row = direction.row
    heading = f"Connection {direction.connection}: {direction.title}"
    limits = row["limited_because"] or ""
    return _shown(direction, data.panels(direction), row["unique_bytes"], heading, limits)


def drawn_talk(talk: Talk) -> ShownDirection:
    """What the page shows of a direction of a conversation."""
    heading = f"Conversation {talk.conversation}: {talk.title}"
    return _shown(talk, data.talk_panels(talk), talk.row["total_bytes"], heading, "")


def _shown(
    direction: Direction | Talk,
    made: tuple[list[Panel], int, int],
    size: int,
    heading: str,
    limits: str,
) -> ShownDirection:
    panels, kept, total = made
    began = direction.began_s
    return {
        "name": direction.name,
        "heading": heading,
        "limits": limits,
        "bytes": size,
        "span": (began, began + max(direction.row["elapsed_s"], 1e-6)),
        "kept": kept,
        "all": total,
        "panels": panels,
    }


def _congested(document: dict[str, Any]) -> tuple[float, float] | None:
    """When the bottleneck was congested, from and to; None if that was not found."""
    interval = document["together"]["congested"]
    return None if interval is None else (interval["from_s"], interval["to_s"])


def _together(document: dict[str, Any]) -> list[tuple[str, ...]]:
    """What flows got in each interval that was found, as cells."""
    intervals = [(document["together"][name], words) for name, words in _TOGETHER.items()]
    return [
        (
            words,
            f"{interval['from_s']:.3f} to {interval['to_s']:.3f}",
            _number(interval["throughput_bps"], 1e-6, 3),
            _number(interval["jain"], 1, 3),
            ""
            if interval["again_or_late_packets"] is None
            else f"{interval['again_or_late_packets']:,}",
            shares(interval),
        )
        for interval, words in intervals
        if interval is not None
    ]


def _facts(document: dict[str, Any], tables: Tables, talks: Talks) -> str:
    total, udp = len(tables.numbers), len(talks)
    others = [f"{count:,} {name}" for name, count in document["other_packets"].items()]
    return "; ".join(
        [
            f"{document['packets']:,} packets",
            f"{document['tcp_packets']:,} TCP segments in "
            f"{total:,} connection{'' if total == 1 else 's'}",
            f"{document['udp_packets']:,} UDP datagrams in "
            f"{udp:,} conversation{'' if udp == 1 else 's'}",
            *others,
        ]
    )


def _talk_rows(talks: Talks, chosen: set[str]) -> _Table:
    """The table of conversations, those with the most payload first."""
    sent = talks.conversations.with_row_index("row").filter(pl.col("packets") > 0)
    by_size = sent.sort("total_bytes", descending=True, maintain_order=True)
    rows = by_size.head(MOST_ROWS).to_dicts()
    names = [talk_name(row["conversation"], row["row"] % 2) for row in rows]
    gap, medians, tails, spreads = _scaled(rows, "gap_p50_s", "gap_p99_s", "gap_stdev_s")
    rtt, handshakes = _scaled(rows, "quic_handshake_rtt_s")
    cells = [
        (
            f"{row['conversation']}",
            spoken(row),
            endpoint(row["source"], row["source_port"]),
            endpoint(row["destination"], row["destination_port"]),
            f"{row['packets']:,}",
            f"{row['total_bytes']:,}",
            _number(row["throughput_bps"], 1e-6, 3),
            _number(row["size_mean_bytes"], 1, 0),
            medians[place],
            tails[place],
            spreads[place],
            handshakes[place],
            f"{(row['started_ns'] - talks.epoch_ns) * 1e-9:.3f}",
            f"{row['elapsed_s']:.3f}",
        )
        for place, row in enumerate(rows)
    ]
    own = {
        talk_name(row["conversation"], row["row"] % 2)
        for row in sent.select("conversation", "row").to_dicts()
    }
    hidden = _hidden(len(own), len(own & chosen), len(rows), "payload", "")
    return _tabled(_TALK_HEADINGS, {"gap": gap, "rtt": rtt}, names, cells, chosen, hidden)


def _rows(tables: Tables, chosen: set[str]) -> _Table:
    """The table of connections, those with series first."""
    carrying = [(number, sender) for number in tables.numbers for sender in tables.carrying(number)]

    def size(key: tuple[int, int]) -> tuple[bool, int, tuple[int, int]]:
        return (name_of(*key) not in chosen, -tables.unique_bytes(*key), key)

    shown = sorted(carrying, key=size)[:MOST_ROWS]
    rows = [tables.row(*key) for key in shown]
    rtt, rtts = _scaled(rows, "rtt_mean_s")
    cells = [
        (
            f"{row['connection']}",
            endpoint(row["source"], row["source_port"]),
            endpoint(row["destination"], row["destination_port"]),
            f"{row['unique_bytes']:,}",
            _number(row["throughput_bps"], 1e-6, 3),
            f"{row['retransmitted_packets']:,}",
            f"{row['out_of_order_packets']:,}",
            rtts[place],
            f"{(row['started_ns'] - tables.epoch_ns) * 1e-9:.3f}",
            f"{row['elapsed_s']:.3f}",
            row["limited_by"] or "",
        )
        for place, row in enumerate(rows)
    ]
    with_series = sum(name_of(*key) in chosen for key in carrying)
    hidden = _hidden(len(carrying), with_series, len(rows), "data", ": --connection N chooses")
    names = [name_of(*key) for key in shown]
    return _tabled(_HEADINGS, {"rtt": rtt}, names, cells, chosen, hidden)


def _tabled(
    headings: Sequence[tuple[str, bool]],
    units_of: dict[str, str],
    names: list[str],
    cells: Sequence[tuple[str, ...]],
    chosen: set[str],
    hidden: str,
) -> _Table:
    """Rows under `headings`, in which the names of units are left open."""
    rows = [
        (name if name in chosen else "", list(own)) for name, own in zip(names, cells, strict=True)
    ]
    named = [text.format(**units_of) for text, _ in headings]
    return _Table(named, [number for _, number in headings], rows, hidden)


def _hidden(of: int, with_series: int, shown: int, rows: str, remedy: str) -> str:
    """What of a table's directions is not on the page."""
    words = []
    without = of - with_series
    if without:
        words.append(
            f"{without:,} direction{'s' * (without > 1)} with less {rows} "
            f"{'have' if without > 1 else 'has'} no series here{remedy}."
        )
    if of > shown:
        words.append(f"{of - shown:,} of them are not in the table.")
    return " ".join(words)


def _scaled(rows: list[dict[str, Any]], *columns: str) -> tuple[Any, ...]:
    """The unit that suits times in `columns`, and the cells of each of these."""
    name, cells = units.column((row[column] for column in columns for row in rows), units.time)
    return name, *(cells[n * len(rows) : (n + 1) * len(rows)] for n in range(len(columns)))


def _number(value: float | None, scale: float, digits: int) -> str:
    return "" if value is None else f"{value * scale:.{digits}f}"
