"""A metric along a swept number, a line for each flow and variant, a panel for all else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from matplotlib.ticker import NullFormatter, NullLocator

from cclab.drawing import legend
from cclab.drawing.marks import band, highest, lowest, settings
from cclab.drawing.palette import Looks
from cclab.drawing.style import MUTED
from cclab.errors import InputError
from cclab.plan import text
from cclab.report.figures.asked import ONE_FLOW, SOME_VALUES, at_most
from cclab.report.figures.facets import facets
from cclab.report.figures.heatmap import fair_share
from cclab.report.quantities import called, estimated, lent_in, measured, variants_of
from cclab.report.swept import axes_of, axis_called, beside

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

    from cclab.drawing.palette import Look
    from cclab.drawing.style import Drawing
    from cclab.measure.points import Point
    from cclab.measure.results import Results
    from cclab.measure.stats import Estimate
    from cclab.report.figures.asked import Asked
    from cclab.report.figures.facets import Facets
    from cclab.report.quantities import Quantity
    from cclab.report.swept import Axis

TITLE = "Along a swept number"
CAPTION = (
    "The mean over runs at each value; bands are 95% bootstrap intervals over runs. Colour and "
    "marker show the variant; panels stand for the other swept keys. A dotted line is an equal "
    "share."
)
LEAST_VALUES = 3
"""Fewer points than this are no curve, unless one is asked for."""

MOST_LINES = 16
MOST_POINTS = 6_000
"""Of all panels together."""

NEEDS = "a swept key whose values are numbers"

SHARE_TITLE = "Share against the size of the buffer"
SHARE_CAPTION = (
    "A flow's part of the goodput of all flows that it shares the link with, mean over runs, at "
    "each limit of the queue; bands are 95% bootstrap intervals over runs, the dotted line is an "
    "equal share."
)
SHARE_NEEDS = "several flows, and the limit of the queue swept over numbers of one unit"

_LIMIT = "queue.limit"
_SPREAD = 8
"""Largest over smallest value from which an axis is logarithmic."""


@dataclass
class _Line:
    """A line of a panel."""

    label: str
    style: Look
    points: list[tuple[float, Estimate]]


def draw(results: Results, asked: Asked) -> Drawing | None:
    """The figure; None without a swept number."""
    axes = axes_of([point.params for point in results.plan.points])
    axis = _numeric(axes, asked)
    if axis is None or (not asked and len(axis.texts) < LEAST_VALUES):
        return None
    quantities = (
        called(results, asked.metrics[0]) if asked.metrics else measured(results, "goodput")
    )
    return along(results, quantities, axes, axis) if quantities else None


def draw_share(results: Results, asked: Asked) -> Drawing | None:
    """The figure of shares over the size of the buffer; None without one or the other."""
    axes = axes_of([point.params for point in results.plan.points])
    if asked.axes:
        axis: Axis | None = _numeric(axes, asked)
    else:
        limits = [a for a in axes if any(key.endswith(_LIMIT) for key in a.keys)]
        axis = next((a for a in limits if a.numbers is not None), None)
    shares = measured(results, "flow.share")
    if axis is None or len(shares) < 2 or (not asked and len(axis.texts) < LEAST_VALUES):
        return None
    return along(results, shares, axes, axis)


def _numeric(axes: Sequence[Axis], asked: Asked) -> Axis | None:
    """The axis to draw along: the one asked for, else the one with the most numbers."""
    if asked.axes:
        axis = axis_called(axes, asked.axes[0])
        if axis.numbers is None:
            raise InputError(
                f"the values of {axis.name} are no numbers of one kind: {', '.join(axis.texts)}"
            )
        return axis
    numeric = [axis for axis in axes if axis.numbers is not None]
    return max(numeric, key=lambda axis: len(axis.texts), default=None)


def along(
    results: Results, quantities: Sequence[Quantity], axes: Sequence[Axis], axis: Axis
) -> Drawing | None:
    """Quantities of one metric along `axis`: lines for variants, panels for the other axes.

    Raises `TooMuchError` if a panel would have more than `MOST_LINES`.
    """
    assert axis.numbers is not None, "the axis has numbers"
    apart = [a for a in axes if a.of_variants and a != axis]
    over = [a for a in axes if a not in (axis, *apart)]
    panels = facets(over)
    pairs = {tuple(a.place(p.params) for a in apart) for p in results.points if p.runs}
    most = len(pairs) * len(quantities)
    at_most(MOST_LINES, most, "a panel would have {} lines", "told apart", ONE_FLOW)
    rows: dict[tuple[int, str, str, float], list[float | None]] = {}
    for point in results.points:
        if not point.runs:
            continue
        panel = panels.panel([a.place(point.params) for a in over])
        x = axis.numbers[axis.place(point.params)]
        for quantity in quantities:
            rows[panel, *_named(point, quantity, apart), x] = quantity.values(point)
    at_most(MOST_POINTS, len(rows), "it would have {} points", "seen", SOME_VALUES)
    lines: list[dict[str, _Line]] = [{} for _ in range(panels.count)]
    looks = Looks(lent_in(results))
    for (panel, label, variant, x), value in estimated(rows).items():
        line = lines[panel].setdefault(label, _Line(label, looks.of(label, variant), []))
        line.points.append((x, value))
    if not any(lines):
        return None
    return _drawn(quantities[0], axis, panels, lines, fair_share(results, quantities))


def _named(point: Point, quantity: Quantity, apart: Sequence[Axis]) -> tuple[str, str]:
    """What a line is called, and the variant that it looks like."""
    flows = variants_of(point)
    flow = quantity.owner
    swept = [key for a in apart for key in a.keys]
    if flow not in flows:
        last = text(point.params[swept[-1]]) if swept else ""
        return beside(flow, "", swept, point.params), last
    variant, label = flows[flow]
    return beside(label, flow, swept, point.params), variant


def _drawn(
    quantity: Quantity,
    axis: Axis,
    panels: Facets,
    lines: list[dict[str, _Line]],
    fair: float | None,
) -> Drawing:
    sheet = panels.frame(*panels.size)
    estimates = [value for own in lines for line in own.values() for _, value in line.points]
    top, least = max(map(highest, estimates)), min(map(lowest, estimates))
    furthest = max(abs(top), abs(least))
    divisor, _, _ = quantity.unit(furthest)
    handles: dict[str, Line2D] = {}
    for axes, own in zip(sheet.panels, lines, strict=True):
        if fair is not None and quantity.metric == "share":
            axes.axhline(fair / divisor, color=MUTED, linewidth=0.9, linestyle=":", zorder=1)
        for label, line in own.items():
            handles.setdefault(label, _plot(axes, line, divisor))
    first = sheet.panels[0]
    _scale(first, axis)
    if quantity.metric == "share":
        first.set_ylim(0, 100)
    elif least >= 0:
        first.set_ylim(0, 1.06 * top / divisor or 1)
    sheet.label(axis.label, quantity.label(furthest))
    legend.above(sheet.figure, [handle for label, handle in handles.items() if label])
    return sheet.figure


def _plot(axes: Axes, line: _Line, divisor: float) -> Line2D:
    points = sorted(line.points, key=lambda pair: pair[0])
    band(axes, points, line.style.colour, divisor)
    means = [value.mean / divisor for _, value in points]
    (drawn,) = axes.plot([x for x, _ in points], means, **settings(line.style, label=line.label))
    return drawn


def _scale(axes: Axes, axis: Axis) -> None:
    """Ticks at the values as the study writes them, as many as stay apart."""
    assert axis.numbers is not None, "the axis has numbers"
    least, most = axis.numbers[0], axis.numbers[-1]
    log = least > 0 and most / least >= _SPREAD
    if log:
        axes.set_xscale("log")
    axes.margins(x=0.04)
    ratio = (most / least) ** 0.11 if log else 0.11 * (most - least)
    shown: list[int] = []
    for place, number in enumerate(axis.numbers):
        last = axis.numbers[shown[-1]] if shown else None
        if last is None or (number / last >= ratio if log else number - last >= ratio):
            shown.append(place)
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xticks([axis.numbers[i] for i in shown], [axis.ticks[i] for i in shown])
