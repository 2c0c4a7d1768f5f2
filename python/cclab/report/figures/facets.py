"""Small multiples: a panel for each combination of the axes that a figure does not draw."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cclab.drawing.sheet import folded, sheet
from cclab.report.figures.asked import at_most

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from cclab.drawing.sheet import Sheet
    from cclab.report.swept import Axis

MOST_PANELS = 24
_COLUMNS = 4
_TITLE_PT = 7.5


@dataclass(frozen=True)
class Facets:
    """Panels in rows and columns, one for each place on the axes `over` and each of `variety`."""

    over: tuple[Axis, ...]
    variety: tuple[str, ...]
    """Anything else with panels of its own, such as flows; a single empty entry if there is
    nothing."""
    columns: int

    @property
    def count(self) -> int:
        """How many panels there are."""
        return math.prod(len(axis.texts) for axis in self.over) * len(self.variety)

    @property
    def size(self) -> tuple[float, float]:
        """The width and the height in inches of a panel of curves."""
        return (4.6, 2.6) if self.count == 1 else (2.6, 1.9)

    @property
    def rows(self) -> int:
        """Panels one above the other."""
        return math.ceil(self.count / self.columns)

    @property
    def _named(self) -> list[list[str]]:
        """The differences between panels, in words: one list for each kind of them."""
        named = [[f"{axis.name} = {value}" for value in axis.texts] for axis in self.over]
        return [*named, list(self.variety)] if any(self.variety) else named

    def panel(self, places: Sequence[int], kind: int = 0) -> int:
        """The panel at these places on the axes, of the entry `kind` of the variety."""
        number = 0
        for axis, place in zip(self.over, places, strict=True):
            number = number * len(axis.texts) + place
        return number * len(self.variety) + kind

    def frame(
        self,
        width: float,
        height: float,
        *,
        room: float = 0.0,
        beside: float = 0.0,
        below: float = 0.0,
        one_x: bool = True,
    ) -> Sheet:
        """An empty figure with a titled panel of `width` by `height` inches for each.

        All share the vertical axis, and with `one_x` the other one too; `room` is kept free on
        the right, and on the left and at the foot what labels want, `beside` and `below` them,
        more than usual.
        """
        wide = width * self.columns + 0.75 + room + beside
        size = (wide, (height + 0.3) * self.rows + 0.55 + below)
        named = self._named
        table = len(named) == 2 and len(named[1]) == self.columns
        made = sheet(size, self.count, self.columns, one_x=one_x)
        fits = max(12, int(width * 72 / (0.66 * _TITLE_PT)))
        for number, (axes, parts) in enumerate(
            zip(made.panels, itertools.product(*named), strict=True)
        ):
            if table:
                if number < self.columns:
                    axes.set_title(folded(parts[1:], fits), fontsize=_TITLE_PT)
                if (number + 1) % self.columns == 0:
                    _beside(axes, parts[0])
            elif parts:
                axes.set_title(folded(parts, fits), fontsize=_TITLE_PT)
        return made


def _beside(axes: Axes, title: str) -> None:
    """The title of a row of panels, at its right end."""
    axes.annotate(
        title,
        (1, 0.5),
        xytext=(4, 0),
        xycoords="axes fraction",
        textcoords="offset points",
        rotation=270,
        va="center",
        fontsize=_TITLE_PT,
        fontweight="bold",
    )


def facets(over: Sequence[Axis], variety: Sequence[str] = ("",)) -> Facets:
    """The panels over `over`: with two kinds of differences, rows stand for one of them.

    Raises `TooMuchError` if there are more than `MOST_PANELS`.
    """
    counts = [len(axis.texts) for axis in over]
    counts += [len(variety)] if len(variety) > 1 else []
    made = math.prod(counts)
    some = f"keep some values of {', '.join(a.name for a in over)} (--where KEY=VALUE,...)"
    at_most(MOST_PANELS, made, "it would have {} panels", "read", some)
    last = counts[-1] if counts else 1
    columns = min(last, 8) if len(counts) > 1 else last
    if len(counts) == 1 and last > _COLUMNS:
        columns = min((_COLUMNS, _COLUMNS - 1), key=lambda across: -last % across)
    return Facets(tuple(over), tuple(variety), columns)
