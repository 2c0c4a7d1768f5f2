"""The first flow's share of all goodput along a swept number."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from cclab.drawing import legend
from cclab.drawing.palette import Looks, lent
from cclab.drawing.style import MUTED, Drawing
from cclab.plan import short_key, text
from cclab.report.quantities import named

if TYPE_CHECKING:
    from cclab.measure.results import Results
    from cclab.measure.stats import Estimate

TITLE = "Share along a swept quantity"
CAPTION = (
    "The first flow's part of the goodput of all flows that it shares the link with; the dotted "
    "line is an equal share. Lines join the means over runs, bands are 95% bootstrap intervals "
    "over runs."
)

LEAST_VALUES = 5
"""Fewer points than this are no curve: the goodput figure shows them."""

_MOST_CURVES = 8

NEEDS = (
    f"two flows or more, and a swept key that takes {LEAST_VALUES} or more numbers; at most "
    f"{_MOST_CURVES} curves along it"
)

_QUANTITY = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z%]*)")


def draw(results: Results) -> Drawing | None:
    """The figure; None without several flows and a swept key of five or more numbers."""
    points = [point for point in results.points if point.runs]
    flows = {len(results.summary_of(point).flows) for point in points}
    if not points or min(flows) < 2:
        return None
    axis, unit = _axis([point.params for point in points])
    if axis is None:
        return None
    curves: dict[tuple[str, str], list[tuple[float, Estimate]]] = {}
    for point in points:
        others = [f"{short_key(k)} = {text(v)}" for k, v in point.params.items() if k != axis]
        first = results.summary_of(point).flows[0]
        if first.share is not None:
            x = _number(point.params[axis])
            curves.setdefault((", ".join(others), first.kind), []).append((x, first.share))
    if not curves or len(curves) > _MOST_CURVES:
        return None
    variants = {variant for _, variant in curves}
    looks = Looks(lent([variants]))
    figure = Drawing(figsize=(6.4, 3.2), layout="constrained")
    axes = figure.add_subplot()
    axes.axhline(1 / max(flows), color=MUTED, linewidth=0.9, linestyle=":")
    for (label, variant), curve in curves.items():
        style = looks.of(label, variant)
        curve.sort(key=lambda pair: pair[0])
        xs = [x for x, _ in curve]
        bands = [(e.low, e.high) for _, e in curve if e.low is not None and e.high is not None]
        if len(bands) == len(curve):
            lows, highs = zip(*bands, strict=True)
            axes.fill_between(xs, lows, highs, color=style.colour, alpha=0.2, linewidth=0)
        axes.plot(
            xs,
            [estimate.mean for _, estimate in curve],
            color=style.colour,
            linestyle=style.dash,
            marker=style.marker,
            markersize=3,
            label=label or None,
        )
    axes.set_ylim(0, 1)
    axes.margins(x=0.02)
    axes.set_xlabel(f"{short_key(axis)} ({unit})" if unit else short_key(axis))
    axes.set_ylabel(f"share of {named(first.name, variants.pop() if len(variants) == 1 else '')}")
    handles, _ = axes.get_legend_handles_labels()
    if handles:
        legend.above(figure, handles)
    return figure


def _axis(params: list[dict[str, object]]) -> tuple[str | None, str]:
    """The swept key with the most numbers of one unit, and the unit."""
    best, unit, most = None, "", LEAST_VALUES - 1
    for key in params[0]:
        matches = [_QUANTITY.fullmatch(text(point[key])) for point in params]
        units = {match[2] for match in matches if match}
        values = {match[1] for match in matches if match}
        if all(matches) and len(units) == 1 and len(values) > most:
            best, unit, most = key, units.pop(), len(values)
    return best, unit


def _number(value: object) -> float:
    match = _QUANTITY.fullmatch(text(value))
    assert match is not None, "the axis has numbers only"
    return float(match[1])
