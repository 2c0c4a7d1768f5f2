"""The time-sequence graph, drawn as tcptrace draws it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from cclab.captures.series import time_sequence
from cclab.captures.series.xplot.plot import graph, placed, stairs, titled

if TYPE_CHECKING:
    from cclab.captures.series.tables import Direction

SUFFIX = "tsg"

_SEGMENTS = {
    "new": ("white", ""),
    "retransmit": ("red", "R"),
    "spurious": ("red", "R"),
    "out-of-order": ("pink", "O"),
    "keep-alive": ("blue", "K"),
    "probe": ("orange", "P"),
}
"""Colours of segments, and letters above them."""
_CONTROLS = {"syn": ("orange", "diamond"), "fin": ("orange", "box"), "rst": ("red", "box")}
"""Colours of control bits, and marks at their sequence numbers."""
_BLOCKS = {"sack": ("purple", "S"), "duplicate-sack": ("magenta", "D")}
"""Colours of SACK blocks, and letters above them."""


def plot(direction: Direction) -> bytes:
    """Segments as bars with arrows, the ACK and the window as stairs, and what is to be noticed.

    Sequence numbers are relative to the sender's initial one, unlike tcptrace's: they do not wrap.
    """
    rows = placed(direction, time_sequence.compute(direction))
    bar = pl.format("line {} {} {} {}\n", "t", "start_bytes", "t", "end_bytes")
    low, high = "start_bytes", "end_bytes"
    parts = []
    for kind, (colour, letter) in _SEGMENTS.items():
        arrows = pl.format("darrow {} {}\nuarrow {} {}\n", "t", low, "t", high)
        parts.append(_things(rows, kind, colour, arrows + bar + _text(letter)))
    for kind, (colour, mark) in _CONTROLS.items():
        at = pl.format(mark + " {} {}\n", "t", low)
        parts.append(_things(rows, kind, colour, _text(kind.upper()) + bar + at))
    for kind, (colour, letter) in _BLOCKS.items():
        ticks = pl.format("htick {} {}\nhtick {} {}\n", "t", low, "t", high)
        parts.append(_things(rows, kind, colour, bar + ticks + _text(letter)))
    acks = rows.filter(pl.col("what").is_in(["ack", "duplicate-ack"]))
    edges = rows.filter(pl.col("what").is_in(["window", "zero-window"]))
    parts += [
        stairs(acks, high, "green", "dtick"),
        stairs(edges, high, "yellow", "utick"),
        _things(rows, "zero-window", "yellow", _text("Z")),
    ]
    return graph(f"{titled(direction)} (time sequence graph)", "sequence number", parts)


def _things(rows: pl.DataFrame, kind: str, colour: str, commands: pl.Expr) -> pl.DataFrame:
    own = rows.filter(what=kind)
    return own.with_columns(commands=commands, colour=pl.lit(colour))


def _text(letter: str) -> pl.Expr:
    """A text above the end."""
    if not letter:
        return pl.lit("")
    return pl.format(f"atext {{}} {{}}\n{letter}\n", "t", "end_bytes")
