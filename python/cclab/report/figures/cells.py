"""Panels of coloured cells: what heat maps and matrices share."""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.colors import LinearSegmentedColormap, LogNorm, Normalize, TwoSlopeNorm
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle
from matplotlib.path import Path

from cclab.drawing import legend
from cclab.drawing.style import FAINT, INK
from cclab.report.figures.asked import SOME_VALUES, at_most

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap

    from cclab.drawing.style import Drawing
    from cclab.measure.stats import Estimate
    from cclab.report.figures.facets import Facets
    from cclab.report.quantities import Quantity
    from cclab.report.swept import Axis

MOST_CELLS = 20_000
"""Of all panels together."""

MOST_OUTLINES = 4_000
"""More cells than this are embedded as an image in SVG and PDF: outlines would take megabytes."""

WIDE = 0.2
"""Share of the colour scale: the cell of a longer interval might have another colour."""

_TALLEST_IN, _WIDEST_IN = 8.5, 10.5
_LEAST_IN, _MOST_IN = 0.16, 0.62
_SMALLEST_PT, _LARGEST_PT = 4.5, 10.0
_LABEL_IN = 0.13
"""A line of labels; closer ones hide each other."""

_LETTER_IN = 0.078
"""The width of a letter of a label."""

_SHORTEST = 16
"""Letters of a line of what the colour bar says, at least."""

_USUAL_LABEL_IN = 0.45
"""The width of a label of rows for which every figure has room."""

_LUMINANCE = (0.2126, 0.7152, 0.0722)
"""Of red, green and blue."""

_LIGHT = 0.3
"""The luminance of a cell from which its number is dark."""

_DECADES = 2
_DIVERGING = LinearSegmentedColormap.from_list(
    "share", ["#8a3a00", "#D55E00", "#f2b48a", "#f7f7f5", "#8fc1e3", "#0072B2", "#004270"]
)
"""Vermillion to blue, both of Okabe and Ito: people with any colour vision tell the ends apart."""


@dataclass(frozen=True)
class Cells:
    """Estimates by panel, row and column."""

    x: Axis
    y: Axis
    facets: Facets
    quantity: Quantity
    values: Mapping[tuple[int, int, int], Estimate]
    """By panel, place on `y` and place on `x`; without the cells that no run measured."""
    middle: float | None
    """A value, between 0 and 1, that colours part at: the fair share."""
    scale: str
    """What the colour bar says."""
    diagonal: bool
    """Whether the cells of equal values are outlined."""


def check(x: Axis, y: Axis, panels: Facets) -> None:
    """Raises `TooMuchError` if there would be more cells than one can see."""
    cells = len(x.texts) * len(y.texts) * panels.count
    at_most(MOST_CELLS, cells, "it would have {} cells", "seen", SOME_VALUES)


def draw(cells: Cells) -> Drawing:
    """The figure of `cells`."""
    across, up = len(cells.x.texts), len(cells.y.texts)
    grid = np.full((cells.facets.count, up, across), np.nan)
    for place, value in cells.values.items():
        grid[place] = value.mean
    unit, _, digits = cells.quantity.unit(float(np.nanmax(np.abs(grid))))
    norm, colours = _scale(cells, grid / unit, unit)
    texts = {place: f"{v.mean / unit:.{digits}f}" for place, v in cells.values.items()}
    widest = max(map(len, texts.values()))
    wide, high = _size(cells, across, up, widest)
    beside, below = _labels(cells, wide)
    sheet = cells.facets.frame(wide * across, high * up, room=0.8, beside=beside, below=below)
    figure, panels = sheet.figure, sheet.panels
    sheet.label(cells.x.label, cells.y.label)
    for panel, axes in enumerate(panels):
        _frame(cells, axes, wide, high)
        mesh = axes.pcolormesh(
            np.arange(across + 1) - 0.5,
            np.arange(up + 1) - 0.5,
            np.ma.masked_invalid(grid[panel] / unit),
            norm=norm,
            cmap=colours,
            edgecolors="white" if max(across, up) <= 40 else "face",
            linewidth=0.5 if max(across, up) <= 40 else 0.1,
            rasterized=across * up * cells.facets.count > MOST_OUTLINES,
        )
        if cells.diagonal:
            _outline(cells, axes)
    span = float(norm.vmax or 0) - float(norm.vmin or 0)
    # A corner takes up to three tenths of a cell.
    size = min(_CORNER["markersize"], 0.6 * 72 * min(wide, high))
    marks = _marks(cells, panels, span * unit, isinstance(norm, LogNorm), size)
    if np.isnan(grid).any():
        marks.append(Patch(facecolor=FAINT, edgecolor="none", label="not measured"))
    tall = cells.facets.rows * high * up
    bar = figure.colorbar(mesh, ax=panels, aspect=max(12, min(40, tall / 0.16)), pad=0.015)
    bar.set_label(textwrap.fill(cells.scale, _letters(tall + below)))
    bar.outline.set_visible(False)
    if cells.middle is not None:
        fair = cells.middle / unit
        bar.set_ticks([t for t in (0, 20, 40, 60, 80, 100) if abs(t - fair) > 6] + [fair])
    legend.above(figure, marks)
    # How large they may be is known when the cells have their size.
    figure.last.append(partial(_write, figure, panels, texts, mesh.cmap, norm, grid / unit))
    return figure


def _size(cells: Cells, across: int, up: int, widest: int) -> tuple[float, float]:
    """Width and height of a cell in inches."""
    side = max(0.3, (0.62 * widest * 6.5 + 5) / 72)
    wide = min(_MOST_IN, max(side, 1.7 / across), _WIDEST_IN / (across * cells.facets.columns))
    tall = _TALLEST_IN / (up * cells.facets.rows)
    high = min(wide if cells.diagonal else max(0.24, 1.5 / up), _MOST_IN, tall)
    return max(_LEAST_IN / 2, wide), max(_LEAST_IN / 2, high)


def _labels(cells: Cells, wide: float) -> tuple[float, float]:
    """The room in inches for labels longer than usual, beside the cells and below them."""
    beside = max(map(len, cells.y.ticks)) * _LETTER_IN
    below = max(map(len, cells.x.ticks)) * _LETTER_IN if _turned(cells.x, wide) else 0.0
    return max(0.0, beside - _USUAL_LABEL_IN), below


def _letters(tall: float) -> int:
    """How many letters of the colour bar's label fit beside panels of this height."""
    return max(_SHORTEST, int((tall + 0.3) / 0.85 / _LETTER_IN))


def _turned(x: Axis, wide: float) -> bool:
    """Whether the labels of columns stand upright: they are wider than a column."""
    return max(map(len, x.ticks)) * _LETTER_IN > wide


def _scale(cells: Cells, grid: np.ndarray, unit: float) -> tuple[Normalize, Colormap]:
    """How values become colours."""
    least, most = float(np.nanmin(grid)), float(np.nanmax(grid))
    if cells.middle is not None:
        return TwoSlopeNorm(cells.middle / unit, 0.0, 1.0 / unit), _DIVERGING
    colours = mpl.colormaps["viridis"]
    if least > 0 and most / least > 10**_DECADES:
        return LogNorm(least, most), colours
    if most == least:
        room = abs(most) * 0.05 or 1.0
        return Normalize(most - room, most + room), colours
    return Normalize(least, most), colours


def _frame(cells: Cells, axes: Axes, wide: float, high: float) -> None:
    """Ticks, labels and limits of a panel; rows of names are read from the top."""
    x, y = cells.x, cells.y
    axes.grid(visible=False)
    axes.set_facecolor(FAINT)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.tick_params(length=0)
    axes.set_xlim(-0.5, len(x.texts) - 0.5)
    axes.set_ylim(*((-0.5, len(y.texts) - 0.5) if y.numbers else (len(y.texts) - 0.5, -0.5)))
    axes.set_xticks(range(len(x.texts)), x.ticks)
    every = math.ceil(_LABEL_IN / high)
    axes.set_yticks(range(0, len(y.texts), every), y.ticks[::every])
    if _turned(x, wide):
        axes.tick_params(axis="x", labelrotation=90)
        every = math.ceil(_LABEL_IN / wide)
        axes.set_xticks(range(0, len(x.texts), every), x.ticks[::every])


def _outline(cells: Cells, axes: Axes) -> None:
    for row, variant in enumerate(cells.y.texts):
        if variant in cells.x.texts:
            corner = (cells.x.texts.index(variant) - 0.5, row - 0.5)
            axes.add_patch(
                Rectangle(corner, 1, 1, fill=False, edgecolor=INK, linewidth=0.9, zorder=4)
            )


def _marks(cells: Cells, panels: list[Axes], span: float, log: bool, size: float) -> list[Artist]:
    """Marks the cells whose colour is uncertain, and explains the marks in the legend.

    `size` is that of a corner, in points.
    """
    if log:
        means = [value.mean for value in cells.values.values()]
        span = math.log(max(means) / min(means))
    handles: list[Artist] = []
    wide: dict[int, list[tuple[int, int]]] = {}
    single: dict[int, list[tuple[int, int]]] = {}
    for (panel, row, column), value in cells.values.items():
        if value.low is None or value.high is None:
            single.setdefault(panel, []).append((row, column))
        elif _uncertain(value.low, value.high, span, log):
            wide.setdefault(panel, []).append((row, column))
    if wide:
        for panel, places in wide.items():
            _corners(panels[panel], places, size)
        label = f"95% interval longer than {100 * WIDE:.0f}% of the scale"
        handles.append(Line2D([], [], label=label, **_CORNER | _IN_LEGEND))
    if single and sum(map(len, single.values())) == len(cells.values):
        handles.append(Line2D([], [], linestyle="none", label="single runs: no intervals"))
    elif single:
        for panel, places in single.items():
            _rings(panels[panel], places)
        handles.append(Line2D([], [], linestyle="none", label="a single run: no interval", **_RING))
    if cells.diagonal:
        handles.append(Patch(fill=False, edgecolor=INK, linewidth=0.9, label="against itself"))
    return handles


_RING: dict[str, Any] = {
    "marker": "o",
    "markersize": 3.5,
    "markerfacecolor": "white",
    "markeredgecolor": INK,
}


def _uncertain(low: float, high: float, span: float, log: bool) -> bool:
    if log:
        return low <= 0 or math.log(high / low) > WIDE * span
    return high - low > WIDE * span


_CORNER: dict[str, Any] = {
    "linestyle": "none",
    "marker": Path([(0, 0), (-1, 0), (0, -1), (0, 0)]),
    "markersize": 11,
    "color": INK,
    "markeredgewidth": 0,
}


_IN_LEGEND: dict[str, Any] = {
    # The same triangle about its middle.
    "marker": Path([(0.5, 0.5), (-0.5, 0.5), (0.5, -0.5), (0.5, 0.5)]),
    "markersize": 7,
}


def _corners(axes: Axes, places: list[tuple[int, int]], size: float) -> None:
    """A triangle in the corner of each of these cells, up and right on paper."""
    down = -1 if axes.yaxis_inverted() else 1
    axes.plot(
        [c + 0.5 for _, c in places],
        [r + 0.5 * down for r, _ in places],
        zorder=3,
        **_CORNER | {"markersize": size},
    )


def _rings(axes: Axes, places: list[tuple[int, int]]) -> None:
    down = -1 if axes.yaxis_inverted() else 1
    axes.plot(
        [c + 0.35 for _, c in places],
        [r + 0.3 * down for r, _ in places],
        linestyle="none",
        zorder=3,
        **_RING,
    )


def _write(
    figure: Drawing,
    panels: list[Axes],
    texts: Mapping[tuple[int, int, int], str],
    colours: Colormap,
    norm: Normalize,
    grid: np.ndarray,
) -> None:
    """The numbers, as large as the cells hold all of them; none if they would be too small."""
    box = panels[0].get_window_extent()
    wide = box.width / figure.dpi * 72 / grid.shape[2]
    high = box.height / figure.dpi * 72 / grid.shape[1]
    widest = max(map(len, texts.values()))
    # A digit of the figures' font is 0.64 of its size wide.
    size = min(_LARGEST_PT, 0.88 * wide / (0.64 * widest), 0.75 * high)
    if size < _SMALLEST_PT:
        return
    light = colours(norm(np.ma.masked_invalid(grid)))[..., :3] ** 2.2 @ _LUMINANCE > _LIGHT
    for (panel, row, column), text in texts.items():
        panels[panel].text(
            column,
            row,
            text,
            ha="center",
            va="center_baseline",
            fontsize=size,
            color=INK if light[panel, row, column] else "white",
            zorder=5,
            # It is within its cell: nothing need make room for it.
            in_layout=False,
        )
