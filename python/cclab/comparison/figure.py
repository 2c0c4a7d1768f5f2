"""The figure of a comparison: differences with their intervals, a panel for each metric."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from matplotlib.patches import Patch

from cclab.drawing import legend
from cclab.drawing.marks import note
from cclab.drawing.palette import BLUE, GREEN, VERMILLION
from cclab.drawing.style import INK, MUTED, Drawing
from cclab.drawing.ticks import finished
from cclab.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

    from cclab.comparison.margin import Margin
    from cclab.comparison.metric import Metric
    from cclab.comparison.results import Compared, Comparison
    from cclab.measure.stats import Estimate

_SHADE = "#f6d9c9"
_LOOKS: dict[str, tuple[str, str, str]] = {
    "better": (GREEN, "^", "better"),
    "no-worse": (BLUE, "o", "no worse"),
    "worse": (VERMILLION, "v", "worse"),
    "undecided": (MUTED, "s", "undecided"),
    "higher": (INK, "D", "higher"),
    "lower": (INK, "d", "lower"),
    "no-evidence": (MUTED, "s", "no evidence"),
}
"""Colour, marker and words of each verdict."""

_MOST_ROWS = 48
"""Rows of a panel; of more, those with the strongest evidence."""

_MOST_COLUMNS = 3
_PANEL_IN = 2.3
_ROW_IN = 0.21
_LETTER_IN = 0.068
_ARROWS = {"higher": " ↑", "lower": " ↓", None: ""}
"""The way in which a metric gets better."""


@dataclass(frozen=True)
class _Row:
    label: str
    compared: Compared
    estimate: Estimate | None
    """The difference relative to A, of fractions the absolute one; None where A's mean is zero."""


@dataclass(frozen=True)
class _Panel:
    metric: Metric
    rows: list[_Row]
    left_out: int
    """Rows that are not drawn."""


def forest(compared: Comparison) -> Drawing:
    """The figure: in each panel a metric, in each row a sweep point of a flow, or of the run.

    Per cent are of A's mean, as in the table; differences of fractions are in points. With a
    margin, shade marks the side on which B is worse by more than the margin; if the margin differs
    from row to row, a dashed line in each row marks its edge.

    Raises `InputError` if no difference was measured.
    """
    panels = _panels(compared)
    if not panels:
        raise InputError("nothing to draw: no metric was measured on both sides")
    made = finished(lambda: _drawn(compared, panels))
    assert made is not None, "it is drawn of all panels"
    return made


def _drawn(compared: Comparison, panels: Sequence[_Panel]) -> Drawing:
    lines = _lines(panels)
    columns = max(map(len, lines))
    labels = max(len(row.label) for panel in panels for row in panel.rows) * _LETTER_IN
    heights = [max(len(panel.rows) for panel in line) * _ROW_IN + 0.75 for line in lines]
    size = (max(labels + columns * _PANEL_IN, 4.8), sum(heights) + 0.25)
    figure = Drawing(figsize=size, layout="constrained")
    grid = figure.add_gridspec(len(lines), columns, height_ratios=heights)
    for across, line in enumerate(lines):
        for down, panel in enumerate(line):
            axes = figure.add_subplot(grid[across, down])
            _draw(axes, panel, compared.margin, named=down == 0)
    legend.above(figure, _handles(panels, compared.margin))
    a, b = compared.a.label, compared.b.label
    note(
        figure,
        f"B ({b}) against A ({a}); bars are 95% intervals over runs; ↑ ↓: the better way",
    )
    return figure


def _panels(compared: Comparison) -> list[_Panel]:
    """What is drawn of each metric that has anything to draw."""
    rows: dict[Metric, list[_Row]] = {}
    several = len(compared.points) > 1
    for point in compared.points:
        for name, comparison in point.named:
            if comparison.difference is None:
                continue
            label = name if not several else f"{name}, {point.match.label}"
            if several and name == "whole run":
                label = point.match.label
            rows.setdefault(comparison.metric, []).append(
                _Row(label, comparison, _estimate(comparison))
            )
    return [
        _Panel(metric, _strongest(of_metric), max(len(of_metric) - _MOST_ROWS, 0))
        for metric, of_metric in rows.items()
        if any(row.estimate is not None for row in of_metric)
    ]


def _estimate(compared: Compared) -> Estimate | None:
    difference = compared.difference
    if difference is None:
        return None
    if compared.metric.bounded:
        return difference.absolute
    # Equal is equal, also where nothing can be relative to A.
    return difference.relative or (difference.absolute if difference.absolute.mean == 0 else None)


def _strongest(rows: list[_Row]) -> list[_Row]:
    def evidence(number: int) -> tuple[float, int]:
        p = rows[number].compared.p
        return (math.inf if p is None else p, number)

    chosen = sorted(sorted(range(len(rows)), key=evidence)[:_MOST_ROWS])
    return [rows[number] for number in chosen]


def _lines(panels: Sequence[_Panel]) -> list[list[_Panel]]:
    """The panels in lines: those with the same rows stand side by side, equally many in a line."""
    lines: list[list[_Panel]] = []
    for _, alike in itertools.groupby(panels, _labels):
        block = list(alike)
        per_line = math.ceil(len(block) / math.ceil(len(block) / _MOST_COLUMNS))
        lines += [block[first : first + per_line] for first in range(0, len(block), per_line)]
    return lines


def _labels(panel: _Panel) -> list[str]:
    return [row.label for row in panel.rows]


def _code(compared: Compared) -> str:
    return compared.standing or compared.verdict.code


def _draw(axes: Axes, panel: _Panel, margin: Margin | None, *, named: bool) -> None:
    metric = panel.metric
    scale, unit = _scale(metric)
    axes.axvline(0, color=MUTED, linewidth=0.8, zorder=1)
    for place, row in enumerate(panel.rows):
        if row.estimate is None:
            axes.annotate("A is 0", (0, place), fontsize=7, color=MUTED, va="center")
            continue
        _draw_row(axes, place, row.estimate, scale, *_LOOKS[_code(row.compared)][:2])
    axes.set_ylim(len(panel.rows) - 0.4, -0.6)
    axes.set_yticks(range(len(panel.rows)), _labels(panel) if named else [])
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="y")
    axes.margins(x=0.08)
    axes.locator_params(axis="x", nbins=5)
    low, high = axes.get_xlim()
    low, high = min(low, 0.0), max(high, 0.0)
    if margin is not None and metric.better is not None and _of_rows(metric, margin):
        bounds = _draw_bounds(axes, panel, margin, scale)
        low, high = min(low, *(1.1 * x for x in bounds)), max(high, *(1.1 * x for x in bounds))
    elif margin is not None and metric.better is not None:
        bound = scale * (margin.bound(metric, 1.0) if metric.bounded else margin.share or 0.0)
        low, high = min(low, -1.25 * bound), max(high, 1.25 * bound)
        worse = (low, -bound) if metric.better == "higher" else (bound, high)
        axes.axvspan(*worse, color=_SHADE, linewidth=0, zorder=0)
        edge = -bound if metric.better == "higher" else bound
        axes.axvline(edge, color=_LOOKS["worse"][0], linewidth=0.8, linestyle="--", zorder=1)
    axes.set_xlim(low, high)
    axes.set_title(f"{metric.title}{_ARROWS[metric.better]}")
    more = f"; {panel.left_out} rows more" if panel.left_out else ""
    axes.set_xlabel(f"difference{unit}{more}")


def _of_rows(metric: Metric, margin: Margin) -> bool:
    """Whether the margin differs from row to row: it is a share of A's mean, and differences are
    absolute."""
    return metric.bounded and not margin.in_points(metric)


def _draw_bounds(axes: Axes, panel: _Panel, margin: Margin, scale: float) -> list[float]:
    """Draws where B is worse by more than the margin in each row, and returns these places."""
    bounds = [0.0]
    side = -scale if panel.metric.better == "higher" else scale
    for place, row in enumerate(panel.rows):
        if row.compared.difference is None:
            continue
        bound = side * margin.bound(panel.metric, row.compared.difference.a.mean)
        bounds.append(bound)
        axes.plot(
            [bound, bound],
            [place - 0.35, place + 0.35],
            color=_LOOKS["worse"][0],
            linewidth=0.8,
            linestyle="--",
            zorder=1,
        )
    return bounds


def _scale(metric: Metric) -> tuple[float, str]:
    """What differences are multiplied by, and the unit that they then have."""
    if not metric.bounded:
        return 100.0, " (%)"
    return (100.0, " (points)") if metric.is_percentage else (1.0, "")


def _draw_row(
    axes: Axes, place: int, estimate: Estimate, scale: float, colour: str, marker: str
) -> None:
    if estimate.low is not None and estimate.high is not None:
        ends = [scale * estimate.low, scale * estimate.high]
        axes.plot(ends, [place, place], color=colour, linewidth=1.4, solid_capstyle="butt")
        axes.plot(ends, [place, place], color=colour, linestyle="", marker="|", markersize=5)
    # Hollow without an interval: such a point says nothing of other runs.
    face = "white" if estimate.low is None else colour
    axes.plot(
        [scale * estimate.mean],
        [place],
        color=colour,
        marker=marker,
        markersize=5,
        markerfacecolor=face,
        linestyle="",
        zorder=3,
    )


def _handles(panels: Sequence[_Panel], margin: Margin | None) -> list[Line2D | Patch]:
    """The verdicts that are there, in a fixed order; then the margin."""
    seen = {_code(row.compared) for panel in panels for row in panel.rows}
    handles: list[Line2D | Patch] = [
        legend.entry(words, color=colour, marker=marker, linewidth=1.4, markersize=5)
        for code, (colour, marker, words) in _LOOKS.items()
        if code in seen
    ]
    if margin is not None:
        handles.append(Patch(color=_SHADE, label=f"worse by more than {margin}"))
    return handles
