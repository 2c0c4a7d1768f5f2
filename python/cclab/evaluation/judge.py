"""Verdicts from runs: first at every setting of a scenario, then of a line, then on a card."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from cclab.comparison.correction import LEVEL, adjusted
from cclab.errors import StudyError
from cclab.evaluation.evidence import WITHIN, Beside, Beyond, Line, Sample, Setting, Standing
from cclab.evaluation.runs import SHORT, meant
from cclab.measure.stats import estimate
from cclab.plan import in_words
from cclab.quantities.expressions import ExpressionError
from cclab.quantities.names import evaluated
from cclab.quantities.states import UntoldError, untold

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from cclab.evaluation.evidence import Subject
    from cclab.evaluation.runs import LeftOut
    from cclab.evaluation.schema import Criterion, Scenario
    from cclab.measure.findings import Finding
    from cclab.measure.points import Point
    from cclab.measure.results import Results

_STANDING: dict[Finding, Standing] = {
    "holds": "no worse",
    "fails": "worse",
    "open": "undecided",
}
"""Against a standard, by whether the subject is within the margin."""


def lines(
    criteria: Sequence[Criterion],
    scenario: Scenario,
    despite: Iterable[str],
    results: Results,
    subject: Subject,
    standards: Sequence[str],
    left_out: Sequence[LeftOut] = (),
) -> list[Line]:
    """The criteria of a scenario at every setting; `corrected` gives them their verdicts.

    `despite` are the warnings that leave nothing undecided in any scenario, `left_out` the settings
    that the backend does not do.
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
        without = [each for each in left_out if meant(each.params, criterion.at)]
        settings = []
        try:
            for params, by_variant in beside.values():
                if not meant(params, criterion.at):
                    continue
                label = ", ".join(in_words({key: params[key] for key in varied}))
                setting = _setting(criterion, allowed, params, by_variant, subject, standards)
                settings.append(replace(setting, label=label) if label else setting)
        except (UntoldError, ExpressionError, StudyError) as error:
            judged.append(Line(criterion, [], unavailable=str(error)))
            continue
        if not settings:
            why = "; ".join(each.why for each in without) or SHORT
            judged.append(Line(criterion, [], unavailable=why, done=False))
            continue
        told = tuple(f"{', '.join(in_words(each.params))}: {each.why}" for each in without)
        judged.append(replace(line(criterion, settings), left_out=told))
    return judged


ITSELF = "it would be compared with itself alone; name another standard with --against"


def only_beside_itself(criterion: Criterion, subject: Subject, standards: Sequence[str]) -> bool:
    """Whether what the criterion asks is no more than that the subject is no worse than itself."""
    bounded = criterion.below is not None or criterion.above is not None
    return criterion.margin is not None and not bounded and {*standards} == {subject.key}


def line(criterion: Criterion, settings: list[Setting]) -> Line:
    """The criterion at all its settings, without its verdict yet."""
    worse = somewhere([setting.p for setting in settings])
    broken = somewhere([setting.bound_p for setting in settings])
    return Line(criterion, settings, worse, broken)


def _setting(
    criterion: Criterion,
    despite: set[str],
    params: dict[str, Any],
    by_variant: Mapping[str, Point],
    subject: Subject,
    standards: Sequence[str],
) -> Setting:
    measured = _sample(criterion, despite, subject.name, by_variant[subject.key])
    besides = []
    for name in standards:
        try:
            standard = _sample(criterion, despite, name, by_variant[name])
        except UntoldError:
            if criterion.margin is not None:
                raise
            # It stands beside for the reader alone.
            continue
        besides.append(compared(criterion, measured, standard, standards=len(standards)))
    return at_setting(criterion, params, measured, besides)


def at_setting(
    criterion: Criterion, params: dict[str, Any], subject: Sample, besides: list[Beside]
) -> Setting:
    """The subject beside the standards and against the bound."""
    kept, beyond = bound(criterion, subject)
    return Setting(params, "the only setting", subject, besides, kept, beyond)


def _sample(criterion: Criterion, despite: set[str], variant: str, point: Point) -> Sample:
    values: list[float | None] = []
    without_end = []
    for nth in range(len(point.runs)):
        unended: list[str] = []
        try:
            value = evaluated(criterion.value, point, nth, criterion.flow, unended)
        except ExpressionError as error:
            why = untold(error)
            if why is not None:
                raise UntoldError(f"{variant}: {why}") from error
            raise
        values.append(float(value) if math.isfinite(value) else None)
        without_end += [point.runs[nth].run.seed] if unended else []
    warned = dict.fromkeys(
        warning["code"] for run in point.runs for warning in run.metrics["warnings"]
    )
    allowed = {*despite, *criterion.despite}
    return Sample(
        variant,
        [run.run.seed for run in point.runs],
        values,
        [run.run.id for run in point.runs],
        doubts=tuple(code for code in warned if code not in allowed),
        let_pass=tuple(code for code in warned if code in allowed),
        unended=tuple(without_end),
    )


def compared(
    criterion: Criterion, subject: Sample, standard: Sample, *, standards: int = 1
) -> Beside:
    """The subject beside one of so many standards: worse where the whole interval is beyond the
    margin, no worse where it is within it.

    The margin is a part of the standard's value in each run, or `slack` if that is more than the
    part of its mean. A value that one side lacks in some run decides nothing. Since no worse than
    one standard is enough, the level of the test is shared by all. Runs beside themselves, of a
    standard under test, need no test. What a run did not see the end of may take ever longer: the
    subject's is not shown to be no worse by it, and a standard's does not show that it is.
    """
    undecided: Standing | None = None if criterion.margin is None else "undecided"
    if not (subject.whole and standard.whole) or subject.seeds != standard.seeds:
        return Beside(standard, standing=undecided)
    ours = np.array(subject.values, dtype=np.float64)
    theirs = np.array(standard.values, dtype=np.float64)
    difference = estimate((ours - theirs).tolist())
    if criterion.margin is None:
        return Beside(standard, difference)
    worse = theirs - ours if criterion.better == "higher" else ours - theirs
    share = criterion.margin * np.abs(theirs)
    margin = share if share.mean() > criterion.slack else np.full_like(share, criterion.slack)
    excess = Beyond.of(worse - margin)
    if subject.doubts or standard.doubts:
        return Beside(standard, difference, excess, undecided)
    if subject.runs == standard.runs and len(ours) > 1:
        return Beside(standard, difference, excess, "no worse")
    finding = excess.finding(WITHIN / standards)
    if (subject.unended and finding == "holds") or (standard.unended and finding == "fails"):
        finding = "open"
    return Beside(standard, difference, excess, _STANDING[finding])


def bound(criterion: Criterion, sample: Sample) -> tuple[Finding | None, Beyond | None]:
    """Whether the criterion's bound is kept, None if it has none, and by how much it is not."""
    if criterion.below is None and criterion.above is None:
        return None, None
    if not sample.whole:
        return "open", None
    values = np.array(sample.values, dtype=np.float64)
    if criterion.below is not None:
        beyond = Beyond.of(values - criterion.below)
    else:
        beyond = Beyond.of((criterion.above or 0.0) - values)
    finding = beyond.finding()
    # What a run did not see the end of can only be worse: a time no shorter, a rate no higher.
    keeps_by_less = (criterion.below is not None) == (criterion.better == "lower")
    unsure = "holds" if keeps_by_less else "fails"
    if sample.unended and finding == unsure:
        return "open", None
    return finding, beyond


def somewhere(p_of_settings: Iterable[float | None]) -> float | None:
    """Of one setting at least (Bonferroni); None if none was tested."""
    p_values = [p for p in p_of_settings if p is not None]
    return min(1.0, len(p_values) * min(p_values)) if p_values else None


def corrected(judged: Sequence[Line]) -> list[Line]:
    """The lines with their verdicts: of those called worse or failed, one in twenty at most is so
    by chance."""
    p_values = [p for line in judged for p in (line.p, line.bound_p) if p is not None]
    q_values = iter(adjusted(p_values, "fdr"))
    with_verdicts = []
    for line in judged:
        q = None if line.p is None else next(q_values)
        bound_q = None if line.bound_p is None else next(q_values)
        with_verdicts.append(_decided(replace(line, q=q, bound_q=bound_q), len(p_values)))
    return with_verdicts


def _decided(line: Line, tests: int) -> Line:
    """The line with its verdict, on a card of so many tests."""
    if line.unavailable:
        return line
    settings = line.settings
    broken = [s for s in settings if s.kept == "fails" and not s.subject.doubts]
    if broken and line.bound_q is not None and line.bound_q <= LEVEL:
        proved = _proved(broken, [s.bound_p for s in broken], [s.bound_p for s in settings])
        deciding = sorted(proved, key=_beyond_bound, reverse=True)
        return replace(line, verdict="fails", deciding=deciding)
    worse = [s for s in settings if s.standing == "worse"]
    if worse and line.q is not None and line.q <= LEVEL:
        proved = _proved(worse, [s.p for s in worse], [s.p for s in settings])
        deciding = sorted(proved, key=_beyond_margin, reverse=True)
        return replace(line, verdict="worse than standard", deciding=deciding)
    absolute = line.criterion.margin is None
    how_far = _beyond_bound if absolute else _beyond_margin
    undecided = [s for s in settings if s.undecided]
    if undecided:
        # What was not measured is told first: it decides whatever the other settings say.
        deciding = sorted(undecided, key=lambda s: (s.unmeasured, how_far(s)), reverse=True)
        needed = [_more_seeds(setting, len(settings) * tests) for setting in deciding]
        more = None if None in needed else max(n for n in needed if n is not None)
        return replace(line, verdict="undecided", deciding=deciding, more_seeds=more)
    return replace(
        line,
        verdict="meets" if absolute else "no worse than standard",
        deciding=sorted(settings, key=how_far, reverse=True),
    )


def _proved(
    settings: list[Setting], p_values: Sequence[float | None], every: Sequence[float | None]
) -> list[Setting]:
    """Those of the settings that stand by their own test, too, corrected for how many were tested;
    all of them if none does."""
    tested = sum(p is not None for p in every)
    proved = [
        setting
        for setting, p in zip(settings, p_values, strict=True)
        if p is not None and tested * p <= LEVEL
    ]
    return proved or settings


def _beyond_margin(setting: Setting) -> float:
    return -math.inf if setting.nearest is None else beyond_margin(setting.nearest)


def beyond_margin(beside: Beside) -> float:
    """How far the subject is beyond the margin, as a part of the standard's value."""
    if beside.excess is None:
        return -math.inf
    of_standard = beside.standard.estimate
    scale = abs(of_standard.mean) if of_standard else 0.0
    return beside.excess.estimate.mean / (scale or 1.0)


def _beyond_bound(setting: Setting) -> float:
    """How far the subject is beyond the bound, which is the same at all settings."""
    return -math.inf if setting.beyond is None else setting.beyond.estimate.mean


def _more_seeds(setting: Setting, tests: int) -> int | None:
    """About how many more seeds would decide, of so many tests; None if none would.

    What is called worse or failed is so by the corrected test, too.
    """
    if setting.doubts or setting.unmeasured or setting.unended:
        return None
    needed: list[int | None] = []
    if setting.kept in ("open", "fails") and setting.beyond is not None:
        needed.append(setting.beyond.more_seeds(WITHIN, LEVEL / tests))
    if setting.standing in ("worse", "undecided"):
        levels = (WITHIN / len(setting.besides), LEVEL / tests)
        each = [b.excess.more_seeds(*levels) for b in setting.besides if b.excess is not None]
        known = [n for n in each if n is not None]
        # No worse than one standard is enough; worse is worse than each.
        within = any(b.excess is not None and b.excess.estimate.mean <= 0 for b in setting.besides)
        needed.append((min(known) if within else max(known)) if known else None)
    if not needed or None in needed:
        return None
    return max(n for n in needed if n is not None)
