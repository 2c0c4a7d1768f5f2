"""Repeats until the results are sure enough: `repeat = "until ci95 < 2%"`.

Whether a sweep point has been repeated often enough depends on its own runs alone, in the order of
their seeds: it has the fewest runs, from `least` on, whose intervals are all narrow enough. So the
runs of a study are the same whatever was at a time, killed, or done before.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cclab.late import late

if TYPE_CHECKING:
    from collections.abc import Callable

    from cclab.measure.stats import Estimate
    from cclab.plan import Measure, Plan, Point, Run, Until

    Values = list[float | None]
    from cclab.measure import stats
    from cclab.plan import measures as of_runs
else:
    of_runs = late("cclab.plan.measures")
    stats = late("cclab.measure.stats")


@dataclass
class Growth:
    """The runs that a plan with a rule for repeats comes to, as far as results are there."""

    plan: Plan
    """The plan so far, whose points have runs to spare."""
    measured: Callable[[list[Run]], dict[str, dict[str, Any]]]
    """The metrics of those runs that are done, by their ids."""
    _values: dict[str, Values] = field(default_factory=dict)
    """What must be sure in the runs that are done."""
    _settled: set[int] = field(default_factory=set)
    """The numbers of points that have enough runs, or as many as they may."""

    @property
    def settled(self) -> bool:
        """Whether no point waits for a run; true of a plan without a rule."""
        return self.plan.until is None or len(self._settled) == len(self.plan.points)

    def grow(self) -> Plan:
        """The plan with a run more at each point all of whose runs are done and not yet enough.

        And so on, as long as the next runs are done too.
        """
        until = self.plan.until
        if until is None:
            return self.plan
        while True:
            ready = self._ready(until)
            enough = _enough([self._table(self.plan.points[k]) for k in ready], until)
            more = {k for k, sure in zip(ready, enough, strict=True) if not sure}
            more = {k for k in more if len(self.plan.points[k].runs) < until.most}
            self._settled.update(set(ready) - more)
            if not more:
                return self.plan
            self.plan = self.plan.with_more_runs(more)

    def _ready(self, until: Until) -> list[int]:
        """The points that are not settled and all of whose runs are done."""
        waiting = [k for k in range(len(self.plan.points)) if k not in self._settled]
        runs = {run.id: run for k in waiting for run in self.plan.points[k].runs}
        unknown = [run for run in runs.values() if run.id not in self._values]
        for run, metrics in self.measured(unknown).items():
            self._values[run] = [row[0] for row in _values_of([metrics], until.measures)]
        return [
            k for k in waiting if all(run.id in self._values for run in self.plan.points[k].runs)
        ]

    def _table(self, point: Point) -> list[Values]:
        """A row for each metric, a column for each run."""
        return [list(row) for row in zip(*(self._values[r.id] for r in point.runs), strict=True)]


def _values_of(runs: list[dict[str, Any]], measures: list[Measure]) -> list[Values]:
    """What is to be sure: a row for each measure, a column for each run."""
    named = {metric.name: metric for measure in measures for metric in measure.metrics}
    tables = {name: of_runs.table([runs], metric) for name, metric in named.items()}
    return [of_runs.of_tables(measure, tables)[0].tolist() for measure in measures]


def _enough(tables: list[list[Values]], until: Until) -> list[bool]:
    """Whether every row of each table is sure. Tables with as many runs are done at once."""
    enough = [True] * len(tables)
    by_runs: dict[int, list[int]] = {}
    for number, table in enumerate(tables):
        by_runs.setdefault(len(table[0]), []).append(number)
    for numbers in by_runs.values():
        owners = [number for number in numbers for _ in tables[number]]
        rows = [row for number in numbers for row in tables[number]]
        for owner, estimate in zip(owners, stats.estimates(rows), strict=True):
            if not _sure(estimate, until):
                enough[owner] = False
    return enough


def _sure(estimate: Estimate | None, until: Until) -> bool:
    """Whether a metric is sure enough: in as many runs as it takes, and narrow."""
    width = relative_width(estimate)
    measured = 0 if estimate is None else estimate.n
    return measured >= until.least and width is not None and width < until.width


def relative_width(estimate: Estimate | None) -> float | None:
    """Half the width of the interval over the mean; None if it has none. Zero if nothing varies."""
    if estimate is None or estimate.half_width is None:
        return None
    if estimate.half_width == 0:
        return 0.0
    return estimate.half_width / abs(estimate.mean) if estimate.mean else None


def warning(until: Until, runs: list[dict[str, Any]]) -> dict[str, str] | None:
    """The doubt that the runs of a point, given by their metrics, did not get sure enough."""
    known = stats.estimates(_values_of(runs, until.measures))
    told = []
    for measure, estimate in zip(until.measures, known, strict=True):
        if not _sure(estimate, until):
            width, few = relative_width(estimate), estimate is None or estimate.n < until.least
            why = f"measured in {0 if estimate is None else estimate.n}" if few else "no interval"
            told.append(
                f"{measure.expression} ({_percent(width)})"
                if width and not few
                else f"{measure.expression} ({why})"
            )
    if not told:
        return None
    more = f"let it have more than {until.most} runs (at most N), or ask for less"
    return {
        "code": "ci-not-reached",
        "message": f"after {len(runs)} run{'' if len(runs) == 1 else 's'} half the interval is "
        f"not below {_percent(until.width)} of the mean of {', '.join(told)}",
        "remedy": more if len(runs) >= until.most else "run the study again: it goes on",
    }


def _percent(part: float) -> str:
    return f"{100 * part:.3g}%"
