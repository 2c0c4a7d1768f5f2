"""The interactive page of a capture: one HTML file that needs no network."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from cclab import _core
from cclab.report import uplot
from cclab.report.page import template
from cclab.series.across import across
from cclab.series.page import data
from cclab.series.tables import endpoint, name_of
from cclab.series.talks import name_of as talk_name
from cclab.series.talks import spoken

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cclab.series.tables import Direction, Tables
    from cclab.series.talks import Talk, Talks

MOST_ROWS = 500
"""Rows of the table of connections, and of that of conversations."""

RULE = (
    f"at most {data.MOST:,} marks of a kind and direction. Beyond that, of all that falls on one "
    "dot of the finest grid that keeps to it (4,096 across or fewer) the first is kept, bars that "
    "touch are joined, and curves keep the extremes of 4,096 columns: no mark's dot is empty. The "
    "tables and CSV files have all."
)

_HEADINGS = (
    ("series", False),
    ("#", True),
    ("from", False),
    ("to", False),
    ("data (bytes)", True),
    ("throughput (Mbit/s)", True),
    ("retransmitted", True),
    ("RTT mean (ms)", True),
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
    ("gap median (ms)", True),
    ("gap p99 (ms)", True),
    ("began (s)", True),
    ("lasted (s)", True),
)
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
    (
        "RTT",
        "From the capture point to the receiver and back; none where a segment was sent twice.",
    ),
    ("Jain's index", "(Σx)² / (n Σx²) of what each of the n active connections sent in a bin."),
    ("time", "Since the first packet of the capture's first connection."),
)


def html(
    title: str,
    document: dict[str, Any],
    tables: Tables,
    talks: Talks,
    directions: Sequence[dict[str, Any]],
) -> str:
    """The page of a capture, with the series of `directions`, each as `drawn` gives it.

    It opens on the largest of them. `document` is what `cclab analyze --json` prints of it.
    """
    directions = sorted(directions, key=lambda direction: -direction["bytes"])
    sums = across(tables)
    chosen = {direction["name"] for direction in directions}
    over = data.across(sums)
    ends = [row[1] for row in (d["span"] for d in directions)]
    content = {
        "span": [0.0, max([sums.bins * sums.bin_s, *ends, 1e-3])],
        "rule": RULE,
        "across": over,
        "congested": _congested(document),
        "directions": directions,
    }
    own = files("cclab.series.page")
    rows, hidden = _rows(tables, chosen)
    return template("page.html.j2", "cclab.series.page").render(
        title=title,
        facts=_facts(document, tables, talks),
        problems=document["problems"],
        headings=_HEADINGS,
        rows=rows,
        hidden=hidden,
        talk_headings=_TALK_HEADINGS,
        talks=_talk_rows(talks, chosen),
        directions=directions,
        across=over,
        together=_together(document),
        congested=_congested(document),
        bin=f"{1e3 * sums.bin_s:g} ms",
        definitions=_WORDS,
        version=_core.VERSION,
        uplot=uplot.VERSION,
        uplot_css=uplot.style(),
        uplot_js=uplot.script(),
        css=Markup((own / "page.css").read_text("utf-8")),
        js=Markup((own / "page.js").read_text("utf-8")),
        # Nothing in it can end the element it stands in.
        data=Markup(json.dumps(content, separators=(",", ":")).replace("<", "\\u003c")),
    )


def drawn(direction: Direction) -> dict[str, Any]:
    """What the page shows of a direction: no more than a screen can, however long it is."""
    row = direction.row
    return _shown(direction, data.panels(direction), row["unique_bytes"]) | {
        "heading": f"Connection {direction.connection}: {direction.title}",
        "limits": row["limited_because"] or "",
    }


def drawn_talk(talk: Talk) -> dict[str, Any]:
    """What the page shows of a direction of a conversation."""
    return _shown(talk, data.talk_panels(talk), talk.row["total_bytes"]) | {
        "heading": f"Conversation {talk.conversation}: {talk.title}",
        "limits": "",
    }


def _shown(
    direction: Direction | Talk, made: tuple[list[dict[str, Any]], int, int], size: int
) -> dict[str, Any]:
    panels, kept, total = made
    began = direction.began_s
    return {
        "name": direction.name,
        "bytes": size,
        "span": [began, began + max(direction.row["elapsed_s"], 1e-6)],
        "kept": kept,
        "all": total,
        "panels": panels,
    }


def _congested(document: dict[str, Any]) -> list[float] | None:
    """When the bottleneck was congested, from and to; None if that was not found."""
    interval = document["together"]["congested"]
    return None if interval is None else [interval["from_s"], interval["to_s"]]


def _together(document: dict[str, Any]) -> list[tuple[str, ...]]:
    """What all flows got in each interval that was found, as cells."""
    found = [(document["together"][name], words) for name, words in _TOGETHER.items()]
    return [
        (
            words,
            f"{interval['from_s']:.3f} to {interval['to_s']:.3f}",
            _number(interval["throughput_bps"], 1e-6, 3),
            _number(interval["jain"], 1, 3),
            f"{interval['again_or_late_packets']:,}",
        )
        for interval, words in found
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


def _talk_rows(talks: Talks, chosen: set[str]) -> list[dict[str, Any]]:
    """The rows of the table of conversations, those with the most payload first."""
    frame = talks.conversations
    rows = [row for row in frame.sort("total_bytes", descending=True).to_dicts() if row["packets"]]
    starts = frame["source"][::2], frame["source_port"][::2]
    firsts = dict(zip(frame["conversation"][::2], zip(*starts, strict=True), strict=True))
    numbers = [number for _, number in _TALK_HEADINGS[1:]]
    made = []
    for row in rows[:MOST_ROWS]:
        began = (row["source"], row["source_port"]) == firsts[row["conversation"]]
        name = talk_name(row["conversation"], int(not began))
        cells = (
            f"{row['conversation']}",
            spoken(row),
            endpoint(row["source"], row["source_port"]),
            endpoint(row["destination"], row["destination_port"]),
            f"{row['packets']:,}",
            f"{row['total_bytes']:,}",
            _number(row["throughput_bps"], 1e-6, 3),
            _number(row["size_mean_bytes"], 1, 0),
            _number(row["gap_p50_s"], 1e3, 3),
            _number(row["gap_p99_s"], 1e3, 3),
            f"{(row['started_ns'] - talks.epoch_ns) * 1e-9:.3f}",
            f"{row['elapsed_s']:.3f}",
        )
        made.append(
            {
                "name": name if name in chosen else "",
                "cells": list(zip(cells, numbers, strict=True)),
            }
        )
    return made


def _rows(tables: Tables, chosen: set[str]) -> tuple[list[dict[str, Any]], str]:
    """The rows of the table, those with series first, and what is not in it."""
    carrying = [(number, sender) for number in tables.numbers for sender in tables.carrying(number)]

    def size(key: tuple[int, int]) -> tuple[bool, int, tuple[int, int]]:
        return (name_of(*key) not in chosen, -tables.unique_bytes(*key), key)

    shown = sorted(carrying, key=size)[:MOST_ROWS]
    without = len(carrying) - len(chosen)
    words = []
    if without:
        words.append(
            f"{without:,} direction{'s' * (without > 1)} with less data "
            f"{'have' if without > 1 else 'has'} no series here: --connection N chooses."
        )
    if len(carrying) > len(shown):
        words.append(f"{len(carrying) - len(shown):,} of them are not in the table.")
    return [_row(tables, key, name_of(*key) in chosen) for key in shown], " ".join(words)


def _row(tables: Tables, key: tuple[int, int], chosen: bool) -> dict[str, Any]:
    row = tables.row(*key)
    cells = (
        f"{row['connection']}",
        endpoint(row["source"], row["source_port"]),
        endpoint(row["destination"], row["destination_port"]),
        f"{row['unique_bytes']:,}",
        _number(row["throughput_bps"], 1e-6, 3),
        f"{row['retransmitted_packets']:,}",
        _number(row["rtt_mean_s"], 1e3, 2),
        f"{(row['started_ns'] - tables.epoch_ns) * 1e-9:.3f}",
        f"{row['elapsed_s']:.3f}",
        row["limited_by"] or "",
    )
    numbers = [number for _, number in _HEADINGS[1:]]
    return {
        "name": name_of(*key) if chosen else "",
        "cells": list(zip(cells, numbers, strict=True)),
    }


def _number(value: float | None, scale: float, digits: int) -> str:
    return "" if value is None else f"{value * scale:.{digits}f}"
