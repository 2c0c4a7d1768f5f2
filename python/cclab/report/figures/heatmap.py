"""A metric over two swept axes, in colours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cclab.errors import InputError
from cclab.report.figures import cells
from cclab.report.figures.facets import facets
from cclab.report.quantities import called, estimated, measured
from cclab.report.swept import axes_of, axis_called

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cclab.drawing.style import Drawing
    from cclab.measure.results import Results
    from cclab.report.figures.asked import Asked
    from cclab.report.quantities import Quantity
    from cclab.report.swept import Axis

TITLE = "Heat map over two swept keys"
CAPTION = (
    "The mean over runs at each sweep point, in colour and, where it fits, in figures. A corner "
    "marks cells whose 95% bootstrap interval over runs is longer than a fifth of the colour "
    "scale. Numbers are in ascending order, names as the study lists them."
)
NEEDS = "two swept keys"

_LEAST_CELLS = 6


def draw(results: Results, asked: Asked) -> Drawing | None:
    """The figure; None without two swept keys, and, unasked, with too few cells for one."""
    axes = axes_of([point.params for point in results.plan.points])
    chosen = [axis_called(axes, pattern) for pattern in asked.axes]
    if len(set(chosen)) < len(chosen):
        raise InputError(f"the two axes are the same: {chosen[0].name}")
    candidates = sorted(
        (axis for axis in axes if axis not in chosen),
        key=lambda axis: (axis.of_variants, axis.numbers is None, -len(axis.texts)),
    )
    if len(chosen) + len(candidates) < 2:
        return None
    pair = (chosen + candidates)[:2]
    if not asked and (
        all(axis.of_variants for axis in pair)
        or len(pair[0].texts) * len(pair[1].texts) < _LEAST_CELLS
    ):
        return None
    quantities = called(results, asked.metrics[0]) if asked.metrics else _natural(results)
    return None if not quantities else over(results, quantities, axes, pair[0], pair[1])


def over(
    results: Results,
    quantities: Sequence[Quantity],
    axes: Sequence[Axis],
    x: Axis,
    y: Axis,
    *,
    scale: str = "",
    diagonal: bool = False,
) -> Drawing | None:
    """The heat map of quantities of one metric over `x` and `y`, a panel for each of the rest.

    `scale` is what the colour bar says, if not the metric; `diagonal` outlines equal values.
    """
    others = [axis for axis in axes if axis not in (x, y)]
    variety = [quantity.owner for quantity in quantities] if len(quantities) > 1 else [""]
    panels = facets(others, variety)
    cells.check(x, y, panels)
    rows: dict[tuple[int, int, int], list[float | None]] = {}
    for point in results.points:
        places = [axis.place(point.params) for axis in others]
        for kind, quantity in enumerate(quantities):
            at = (panels.panel(places, kind), y.place(point.params), x.place(point.params))
            rows[at] = quantity.values(point)
    values = estimated(rows)
    if not values:
        return None
    first = quantities[0]
    title = first.label(max(abs(value.mean) for value in values.values()))
    owner = f"{first.owner}: " if len(quantities) == 1 and first.owner else ""
    middle = fair_share(results, quantities) if first.metric == "share" else None
    scale = scale or f"{owner}{title}"
    return cells.draw(cells.Cells(x, y, panels, first, values, middle, scale, diagonal))


def fair_share(results: Results, quantities: Sequence[Quantity]) -> float | None:
    """The share of a flow in an equal division; None if that differs between the runs."""
    fair = set()
    for point in results.points:
        for run in point.runs[:1]:
            names = [flow["name"] for flow in run.metrics["flows"]]
            for quantity in quantities:
                own = [n for n in names if n == quantity.owner or _copy(n, quantity.owner)]
                fair.add(len(own) / len(names) if names else 0.0)
    value = fair.pop() if len(fair) == 1 else 0.0
    return value if 0 < value < 1 else None


def _copy(name: str, of: str) -> bool:
    return name.startswith(f"{of}.") and name[len(of) + 1 :].isdigit()


def _natural(results: Results) -> list[Quantity]:
    """The default metric: fairness of several flows, goodput of one."""
    names = results.number_names
    several = len({n for n in names if n.startswith("flow.") and n.endswith(".share")}) > 1
    metrics = ("jain", "goodput") if several else ("goodput", "bottleneck.utilization")
    return next(filter(None, (measured(results, metric) for metric in metrics)), [])
