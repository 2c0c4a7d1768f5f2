"""The first flow's share of all goodput along a swept number."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from cclab.drawing import legend
from cclab.drawing.marks import band, settings
from cclab.drawing.palette import Looks, lent
from cclab.drawing.sheet import alone
from cclab.drawing.style import MUTED
from cclab.plan import in_words, short_key, text
from cclab.report.quantities import named

if TYPE_CHECKING:
    from cclab.drawing.style import Drawing
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
    flows = {len(point.flows) for point in points}
    if not points or min(flows) < 2:
        return None
    axis, unit = _axis([point.params for point in points])
    if axis is None:
        return None
    curves: dict[tuple[str, str], list[tuple[float, Estimate]]] = {}
    for point in points:
        others = in_words({key: value for key, value in point.params.items() if key != axis})
        first = results.summary_of(point).flows[0]
        if first.share is not None:
            x = _number(point.params[axis])
            curves.setdefault((", ".join(others), first.kind), []).append((x, first.share))
    if not curves or len(curves) > _MOST_CURVES:
        return None
    variants = {variant for _, variant in curves}
    looks = Looks(lent([variants]))
    figure, axes = alone((6.4, 3.2))
    axes.axhline(1 / max(flows), color=MUTED, linewidth=0.9, linestyle=":")
    for (label, variant), curve in curves.items():
        style = looks.of(label, variant)
        curve.sort(key=lambda pair: pair[0])
        band(axes, curve, style.colour)
        xs, means = zip(*((x, estimate.mean) for x, estimate in curve), strict=True)
        axes.plot(xs, means, **settings(style, label=label or None))
    axes.set_ylim(0, 1)
    axes.margins(x=0.02)
    axes.set_xlabel(f"{short_key(axis)} ({unit})" if unit else short_key(axis))
    axes.set_ylabel(f"share of {named(first.name, variants.pop() if len(variants) == 1 else '')}")
    legend.above(figure, axes.get_legend_handles_labels()[0])
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
