"""The time-sequence graph, drawn as tcptrace draws it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cclab.series import time_sequence
from cclab.series.xplot.plot import Plot, titled

if TYPE_CHECKING:
    from cclab.series.tables import Direction

SUFFIX = "tsg"

_COLOURS = {
    "new": "white",
    "retransmit": "red",
    "spurious": "red",
    "out-of-order": "pink",
    "keep-alive": "blue",
    "probe": "orange",
}
_LETTERS = {
    "retransmit": "R",
    "spurious": "R",
    "out-of-order": "O",
    "probe": "P",
    "keep-alive": "K",
}


def plot(direction: Direction) -> Plot:
    """Segments as bars with arrows, the ACK and the window as stairs, and what is to be noticed.

    Sequence numbers are relative to the sender's initial one, unlike tcptrace's: they do not wrap.
    """
    drawn = Plot(f"{titled(direction)} (time sequence graph)", "sequence number")
    acknowledged: tuple[int, int] | None = None
    edge: tuple[int, int] | None = None
    for time_s, what, start, end in time_sequence.compute(direction).iter_rows():
        time_ns = direction.epoch_ns + round(time_s * 1e9)
        if what in _COLOURS:
            _segment(drawn, time_ns, what, start, end)
        elif what in ("syn", "fin", "rst"):
            drawn.colour("orange" if what != "rst" else "red")
            drawn.text(time_ns, end, what.upper())
            drawn.line(time_ns, start, time_ns, end)
            drawn.mark("diamond" if what == "syn" else "box", time_ns, start)
        elif what in ("ack", "duplicate-ack"):
            drawn.colour("green")
            acknowledged = _step(drawn, acknowledged, (time_ns, end), "dtick")
        elif what in ("window", "zero-window"):
            drawn.colour("yellow")
            edge = _step(drawn, edge, (time_ns, end), "utick")
            if what == "zero-window":
                drawn.text(time_ns, end, "Z")
        else:
            _block(drawn, time_ns, what, start, end)
    return drawn


def _segment(drawn: Plot, time_ns: int, what: str, start: int, end: int) -> None:
    drawn.colour(_COLOURS[what])
    drawn.mark("darrow", time_ns, start)
    drawn.mark("uarrow", time_ns, end)
    drawn.line(time_ns, start, time_ns, end)
    if what in _LETTERS:
        drawn.text(time_ns, end, _LETTERS[what])


def _block(drawn: Plot, time_ns: int, what: str, start: int, end: int) -> None:
    """A SACK block."""
    duplicate = what == "duplicate-sack"
    drawn.colour("magenta" if duplicate else "purple")
    drawn.line(time_ns, start, time_ns, end)
    drawn.mark("htick", time_ns, start)
    drawn.mark("htick", time_ns, end)
    drawn.text(time_ns, end, "D" if duplicate else "S")


def _step(
    drawn: Plot, last: tuple[int, int] | None, now: tuple[int, int], tick: str
) -> tuple[int, int]:
    """The stairs go on from `last` to `now`; what stays as it was has a tick."""
    if last is not None:
        drawn.line(*last, now[0], last[1])
        if now[1] != last[1]:
            drawn.line(now[0], last[1], *now)
            return now
    drawn.mark(tick, *now)
    return now
