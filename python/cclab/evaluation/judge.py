"""What the runs say of each criterion: first at every setting of its scenario, then as a line."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy import stats as tests

from cclab import shown
from cclab.comparison.correction import LEVEL, adjusted
from cclab.errors import InputError, StudyError
from cclab.measure import findings
from cclab.measure.stats import Estimate, estimate
from cclab.plan import in_words
from cclab.quantities import points
from cclab.quantities.expressions import ExpressionError
from cclab.quantities.names import evaluated
from cclab.quantities.states import UntoldError, untold

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from cclab.evaluation.schema import Criterion, Scenario
    from cclab.measure.points import Point
    from cclab.measure.results import Results
    from cclab.measure.stats import Floats

Standing = Literal["no worse", "worse", "undecided"]
"""The subject against one standard, at one setting."""

Verdict = Literal[
    "meets",
    "no worse than standard",
    "worse than standard",
    "fails",
    "undecided",
    "not evaluated",
]

VERDICTS: tuple[Verdict, ...] = (
    "fails",
    "worse than standard",
    "undecided",
    "not evaluated",
    "no worse than standard",
    "meets",
)
"""Those that ask for a look first."""

FAULTS: tuple[Verdict, ...] = ("fails", "worse than standard")

_STANDING: dict[findings.Finding, Standing] = {
    "holds": "no worse",
    "fails": "worse",
    "open": "undecided",
}
"""Against a standard, by whether the subject is within the margin."""

_ROUNDING = 1e-12
"""Values that differ by no more than this part of theirs are the same, but for rounding."""

_MOST_SEEDS = 10_000
"""More are told as `more than` these: no number of runs will do."""


@dataclass(frozen=True)
class Subject:
    """The variant under test."""

    given: str
    """As the user called it: a variant's name or the path of a file."""
    key: str
    """What studies say for it: the name, or the path from the root."""
    name: str
    """What its flows are called after."""
    sha256: str | None
    """Of its file; None of a variant of cclab's own."""

    def document(self) -> dict[str, Any]:
        """As the card's document spells it."""
        return {"given": self.given, "name": self.name, "source_sha256": self.sha256}


@dataclass(frozen=True)
class Sample:
    """What the runs of a variant at a setting measured."""

    variant: str
    seeds: list[int]
    values: list[float | None]
    """By seed; None where a run did not measure it."""
    runs: list[str]

    @property
    def estimate(self) -> Estimate | None:
        """The mean over seeds and its interval; None if no run has a value."""
        return estimate(self.values)

    def of(self, seeds: Sequence[int]) -> Sample:
        """The runs with those seeds, in their order."""
        places = [self.seeds.index(seed) for seed in seeds]
        values, runs = [self.values[n] for n in places], [self.runs[n] for n in places]
        return Sample(self.variant, list(seeds), values, runs)

    @property
    def whole(self) -> bool:
        """Whether every run measured it."""
        return bool(self.values) and None not in self.values


@dataclass(frozen=True)
class Beside:
    """The subject beside a standard, seed by seed, at one setting."""

    standard: Sample
    difference: Estimate | None
    """Subject minus standard, in the criterion's unit."""
    excess: Estimate | None
    """By how much the subject is worse than the standard with its margin."""
    p: float | None
    """Of a paired t-test, one-sided, that it is not worse by more than the margin; None where
    nothing was measured."""
    standing: Standing


@dataclass(frozen=True)
class Setting:
    """A criterion at one setting of its scenario."""

    params: dict[str, Any]
    label: str
    """The setting in words: the keys whose values are not everywhere the same."""
    subject: Sample
    besides: list[Beside]
    bound: findings.Finding | None
    """Whether the subject keeps the bound; None where the criterion has none."""
    doubts: list[str]
    """The warnings that leave it undecided."""
    let_pass: list[str] = field(default_factory=list)
    """The warnings that the suite says leave nothing undecided here."""
    bound_p: float | None = None
    """Of a one-sided t-test that the bound is kept; None where the criterion has none, or where it
    was not tested."""

    @property
    def standing(self) -> Standing | None:
        """Against the standards: no worse than one of them is no worse than standard."""
        if not self.besides:
            return None
        if self.doubts:
            return "undecided"
        standings = [beside.standing for beside in self.besides]
        if "no worse" in standings:
            return "no worse"
        return "worse" if all(standing == "worse" for standing in standings) else "undecided"

    @property
    def p(self) -> float | None:
        """Of being worse than every standard; None where that was not tested."""
        if self.doubts or not self.besides:
            return None
        p_values = [beside.p for beside in self.besides]
        return None if None in p_values else max(p for p in p_values if p is not None)

    @property
    def nearest(self) -> Beside | None:
        """The standard that the subject comes off best beside."""
        measured = [b for b in self.besides if b.excess is not None]
        return min(measured, key=lambda b: b.excess.mean if b.excess else math.inf, default=None)


@dataclass(frozen=True)
class Line:
    """A criterion, judged."""

    criterion: Criterion
    settings: list[Setting]
    p: float | None
    """Of being worse somewhere, corrected for the number of settings (Bonferroni)."""
    bound_p: float | None = None
    """Of breaking the bound somewhere, corrected likewise."""
    q: float | None = None
    """`p`, corrected for the number of such tests on the card (Benjamini and Hochberg)."""
    bound_q: float | None = None
    """`bound_p`, corrected likewise."""
    unavailable: str = ""
    """Why nothing was run; empty if it was."""
    deciding: list[Setting] = field(default_factory=list)
    """The settings that give the verdict, the one that says most first."""
    verdict: Verdict = "not evaluated"

    @property
    def let_pass(self) -> list[str]:
        """The warnings of its runs that the suite says leave nothing undecided."""
        return [*dict.fromkeys(code for setting in self.settings for code in setting.let_pass)]

    @property
    def more_seeds(self) -> int | None:
        """How many more seeds would about decide an undecided line; None where none would."""
        if self.verdict != "undecided":
            return None
        tested = len(self.settings)
        needed = [_seeds_needed(self.criterion, setting, tested) for setting in self.deciding]
        if not needed or None in needed:
            return None
        return max(n for n in needed if n is not None)


def lines(
    criteria: Sequence[Criterion],
    scenario: Scenario,
    despite: Iterable[str],
    results: Results,
    subject: Subject,
    standards: Sequence[str],
) -> list[Line]:
    """The criteria of a scenario at every setting; `corrected` gives them their verdicts.

    `despite` are the warnings that leave nothing undecided in any scenario.
    """
    allowed = {*despite, *scenario.despite}
    key = scenario.subject[0]
    beside: dict[str, tuple[dict[str, Any], dict[str, Point]]] = {}
    for point in results.points:
        params = {k: v for k, v in point.params.items() if k not in scenario.subject}
        of_params = beside.setdefault(json.dumps(params, sort_keys=True), (params, {}))
        of_params[1][str(point.params[key])] = point
    every = [params for params, _ in beside.values()]
    varied = [key for key in every[0] if any(p[key] != every[0][key] for p in every)]
    judged = []
    for criterion in criteria:
        settings = []
        try:
            for params, by_variant in beside.values():
                if not _meant(params, criterion.at):
                    continue
                label = ", ".join(in_words({key: params[key] for key in varied}))
                setting = _setting(criterion, allowed, params, by_variant, subject, standards)
                settings.append(replace(setting, label=label) if label else setting)
        except UntoldError as error:
            judged.append(Line(criterion, [], None, unavailable=str(error)))
            continue
        if not settings:
            raise InputError(
                f"criterion {shown.quoted(criterion.id)}: its scenario has no setting with "
                + ", ".join(in_words(criterion.at))
            )
        judged.append(line(criterion, settings))
    return judged


def line(criterion: Criterion, settings: list[Setting]) -> Line:
    """The criterion at all its settings, without its verdict yet."""
    worse = _somewhere([setting.p for setting in settings])
    broken = _somewhere([None if s.doubts else s.bound_p for s in settings])
    return Line(criterion, settings, worse, broken)


def _meant(params: Mapping[str, Any], at: Mapping[str, Any]) -> bool:
    return all(
        any(points.same(params.get(key), value) for value in _listed(wanted))
        for key, wanted in at.items()
    )


def _listed(wanted: Any) -> list[Any]:
    return wanted if isinstance(wanted, list) else [wanted]


def _setting(
    criterion: Criterion,
    despite: set[str],
    params: dict[str, Any],
    by_variant: Mapping[str, Point],
    subject: Subject,
    standards: Sequence[str],
) -> Setting:
    measured = _sample(criterion, subject.name, by_variant[subject.key])
    besides = []
    if criterion.margin is not None:
        besides = [
            compared(criterion, measured, _sample(criterion, standard, by_variant[standard]))
            for standard in standards
        ]
    looked_at = [by_variant[name] for name in dict.fromkeys([subject.key, *standards])]
    warned = dict.fromkeys(
        warning["code"]
        for point in looked_at
        for run in point.runs
        for warning in run.metrics["warnings"]
    )
    return at_setting(criterion, params, measured, besides, warned, despite)


def at_setting(
    criterion: Criterion,
    params: dict[str, Any],
    subject: Sample,
    besides: list[Beside],
    warned: Iterable[str] = (),
    despite: Iterable[str] = (),
) -> Setting:
    """The subject beside the standards and against the bound, with the warnings of the runs."""
    allowed = {*despite, *criterion.despite}
    return Setting(
        params,
        "the only setting",
        subject,
        besides,
        bound(criterion, subject),
        doubts=[code for code in warned if code not in allowed],
        let_pass=[code for code in warned if code in allowed],
        bound_p=_bound_p(criterion, subject),
    )


def _sample(criterion: Criterion, variant: str, point: Point) -> Sample:
    values: list[float | None] = []
    for nth in range(len(point.runs)):
        try:
            value = evaluated(criterion.value, point, nth, criterion.flow)
        except ExpressionError as error:
            why = untold(error)
            if why is not None:
                raise UntoldError(f"{variant}: {why}") from error
            raise InputError(f"criterion {shown.quoted(criterion.id)}: {error}") from error
        except StudyError as error:
            raise InputError(f"criterion {shown.quoted(criterion.id)}: {error}") from error
        if np.ndim(value):
            raise InputError(
                f"criterion {shown.quoted(criterion.id)}: `{criterion.value}` gives a number for "
                "each of several flows; make one of them, as by "
                f"mean(each('{criterion.flow}', '...'))"
            )
        values.append(float(value) if math.isfinite(value) else None)
    seeds = [run.run.seed for run in point.runs]
    return Sample(variant, seeds, values, [run.run.id for run in point.runs])


def compared(criterion: Criterion, subject: Sample, standard: Sample) -> Beside:
    """The subject beside a standard: worse where the whole interval is beyond the margin.

    The margin is a part of the standard's value in each run, or `slack` if that is more than the
    part of its mean. A value that one side lacks in some run decides nothing.
    """
    if not (subject.whole and standard.whole) or subject.seeds != standard.seeds:
        return Beside(standard, None, None, None, "undecided")
    ours = np.array(subject.values, dtype=np.float64)
    theirs = np.array(standard.values, dtype=np.float64)
    worse = theirs - ours if criterion.better == "higher" else ours - theirs
    share = (criterion.margin or 0.0) * np.abs(theirs)
    margin = share if share.mean() > criterion.slack else np.full_like(share, criterion.slack)
    excess = estimate(worse - margin)
    assert excess is not None, "every run has a value"
    low = excess.mean if excess.low is None else excess.low
    high = excess.mean if excess.high is None else excess.high
    finding = findings.between(low, high, most=0.0, closed=True)
    standing = _STANDING[finding] if excess.n > 1 else "undecided"
    return Beside(standard, estimate(ours - theirs), excess, _p(worse - margin), standing)


def _p(excess: Floats) -> float | None:
    """The one-sided p-value that the mean of `excess` is not above zero (Student's t).

    A permutation test of ten pairs gives nothing below 1/1024, which no correction for some
    hundred comparisons leaves standing.
    """
    if len(excess) < 2:
        return None
    if np.ptp(excess) <= _ROUNDING * np.abs(excess).max():
        return 0.0 if excess[0] > 0 else 1.0
    return float(tests.ttest_1samp(excess, 0.0, alternative="greater").pvalue)


def bound(criterion: Criterion, sample: Sample) -> findings.Finding | None:
    """Whether the whole interval keeps the criterion's bound; None if it has none."""
    if criterion.below is None and criterion.above is None:
        return None
    value = sample.estimate
    if value is None or not sample.whole or value.n < 2:
        return "open"
    low = value.mean if value.low is None else value.low
    high = value.mean if value.high is None else value.high
    least = -math.inf if criterion.above is None else criterion.above
    most = math.inf if criterion.below is None else criterion.below
    return findings.between(low, high, least, most, closed=True)


def _bound_p(criterion: Criterion, sample: Sample) -> float | None:
    if not sample.whole:
        return None
    values = np.array(sample.values, dtype=np.float64)
    if criterion.below is not None:
        return _p(values - criterion.below)
    return None if criterion.above is None else _p(criterion.above - values)


def _somewhere(p_of_settings: Iterable[float | None]) -> float | None:
    """Of one setting at least (Bonferroni); None if none was tested."""
    p_values = [p for p in p_of_settings if p is not None]
    return min(1.0, len(p_values) * min(p_values)) if p_values else None


def corrected(judged: Sequence[Line]) -> list[Line]:
    """The lines with their verdicts: of those called worse or failed, one in twenty at most is so
    by chance."""
    p_values = [p for line in judged for p in (line.p, line.bound_p) if p is not None]
    q_values = iter(adjusted(p_values, "fdr"))
    with_q = []
    for line in judged:
        q = None if line.p is None else next(q_values)
        bound_q = None if line.bound_p is None else next(q_values)
        with_q.append(_decided(replace(line, q=q, bound_q=bound_q)))
    return with_q


def _decided(line: Line) -> Line:
    if line.unavailable:
        return line
    settings = line.settings
    broken = [s for s in settings if s.bound == "fails" and not s.doubts]
    if broken and line.bound_q is not None and line.bound_q <= LEVEL:
        return replace(line, verdict="fails", deciding=_by_excess(broken))
    worse = [s for s in settings if s.standing == "worse"]
    if worse and line.q is not None and line.q <= LEVEL:
        return replace(line, verdict="worse than standard", deciding=_by_excess(worse))
    undecided = [
        s
        for s in settings
        if s.doubts or s.bound in ("open", "fails") or s.standing in ("worse", "undecided")
    ]
    if undecided:
        return replace(line, verdict="undecided", deciding=_by_excess(undecided))
    absolute = line.criterion.margin is None
    return replace(
        line,
        verdict="meets" if absolute else "no worse than standard",
        deciding=_by_excess(settings),
    )


def _by_excess(settings: Iterable[Setting]) -> list[Setting]:
    """The worst first: furthest beyond the margin, as a part of the standard's value."""

    def excess(setting: Setting) -> float:
        beside = setting.nearest
        if beside is None or beside.excess is None:
            return 0.0
        of_standard = beside.standard.estimate
        scale = abs(of_standard.mean) if of_standard else 0.0
        return beside.excess.mean / (scale or 1.0)

    return sorted(settings, key=excess, reverse=True)


def _seeds_needed(criterion: Criterion, setting: Setting, settings: int) -> int | None:
    """About how many more seeds narrow the interval so that it no longer straddles.

    Its width falls with the square root of the number of seeds.
    """
    if setting.doubts:
        return None
    # What is called worse or failed is so by the corrected test, too: of all settings of the line.
    wider = max(1.0, float(tests.norm.isf(LEVEL / settings) / tests.norm.isf(0.025)))
    needed = []
    if setting.bound in ("open", "fails"):
        value = setting.subject.estimate
        limit = criterion.below if criterion.below is not None else criterion.above
        away = 0.0 if value is None else value.mean - (limit or 0.0)
        broken = away > 0 if criterion.below is not None else away < 0
        needed.append(None if value is None else _more(value, away / (wider if broken else 1.0)))
    if setting.standing != "no worse" and setting.besides:
        each = [
            _more(b.excess, b.excess.mean / (wider if b.excess.mean > 0 else 1.0))
            for b in setting.besides
            if b.excess is not None
        ]
        known = [n for n in each if n is not None]
        needed.append(min(known) if known else None)
    if None in needed or not needed:
        return None
    return max(n for n in needed if n is not None)


def _more(value: Estimate, away: float) -> int | None:
    half = value.half_width
    if half is None or away == 0:
        return None
    seeds = math.ceil(value.n * (half / away) ** 2)
    return max(seeds - value.n, 1) if seeds <= _MOST_SEEDS else None
