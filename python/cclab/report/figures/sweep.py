"""The frame that the figures over a sweep share: which key is the axis, which makes panels."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cclab.drawing.sheet import sheet
from cclab.drawing.ticks import slanted
from cclab.plan import short_key, text
from cclab.report.figures.asked import at_most

if TYPE_CHECKING:
    from cclab.drawing.sheet import Sheet
    from cclab.measure.points import Point
    from cclab.measure.results import Results

MOST_PANELS = 12
MOST_SLOTS = 150
_COLUMNS = 4
_LONGEST_LABEL = 14
_HEIGHT_IN = 2.3

_LABEL_ROOM_IN = 0.24
"""Along the axis for a slanted label of a slot; closer ones run into each other."""

_AROUND_AXES_IN = 0.7
"""Of a panel's width, what is taken by the labels beside it."""


@dataclass(frozen=True)
class Place:
    """Where a sweep point goes."""

    point: Point
    panel: int
    slot: int
    series: str


@dataclass(frozen=True)
class Layout:
    """A sweep laid out on panels with a categorical axis."""

    places: list[Place]
    panels: list[str]
    slots: list[str]
    axis: str
    columns: int
    """Panels side by side."""
    apart: tuple[str, ...] = ()
    """The keys of variants that differ between the points of one slot."""

    def _width(self, lanes: int) -> float:
        """Of a whole figure, in inches."""
        if self.columns > 1:
            return min(10.5, 2.75 * self.columns)
        return min(9.2, max(3.4, 1.0 + max(0.62, 0.2 + 0.15 * lanes) * len(self.slots)))

    def labelled_every(self, lanes: int = 1) -> int:
        """Of how many slots one is labelled, so that labels stay apart: 1 where all fit."""
        room = self._width(lanes) / self.columns - _AROUND_AXES_IN
        return math.ceil(len(self.slots) * _LABEL_ROOM_IN / room)

    def room(self, lanes: int, step: float) -> float:
        """Inches along the axis for each of `lanes` points of a slot, which are so many slots
        apart."""
        slot = (self._width(lanes) / self.columns - _AROUND_AXES_IN) / len(self.slots)
        return slot * (1.0 if lanes == 1 else min(step, 1.0 - (lanes - 1) * step))

    def frame(self, up: str, lanes: int) -> Sheet:
        """An empty figure with labelled axes, the vertical ones as `up` says.

        Each slot of the axis has room for `lanes` points side by side.
        """
        count = len(self.panels)
        rows = math.ceil(count / self.columns)
        made = sheet((self._width(lanes), _HEIGHT_IN * rows + 0.5), count, self.columns)
        every = self.labelled_every(lanes)
        long = max(len(s) for s in self.slots) > _LONGEST_LABEL or len(self.slots) > 6
        for axes, title in zip(made.panels, self.panels, strict=True):
            axes.set_xlim(-0.5, len(self.slots) - 0.5)
            axes.set_xticks(range(0, len(self.slots), every), self.slots[::every])
            if not any(self.slots):  # Nothing is swept.
                axes.set_xticks([])
            if long:
                slanted(axes, 35)
            axes.grid(visible=False, axis="x")
            if count > 1:
                axes.set_title(title, fontsize=7.5)
        made.label(self.axis, up)
        return made


def layout(results: Results, least: int = 2) -> Layout | None:
    """Lays out the points of a sweep; None if fewer than `least` of them have runs.

    A product of keys becomes: the variant (a key that ends in `.cc`), if any, as the series of
    a panel; the last of the other keys as the axis; every combination of the rest as panels.
    Anything else, and products that would make too many panels, become one row of points. Raises
    `TooMuchError` if that is longer than can be read.
    """
    points = [p for p in results.points if p.runs]
    if len(points) < least:
        return None
    if len(points) == 1:
        return Layout([Place(points[0], 0, 0, "")], [""], [""], "", 1)
    keys = list(points[0].params)
    values = {k: list(dict.fromkeys(text(p.params[k]) for p in points)) for k in keys}
    product = math.prod(len(v) for v in values.values()) == len(points)
    series = [k for k in keys if k.endswith(".cc")] if len(keys) > 1 else []
    others = [k for k in keys if k not in series]
    rows = others[:-1]
    panels = math.prod(len(values[k]) for k in rows)
    row = not product or not others or panels > MOST_PANELS
    slots = len(points) if row else len(values[others[-1]])
    at_most(MOST_SLOTS, slots, "it would have {} places in a row", "read")
    if row:
        labels = [p.short_label for p in points]
        places = [Place(p, 0, i, "") for i, p in enumerate(points)]
        return Layout(places, [""], labels, ", ".join(short_key(k) for k in keys), 1)
    axis = others[-1]
    combinations = list(itertools.product(*(values[k] for k in rows)))
    panel_of = {c: i for i, c in enumerate(combinations)}
    titles = [
        ", ".join(f"{short_key(k)} = {v}" for k, v in zip(rows, c, strict=True))
        for c in combinations
    ]
    places = [
        Place(
            p,
            panel_of[tuple(text(p.params[k]) for k in rows)],
            values[axis].index(text(p.params[axis])),
            ", ".join(text(p.params[k]) for k in series),
        )
        for p in points
    ]
    # With two keys, a row and a column of panels each stand for one value.
    across = len(values[rows[-1]]) if len(rows) == 2 else len(combinations)
    apart = tuple(k for k in series if len(values[k]) > 1)
    return Layout(places, titles, values[axis], short_key(axis), min(across, _COLUMNS), apart)
