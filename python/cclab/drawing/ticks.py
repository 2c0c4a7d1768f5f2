"""Ticks that stay apart: the labels of an axis are made fewer until none runs into the next."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

from matplotlib.text import Text
from matplotlib.ticker import (
    FixedLocator,
    FuncFormatter,
    LogFormatter,
    LogLocator,
    MaxNLocator,
    NullFormatter,
)

from cclab import shown
from cclab.drawing.style import styled

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.transforms import BboxBase

    from cclab.drawing.style import Drawing

_GAP_PT = 3.0
"""Between two labels side by side: about a space."""

_ROUNDS = 12


def finished(draw: Callable[[], Drawing | None]) -> Drawing | None:
    """What `draw` draws, in the style of all figures, and laid out for good."""
    with styled():
        figure = draw()
        return None if figure is None else settled(figure)


def settled(figure: Drawing) -> Drawing:
    """The figure, laid out for good, with as many ticks as stay apart.

    Whoever saves it again, and in whatever format, gets the same.
    """
    for text in figure.findobj(Text):
        assert isinstance(text, Text)
        if (told := shown.lines(text.get_text())) != text.get_text():
            text.set_text(told)
    lay_out(figure)
    for _ in range(_ROUNDS):
        crowded = [
            axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis) if overlaps(axis)
        ]
        if not crowded:
            break
        for axis in crowded:
            _thin(axis)
        lay_out(figure)
    # Without any engine, be it one that does nothing, matplotlib draws a figure once to save it.
    figure.set_layout_engine(None)
    for draw in figure.last:
        draw()
    figure.last.clear()
    return figure


def lay_out(figure: Drawing) -> None:
    """Gives axes their places; where labels are follows from those without drawing them."""
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)


def logarithmic(axis: Axis, at: Sequence[float] = (1.0, 2.0, 5.0)) -> None:
    """Gives an axis a logarithmic scale with plain numbers at its ticks: `at` each power of ten
    times these."""
    axes = axis.axes
    (axes.set_yscale if axis is axes.yaxis else axes.set_xscale)("log")
    axis.set_major_locator(LogLocator(subs=at))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def logged(axis: Axis) -> None:
    """Gives an axis a logarithmic scale with matplotlib's own ticks, their numbers as plain text:
    no figure sets text as mathematics."""
    axes = axis.axes
    (axes.set_yscale if axis is axes.yaxis else axes.set_xscale)("log")
    axis.set_major_formatter(_Plain())
    axis.set_minor_formatter(_Plain(labelOnlyBase=False))


class _Plain(LogFormatter):
    """Numbers as they are elsewhere, 0.1 beside 1, where matplotlib has a number."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        return f"{x:g}" if super().__call__(x, pos) else ""


def spanned(axis: Axis, least: float, most: float, factor: float) -> None:
    """Gives an axis the span of values from `least` to `most`, with a little room at its ends.

    It is logarithmic where they are further apart than by `factor`, else from 0 up.
    """
    logs = least > 0 and most > factor * least
    if logs:
        logarithmic(axis)
    ends = (0.9 * least, 1.1 * most) if logs else (0.0, 1.03 * most or 1.0)
    axes = axis.axes
    (axes.set_ylim if axis is axes.yaxis else axes.set_xlim)(*ends)


def slanted(axes: Axes, degrees: float) -> None:
    """Turns the labels of the horizontal axis, which then end at their ticks."""
    axes.tick_params(axis="x", labelrotation=degrees)
    for label in axes.get_xticklabels():
        label.set_horizontalalignment("right")


def labels(axis: Axis) -> list[Text]:
    """The labels of the ticks that are shown."""
    return [
        text for text in axis.get_ticklabels(which="both") if text.get_visible() and text.get_text()
    ]


def overlaps(axis: Axis) -> bool:
    """Whether the label of a tick runs into another's."""
    placed = [(label, label.get_window_extent()) for label in labels(axis)]
    return any(not _apart(*a, b) for a, (_, b) in itertools.combinations(placed, 2))


def _apart(left: Text, a: BboxBase, b: BboxBase) -> bool:
    """Whether two labels, one of which is `left`, leave a gap between their boxes."""
    figure = left.get_figure(root=True)
    assert figure is not None, "it stands in a figure"
    gap = _GAP_PT / 72 * figure.dpi
    turn = math.radians(float(left.get_rotation()) % 180)
    if 0 < turn < math.pi / 2:
        # Slanted lines that end at their ticks are as far apart as they are across.
        height = float(left.get_fontsize()) / 72 * figure.dpi
        return bool(abs(b.x1 - a.x1) * math.sin(turn) >= height)
    beside = a.x1 + gap <= b.x0 or b.x1 + gap <= a.x0
    return bool(beside or a.y1 <= b.y0 or b.y1 <= a.y0)


def _thin(axis: Axis) -> None:
    """Fewer ticks: every second of those that were chosen one by one, else as many as fit less."""
    locator = axis.get_major_locator()
    shown = len(labels(axis))
    axis.set_minor_formatter(NullFormatter())
    if isinstance(locator, FixedLocator):
        places: Sequence[float] = list(axis.get_ticklocs())
        texts = [text.get_text() for text in axis.get_ticklabels()]
        turned = [text.get_horizontalalignment() for text in axis.get_ticklabels()]
        axis.set_ticks(places[::2], texts[::2])
        for text, side in zip(axis.get_ticklabels(), turned[::2], strict=False):
            text.set_horizontalalignment(side)
    elif isinstance(locator, LogLocator):
        axis.set_major_locator(LogLocator(numticks=max(2, shown - 2)))
    else:
        axis.set_major_locator(MaxNLocator(max(2, shown - 2), steps=[1, 2, 2.5, 5, 10]))
