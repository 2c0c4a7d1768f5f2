"""The table of flows: one row per flow and sweep point, and what is of the point beside them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cclab import metrics
from cclab.kernel import DEFAULT
from cclab.measure import grouped
from cclab.plan import short_key, text
from cclab.report.cells import NONE, Cells, only_measured
from cclab.tabular import Table

if TYPE_CHECKING:
    from collections.abc import Callable

    from cclab.measure.results import Results
    from cclab.measure.stats import Estimate
    from cclab.measure.summary import PointSummary
    from cclab.metrics import Metric

HOLDS_BACK = {
    "cwnd": "cwnd",
    "rwnd": "receiver window",
    "application": "application",
    "sndbuf": "send buffer",
    "pacing": "pacing",
}
"""What `limited` calls each limit, in words."""


def table(results: Results, most: int | None = None, *, every: bool = False) -> Table:
    """The table of `results`: columns for the swept keys, the flow, and the bottleneck.

    With `most`, only the first so many sweep points. At points with many flows, those of a group
    are one row, with means over them; not with `every`.
    """
    keys = list(results.plan.points[0].params)
    of_flows = [flow for point in results.summaries for flow in point.flows]
    counted = _uneven(results)
    shown = _Shown(
        [
            Cells.of(metric, [flow.estimate(metric.name) for flow in of_flows])
            for metric in metrics.columns("flow")
            if not only_measured(metric)
            or any(flow.estimate(metric.name) is not None for flow in of_flows)
        ],
        [
            Cells.of(
                metric,
                [
                    _of_way(point, metric, way)
                    for point in results.summaries
                    for way in _ways(point)
                ],
            )
            for subject in ("bottleneck", "run")
            for metric in metrics.columns(subject)
        ],
    )
    both_ways = any(len(_ways(point)) > 1 for point in results.summaries)
    kernels = _kernels(results)
    limits = shown.limits
    headings = [
        *map(short_key, keys),
        "flow",
        "variant",
        # The swept key of that name has the first of both columns.
        *(["own kernel" if "kernel" in keys else "kernel"] if kernels else []),
        *(cells.heading for cells in shown.flow[:limits]),
        "limited by",
        *(cells.heading for cells in shown.flow[limits:]),
        *(["direction"] if both_ways else []),
        *(cells.heading for cells in shown.point),
        *(["runs"] if counted else []),
    ]
    of_point = len(shown.point) + both_ways + counted
    numeric = [
        *(False for _ in keys),
        *(False, False),
        *(False for _ in kernels[:1]),
        *(True for _ in shown.flow[:limits]),
        False,
        *(True for _ in shown.flow[limits:]),
        *(False for _ in range(both_ways)),
        *(True for _ in range(of_point - both_ways)),
    ]
    groups = [
        _rows(summary, shown, counted, both_ways, every, kernels[index : index + 1])
        for index, summary in enumerate(results.summaries[:most])
    ]
    return Table(headings, numeric, groups, len(keys), of_point)


@dataclass(frozen=True)
class _Shown:
    """The columns of numbers of flows and of sweep points."""

    flow: list[Cells]
    point: list[Cells]

    @property
    def limits(self) -> int:
        """How many of the columns of flows stand before what limited them: those of every study."""
        return sum(not only_measured(cells.metric) for cells in self.flow)


def _ways(point: PointSummary) -> list[str]:
    """The directions in which data of flows go, `forward` first; it is one without flows, too."""
    return sorted({flow.direction for flow in point.flows}) or ["forward"]


def _is_alone(point: PointSummary, way: str) -> bool:
    """Whether less than two flows go that way."""
    return sum(flow.direction == way for flow in point.flows) < 2


def _of_way(point: PointSummary, metric: Metric, way: str) -> Estimate | None:
    """What tables show of `metric` of the bottleneck or the run, of one direction."""
    # Of a flow that goes its way alone there is nothing to tell.
    if metric.name == "jain" and _is_alone(point, way):
        return None
    of = point.of_bottleneck if metric.subject == "bottleneck" else point.of_whole
    return of(metric.name if way == "forward" else f"reverse_{metric.name}")


def _uneven(results: Results) -> bool:
    """Whether sweep points have different numbers of runs: a rule stopped each, or some failed."""
    return len({point.n for point in results.summaries}) > 1


def _kernels(results: Results) -> list[dict[str, str]]:
    """The kernel of each flow at each sweep point; empty where all are the default, or what the
    swept key `kernel` says."""
    with_runs = [point.runs[0].metrics for point in results.points if point.runs]
    kernels = [
        {
            flow: machine["kernel"]
            for machine in run.get("machines", [])
            for flow in machine["flows"]
        }
        if all("kernel" in machine for machine in run.get("machines", []))
        else {}
        for run in with_runs
    ]
    said = [point.params.get("kernel", DEFAULT) for point in results.points if point.runs]
    both = zip(kernels, said, strict=True)
    return kernels if any(kernel != asked for of, asked in both for kernel in of.values()) else []


def folds(results: Results) -> bool:
    """Whether `table` has fewer rows than there are flows."""
    return any(group.each for point in results.summaries for group in point.groups)


@dataclass(frozen=True)
class _FlowRow:
    """A flow, or the flows of a group as one."""

    name: str
    flows: list[str]
    """The names of those that it stands for."""
    cc: str
    direction: str
    estimate: Callable[[str], Estimate | None]
    limited_by: tuple[str, float] | None


def _flow_rows(point: PointSummary, every: bool) -> list[_FlowRow]:
    """The rows of a sweep point: groups first where they are folded, each way by itself."""
    folded = [] if every else [(g.name, each) for g in point.groups for each in g.each]
    inside = {name for _, each in folded for name in each.names}
    return [
        _FlowRow(
            f"{group} (mean of {len(each.names)})",
            each.names,
            each.cc,
            each.direction,
            each.estimate,
            grouped.longest(each.limited),
        )
        for group, each in folded
    ] + [
        _FlowRow(flow.name, [flow.name], flow.kind, flow.direction, flow.estimate, flow.limited_by)
        for flow in point.flows
        if flow.name not in inside
    ]


def _rows(
    point: PointSummary,
    shown: _Shown,
    counted: bool,
    both_ways: bool,
    every: bool,
    kernels: list[dict[str, str]],
) -> list[list[str]]:
    """The rows of a sweep point: those of one direction after the others, each with what is of its
    direction in its first. `kernels` are those of its flows, if they are shown."""
    params = [text(value) for value in point.params.values()]
    limits = shown.limits
    rows: list[list[str]] = []
    flows = _flow_rows(point, every)
    for way in _ways(point):
        own = [flow for flow in flows if flow.direction == way]
        for index, flow in enumerate(own):
            of_way = [
                *([way] if both_ways else []),
                *(cells.text(_of_way(point, cells.metric, way)) for cells in shown.point),
                *([str(point.n)] if counted else []),
            ]
            numbers = [cells.text(flow.estimate(cells.metric.name)) for cells in shown.flow]
            rows.append(
                [
                    *("" if rows else value for value in params),
                    flow.name,
                    flow.cc,
                    *(", ".join({of.get(name, NONE): 0 for name in flow.flows}) for of in kernels),
                    *numbers[:limits],
                    _held_back(flow),
                    *numbers[limits:],
                    *(of_way if index == 0 else ["" for _ in of_way]),
                ]
            )
    return rows


def _held_back(flow: _FlowRow) -> str:
    limit = flow.limited_by
    if limit is None or limit[1] <= 0:
        return NONE
    return f"{HOLDS_BACK.get(limit[0], limit[0])} {100 * limit[1]:.0f}%"
