"""The table of a report: one row per flow and sweep point, as text, Markdown and CSV."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cclab import grouped, metrics, units
from cclab.plan import short_key, text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import polars as pl

    from cclab.metrics import Metric
    from cclab.results import Point, Results
    from cclab.stats import Estimate
    from cclab.summary import PointSummary, ProbeSummary, TrafficSummary

_NONE = "–"

MOST_POINTS = 300
"""Sweep points that a page or a terminal shows; `table.md` and the CSV files have all."""

HOLDS_BACK = {
    "cwnd": "cwnd",
    "rwnd": "receiver window",
    "application": "application",
    "sndbuf": "send buffer",
    "pacing": "pacing",
}
"""What `limited` calls each limit, in words."""


@dataclass(frozen=True)
class Table:
    """Cells of text under headings."""

    headings: list[str]
    numeric: list[bool]
    """Whether a column holds numbers, which align to the right."""
    groups: list[list[list[str]]]
    """The rows of each sweep point: its values stand in the first."""
    keys: int
    """Columns on the left that name the sweep point."""
    of_point: int
    """Columns on the right that belong to the sweep point, or to a direction in it, not to a flow:
    they stand in the first row of it."""

    def folded(self, fits: Callable[[Table], bool]) -> list[Table]:
        """The table itself if it fits; else several that have every column between them.

        Each names the sweep point, and the flow where it speaks of flows. One that does not fit
        even with a single column beside the names comes as it is.
        """
        if fits(self):
            return [self]
        flows, points = self.split()
        return [*flows._packed(self.keys + 1, fits), *points._packed(self.keys, fits)]

    def _packed(self, names: int, fits: Callable[[Table], bool]) -> list[Table]:
        """As few tables as fit, each with the first `names` columns and the next of the others."""
        packed: list[Table] = []
        taken: list[int] = []
        for column in range(names, len(self.headings)):
            if taken and not fits(self._of([*range(names), *taken, column])):
                packed.append(self._of([*range(names), *taken]))
                taken = []
            taken.append(column)
        return [*packed, self._of([*range(names), *taken])]

    def _of(self, columns: list[int]) -> Table:
        """Some of the columns, by number."""
        return Table(
            [self.headings[c] for c in columns],
            [self.numeric[c] for c in columns],
            [[[row[c] for c in columns] for row in group] for group in self.groups],
            self.keys,
            sum(c >= len(self.headings) - self.of_point for c in columns),
        )

    def split(self) -> tuple[Table, Table]:
        """The columns of flows, and those of sweep points: two narrower tables."""
        last = len(self.headings) - self.of_point
        flows = Table(
            self.headings[:last],
            self.numeric[:last],
            [[row[:last] for row in group] for group in self.groups],
            self.keys,
            0,
        )
        points = Table(
            self.headings[: self.keys] + self.headings[last:],
            self.numeric[: self.keys] + self.numeric[last:],
            [
                [row[: self.keys] + row[last:] for row in group if any(row[last:])]
                for group in self.groups
                if group
            ],
            self.keys,
            self.of_point,
        )
        return flows, points


def window(results: Results) -> str:
    """What of the table is of the time after a warm-up, in words; empty without one."""
    warm = [(p, s) for p, s in zip(_with_runs(results), results.summaries, strict=True) if s.warm]
    if not warm:
        return ""
    ends: dict[tuple[int, int | None], None] = {}
    for point, _ in warm:
        scenario = point.runs[0].run.scenario
        ends[scenario["warmup"], scenario["duration"]] = None
    spans = [_span(warmup, end) for warmup, end in ends]
    some = "" if len(warm) == len(results.summaries) else ", where there was one"
    when = spans[0] if len(spans) == 1 else "after the warm-up"
    *told, last = _of_window([summary for _, summary in warm])
    return f"{', '.join(told)} and {last} are those {when}{some}; all else is of the whole run."


def _of_window(points: Sequence[PointSummary]) -> list[str]:
    """What tables of `points` show of the time after the warm-up, in words."""
    flows = [flow for point in points for flow in point.flows]

    def measured(name: str) -> bool:
        return any(flow.estimate(name) is not None for flow in flows)

    named = (
        ("harm and friendliness", measured("harm_goodput") or measured("friendliness")),
        ("loss and delay of datagrams", measured("datagrams_sent")),
        ("frames and freezes", measured("frames_sent")),
        ("all numbers of probes", any(point.probes for point in points)),
        ("all numbers of the bottleneck's queues", any(point.bands for point in points)),
        ("completion times of cross traffic", any(point.traffic for point in points)),
    )
    first = ["Goodput", "share", "srtt", "utilization", "queue delay", "Jain's index"]
    return [*first, *(name for name, is_there in named if is_there)]


def _with_runs(results: Results) -> list[Point]:
    return [point for point in results.points if point.runs]


def _span(warmup_ns: int, end_ns: int | None) -> str:
    until = "the end of the run" if end_ns is None else _seconds(end_ns)
    return f"after {_seconds(warmup_ns)} of warm-up, until {until}"


def _seconds(ns: int) -> str:
    divisor, unit = units.time(ns / 1e9)
    return f"{ns / 1e9 / divisor:g} {unit}"


def beyond(results: Results) -> str:
    """How many sweep points a table of `MOST_POINTS` leaves out, in words; empty if none."""
    more = len(results.summaries) - MOST_POINTS
    return f"{more:,} more sweep point{'' if more == 1 else 's'}" if more > 0 else ""


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
            _Cells.of(metric, [flow.estimate(metric.name) for flow in of_flows])
            for metric in metrics.columns("flow")
            if not _only_measured(metric)
            or any(flow.estimate(metric.name) is not None for flow in of_flows)
        ],
        [
            _Cells.of(
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
    limits = shown.limits
    headings = [
        *map(short_key, keys),
        "flow",
        "variant",
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
        *(True for _ in shown.flow[:limits]),
        False,
        *(True for _ in shown.flow[limits:]),
        *(False for _ in range(both_ways)),
        *(True for _ in range(of_point - both_ways)),
    ]
    groups = [
        _rows(summary, shown, counted, both_ways, every) for summary in results.summaries[:most]
    ]
    return Table(headings, numeric, groups, len(keys), of_point)


@dataclass(frozen=True)
class _Cells:
    """A column of numbers."""

    metric: Metric
    largest: float
    """The unit suits it."""
    heading: str

    @classmethod
    def of(cls, metric: Metric, estimates: Sequence[Estimate | None]) -> _Cells:
        """The column of `metric`, in the unit that suits the largest of `estimates`."""
        largest = max((one.mean for one in estimates if one is not None), default=0.0)
        _, unit, _ = metric.unit(largest)
        # A percentage bears its sign in each cell.
        bare = not unit or metric.is_percentage
        return cls(metric, largest, metric.heading if bare else f"{metric.heading} ({unit})")

    def text(self, value: Estimate | None) -> str:
        """The cell of `value`."""
        if value is None:
            return _NONE
        if self.metric.subject == "group" and self.metric.name in grouped.POOLED:
            return self._with_ends(value)
        told = self.metric.told(value.mean, value.half_width, largest=self.largest)
        return f"{told}%" if self.metric.is_percentage else told

    def _with_ends(self, value: Estimate) -> str:
        """A percentile and the ends of its interval, which is seldom even on both sides."""
        ends = () if value.low is None or value.high is None else (value.low, value.high)
        mean, *told = (self.metric.told(v, None, largest=self.largest) for v in (value.mean, *ends))
        return f"{mean} ({'–'.join(told)})" if told else mean


@dataclass(frozen=True)
class _Shown:
    """The columns of numbers of flows and of sweep points."""

    flow: list[_Cells]
    point: list[_Cells]

    @property
    def limits(self) -> int:
        """How many of the columns of flows stand before what limited them: those of every study."""
        return sum(not _only_measured(cells.metric) for cells in self.flow)


def _only_measured(metric: Metric) -> bool:
    return metric.column is not None and metric.column.if_measured


_AMONG_FLOWS = ("share", "jain")
"""What a flow has none of that goes its way alone."""


def _ways(point: PointSummary) -> list[str]:
    """The directions in which data of flows go, `forward` first; it is one without flows, too."""
    return sorted({flow.direction for flow in point.flows}) or ["forward"]


def _is_alone(point: PointSummary, way: str) -> bool:
    """Whether less than two flows go that way."""
    return sum(flow.direction == way for flow in point.flows) < 2


def _of_way(point: PointSummary, metric: Metric, way: str) -> Estimate | None:
    """What tables show of `metric` of the bottleneck or the run, of one direction."""
    if metric.name in _AMONG_FLOWS and _is_alone(point, way):
        return None
    of = point.of_bottleneck if metric.subject == "bottleneck" else point.of_whole
    return of(metric.name if way == "forward" else f"reverse_{metric.name}")


def _uneven(results: Results) -> bool:
    """Whether sweep points have different numbers of runs: a rule stopped each, or some failed."""
    return len({point.n for point in results.summaries}) > 1


def folds(results: Results) -> bool:
    """Whether `table` has fewer rows than there are flows."""
    return any(point.folds and point.groups for point in results.summaries)


def groups(results: Results, most: int | None = None) -> Table | None:
    """The table of groups of flows: one row per group and sweep point; None without any.

    With `most`, only of the first so many sweep points.
    """

    def rows(point: PointSummary) -> list[_Row]:
        return [
            _Row([group.name, str(group.flows), group.cc], group.estimate) for group in point.groups
        ]

    return _named_rows(results, most, "group", ("group", "flows", "variant"), rows)


def queues(results: Results, most: int | None = None) -> Table | None:
    """The table of the bottleneck's named queues: one row per queue and sweep point; None without.

    With `most`, only of the first so many sweep points.
    """

    def rows(point: PointSummary) -> list[_Row]:
        return [_Row([band.name], band.estimate) for band in point.bands]

    return _named_rows(results, most, "band", ("queue",), rows)


@dataclass(frozen=True)
class _Row:
    """A row of what there are several of at a sweep point."""

    texts: list[str]
    estimate: Callable[[str], Estimate | None]
    """What tables show of a metric, by its name."""


def _named_rows(
    results: Results,
    most: int | None,
    subject: metrics.Subject,
    headings: Sequence[str],
    rows_of: Callable[[PointSummary], list[_Row]],
) -> Table | None:
    """A table of what there are several of at a sweep point: texts under `headings`, numbers."""
    points = [(point, rows) for point in results.summaries[:most] if (rows := rows_of(point))]
    if not points:
        return None
    keys = list(results.plan.points[0].params)
    every = [row for _, rows in points for row in rows]
    shown = [
        _Cells.of(metric, [row.estimate(metric.name) for row in every])
        for metric in metrics.columns(subject)
        if not _only_measured(metric) or any(row.estimate(metric.name) is not None for row in every)
    ]
    numeric = [*(False for _ in keys), *(head == "flows" for head in headings)]
    groups = [
        [
            [
                *(text(value) if index == 0 else "" for value in point.params.values()),
                *row.texts,
                *(cells.text(row.estimate(cells.metric.name)) for cells in shown),
            ]
            for index, row in enumerate(rows)
        ]
        for point, rows in points
    ]
    return Table(
        [*map(short_key, keys), *headings, *(cells.heading for cells in shown)],
        [*numeric, *(True for _ in shown)],
        groups,
        len(keys),
        0,
    )


def beside(results: Results, most: int | None = None) -> list[tuple[str, Table]]:
    """The tables that stand after that of the flows, with their titles."""
    found = (
        ("Probes", probes),
        ("Queues of the bottleneck", queues),
        ("Cross traffic", traffic),
    )
    return [(title, one) for title, of in found if (one := of(results, most)) is not None]


def traffic(results: Results, most: int | None = None) -> Table | None:
    """The table of cross traffic: one row per source and sweep point; None without any.

    With `most`, only of the first so many sweep points.
    """
    return _beside(results, "traffic", lambda point: point.traffic, most)


def probes(results: Results, most: int | None = None) -> Table | None:
    """The table of probes: one row per probe and sweep point; None without any.

    With `most`, only of the first so many sweep points.
    """
    return _beside(results, "probe", lambda point: point.probes, most)


def _beside(
    results: Results,
    subject: metrics.Subject,
    of: Callable[[PointSummary], Sequence[TrafficSummary | ProbeSummary]],
    most: int | None,
) -> Table | None:
    """The table of what stands beside the flows: one row for each of `of` and sweep point."""
    points = [point for point in results.summaries[:most] if of(point)]
    if not points:
        return None
    keys = list(results.plan.points[0].params)
    # The unit suits all sweep points that are shown.
    sources = [source for point in points for source in of(point)]
    shown = [
        _Cells.of(metric, [source.estimates[metric.name] for source in sources])
        for metric in metrics.columns(subject)
        if not _only_measured(metric)
        or any(source.estimates[metric.name] is not None for source in sources)
    ]
    headings = [*map(short_key, keys), subject, "kind", *(cells.heading for cells in shown)]
    numeric = [*(False for _ in keys), False, False, *(True for _ in shown)]
    groups = [_rows_beside(point, of(point), shown) for point in points]
    return Table(headings, numeric, groups, len(keys), 0)


def floods(results: Results) -> str:
    """What to know of a ping flood in the table of cross traffic, in words; empty without one."""
    sources = (source for point in results.summaries for source in point.traffic)
    return _FLOODS if any(source.kind == "ping-flood" for source in sources) else ""


_FLOODS = (
    "A ping flood has no rate of its own: it sends when it is answered, and less the longer the "
    "queue is. `constant-rate` has one."
)


def _rows_beside(
    point: PointSummary,
    sources: Sequence[TrafficSummary | ProbeSummary],
    shown: list[_Cells],
) -> list[list[str]]:
    params = [text(value) for value in point.params.values()]
    return [
        [
            *(params if index == 0 else ["" for _ in params]),
            source.name,
            source.kind,
            *(cells.text(source.estimates[cells.metric.name]) for cells in shown),
        ]
        for index, source in enumerate(sources)
    ]


def markdown(results: Results) -> str:
    """The tables in Markdown, with a row for every flow."""
    first = groups(results)
    parts = [*([first] if first is not None else []), table(results, every=True)]
    texts = [_markdown(cells) for cells in parts]
    told = window(results)
    texts += [f"{told}\n"] if told else []
    texts += [_markdown(one) for _, one in beside(results)]
    flooded = floods(results)
    return "\n".join([*texts, *([f"{flooded}\n"] if flooded else [])])


def _markdown(cells: Table) -> str:
    rule = ["---:" if number else "---" for number in cells.numeric]
    lines = [_line(cells.headings), _line(rule)]
    lines += [_line(row) for group in cells.groups for row in group]
    return "\n".join(lines) + "\n"


def plain(results: Results) -> str:
    """The tables in lines of text, under the study's title."""
    first = groups(results)
    parts = [*([first] if first is not None else []), table(results)]
    texts = [_plain(cells) for cells in parts]
    told = window(results)
    texts += [told] if told else []
    texts += [_plain(one) for _, one in beside(results)]
    flooded = floods(results)
    texts += [flooded] if flooded else []
    return "\n\n".join([results.plan.title, *texts])


def _plain(cells: Table) -> str:
    rows = [cells.headings, *(row for group in cells.groups for row in group)]
    widths = [max(len(row[c]) for row in rows) for c in range(len(cells.headings))]
    lines = []
    for row in rows:
        aligned = (
            cell.rjust(width) if number else cell.ljust(width)
            for cell, width, number in zip(row, widths, cells.numeric, strict=True)
        )
        lines.append("  ".join(aligned).rstrip())
    return "\n".join(lines)


def csv(frame: pl.DataFrame) -> str:
    """A frame as CSV, in SI units, numbers in full."""
    return frame.write_csv()


@dataclass(frozen=True)
class _FlowRow:
    """A flow, or the flows of a group as one."""

    name: str
    cc: str
    direction: str
    estimate: Callable[[str], Estimate | None]
    limited_by: tuple[str, float] | None


def _flow_rows(point: PointSummary, every: bool) -> list[_FlowRow]:
    """The rows of a sweep point: groups first where they are folded."""
    folded = point.groups if point.folds and not every else []
    inside = {group.name for group in folded}
    ways = {flow.group: flow.direction for flow in reversed(point.flows)}
    return [
        _FlowRow(
            f"{group.name} (mean of {group.flows})",
            group.cc,
            ways[group.name],
            group.of_each,
            grouped.longest(group.limited),
        )
        for group in folded
    ] + [
        _FlowRow(flow.name, flow.kind, flow.direction, flow.estimate, flow.limited_by)
        for flow in point.flows
        if flow.group not in inside
    ]


def _rows(
    point: PointSummary, shown: _Shown, counted: bool, both_ways: bool, every: bool
) -> list[list[str]]:
    """The rows of a sweep point: those of one direction after the others, each with what is of its
    direction in its first."""
    params = [text(value) for value in point.params.values()]
    limits = shown.limits
    rows: list[list[str]] = []
    for way in _ways(point):
        own = [flow for flow in _flow_rows(point, every) if flow.direction == way]
        for index, flow in enumerate(own):
            of_way = [
                *([way] if both_ways else []),
                *(cells.text(_of_way(point, cells.metric, way)) for cells in shown.point),
                *([str(point.n)] if counted else []),
            ]
            numbers = [
                _NONE
                if cells.metric.name in _AMONG_FLOWS and _is_alone(point, way)
                else cells.text(flow.estimate(cells.metric.name))
                for cells in shown.flow
            ]
            rows.append(
                [
                    *("" if rows else value for value in params),
                    flow.name,
                    flow.cc,
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
        return _NONE
    return f"{HOLDS_BACK.get(limit[0], limit[0])} {100 * limit[1]:.0f}%"


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
