"""Two sets of results side by side: what differs, by how much, and how sure that is."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from cclab.comparison import doubts
from cclab.comparison.changes import Change, changes
from cclab.comparison.difference import Difference, difference
from cclab.comparison.metric import Metric, metric_names
from cclab.comparison.verdict import Verdict, verdict
from cclab.errors import InputError
from cclab.summary import flat_traffic

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cclab.results import Measured, Point, Results
    from cclab.summary import Raised

SCHEMA = "cclab-compare/1"
"""Name and version of the comparison's document; docs/compare.schema.json describes it."""

Kind = Literal["stores", "backends", "variants"]
"""What the two sides are."""


@dataclass(frozen=True)
class Side:
    """One of the two that are compared."""

    label: str
    """What the user called it: a folder, a backend, a variant."""
    results: Results = field(repr=False)

    def document(self) -> dict[str, Any]:
        """As a comparison's document spells it."""
        plan = self.results.plan
        return {
            "label": self.label,
            "folder": str(self.results.store.path),
            "versions": sorted({run.version for run in plan.runs}),
            "study": plan.description(),
        }


@dataclass(frozen=True)
class Compared:
    """A metric at a sweep point on both sides."""

    metric: Metric
    difference: Difference | None
    """None if a side did not measure it."""
    verdict: Verdict

    def document(self) -> dict[str, Any]:
        """As a comparison's document spells it."""
        found = self.difference
        relative = None if found is None else found.relative
        return {
            "a": None if found is None else found.a.document(),
            "b": None if found is None else found.b.document(),
            "difference": None if found is None else found.absolute.document(),
            "relative": None if relative is None else relative.document(),
            "verdict": self.verdict.code,
            "words": self.verdict.words,
        }


@dataclass(frozen=True)
class FlowComparison:
    """A flow that both sides have."""

    name: str
    cc_a: str
    cc_b: str
    metrics: list[Compared]

    def document(self) -> dict[str, Any]:
        """As a comparison's document spells it."""
        return {
            "name": self.name,
            "cc_a": self.cc_a,
            "cc_b": self.cc_b,
            "metrics": {c.metric.name: c.document() for c in self.metrics},
        }


@dataclass(frozen=True)
class TrafficComparison:
    """A source of cross traffic that both sides have."""

    name: str
    kind_a: str
    kind_b: str
    metrics: list[Compared]

    def document(self) -> dict[str, Any]:
        """As a comparison's document spells it."""
        return {
            "name": self.name,
            "kind_a": self.kind_a,
            "kind_b": self.kind_b,
            "metrics": {c.metric.name: c.document() for c in self.metrics},
        }


@dataclass(frozen=True)
class PointComparison:
    """A sweep point that both sides have runs of."""

    params: dict[str, Any]
    label: str
    """The point in words; "all runs" if nothing is swept."""
    seeds_a: list[int]
    seeds_b: list[int]
    changes: list[Change]
    """Where the scenarios of the two sides differ, the backend first if it does."""
    flows: list[FlowComparison]
    traffic: list[TrafficComparison]
    whole: list[Compared]
    """The metrics of the run as a whole: of the bottleneck, and Jain's index."""
    flows_only_a: list[str]
    flows_only_b: list[str]
    traffic_only_a: list[str]
    traffic_only_b: list[str]
    same_runs: bool
    """Whether a run on one side is also on the other."""
    unfinished: dict[str, tuple[int, int]]
    """Runs of A and of B in which a flow's transfer did not end, by the flow's name."""

    @property
    def paired(self) -> bool:
        """Whether the sides have the same seeds, and runs are compared seed by seed."""
        return self.seeds_a == self.seeds_b

    @property
    def compared(self) -> list[Compared]:
        """Every metric that was compared here."""
        flows = [c for flow in self.flows for c in flow.metrics]
        return flows + [c for source in self.traffic for c in source.metrics] + self.whole

    def document(self) -> dict[str, Any]:
        """As a comparison's document spells it."""
        return {
            "params": self.params,
            "seeds_a": self.seeds_a,
            "seeds_b": self.seeds_b,
            "paired": self.paired,
            "changes": [change.document() for change in self.changes],
            "flows": [flow.document() for flow in self.flows],
            "traffic": [source.document() for source in self.traffic],
            "bottleneck": {
                c.metric.name: c.document() for c in self.whole if c.metric.subject == "bottleneck"
            },
            "jain": next((c.document() for c in self.whole if c.metric.subject == "run"), None),
            "flows_only_a": self.flows_only_a,
            "flows_only_b": self.flows_only_b,
            "traffic_only_a": self.traffic_only_a,
            "traffic_only_b": self.traffic_only_b,
        }


@dataclass(frozen=True)
class Comparison:
    """A against B: every sweep point, flow and metric that both have."""

    kind: Kind
    a: Side
    b: Side
    points: list[PointComparison]
    only_a: list[dict[str, Any]]
    """Sweep points that only A has runs of."""
    only_b: list[dict[str, Any]]
    """Sweep points that only B has runs of."""
    warnings: list[Raised]
    """What makes the comparison doubtful, then what makes the results of each side so."""

    @property
    def compared(self) -> list[Compared]:
        """Every metric that was compared, at every point."""
        return [c for point in self.points for c in point.compared]

    def document(self) -> dict[str, Any]:
        """The document that `cclab compare --json` prints."""
        return {
            "schema": SCHEMA,
            "compared": self.kind,
            "a": self.a.document(),
            "b": self.b.document(),
            "points": [point.document() for point in self.points],
            "only_a": self.only_a,
            "only_b": self.only_b,
            "warnings": [
                {"code": w.code, "message": w.message, "remedy": w.remedy} for w in self.warnings
            ],
        }


def compare_results(
    kind: Kind,
    a: Side,
    b: Side,
    *,
    metrics: Sequence[str] = (),
    meant: Sequence[str] = (),
) -> Comparison:
    """Compares the results of two sides; pure.

    Sweep points are matched by their parameters, flows by name. `metrics` names what is compared
    (`goodput_bps`, `bottleneck.utilization`; see `metric.DEFAULT` for what is if it is empty);
    `meant` are the keys in which the sides differ on purpose (`flow.short.cc`), if that is known.

    Raises `InputError` if a metric is not known or no sweep point is on both sides.
    """
    chosen = metric_names(metrics)
    with_runs_a = {_key(p.params): p for p in a.results.points if p.runs}
    with_runs_b = {_key(p.params): p for p in b.results.points if p.runs}
    points = [
        _point(point, with_runs_b[key], chosen, bool(metrics))
        for key, point in with_runs_a.items()
        if key in with_runs_b
    ]
    if not points:
        raise InputError(_nothing_shared(a, b))
    only_a = [p.params for key, p in with_runs_a.items() if key not in with_runs_b]
    only_b = [p.params for key, p in with_runs_b.items() if key not in with_runs_a]
    raised = [
        *doubts.of_comparison(kind, points, meant, a.results.plan, b.results.plan),
        *doubts.of_sides(a.results, b.results),
    ]
    return Comparison(kind, a, b, points, only_a, only_b, raised)


def _key(params: dict[str, Any]) -> str:
    return json.dumps(params, sort_keys=True)


def _nothing_shared(a: Side, b: Side) -> str:
    lines = ["no sweep point has runs on both sides; points are matched by what the studies sweep:"]
    for letter, side in (("A", a), ("B", b)):
        labels = [point.label for point in side.results.points if point.runs]
        shown = "; ".join(labels[:3]) or "no runs"
        more = f"; and {len(labels) - 3} more" if len(labels) > 3 else ""
        lines.append(f"  {letter} ({side.label}): {shown}{more}")
    return "\n".join(lines)


def _point(a: Point, b: Point, metrics: list[Metric], asked: bool) -> PointComparison:
    runs_a = sorted(a.runs, key=lambda run: run.run.seed)
    runs_b = sorted(b.runs, key=lambda run: run.run.seed)
    seeds_a, seeds_b = [r.run.seed for r in runs_a], [r.run.seed for r in runs_b]
    scenario_a, scenario_b = runs_a[0].run.scenario, runs_b[0].run.scenario
    changed = changes(scenario_a, scenario_b)
    backend_a, backend_b = runs_a[0].run.backend, runs_b[0].run.backend
    if backend_a != backend_b:
        changed.insert(0, Change("backend", backend_a, backend_b))
    flows_a = {flow["name"]: flow for flow in scenario_a["flows"]}
    flows_b = {flow["name"]: flow for flow in scenario_b["flows"]}
    paired = seeds_a == seeds_b
    flows, unfinished = [], {}
    for name in (name for name in flows_a if name in flows_b):
        transfers = any(flows[name].get("transfer") is not None for flows in (flows_a, flows_b))
        rows_a, rows_b = _rows(runs_a, name), _rows(runs_b, name)
        counts = (_cut_short(rows_a, flows_a[name]), _cut_short(rows_b, flows_b[name]))
        if any(counts):
            unfinished[name] = counts
        compared = [
            _compared(metric, rows_a, rows_b, paired)
            for metric in metrics
            if metric.subject == "flow"
            # Without a transfer it is the run's length, whatever the variant does.
            and (metric.name != "elapsed_s" or transfers or asked)
        ]
        flows.append(FlowComparison(name, flows_a[name]["cc"], flows_b[name]["cc"], compared))
    whole = [
        _compared(metric, _whole(runs_a, metric), _whole(runs_b, metric), paired)
        for metric in metrics
        if metric.subject in ("bottleneck", "run")
    ]
    kinds_a, kinds_b = _kinds(scenario_a), _kinds(scenario_b)
    chosen = [metric for metric in metrics if metric.subject == "traffic"]
    traffic = [
        TrafficComparison(
            name, kind, kinds_b[name], _of_source(name, chosen, runs_a, runs_b, paired)
        )
        for name, kind in kinds_a.items()
        if name in kinds_b
    ]
    return PointComparison(
        params=a.params,
        label=a.label,
        seeds_a=seeds_a,
        seeds_b=seeds_b,
        changes=changed,
        flows=flows,
        traffic=traffic,
        whole=whole,
        flows_only_a=[name for name in flows_a if name not in flows_b],
        flows_only_b=[name for name in flows_b if name not in flows_a],
        traffic_only_a=[name for name in kinds_a if name not in kinds_b],
        traffic_only_b=[name for name in kinds_b if name not in kinds_a],
        same_runs=bool({r.run.id for r in runs_a} & {r.run.id for r in runs_b}),
        unfinished=unfinished,
    )


def _kinds(scenario: dict[str, Any]) -> dict[str, str]:
    """The kinds of a scenario's cross traffic by its names."""
    return {source["name"]: source["kind"] for source in scenario.get("traffic", [])}


def _of_source(
    name: str, metrics: list[Metric], a: list[Measured], b: list[Measured], paired: bool
) -> list[Compared]:
    """What its kind has of `metrics`."""
    rows_a, rows_b = (
        [flat_traffic(next(s for s in run.metrics["traffic"] if s["name"] == name)) for run in runs]
        for runs in (a, b)
    )
    measured = [m for m in metrics if any(row[m.name] is not None for row in (*rows_a, *rows_b))]
    return [_compared(metric, rows_a, rows_b, paired) for metric in measured]


def _rows(runs: list[Measured], name: str) -> list[dict[str, Any]]:
    """The metrics of the flow called `name`, run by run.

    How long a transfer took is not known of one that did not end.
    """
    rows = []
    for run in runs:
        flow = next(f for f in run.metrics["flows"] if f["name"] == name)
        asked = next(f for f in run.run.scenario["flows"] if f["name"] == name)
        cut = asked.get("transfer") is not None and flow["ended_s"] is None
        rows.append({**flow, "elapsed_s": None} if cut else flow)
    return rows


def _cut_short(rows: list[dict[str, Any]], flow: dict[str, Any]) -> int:
    return 0 if flow.get("transfer") is None else sum(row["ended_s"] is None for row in rows)


def _whole(runs: list[Measured], metric: Metric) -> list[dict[str, Any]]:
    if metric.subject == "run":
        return [run.metrics for run in runs]
    return [run.metrics["bottleneck"] for run in runs]


def _compared(
    metric: Metric, a: list[dict[str, Any]], b: list[dict[str, Any]], paired: bool
) -> Compared:
    values_a, values_b = [row[metric.name] for row in a], [row[metric.name] for row in b]
    found = difference(values_a, values_b, paired=paired)
    measured = (any(v is not None for v in values_a), any(v is not None for v in values_b))
    return Compared(metric, found, verdict(metric, found, measured))
