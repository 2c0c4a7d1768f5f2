"""The table of a report: one row per flow and sweep point, as text, Markdown and CSV."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cclab import metrics
from cclab.plan import short_key, text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import polars as pl

    from cclab.metrics import Metric
    from cclab.results import Results
    from cclab.stats import Estimate
    from cclab.summary import FlowSummary, PointSummary

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
    """Columns on the right that belong to the sweep point, not to a flow."""

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
            [[group[0][: self.keys] + group[0][last:]] for group in self.groups if group],
            self.keys,
            self.of_point,
        )
        return flows, points


def beyond(results: Results) -> str:
    """How many sweep points a table of `MOST_POINTS` leaves out, in words; empty if none."""
    more = len(results.summaries) - MOST_POINTS
    return f"{more:,} more sweep point{'' if more == 1 else 's'}" if more > 0 else ""


def table(results: Results, most: int | None = None) -> Table:
    """The table of `results`: columns for the swept keys, the flow, and the bottleneck.

    With `most`, only the first so many sweep points.
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
            _Cells.of(metric, [_of_point(point, metric) for point in results.summaries])
            for subject in ("bottleneck", "run")
            for metric in metrics.columns(subject)
        ],
    )
    limits = shown.limits
    headings = [
        *map(short_key, keys),
        "flow",
        "variant",
        *(cells.heading for cells in shown.flow[:limits]),
        "limited by",
        *(cells.heading for cells in shown.flow[limits:]),
        *(cells.heading for cells in shown.point),
        *(["runs"] if counted else []),
    ]
    of_point = len(shown.point) + counted
    numeric = [
        *(False for _ in keys),
        *(False, False),
        *(True for _ in shown.flow[:limits]),
        False,
        *(True for _ in shown.flow[limits:]),
        *(True for _ in range(of_point)),
    ]
    groups = [_rows(summary, shown, counted) for summary in results.summaries[:most]]
    return Table(headings, numeric, groups, len(keys), of_point)


@dataclass(frozen=True)
class _Cells:
    """A column of numbers."""

    metric: Metric
    divisor: float
    heading: str

    @classmethod
    def of(cls, metric: Metric, estimates: Sequence[Estimate | None]) -> _Cells:
        """The column of `metric`, in the unit that suits the largest of `estimates`."""
        largest = max((one.mean for one in estimates if one is not None), default=0.0)
        divisor, unit, _ = metric.unit(largest)
        # A percentage bears its sign in each cell.
        bare = not unit or metric.is_percentage
        return cls(metric, divisor, metric.heading if bare else f"{metric.heading} ({unit})")

    def text(self, value: Estimate | None) -> str:
        """The cell of `value`."""
        digits = 2 if self.metric.column is None else self.metric.column.digits
        if self.metric.is_percentage:
            return _percent(value, digits)
        return interval(value, self.divisor, digits)


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


def _of_point(point: PointSummary, metric: Metric) -> Estimate | None:
    of = point.bottleneck if metric.subject == "bottleneck" else point.whole
    return of[metric.name]


def _uneven(results: Results) -> bool:
    """Whether sweep points have different numbers of runs: a rule stopped each, or some failed."""
    return len({point.n for point in results.summaries}) > 1


def traffic(results: Results, most: int | None = None) -> Table | None:
    """The table of cross traffic: one row per source and sweep point; None without any.

    With `most`, only of the first so many sweep points.
    """
    points = [point for point in results.summaries[:most] if point.traffic]
    if not points:
        return None
    keys = list(results.plan.points[0].params)
    # The unit suits all sweep points that are shown.
    sources = [source for point in points for source in point.traffic]
    shown = [
        _Cells.of(metric, [source.estimates[metric.name] for source in sources])
        for metric in metrics.columns("traffic")
        if not _only_measured(metric)
        or any(source.estimates[metric.name] is not None for source in sources)
    ]
    headings = [*map(short_key, keys), "traffic", "kind", *(cells.heading for cells in shown)]
    numeric = [*(False for _ in keys), False, False, *(True for _ in shown)]
    groups = [_traffic_rows(point, shown) for point in points]
    return Table(headings, numeric, groups, len(keys), 0)


def _traffic_rows(point: PointSummary, shown: list[_Cells]) -> list[list[str]]:
    params = [text(value) for value in point.params.values()]
    return [
        [
            *(params if index == 0 else ["" for _ in params]),
            source.name,
            source.kind,
            *(cells.text(source.estimates[cells.metric.name]) for cells in shown),
        ]
        for index, source in enumerate(point.traffic)
    ]


def markdown(results: Results) -> str:
    """The tables in Markdown."""
    others = traffic(results)
    parts = [table(results), *([others] if others is not None else [])]
    return "\n".join(_markdown(cells) for cells in parts)


def _markdown(cells: Table) -> str:
    rule = ["---:" if number else "---" for number in cells.numeric]
    lines = [_line(cells.headings), _line(rule)]
    lines += [_line(row) for group in cells.groups for row in group]
    return "\n".join(lines) + "\n"


def plain(results: Results) -> str:
    """The tables in lines of text, under the study's title."""
    others = traffic(results)
    parts = [table(results), *([others] if others is not None else [])]
    return "\n\n".join([results.plan.title, *(_plain(cells) for cells in parts)])


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


def interval(value: Estimate | None, divisor: float = 1.0, digits: int = 2) -> str:
    """A mean and half the width of its interval."""
    if value is None:
        return _NONE
    mean = f"{value.mean / divisor:.{digits}f}"
    half = value.half_width
    return mean if half is None else f"{mean} ± {half / divisor:.{digits}f}"


def _rows(point: PointSummary, shown: _Shown, counted: bool) -> list[list[str]]:
    params = [text(value) for value in point.params.values()]
    limits = shown.limits
    rows = []
    for index, flow in enumerate(point.flows):
        whole = [
            *(cells.text(_of_point(point, cells.metric)) for cells in shown.point),
            *([str(point.n)] if counted else []),
        ]
        numbers = [cells.text(flow.estimate(cells.metric.name)) for cells in shown.flow]
        rows.append(
            [
                *(params if index == 0 else ["" for _ in params]),
                flow.name,
                flow.kind,
                *numbers[:limits],
                _held_back(flow),
                *numbers[limits:],
                *(whole if index == 0 else ["" for _ in whole]),
            ]
        )
    return rows


def _held_back(flow: FlowSummary) -> str:
    limit = flow.limited_by
    if limit is None or limit[1] <= 0:
        return _NONE
    return f"{HOLDS_BACK.get(limit[0], limit[0])} {100 * limit[1]:.0f}%"


def _percent(value: Estimate | None, digits: int) -> str:
    if value is None:
        return _NONE
    half = value.half_width
    mean = f"{100 * value.mean:.{digits}f}"
    return f"{mean}%" if half is None else f"{mean} ± {100 * half:.{digits}f}%"


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
