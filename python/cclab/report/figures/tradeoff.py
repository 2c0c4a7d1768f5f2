"""Delay against throughput: what each flow gets, and what the queue costs for it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from matplotlib.patches import Ellipse
from matplotlib.ticker import MaxNLocator

from cclab.drawing import legend
from cclab.drawing.marks import mark, note
from cclab.drawing.palette import Looks
from cclab.errors import InputError
from cclab.metrics import kind
from cclab.report.figures.asked import OF_VARIANTS, at_most, divided
from cclab.report.figures.facets import facets
from cclab.report.quantities import (
    Quantity,
    called,
    lent_in,
    measured,
    transfers_only,
    variants_of,
)
from cclab.report.swept import beside

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

    from cclab.drawing.palette import Look
    from cclab.drawing.style import Drawing
    from cclab.measure.points import Point
    from cclab.measure.results import Results
    from cclab.report.figures.asked import Asked
    from cclab.report.swept import Axis

TITLE = "Delay against throughput, or completion time"
CAPTION = (
    "Each small dot is a run, each large mark the mean of a flow's runs at a sweep point. The "
    "filled ellipse is the 95% confidence region of that mean (Hotelling), from five runs up. "
    "The dotted ellipse is one standard deviation of the runs (about 39% of them lie in it if "
    "they are normally distributed), from three runs up. Flows that are transfers are placed by "
    "their completion time, not by a throughput. The better corner is the upper right: axes of "
    "delay and of completion time run the other way. Each panel has its own axis of delay."
)
MOST_CLOUDS = 16
"""Marks in a panel; more hide each other."""

LEAST_FOR_ELLIPSE = 3
"""Two runs always lie on a line."""

LEAST_FOR_CONFIDENCE = 5
"""Of four runs the confidence region is 3.8 times as wide as that of one standard deviation, of
three 16 times: it would say nothing, and hide the others."""

LEAST_SPAN = 0.05
"""Of an axis, over the value in its middle: a delay is known to a cell of a histogram, of which the
widest is 0.8% of it, and two cells shall not be the two ends of a panel."""

NEEDS = "flows of two variants or more"

_DEFAULT = ("rtt_p95", "goodput")
_OF_TRANSFERS = ("rtt_p95", "fct_s")


@dataclass(frozen=True)
class Cloud:
    """The runs of a flow at a sweep point."""

    label: str
    style: Look
    x: np.ndarray
    y: np.ndarray


def draw(results: Results, asked: Asked) -> Drawing | None:
    """The figure; None without flows, and, unasked, where all are of one variant or without RTT."""
    if not any(name.startswith("flow.") for name in results.number_names):
        return None
    if not asked and len(_variants(results)) < 2:
        return None
    if asked.metrics and len(asked.metrics) != 2:
        raise InputError(f"tradeoff takes two metrics, X,Y, such as {','.join(_DEFAULT)}")
    across, up = (
        [called(results, name) for name in asked.metrics]
        if asked.metrics
        else [measured(results, name) for name in _natural(results)]
    )
    if not (across and up):
        return None
    apart, over = divided(results, asked)
    panels = facets(over)
    together = {tuple(a.place(p.params) for a in apart) for p in results.points if p.runs}
    most = len(together) * max(len(across), len(up))
    at_most(MOST_CLOUDS, most, "a panel would have {} marks of flows", "told apart", OF_VARIANTS)
    clouds: list[list[Cloud]] = [[] for _ in range(panels.count)]
    looks = Looks(lent_in(results))
    for point in results.points:
        if point.runs:
            own = _clouds(point, apart, across, up, looks)
            clouds[panels.panel([axis.place(point.params) for axis in over])] += own
    if not any(clouds):
        return None
    size = 4.2 if panels.count == 1 else 2.7
    sheet = panels.frame(size, 0.78 * size, one_x=False)
    furthest = max(float(np.abs(cloud.x).max()) for own in clouds for cloud in own)
    highest = max(float(np.abs(cloud.y).max()) for own in clouds for cloud in own)
    scales = across[0].unit(furthest)[0], up[0].unit(highest)[0]
    falls, sinks = across[0].less_is_better, up[0].less_is_better
    handles: dict[str, Line2D] = {}
    for axes, own in zip(sheet.panels, clouds, strict=True):
        axes.margins(0.12)
        for cloud in own:
            handles.setdefault(cloud.label, _mark(axes, cloud, *scales))
    first = sheet.panels[0]
    first.set_ylim(_spanned(first.get_ylim(), _least(clouds, "y")))
    if sinks:
        first.invert_yaxis()
    for axes, own in zip(sheet.panels, clouds, strict=True):
        axes.set_xlim(_spanned(axes.get_xlim(), _least([own], "x")))
        axes.xaxis.set_major_locator(MaxNLocator(5))
        if falls:
            axes.invert_xaxis()
    sheet.label(
        across[0].label(furthest) + (", less is better →" if falls else ""),
        up[0].label(highest) + (", less is better →" if sinks else ""),
    )
    running = _running(results) if up[0].metric == "fct_s" else 0
    if running:
        note(sheet.figure, f"without {running:,} transfers that did not end")
    legend.above(sheet.figure, list(handles.values()))
    return sheet.figure


def _natural(results: Results) -> tuple[str, str]:
    """Of transfers the completion time: the one that waits longest may have the highest rate."""
    transfers = all(transfers_only(point) for point in results.points if point.runs)
    return _OF_TRANSFERS if transfers and measured(results, "fct_s") else _DEFAULT


def _running(results: Results) -> int:
    """How many flows did not end."""
    flows = (flow for run in results.runs for flow in run.metrics["flows"])
    return sum(flow["fct_s"] is None for flow in flows)


def _least(clouds: list[list[Cloud]], axis: Literal["x", "y"]) -> float:
    """The smallest value of any cloud."""
    values = [getattr(cloud, axis).min() for own in clouds for cloud in own]
    return float(min(values, default=0.0))


def _spanned(ends: tuple[float, float], least: float) -> tuple[float, float]:
    """The ends of an axis, `LEAST_SPAN` apart at least; none below zero if no value, the `least`,
    is: an ellipse may go further.
    """
    low, high = ends
    middle, half = (low + high) / 2, (high - low) / 2
    half = max(half, LEAST_SPAN * abs(middle) / 2)
    low, high = middle - half, middle + half
    return (max(0.0, low) if least >= 0 else low), high


def _variants(results: Results) -> set[str]:
    return {kind(flow) for point in results.points for flow in point.flows}


def _clouds(
    point: Point,
    apart: list[Axis],
    across: list[Quantity],
    up: list[Quantity],
    looks: Looks,
) -> list[Cloud]:
    """A cloud for each flow that has both quantities; `looks` gives their looks."""
    made = []
    flows = variants_of(point)
    if not across[0].owner and not up[0].owner:
        variants = {variant for variant, _ in flows.values()}
        flows = {"": (variants.pop() if len(variants) == 1 else "", "all flows")}
    for flow, (variant, label) in flows.items():
        of_x = _of(flow, across)
        of_y = _of(flow, up)
        if of_x is None or of_y is None:
            continue
        pairs = [(of_x.of(run), of_y.of(run)) for run in point.runs]
        known = [(x, y) for x, y in pairs if x is not None and y is not None]
        if not known:
            continue
        label = beside(label, flow, (k for axis in apart for k in axis.keys), point.params)
        x, y = np.array(known).T
        made.append(Cloud(label, looks.of(label, variant), x, y))
    return made


def _of(flow: str, quantities: list[Quantity]) -> Quantity | None:
    """That of the flow, or the one that is of the whole run."""
    return next((q for q in quantities if q.owner in ("", flow)), None)


def _mark(axes: Axes, cloud: Cloud, x_unit: float, y_unit: float) -> Line2D:
    x, y, style = cloud.x / x_unit, cloud.y / y_unit, cloud.style
    if len(x) > 1:
        axes.plot(
            x, y, linestyle="none", marker=".", markersize=3.5, color=style.colour, alpha=0.55
        )
    if len(x) >= LEAST_FOR_ELLIPSE:
        spread = ellipse(x, y)
        spread.set(facecolor="none", edgecolor=(style.colour, 0.9), linestyle=":", linewidth=0.9)
        axes.add_patch(spread)
    if len(x) >= LEAST_FOR_CONFIDENCE:
        sure = ellipse(x, y, deviations=deviations_of_confidence(len(x)))
        sure.set(facecolor=(style.colour, 0.16), edgecolor=(style.colour, 0.9), linewidth=0.9)
        axes.add_patch(sure)
    more = {"markeredgewidth": 0.6, "zorder": 4, "label": cloud.label}
    return mark(axes, x.mean(), y.mean(), style, 6, **more)


def ellipse(x: np.ndarray, y: np.ndarray, deviations: float = 1.0) -> Ellipse:
    """The points within `deviations` of the mean: d' S^-1 d = deviations², S the covariance."""
    spread, directions = np.linalg.eigh(np.cov(x, y))
    wide, high = 2 * deviations * np.sqrt(np.maximum(spread[::-1], 0.0))
    angle = math.degrees(math.atan2(directions[1, 1], directions[0, 1]))
    centre = (float(x.mean()), float(y.mean()))
    return Ellipse(centre, float(wide), float(high), angle=angle, zorder=2)


def deviations_of_confidence(n: int) -> float:
    """How far the 95% confidence region of the mean of `n` pairs goes, in standard deviations.

    n (m - µ)' S^-1 (m - µ) is below 2 (n - 1) / (n - 2) F with a probability of 95%, where F is
    the quantile of the distribution with 2 and n - 2 degrees of freedom (Hotelling, The
    Generalization of Student's Ratio, 1931): with 2 it is (n - 2) / 2 (0.05^(-2 / (n - 2)) - 1).
    """
    return math.sqrt((n - 1) / n * (0.05 ** (-2 / (n - 2)) - 1))
