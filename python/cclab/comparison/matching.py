"""Matches the sweep points, flows, traffic and runs of two sides that are compared."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from cclab.comparison.difference import Difference, differences
from cclab.comparison.metric import follows_window
from cclab.measure.grouped import MOST_FLOWS
from cclab.metrics import (
    FLOW_GROUPS,
    group_share,
    kind,
    of_flow,
    of_source,
    shares,
    shown,
    warmed_up,
)
from cclab.metrics import Subject as Owner
from cclab.plan.changes import Change, changes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cclab.comparison.metric import Metric
    from cclab.documents.scenario import Flow as WrittenFlow
    from cclab.documents.scenario import Scenario
    from cclab.measure.points import Measured, Point
    from cclab.measure.results import Results


@dataclass(frozen=True)
class Row:
    """A metric at a sweep point, run by run on both sides."""

    metric: Metric
    a: list[float | None]
    b: list[float | None]
    paired: bool
    """Whether the runs at equal places belong together."""
    repeated: bool
    """Whether a side has several runs, and the runs of each side are one run, repeated."""


def differences_of(rows: list[Row]) -> list[Difference | None]:
    """The difference of each of `rows`: those with as many runs at once."""
    of_rows: list[Difference | None] = [None] * len(rows)
    alike: dict[tuple[bool, int, int], list[int]] = {}
    for place, row in enumerate(rows):
        alike.setdefault((row.paired, len(row.a), len(row.b)), []).append(place)
    for (paired, _, _), places in alike.items():
        sides = ([rows[place].a for place in places], [rows[place].b for place in places])
        for place, difference in zip(places, differences(*sides, paired=paired), strict=True):
            of_rows[place] = difference
    return of_rows


@dataclass(frozen=True)
class Subject:
    """A flow, a group of flows, a source of cross traffic, a probe or a named queue that both
    sides have."""

    name: str
    of_a: str
    """The flow's variant, the kind of the traffic or probe, or the queue's discipline, in A."""
    of_b: str
    """The same in B."""
    rows: list[Row]


@dataclass(frozen=True)
class Match:
    """A sweep point that both sides have runs of."""

    params: dict[str, Any]
    label: str
    """The point in words; "all runs" if nothing is swept."""
    seeds_a: list[int]
    """Of the runs of A that are compared."""
    seeds_b: list[int]
    """The same of B."""
    left_out_a: list[int]
    """Seeds of runs of A that are left out: B lacks them, and shares other seeds with A."""
    left_out_b: list[int]
    """The same of B."""
    changes: list[Change]
    """Where the scenarios of the two sides differ, the backend first if it does."""
    groups: list[Subject]
    flows: list[Subject]
    """The flows; if they are many, only those in no group, unless metrics of flows were asked for.
    """
    traffic: list[Subject]
    whole: list[Row]
    """Of the run as a whole: the bottleneck, and Jain's index."""
    flows_only_a: list[str]
    flows_only_b: list[str]
    traffic_only_a: list[str]
    traffic_only_b: list[str]
    same_runs: bool
    """Whether a run on one side is also on the other."""
    unfinished: dict[str, tuple[int, int]]
    """Runs of A and of B in which a flow's transfer did not end, by the flow's name."""
    probes: list[Subject] = field(default_factory=list)
    probes_only_a: list[str] = field(default_factory=list)
    probes_only_b: list[str] = field(default_factory=list)
    bands: list[Subject] = field(default_factory=list)
    """Named queues of the bottleneck's discipline, where metrics of them were asked for."""

    @property
    def paired(self) -> bool:
        """Whether runs are compared seed by seed: where the sides have any seed in common."""
        return self.seeds_a == self.seeds_b

    @property
    def subjects(self) -> list[Subject]:
        """What has names of its own, in order."""
        return [*self.groups, *self.flows, *self.traffic, *self.probes, *self.bands]

    @property
    def rows(self) -> list[Row]:
        """Everything that is compared here, in order."""
        return [row for subject in self.subjects for row in subject.rows] + self.whole


@dataclass(frozen=True)
class Matches:
    """The sweep points of two sides."""

    points: list[Match]
    """On both."""
    only_a: list[dict[str, Any]]
    """The parameters of those that only A has runs of."""
    only_b: list[dict[str, Any]]
    """The same of B."""


def match(a: Results, b: Results, metrics: list[Metric], names: Sequence[str]) -> Matches:
    """The points of `a` and `b` that have the same parameters, and what to compare there.

    `names` are the user's names for `metrics`, if the user chose any; then flows without a transfer
    have their time compared too.
    """
    asked = bool(names)
    if all(warmed_up(run.metrics) for side in (a, b) for p in side.points for run in p.runs):
        metrics = [shown(m, warm=True) if follows_window(m, names) else m for m in metrics]
    with_runs_a = {_key(p.params): p for p in a.points if p.runs}
    with_runs_b = {_key(p.params): p for p in b.points if p.runs}
    return Matches(
        [
            _point(point, with_runs_b[key], metrics, asked)
            for key, point in with_runs_a.items()
            if key in with_runs_b
        ],
        [p.params for key, p in with_runs_a.items() if key not in with_runs_b],
        [p.params for key, p in with_runs_b.items() if key not in with_runs_a],
    )


def has(results: Results, metric: Metric) -> bool:
    """Whether some run of `results` measured `metric`."""
    return any(
        metric.of(owner) is not None
        for point in results.points
        for run in point.runs
        for owner in _owners(run.metrics, metric.subject)
    )


def _owners(measured: dict[str, Any], subject: Owner) -> list[dict[str, Any]]:
    """What there is of a subject in the metrics of a run."""
    bottleneck: dict[str, Any] = measured["bottleneck"]
    by_subject: dict[str, list[dict[str, Any]]] = {
        "flow": [
            {**flow, "share": share}
            for flow, share in zip(measured["flows"], shares(measured), strict=True)
        ],
        "group": _with_shares(measured),
        "traffic": measured.get("traffic", []),
        "probe": measured.get("probes", []),
        "bottleneck": [bottleneck],
        "band": bottleneck.get("bands", []),
        "run": [measured],
    }
    return by_subject.get(subject, [])


def _with_shares(measured: dict[str, Any]) -> list[dict[str, Any]]:
    """The metrics of the groups of a run, with what their flows make together."""
    groups: list[dict[str, Any]] = measured.get("groups", [])
    return [{**group, "share": group_share(measured, group["name"])} for group in groups]


def _key(params: dict[str, Any]) -> str:
    return json.dumps(params, sort_keys=True)


def _point(a: Point, b: Point, metrics: list[Metric], asked: bool) -> Match:
    runs_a, runs_b, left_out_a, left_out_b = _in_common(a, b)
    seeds_a, seeds_b = _seeds(runs_a), _seeds(runs_b)
    sides = _Sides(runs_a, runs_b, seeds_a == seeds_b, _repeated(runs_a) and _repeated(runs_b))
    scenario_a, scenario_b = runs_a[0].run.scenario, runs_b[0].run.scenario
    changed = changes(scenario_a, scenario_b)
    backend_a, backend_b = runs_a[0].run.backend, runs_b[0].run.backend
    if backend_a != backend_b:
        changed.insert(0, Change("backend", backend_a, backend_b))
    flows_a = {flow["name"]: flow for flow in scenario_a["flows"]}
    flows_b = {flow["name"]: flow for flow in scenario_b["flows"]}
    groups_a, groups_b = (_groups(runs) for runs in (runs_a, runs_b))
    groups = [
        Subject(name, groups_a[name], groups_b[name], _group(name, metrics, sides))
        for name in groups_a
        if name in groups_b
    ]
    folded = max(len(flows_a), len(flows_b)) > MOST_FLOWS and not asked
    inside = _inside(runs_a, groups) | _inside(runs_b, groups) if folded else set()
    flows, unfinished = [], {}
    for name in (name for name in flows_a if name in flows_b):
        transfers = any(flows[name].get("transfer") is not None for flows in (flows_a, flows_b))
        rows_a, rows_b = _flow(runs_a, name), _flow(runs_b, name)
        counts = (_cut_short(rows_a, flows_a[name]), _cut_short(rows_b, flows_b[name]))
        if any(counts):
            unfinished[name] = counts
        if name in inside:
            continue
        compared = [
            sides.row(metric, rows_a, rows_b)
            for metric in metrics
            if metric.subject == "flow"
            # Without a transfer it is the run's length, whatever the variant does.
            and (metric.name != "elapsed_s" or transfers or asked)
            # What only one transport has is nothing to compare of the other.
            and (metric.keys[0] not in FLOW_GROUPS or asked or _measured(metric, rows_a + rows_b))
        ]
        flows.append(Subject(name, kind(rows_a[0]), kind(rows_b[0]), compared))
    kinds_a, kinds_b = _kinds(scenario_a, "traffic"), _kinds(scenario_b, "traffic")
    chosen = [metric for metric in metrics if metric.subject == "traffic"]
    probes_a, probes_b = _kinds(scenario_a, "probes"), _kinds(scenario_b, "probes")
    of_probes = [metric for metric in metrics if metric.subject == "probe"]
    return Match(
        params=a.params,
        label=a.label,
        seeds_a=seeds_a,
        seeds_b=seeds_b,
        left_out_a=_seeds(left_out_a),
        left_out_b=_seeds(left_out_b),
        changes=changed,
        groups=groups,
        flows=flows,
        traffic=[
            Subject(name, kind, kinds_b[name], _source(name, chosen, sides))
            for name, kind in kinds_a.items()
            if name in kinds_b
        ],
        whole=[
            sides.row(metric, _whole(runs_a, metric), _whole(runs_b, metric))
            for metric in metrics
            if metric.subject in ("bottleneck", "run")
        ],
        flows_only_a=[name for name in flows_a if name not in flows_b],
        flows_only_b=[name for name in flows_b if name not in flows_a],
        traffic_only_a=[name for name in kinds_a if name not in kinds_b],
        traffic_only_b=[name for name in kinds_b if name not in kinds_a],
        same_runs=bool({r.run.id for r in runs_a} & {r.run.id for r in runs_b}),
        unfinished=unfinished,
        probes=[
            Subject(name, kind, probes_b[name], _probe(name, of_probes, sides))
            for name, kind in probes_a.items()
            if name in probes_b
        ],
        probes_only_a=[name for name in probes_a if name not in probes_b],
        probes_only_b=[name for name in probes_b if name not in probes_a],
        bands=_bands(metrics, sides),
    )


def _in_common(
    a: Point, b: Point
) -> tuple[list[Measured], list[Measured], list[Measured], list[Measured]]:
    """The runs of A and of B to compare, by their seeds, and those of A and of B to leave out.

    The runs of the seeds that both sides have, or all runs if there is no such seed. A run that one
    side lacks costs one pair, and leaves the other pairs.
    """
    runs_a, runs_b = (sorted(side.runs, key=lambda run: run.run.seed) for side in (a, b))
    common = set(_seeds(runs_a)) & set(_seeds(runs_b))
    if not common:
        return runs_a, runs_b, [], []
    (of_a, left_a), (of_b, left_b) = (
        (
            [run for run in runs if run.run.seed in common],
            [run for run in runs if run.run.seed not in common],
        )
        for runs in (runs_a, runs_b)
    )
    return of_a, of_b, left_a, left_b


def _seeds(runs: list[Measured]) -> list[int]:
    return [run.run.seed for run in runs]


@dataclass(frozen=True)
class _Sides:
    """The runs of both sides that are compared at a sweep point."""

    a: list[Measured]
    b: list[Measured]
    paired: bool
    repeated: bool

    def row(self, metric: Metric, a: Sequence[dict[str, Any]], b: Sequence[dict[str, Any]]) -> Row:
        """`metric` in the metrics of a subject, run by run."""
        values_a, values_b = ([owner[metric.name] for owner in side] for side in (a, b))
        return Row(metric, values_a, values_b, self.paired, self.repeated)


def _repeated(runs: list[Measured]) -> bool:
    """Whether all runs measured exactly the same: then they say nothing about chance."""
    first, *others = [
        {name: value for name, value in run.metrics.items() if name != "warnings"} for run in runs
    ]
    return bool(others) and all(next_one == first for next_one in others)


def _kinds(scenario: Scenario, key: Literal["traffic", "probes"]) -> dict[str, str]:
    """The kinds of a scenario's cross traffic, or of its probes, by their names."""
    sources = scenario.get("traffic", []) if key == "traffic" else scenario.get("probes", [])
    return {source["name"]: source["kind"] for source in sources}


def _probe(name: str, metrics: list[Metric], sides: _Sides) -> list[Row]:
    """What the probe called `name` has of `metrics`."""
    rows_a, rows_b = (
        [next(p for p in run.metrics["probes"] if p["name"] == name) for run in runs]
        for runs in (sides.a, sides.b)
    )
    return [sides.row(metric, rows_a, rows_b) for metric in metrics]


def _groups(runs: list[Measured]) -> dict[str, str]:
    """The variants of the groups of flows by their names."""
    groups = runs[0].metrics.get("groups", [])
    return {group["name"]: ", ".join(group["variants"]) for group in groups}


def _inside(runs: list[Measured], groups: list[Subject]) -> set[str]:
    """The flows that are in one of `groups`."""
    names = {group.name for group in groups}
    return {f["name"] for f in runs[0].metrics["flows"] if f.get("group") in names}


def _group(name: str, metrics: list[Metric], sides: _Sides) -> list[Row]:
    """What there is of `metrics` of the group called `name`."""
    rows_a, rows_b = (
        [next(g for g in _with_shares(run.metrics) if g["name"] == name) for run in runs]
        for runs in (sides.a, sides.b)
    )
    return [
        sides.row(metric, rows_a, rows_b)
        for metric in metrics
        if metric.subject == "group"
        and any(row[metric.name] is not None for row in (*rows_a, *rows_b))
    ]


def _bands(metrics: list[Metric], sides: _Sides) -> list[Subject]:
    """What the named queues that both sides have, have of `metrics`."""
    of_queues = [metric for metric in metrics if metric.subject == "band"]
    (kind_a, of_a), (kind_b, of_b) = (_queues(runs) for runs in (sides.a, sides.b))
    return [
        Subject(name, kind_a, kind_b, [sides.row(one, rows, of_b[name]) for one in of_queues])
        for name, rows in of_a.items()
        if name in of_b and of_queues
    ]


def _queues(runs: list[Measured]) -> tuple[str, dict[str, list[dict[str, Any]]]]:
    """The bottleneck's discipline, and the metrics of each of its named queues, run by run."""
    of_queues: dict[str, list[dict[str, Any]]] = {}
    for run in runs:
        for band in run.metrics["bottleneck"].get("bands", []):
            of_queues.setdefault(band["name"], []).append(band)
    every = {name: rows for name, rows in of_queues.items() if len(rows) == len(runs)}
    return runs[0].run.scenario["network"]["bottleneck"]["queue"]["kind"], every


def _source(name: str, metrics: list[Metric], sides: _Sides) -> list[Row]:
    """What the kind of the traffic called `name` has of `metrics`."""
    rows_a, rows_b = (
        [of_source(next(s for s in run.metrics["traffic"] if s["name"] == name)) for run in runs]
        for runs in (sides.a, sides.b)
    )
    measured = [m for m in metrics if any(row[m.name] is not None for row in (*rows_a, *rows_b))]
    return [sides.row(metric, rows_a, rows_b) for metric in measured]


def _measured(metric: Metric, rows: list[dict[str, Any]]) -> bool:
    """Whether any of a flow's runs has the metric."""
    return any(row[metric.name] is not None for row in rows)


def _flow(runs: list[Measured], name: str) -> list[dict[str, Any]]:
    """The metrics of the flow called `name`, run by run.

    A transfer that did not end has no `elapsed_s`.
    """
    rows = []
    for run in runs:
        place, flow = next((k, f) for k, f in enumerate(run.metrics["flows"]) if f["name"] == name)
        asked = next(f for f in run.run.scenario["flows"] if f["name"] == name)
        cut = asked["transfer"] is not None and flow["ended_s"] is None
        share = {"share": shares(run.metrics)[place]}
        rows.append(of_flow(flow) | share | ({"elapsed_s": None} if cut else {}))
    return rows


def _cut_short(rows: list[dict[str, Any]], flow: WrittenFlow) -> int:
    return 0 if flow["transfer"] is None else sum(row["ended_s"] is None for row in rows)


def _whole(runs: list[Measured], metric: Metric) -> list[dict[str, Any]]:
    if metric.subject == "run":
        return [run.metrics for run in runs]
    return [run.metrics["bottleneck"] for run in runs]
