"""The legend above a figure, with room of its own: it never takes the axes' height."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from matplotlib.lines import Line2D

from cclab.drawing.marks import settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.artist import Artist

    from cclab.drawing.palette import Look
    from cclab.drawing.style import Drawing

MOST_COLUMNS = 4
"""Entries side by side; more are hard to scan."""

_GAP_IN = 0.08
"""Between the legend and what is below it, and beside it."""


def entry(label: str, look: Look | None = None, **more: Any) -> Line2D:
    """The entry of a line: in its look, or drawn with these settings."""
    return Line2D([], [], label=label, **(more if look is None else settings(look, **more)))


def above(figure: Drawing, handles: Sequence[Artist]) -> None:
    """Puts a legend of `handles` over the axes and makes the figure higher by its height.

    As many columns as fit side by side, up to `MOST_COLUMNS`; a figure narrower than a single
    column becomes wider. Without handles the figure stays as it is.
    """
    if not handles:
        return
    figure.told = list(handles)
    for columns in range(min(len(handles), MOST_COLUMNS), 0, -1):
        legend = figure.legend(
            handles=handles,
            loc="outside upper left",
            ncols=columns,
            columnspacing=1.6,
            borderaxespad=0.2,
        )
        extent = legend.get_window_extent()
        width, height = extent.width / figure.dpi, extent.height / figure.dpi
        if width + _GAP_IN <= figure.get_figwidth() or columns == 1:
            break
        legend.remove()
    figure.set_figwidth(max(figure.get_figwidth(), width + _GAP_IN))
    figure.set_figheight(figure.get_figheight() + height + _GAP_IN)


def again(figure: Drawing, width: float) -> None:
    """Makes the figure so many inches wide, and lays its legend out anew for that."""
    for legend in figure.legends[:]:
        height = legend.get_window_extent().height / figure.dpi
        figure.set_figheight(figure.get_figheight() - height - _GAP_IN)
        legend.remove()
    figure.set_figwidth(width)
    above(figure, figure.told)
