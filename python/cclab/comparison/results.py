"""Two sets of results side by side: what differs, by how much, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from cclab.comparison import demand, doubts
from cclab.comparison.correction import LEVEL, Correction, adjusted
from cclab.comparison.matching import Match, Row, differences_of, has, match
from cclab.comparison.metric import METRICS, Metric, metric_names
from cclab.comparison.overall import Overall, overall
from cclab.comparison.verdict import Verdict, code_of, untested, words
from cclab.errors import InputError
from cclab.late import late
from cclab.metrics import OF_SEVERAL, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from cclab.comparison import figure as forest_figure
    from cclab.comparison.demand import Fault
    from cclab.comparison.difference import Difference
    from cclab.comparison.margin import Margin, Standing
    from cclab.drawing.style import Drawing
    from cclab.measure.results import Results
    from cclab.measure.summary import Raised
    from cclab.plan.changes import Change
else:
    forest_figure = late("cclab.comparison.figure")

SCHEMA = "cclab-compare/2"
"""Name and version of the comparison's document; docs/compare.schema.json describes it."""

Kind = Literal["stores", "backends", "variants", "kernels"]
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
    p_adjusted: float | None
    """The p-value of the difference, corrected for all that is compared; None if not tested."""
    verdict: Verdict
    standing: Standing | None
    """Where B stands against the margin; None without one, and where no way is the better one."""

    @property
    def p(self) -> float | None:
        """The p-value of the difference alone; None if it was not tested."""
        if self.difference is None or self.p_adjusted is None:
            return None
        return self.difference.p

    def document(self) -> dict[str, Any]:
        """As a comparison's document spells it."""
        difference = self.difference
        relative = None if difference is None else difference.relative
        return {
            "a": None if difference is None else difference.a.document(),
            "b": None if difference is None else difference.b.document(),
            "difference": None if difference is None else difference.absolute.document(),
            "relative": None if relative is None else relative.document(),
            "p": self.p,
            "p_adjusted": self.p_adjusted,
            "verdict": self.verdict.code,
            "standing": self.standing,
            "untested": self.verdict.untested,
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
class GroupComparison:
    """A group of flows that both sides have."""

    name: str
    variants_a: str
    variants_b: str
    metrics: list[Compared]

    def document(self) -> dict[str, Any]:
        """As a comparison's document spells it."""
        return {
            "name": self.name,
            "variants_a": self.variants_a,
            "variants_b": self.variants_b,
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
class ProbeComparison(TrafficComparison):
    """A probe that both sides have."""


@dataclass(frozen=True)
class BandComparison(TrafficComparison):
    """A named queue of the bottleneck's discipline that both sides have; that is its kind."""


@dataclass(frozen=True)
class PointComparison:
    """A sweep point that both sides have runs of."""

    match: Match = field(repr=False)
    """The runs that were compared with each other."""
    groups: list[GroupComparison]
    flows: list[FlowComparison]
    traffic: list[TrafficComparison]
    probes: list[ProbeComparison]
    bands: list[BandComparison]
    """Named queues of the bottleneck's discipline, where metrics of them were asked for."""
    whole: list[Compared]
    """The metrics of the run as a whole: of the bottleneck, and those of the run."""

    @property
    def params(self) -> dict[str, Any]:
        """The swept keys and their values."""
        return self.match.params

    @property
    def paired(self) -> bool:
        """Whether runs are compared seed by seed: where the sides have any seed in common."""
        return self.match.paired

    @property
    def changes(self) -> list[Change]:
        """Where the scenarios of the two sides differ, the backend first if it does."""
        return self.match.changes

    @property
    def named(self) -> list[tuple[str, Compared]]:
        """Every metric that was compared here, with what it is of."""
        of_subjects = [(group.name, c) for group in self.groups for c in group.metrics]
        of_subjects += [(flow.name, c) for flow in self.flows for c in flow.metrics]
        beside = (*self.traffic, *self.probes)
        of_subjects += [(source.name, c) for source in beside for c in source.metrics]
        of_subjects += [(f"queue {band.name}", c) for band in self.bands for c in band.metrics]
        return of_subjects + [("whole run", c) for c in self.whole]

    @property
    def compared(self) -> list[Compared]:
        """Every metric that was compared here."""
        return [c for _, c in self.named]

    def document(self) -> dict[str, Any]:
        """As a comparison's document spells it."""
        match = self.match
        return {
            "params": match.params,
            "seeds_a": match.seeds_a,
            "seeds_b": match.seeds_b,
            "left_out_a": match.left_out_a,
            "left_out_b": match.left_out_b,
            "paired": match.paired,
            "changes": [change.document() for change in match.changes],
            **({"groups": [g.document() for g in self.groups]} if self.groups else {}),
            "flows": [flow.document() for flow in self.flows],
            "traffic": [source.document() for source in self.traffic],
            "probes": [probe.document() for probe in self.probes],
            **({"bands": [band.document() for band in self.bands]} if self.bands else {}),
            "bottleneck": {
                c.metric.name: c.document() for c in self.whole if c.metric.subject == "bottleneck"
            },
            "jain": next(
                (c.document() for c in self.whole if c.metric.name in ("jain", "window_jain")), None
            ),
            "run": {c.metric.name: c.document() for c in self.whole if c.metric.subject == "run"},
            "flows_only_a": match.flows_only_a,
            "flows_only_b": match.flows_only_b,
            "traffic_only_a": match.traffic_only_a,
            "traffic_only_b": match.traffic_only_b,
            "probes_only_a": match.probes_only_a,
            "probes_only_b": match.probes_only_b,
        }


@dataclass(frozen=True)
class Comparison:
    """A against B: every sweep point, flow and metric that both have."""

    kind: Kind
    a: Side
    b: Side
    correction: Correction
    """How p-values are corrected for their number."""
    margin: Margin | None
    """How much worse B may be and still be no worse; None if that was not asked."""
    points: list[PointComparison]
    overall: list[Overall]
    """Each metric over all sweep points; empty if there is one."""
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

    def failing(self, *outcomes: str) -> list[Fault]:
        """What makes `cclab compare --fail-if` end with 1: the comparisons that came out so.

        `outcomes` are "worse", "undecided" (with a margin) and "different". All that is compared is
        judged together: where nothing differs, anything is said to with a probability of 5%.

        Raises `InputError` if one is not known, or if the runs could not have shown any.
        """
        return demand.judge(self, demand.outcomes(outcomes, self.margin)).faults

    def figure(self) -> Drawing:
        """The differences with their intervals, a panel for each metric; notebooks show it.

        Raises `InputError` if no difference can be drawn.
        """
        return forest_figure.forest(self)

    def document(self) -> dict[str, Any]:
        """The document that `cclab compare --json` prints."""
        return {
            "schema": SCHEMA,
            "compared": self.kind,
            "a": self.a.document(),
            "b": self.b.document(),
            "correction": self.correction,
            "level": LEVEL,
            "margin": None if self.margin is None else self.margin.share,
            "margin_points": None if self.margin is None else self.margin.points,
            "tested": sum(c.p_adjusted is not None for c in self.compared),
            "overall": [test.document() for test in self.overall],
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
    correction: Correction = "fdr",
    margin: Margin | None = None,
) -> Comparison:
    """Compares the results of two sides; pure.

    Sweep points are matched by their parameters, flows by name. `metrics` names what is compared
    (`goodput_bps`, `bottleneck.utilization`; see `metric.DEFAULT` for what is if it is empty);
    `meant` are the keys in which the sides differ on purpose (`flow.short.cc`), if that is known.
    `correction` says how p-values are corrected for the number of all that is compared, `margin`
    how much worse B may be and still be no worse.

    Raises `InputError` if a metric is not known or no sweep point is on both sides.
    """
    both = (a.results, b.results)

    def there(metric: Metric) -> bool:
        return all(has(side, metric) for side in both)

    chosen = metric_names(metrics, there)
    matched = match(a.results, b.results, chosen, metrics)
    points = matched.points
    if not points:
        raise InputError(_nothing_shared(a, b))
    if metrics:
        _check_measured(chosen, points, there)
    if margin is not None:
        margin.check(row.metric for point in points for row in point.rows)
    compared = iter(_compared([row for point in points for row in point.rows], correction, margin))
    tested = [_point(point, compared) for point in points]
    family = sum(c.p_adjusted is not None for point in tested for c in point.compared)
    raised = [
        *doubts.of_comparison(kind, points, meant, a.results.plan, b.results.plan),
        *doubts.of_tests(
            points,
            family,
            correction,
            told=any(c.verdict.code != "no-evidence" for point in tested for c in point.compared),
        ),
        *doubts.of_sides(a.results, b.results),
    ]
    across = overall(points, correction)
    return Comparison(
        kind, a, b, correction, margin, tested, across, matched.only_a, matched.only_b, raised
    )


def _check_measured(
    asked: Sequence[Metric], points: Sequence[Match], there: Callable[[Metric], bool]
) -> None:
    """Raises `InputError` if one of the metrics asked for was measured nowhere on both sides, and
    says what else of the same name is `there`."""
    measured = {
        row.metric.path
        for point in points
        for row in point.rows
        if any(v is not None for v in row.a) and any(v is not None for v in row.b)
    }
    lacking = [m for m in asked if not {m.path, shown(m, warm=True).path} & measured]
    if not lacking:
        return
    names = ", ".join(metric.path for metric in lacking)
    remedy = ""
    if any(metric.name in OF_SEVERAL for metric in lacking):
        remedy = "; that takes runs beside the study's own: --set baselines=solo (or self)"
    else:
        alike = {metric.name for metric in lacking}
        others = [m.path for m in METRICS if m.name in alike and m not in lacking and there(m)]
        remedy = f"; both have {', '.join(others)}" if others else ""
    raise InputError(f"no run measured {names} on both sides{remedy}")


def _nothing_shared(a: Side, b: Side) -> str:
    lines = ["no sweep point has runs on both sides; points are matched by what the studies sweep:"]
    for letter, side in (("A", a), ("B", b)):
        labels = [point.label for point in side.results.points if point.runs]
        shown = "; ".join(labels[:3]) or "no runs"
        more = f"; and {len(labels) - 3} more" if len(labels) > 3 else ""
        lines.append(f"  {letter} ({side.label}): {shown}{more}")
    return "\n".join(lines)


def _compared(
    rows: list[Row], correction: Correction, margin: Margin | None = None
) -> list[Compared]:
    """Each of `rows` tested, its p-value corrected for their number, and held against `margin`."""
    of_rows = differences_of(rows)
    reasons = [
        untested(difference, row.repeated) for difference, row in zip(of_rows, rows, strict=True)
    ]
    p_values = {
        place: difference.p
        for place, (difference, reason) in enumerate(zip(of_rows, reasons, strict=True))
        if difference is not None and difference.p is not None and reason is None
    }
    corrected = dict(zip(p_values, adjusted(list(p_values.values()), correction), strict=True))
    compared = []
    for place, (row, difference, reason) in enumerate(zip(rows, of_rows, reasons, strict=True)):
        p = corrected.get(place)
        code = (
            "no-evidence"
            if difference is None
            else code_of(row.metric, difference.absolute.mean, p)
        )
        measured = (any(v is not None for v in row.a), any(v is not None for v in row.b))
        outcome = Verdict(code, reason, words(row.metric, difference, measured))
        standing = None if margin is None else margin.standing(row.metric, difference, row.repeated)
        compared.append(Compared(row.metric, difference, p, outcome, standing))
    return compared


def _point(match: Match, compared: Iterator[Compared]) -> PointComparison:
    """A sweep point with the next of `compared`, in the order of its rows."""
    groups = [
        GroupComparison(g.name, g.of_a, g.of_b, _taken(compared, g.rows)) for g in match.groups
    ]
    flows = [FlowComparison(f.name, f.of_a, f.of_b, _taken(compared, f.rows)) for f in match.flows]
    traffic = [
        TrafficComparison(t.name, t.of_a, t.of_b, _taken(compared, t.rows)) for t in match.traffic
    ]
    probes = [
        ProbeComparison(p.name, p.of_a, p.of_b, _taken(compared, p.rows)) for p in match.probes
    ]
    bands = [BandComparison(b.name, b.of_a, b.of_b, _taken(compared, b.rows)) for b in match.bands]
    whole = _taken(compared, match.whole)
    return PointComparison(match, groups, flows, traffic, probes, bands, whole)


def _taken(compared: Iterator[Compared], rows: list[Row]) -> list[Compared]:
    return [next(compared) for _ in rows]
