"""The table of a report: one row per flow and sweep point, as text, Markdown and CSV."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cclab import units
from cclab.plan import short_key, text

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl

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
    flow_rate = _rates(results)
    divisor, rate_name = units.rate(flow_rate)
    further = _further(results)
    counted = _uneven(results)
    headings = [
        *map(short_key, keys),
        "flow",
        "variant",
        f"goodput ({rate_name})",
        "share",
        "retransmits",
        "srtt (ms)",
        "limited by",
        *(heading for heading, _, _ in further),
        "utilization",
        "queue delay (ms)",
        "Jain",
        *(["runs"] if counted else []),
    ]
    of_point = 4 if counted else 3
    numeric = [
        *(False for _ in keys),
        *(False, False, True, True, True, True, False),
        *(True for _ in further),
        *(True for _ in range(of_point)),
    ]
    groups = [_rows(summary, divisor, further, counted) for summary in results.summaries[:most]]
    return Table(headings, numeric, groups, len(keys), of_point)


def _uneven(results: Results) -> bool:
    """Whether sweep points have different numbers of runs: a rule stopped each, or some failed."""
    return len({point.n for point in results.summaries}) > 1


_Further = tuple[str, str, "Callable[[Estimate | None], str]"]
"""A column's heading, the metric of a flow in it, and how it is written."""


def _further(results: Results) -> list[_Further]:
    """The columns for what only some studies measure: of transfers, and over baselines."""
    columns: list[_Further] = [
        ("FCT (s)", "fct_s", interval),
        ("harm to it", "harm_goodput", _percent),
        ("friendliness", "friendliness", interval),
    ]
    flows = [flow for point in results.summaries for flow in point.flows]
    return [
        column
        for column in columns
        if any(flow.estimates.get(column[1]) is not None for flow in flows)
    ]


def traffic(results: Results, most: int | None = None) -> Table | None:
    """The table of cross traffic: one row per source and sweep point; None without any.

    With `most`, only of the first so many sweep points.
    """
    points = [point for point in results.summaries[:most] if point.traffic]
    if not points:
        return None
    keys = list(results.plan.points[0].params)
    sent = (source.estimates["sent_bps"] for point in points for source in point.traffic)
    divisor, rate_name = units.rate(max((s.mean for s in sent if s is not None), default=0.0))
    headings = [
        *map(short_key, keys),
        "traffic",
        "kind",
        f"sent ({rate_name})",
        "loss",
        "delay (ms)",
        "RTT (ms)",
        "transfers",
        "FCT mean (ms)",
        "FCT p99 (ms)",
        "slowdown mean",
        "slowdown p99",
    ]
    numeric = [*(False for _ in keys), False, False, *(True for _ in range(9))]
    groups = [_traffic_rows(point, divisor) for point in points]
    return Table(headings, numeric, groups, len(keys), 0)


def _traffic_rows(point: PointSummary, divisor: float) -> list[list[str]]:
    params = [text(value) for value in point.params.values()]
    rows = []
    for index, source in enumerate(point.traffic):
        of = source.estimates
        rows.append(
            [
                *(params if index == 0 else ["" for _ in params]),
                source.name,
                source.kind,
                interval(of["sent_bps"], divisor),
                _percent(of["loss_rate"]),
                interval(of["delay_mean_s"], 1e-3, 2),
                interval(of["rtt_mean_s"], 1e-3, 2),
                interval(of["ended"], digits=0),
                interval(of["fct_mean_s"], 1e-3, 1),
                interval(of["fct_p99_s"], 1e-3, 1),
                interval(of["slowdown_mean"]),
                interval(of["slowdown_p99"]),
            ]
        )
    return rows


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


def _rows(
    point: PointSummary, divisor: float, further: list[_Further], counted: bool
) -> list[list[str]]:
    params = [text(value) for value in point.params.values()]
    rows = []
    for index, flow in enumerate(point.flows):
        whole = [
            _percent(point.bottleneck["utilization"]),
            interval(point.bottleneck["queue_delay_mean_s"], 1e-3, 1),
            interval(point.jain, digits=3),
            *([str(point.n)] if counted else []),
        ]
        rows.append(
            [
                *(params if index == 0 else ["" for _ in params]),
                flow.name,
                flow.cc,
                interval(flow.estimates["goodput_bps"], divisor),
                _percent(flow.share),
                interval(flow.estimates["retransmits"], digits=0),
                interval(flow.estimates["srtt_mean_s"], 1e-3, 1),
                _held_back(flow),
                *(shown(flow.estimates.get(metric)) for _, metric, shown in further),
                *(whole if index == 0 else ["" for _ in whole]),
            ]
        )
    return rows


def _held_back(flow: FlowSummary) -> str:
    limit = flow.limited_by
    if limit is None or limit[1] <= 0:
        return _NONE
    return f"{HOLDS_BACK.get(limit[0], limit[0])} {100 * limit[1]:.0f}%"


def _percent(value: Estimate | None) -> str:
    if value is None:
        return _NONE
    half = value.half_width
    mean = f"{100 * value.mean:.1f}"
    return f"{mean}%" if half is None else f"{mean} ± {100 * half:.1f}%"


def _rates(results: Results) -> float:
    goodputs = (
        flow.estimates["goodput_bps"] for point in results.summaries for flow in point.flows
    )
    return max((g.mean for g in goodputs if g is not None), default=0.0)


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
