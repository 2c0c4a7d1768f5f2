"""The language of xplot (Shepard's, http://www.xplot.org): one file, one graph.

Its commands are those of `demo.0` in xplot's own distribution. Times are `timeval`, seconds and
microseconds since 1970; xplot knows no shorter ones, and the rest is cut off, as tcptrace does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cclab.series.tables import Direction

Number = int | float


class Plot:
    """A graph, drawn one thing after the other: the later ones lie over the earlier."""

    def __init__(self, title: str, ylabel: str) -> None:
        """An empty one, with time to the right."""
        # `unsigned`, the other choice for sequence numbers, ends at 4 GiB.
        self._lines = [f"timeval double\ntitle\n{title}\nxlabel\ntime\nylabel\n{ylabel}\n"]
        self._colour = ""

    def colour(self, name: str) -> None:
        """What is drawn from here on has this colour."""
        if name != self._colour:
            self._lines.append(f"{name}\n")
            self._colour = name

    def mark(self, what: str, time_ns: int, y: Number) -> None:
        """A mark: `dot`, `diamond`, `box`, `x`, `plus`, `utick`, `dtick`, `htick`, `uarrow`, ..."""
        self._lines.append(f"{what} {_time(time_ns)} {_number(y)}\n")

    def line(self, from_ns: int, from_y: Number, to_ns: int, to_y: Number) -> None:
        """A straight line."""
        ends = f"{_time(from_ns)} {_number(from_y)} {_time(to_ns)} {_number(to_y)}"
        self._lines.append(f"line {ends}\n")

    def text(self, time_ns: int, y: Number, text: str, where: str = "a") -> None:
        """A text above, below, left of or right of a point: `a`, `b`, `l` or `r`."""
        self._lines.append(f"{where}text {_time(time_ns)} {_number(y)}\n{text}\n")

    def curve(self, points: Iterable[tuple[int, Number]], label: str) -> None:
        """Dots joined by lines, with its name at the first."""
        last: tuple[int, Number] | None = None
        for time_ns, y in points:
            if last is None:
                self.text(time_ns, y, label, "l")
            else:
                self.line(*last, time_ns, y)
            self.mark("dot", time_ns, y)
            last = (time_ns, y)

    def stairs(self, points: Iterable[tuple[int, Number]]) -> None:
        """A line that keeps each value until the next."""
        last: tuple[int, Number] | None = None
        for time_ns, y in points:
            if last is not None:
                self.line(*last, time_ns, last[1])
                if y != last[1]:
                    self.line(time_ns, last[1], time_ns, y)
            last = (time_ns, y)

    def __str__(self) -> str:
        """The file."""
        return "".join(self._lines) + "go\n"


def titled(direction: Direction) -> str:
    """The ends of a direction as tcptrace writes them: xplot knows ASCII alone."""
    return direction.title.replace(" → ", "_==>_")


def _time(time_ns: int) -> str:
    microseconds = time_ns // 1000
    return f"{microseconds // 1_000_000}.{microseconds % 1_000_000:06d}"


def _number(value: Number) -> str:
    return str(value) if isinstance(value, int) else f"{value:.6f}".rstrip("0").rstrip(".")
