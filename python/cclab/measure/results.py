"""What a plan's runs measured: the table that reports, expectations and the API read."""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import msgspec
import polars as pl

from cclab import _core, shown
from cclab.errors import DamagedRunsError, InputError, RunError
from cclab.measure import expect, findings, repeats
from cclab.measure.expect import Outcomes
from cclab.measure.points import Measured, Point
from cclab.measure.summary import PointSummary, Raised, summarise, warnings
from cclab.metrics import RUN_METRICS, kind, of_flow, transfers
from cclab.plan import companions
from cclab.plan.companions import baselines, phase
from cclab.store.folder import CHECKED

if TYPE_CHECKING:
    from cclab.plan import Expectation, Plan, Run
    from cclab.store import Store
    from cclab.store.folder import Told

Metrics = dict[str, Any]

SCHEMA = "cclab/1"
"""Name and version of the results document; docs/results.schema.json describes it."""

_LOOKED_AT = 200


@dataclass(frozen=True)
class Results:
    """The metrics of every run of a plan, and what follows from them."""

    store: Store
    plan: Plan
    points: list[Point]

    @property
    def runs(self) -> list[Measured]:
        """Every measured run, in the plan's order."""
        return [run for point in self.points for run in point.runs]

    @property
    def run_ids(self) -> list[str]:
        """The id of each of them."""
        return [run.run.id for run in self.runs]

    @cached_property
    def summaries(self) -> list[PointSummary]:
        """The estimates over runs at each sweep point."""
        return summarise([point for point in self.points if point.runs])

    def summary_of(self, point: Point) -> PointSummary:
        """The estimates at `point`, which has runs."""
        return self._summary_by_point[point.index]

    @cached_property
    def _summary_by_point(self) -> dict[int, PointSummary]:
        with_runs = [point.index for point in self.points if point.runs]
        return dict(zip(with_runs, self.summaries, strict=True))

    @cached_property
    def warnings(self) -> list[Raised]:
        """Where the experiment may not show what it seems to show, and the remedies."""
        return warnings(self.points)

    @cached_property
    def outcomes(self) -> Outcomes:
        """What becomes of each expectation of the study at each sweep point."""
        return expect.outcomes(self.plan.expectations, self.points)

    @property
    def failures(self) -> Outcomes:
        """The study's expectations that the results do not meet, each at a sweep point."""
        return Outcomes(outcome for outcome in self.outcomes if not outcome.met)

    @cached_property
    def number_names(self) -> list[str]:
        """Every name that the runs have a number of, in the order of documents.

        Of many runs with the same traffic of the same flows the first `_LOOKED_AT` are looked at.
        """
        names: dict[str, None] = {}
        met: Counter[tuple[tuple[str, str], ...]] = Counter()
        for run in self.runs:
            beside = (run.metrics.get(key, []) for key in ("traffic", "probes"))
            flows = [(flow["name"], kind(flow)) for flow in run.metrics["flows"]]
            alike = (*flows, *((owner["name"], "") for owner in chain.from_iterable(beside)))
            met[alike] += 1
            if met[alike] <= _LOOKED_AT:
                names |= dict.fromkeys(run.numbers)
        return list(names)

    @property
    def flows(self) -> pl.DataFrame:
        """One row per flow and run: the sweep parameters and every metric of the flow."""
        rows = []
        for run, params in self._with_params():
            for flow in run.metrics["flows"]:
                which = {"run": run.run.id, "seed": run.run.seed}
                rows.append(which | params | of_flow(flow))
        return _frame(rows)

    @property
    def bottlenecks(self) -> pl.DataFrame:
        """One row per run: the sweep parameters, the bottleneck's metrics, those of the run."""
        rows = [
            {"run": run.run.id, "seed": run.run.seed, **params, **_plain_bottleneck(run.metrics)}
            | {name: run.metrics[name] for name in RUN_METRICS}
            for run, params in self._with_params()
        ]
        return _frame(rows)

    @property
    def groups(self) -> pl.DataFrame:
        """One row per group of flows and run: the sweep parameters and its metrics."""
        rows = []
        for run, params in self._with_params():
            for group in run.metrics.get("groups", []):
                which = {"run": run.run.id, "seed": run.run.seed}
                rows.append(which | params | group | {"variants": ",".join(group["variants"])})
        return _frame(rows)

    @property
    def traffic(self) -> pl.DataFrame:
        """One row per source of cross traffic and run: the sweep parameters and its metrics.

        Those of transfers bear their names, such as `fct_mean_s` and `slowdown_p99`.
        """
        rows = []
        for run, params in self._with_params():
            for source in run.metrics.get("traffic", []):
                plain = {k: v for k, v in source.items() if k != "transfers"}
                which = {"run": run.run.id, "seed": run.run.seed}
                rows.append(which | params | plain | transfers(source))
        return _frame(rows)

    @property
    def probes(self) -> pl.DataFrame:
        """One row per probe and run: the sweep parameters and its metrics."""
        rows = []
        for run, params in self._with_params():
            which = {"run": run.run.id, "seed": run.run.seed}
            rows += [which | params | probe for probe in run.metrics.get("probes", [])]
        return _frame(rows)

    @property
    def summary(self) -> pl.DataFrame:
        """One row per flow and sweep point: means over runs and the ends of their intervals."""
        rows = []
        for point in self.summaries:
            shared = {**_plain(point.params), "n": point.n}
            whole: dict[str, float | None] = {}
            for name, value in (*point.whole.items(), *point.bottleneck.items()):
                whole |= _spread(name, value)
            for flow in point.flows:
                row: dict[str, Any] = {**shared, "flow": flow.name, "cc": flow.cc}
                for name, value in (*flow.estimates.items(), ("share", flow.share)):
                    row |= _spread(name, value)
                rows.append(row | whole)
        return _frame(rows)

    def samples(self, run: int | str = 0, table: str = "flow_samples") -> pl.DataFrame:
        """A table of the trace of a run, by the run's number or id.

        The tables are those in docs/trace-schema.md: `flow_samples`, `queue_samples`, `acks`,
        `queue_events`, `drops`, `flows`, `links`, `traffic`, `transfers`, `probes`,
        `probe_samples`, `histograms`. Raises `InputError` if there is no such run or it recorded
        no such table.
        """
        return self._run(run).table(table)

    def document(self) -> dict[str, Any]:
        """The results document that `cclab run --json` prints."""
        runs = [
            {
                "id": run.run.id,
                "backend": run.run.backend,
                "seed": run.run.seed,
                "params": point.params,
                **run.metrics,
            }
            for point in self.points
            for run in point.runs
        ]
        return {
            "schema": SCHEMA,
            "study": self.plan.description(),
            "runs": runs,
            "summary": [point.document() for point in self.summaries],
            "expectations": [self._outcome(expected) for expected in self.plan.expectations],
        }

    def _outcome(self, expected: Expectation) -> dict[str, Any]:
        own = [outcome for outcome in self.outcomes if outcome.expectation == expected]
        failed = [outcome for outcome in own if not outcome.met]
        return {
            "label": expected.label,
            "expression": expected.expression,
            "met": not failed,
            "finding": findings.every(outcome.finding for outcome in own),
            "failures": [
                {"params": f.params, "measured": f.measured, "means": f.means} for f in failed
            ],
        }

    def _with_params(self) -> list[tuple[Measured, dict[str, Any]]]:
        return [(run, _plain(point.params)) for point in self.points for run in point.runs]

    def _run(self, run: int | str) -> Measured:
        runs = self.runs
        if isinstance(run, int):
            if not -len(runs) <= run < len(runs):
                raise InputError(f"no run {run}: there are {len(runs)}")
            return runs[run]
        named = [r for r in runs if r.run.id.startswith(run)]
        if len(named) != 1:
            raise InputError(f"{len(named)} runs have an id that begins with {shown.quoted(run)}")
        return named[0]


def metrics_of(store: Store, runs: list[Run]) -> dict[str, dict[str, Any]]:
    """The metrics of those of `runs` that are in `store` and can be read, by their ids."""
    # What cannot be read is not done; `measure` says why.
    return {run: m for run, m in read_metrics(store, runs).items() if isinstance(m, dict)}


def measure(store: Store, plan: Plan) -> Results:
    """The metrics of every run of `plan` that is in `store`. Reads the store and nothing else.

    Raises `DamageError` if runs cannot be read.
    """
    beside = companions.of(plan)
    outcomes = read_metrics(store, [*plan.runs, *beside.runs])
    unreadable = {i: why for i, why in outcomes.items() if isinstance(why, Exception)}
    if unreadable:
        raise DamagedRunsError(store.path, list(unreadable), str(next(iter(unreadable.values()))))
    measured = {i: metrics for i, metrics in outcomes.items() if isinstance(metrics, dict)}
    for run in plan.runs:
        if run.id in measured:
            baselines.compare(measured[run.id], beside.baselines.get(run.id, []), measured)
    points = []
    for index, point in enumerate(plan.points):
        runs = [Measured(run, store, measured[run.id]) for run in point.runs if run.id in measured]
        _compare_repeats(runs)
        _compare_widths(plan, runs)
        shifted = beside.shifted.get(index, [])
        _compare_phases(runs, [measured[r.id] for r in shifted if r.id in measured])
        points.append(Point(index, point.params, point.label, point.short_label, runs))
    return Results(store, plan, points)


def read_metrics(store: Store, runs: list[Run]) -> dict[str, Metrics | RunError]:
    """The metrics of those of `runs` that are in `store`, by their ids, or why one cannot be read.

    They are in the runs' files; those of another version are measured again from the trace. Of up
    to `CHECKED` runs every byte is read and compared with its digest.
    """
    ids = list(dict.fromkeys(run.id for run in runs))
    decode = msgspec.json.Decoder(dict[str, Any]).decode

    def read(run: str, told: Told | None, again: dict[str, str | RunError]) -> Metrics | RunError:
        if told is None:
            return RunError(f"{store.file(run)} is not as it was written")
        metrics = again.get(run, told.metrics)
        if not isinstance(metrics, str):
            return metrics
        try:
            return decode(metrics)
        except (msgspec.DecodeError, RecursionError) as error:
            return RunError(f"{store.file(run)}: {error}")

    outcomes: dict[str, Metrics | RunError] = {}
    for start in range(0, len(ids), CHECKED):
        told = store.told(ids[start : start + CHECKED], whole=len(ids) <= CHECKED)
        again = store.measured_again(told)
        outcomes |= {run: read(run, said, again) for run, said in told.items()}
    return outcomes


def _compare_repeats(runs: list[Measured]) -> None:
    """Adds the warnings that only the runs of a point together can raise, to each of them."""
    if len(runs) < 2:
        return
    told = [msgspec.json.encode(run.metrics).decode() for run in runs]
    raised = json.loads(_core.compare_repeats(told))
    for run in runs:
        run.metrics["warnings"].extend(raised)


def _compare_widths(plan: Plan, runs: list[Measured]) -> None:
    """Adds the warning that the runs of a point are not as sure as asked, to each of them."""
    if plan.until is None or not runs:
        return
    raised = repeats.warning(plan.until, [run.metrics for run in runs])
    if raised is not None:
        for run in runs:
            run.metrics["warnings"].append(raised)


def _compare_phases(runs: list[Measured], shifted: list[dict[str, Any]]) -> None:
    """Adds the warning that a shifted start raises, to each run of a point."""
    if not runs:
        return
    raised = phase.warning(runs[0].metrics, shifted)
    if raised is not None:
        for run in runs:
            run.metrics["warnings"].append(raised)


def _frame(rows: list[dict[str, Any]]) -> pl.DataFrame:
    """A frame of `rows`, whose columns have the types that hold all that is in them."""
    names = list(rows[0]) if rows else []
    if len(names) > 1 and all(len(row) == len(names) for row in rows):
        # Column by column takes a fifth of the time. It refuses names that some rows lack, and
        # values of several types.
        with contextlib.suppress(KeyError, TypeError):
            columns = zip(*map(itemgetter(*names), rows), strict=True)
            frame = pl.DataFrame(dict(zip(names, columns, strict=True)))
            # A seed beyond 63 bits would have another type than row by row, and lists that differ
            # lose what does not fit the first.
            if not any(kind.is_nested() or kind == pl.UInt64 for kind in frame.dtypes):
                return frame
    return pl.DataFrame(rows, infer_schema_length=None)


def _plain(params: dict[str, Any]) -> dict[str, Any]:
    """Sweep parameters as the cells of a table."""
    return {
        k: v if isinstance(v, str | int | float | bool | None) else json.dumps(v)
        for k, v in params.items()
    }


def _plain_bottleneck(metrics: dict[str, Any]) -> dict[str, Any]:
    """The bottleneck's numbers; those of a named queue under `band.QUEUE.NAME`."""
    cells = {name: value for name, value in metrics["bottleneck"].items() if name != "bands"}
    for band in metrics["bottleneck"].get("bands", []):
        cells |= {f"band.{band['name']}.{k}": v for k, v in band.items() if k != "name"}
    return cells


def _spread(name: str, value: Any) -> dict[str, float | None]:
    if value is None:
        return {name: None, f"{name}_low": None, f"{name}_high": None}
    return {name: value.mean, f"{name}_low": value.low, f"{name}_high": value.high}
