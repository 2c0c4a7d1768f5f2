"""The tables of a report as text, Markdown and CSV, and what is said beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cclab import shown, units
from cclab.report.beside_flows import beside, floods, groups, probes, queues, traffic
from cclab.report.flow_table import folds, table
from cclab.tabular import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from cclab.measure.points import Point
    from cclab.measure.results import Results
    from cclab.measure.summary import PointSummary, TrafficSummary

__all__ = [
    "MOST_POINTS",
    "Table",
    "beside",
    "beyond",
    "csv",
    "floods",
    "folds",
    "groups",
    "markdown",
    "plain",
    "probes",
    "queues",
    "table",
    "traffic",
    "window",
]

MOST_POINTS = 300
"""Sweep points that a page or a terminal shows; `table.md` and the CSV files have all."""


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
        (
            "completion times of cross traffic",
            any(_transfers(source) for point in points for source in point.traffic),
        ),
    )
    first = ["Goodput", "share", "srtt", "utilization", "queue delay", "Jain's index"]
    return [*first, *(name for name, is_there in named if is_there)]


def _transfers(source: TrafficSummary) -> bool:
    """Whether transfers of a source ended, so that tables show how long they took."""
    return source.estimates["fct_mean_s"] is not None


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


def markdown(results: Results) -> str:
    """The tables in Markdown, with a row for every flow."""
    first = groups(results)
    parts = [*([first] if first is not None else []), table(results, every=True)]
    texts = [_markdown(cells) for cells in parts]
    told = window(results)
    texts += [f"{told}\n"] if told else []
    texts += [_markdown(cells) for _, cells in beside(results)]
    flooded = floods(results)
    return "\n".join([*texts, *([f"{flooded}\n"] if flooded else [])])


def _markdown(cells: Table) -> str:
    rule = ["---:" if number else "---" for number in cells.numeric]
    lines = [_line(cells.headings), _line(rule)]
    lines += [_line([*map(shown.line, row)]) for group in cells.groups for row in group]
    return "\n".join(lines) + "\n"


def plain(results: Results) -> str:
    """The tables in lines of text, under the study's title."""
    first = groups(results)
    parts = [*([first] if first is not None else []), table(results)]
    texts = [_plain(cells) for cells in parts]
    told = window(results)
    texts += [told] if told else []
    texts += [_plain(cells) for _, cells in beside(results)]
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


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
