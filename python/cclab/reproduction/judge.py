"""Checks over results, and the verdicts on claims and suspicions that follow from them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from cclab.measure import findings
from cclab.measure.stats import estimate
from cclab.plan import in_words
from cclab.quantities import expressions, names, points
from cclab.reproduction.file import checks_of, needs_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cclab.measure.points import Point
    from cclab.measure.results import Results
    from cclab.measure.stats import Estimate
    from cclab.reproduction.schema import Check, Claim, Suspicion, Term

Finding = findings.Finding | Literal["not judged"]

Unjudged = Literal["not run", "no verdict"]
"""The verdict on a claim or suspicion without runs, or in the short form."""

ClaimVerdict = Literal["reproduced", "not reproduced", "not supported by its set-up"] | Unjudged
SuspicionVerdict = Literal["confirmed", "refuted", "open"] | Unjudged

UNJUDGED: tuple[str, ...] = get_args(Unjudged)

FEWEST = {"sim": 10, "linux": 5, "netns": 5}
"""Seeds that a verdict needs, by backend; from fewer it is a preview."""


@dataclass(frozen=True)
class Outcome:
    """A check at one choice of its points."""

    check: Check
    bindings: dict[str, Any]
    estimate: Estimate | None
    """The value over seeds; None if no run has it."""
    seeds: int
    """Seeds that were run. The estimate has fewer if the value is not a number in some."""
    finding: Finding

    @property
    def where(self) -> str:
        """The choice of points in words."""
        return ", ".join(in_words(self.bindings))

    @property
    def bound(self) -> str:
        """Where the value must lie."""
        if self.check.above is not None:
            return f"above {self.check.above:g}"
        if self.check.below is not None:
            return f"below {self.check.below:g}"
        low, high = self.check.between or (math.nan, math.nan)
        return f"{low:g} to {high:g}"

    @property
    def measured(self) -> str:
        """The value with its interval."""
        value = self.estimate
        if value is None:
            return "not measured"
        interval = (
            f" [{value.low:.4g}, {value.high:.4g}]"
            if value.low is not None and value.high is not None
            else ""
        )
        missing = f", in {value.n} of {self.seeds} seeds" if value.n < self.seeds else ""
        return f"{value.mean:.4g}{interval}{missing}"


@dataclass(frozen=True)
class Judged:
    """A claim or a suspicion, judged on one backend."""

    subject: Claim | Suspicion
    backend: str
    verdict: ClaimVerdict | SuspicionVerdict
    outcomes: list[Outcome]
    needs: list[Outcome] = field(default_factory=list)
    """What the set-up had to be."""
    elsewhere: int = 0
    """Checks of points that this backend did not run."""

    @property
    def seeds(self) -> int:
        """The fewest seeds that any of its checks stands on."""
        counts = [o.estimate.n if o.estimate else 0 for o in (*self.outcomes, *self.needs)]
        return min(counts, default=0)

    @property
    def preview(self) -> bool:
        """Whether it stands on fewer seeds than a verdict needs."""
        return self.verdict not in UNJUDGED and self.seeds < FEWEST[self.backend]

    @property
    def why(self) -> str:
        """What decided, in one line."""
        if self.verdict == "not run":
            return "none of its points was run"
        if self.verdict == "no verdict":
            return "the short form is another experiment: shorter, smaller, fewer seeds"
        unmet = [o for o in self.needs if o.finding != "holds"]
        if self.verdict == "not supported by its set-up" and not unmet:
            return "what it needs of the set-up was not run"
        deciding = unmet or [o for o in self.outcomes if o.finding != "holds"] or self.outcomes
        of = len(self.needs if unmet else self.outcomes)
        holding = sum(o.finding == "holds" for o in (self.needs if unmet else self.outcomes))
        first = deciding[0]
        named = f"{first.check.text}: " if first.check.text else ""
        at = f" at {first.where}" if first.where else ""
        asked = f"{named}{first.measured}, asked {first.bound}{at}"
        if self.elsewhere:
            asked += f"; {self.elsewhere} more of what other backends run"
        return asked if of == 1 else f"{holding} of {of} checks hold; {asked}"

    def withheld(self) -> Judged:
        """The same without verdict and findings, for runs that are not the study's own."""
        if self.verdict == "not run":
            return self
        blank = [
            [replace(outcome, finding="not judged") for outcome in outcomes]
            for outcomes in (self.outcomes, self.needs)
        ]
        return replace(self, verdict="no verdict", outcomes=blank[0], needs=blank[1])


Measurements = dict[str, "Results"]
"""Results by experiment, of one backend."""


def claim(subject: Claim, backend: str, measured: Measurements) -> Judged:
    """The verdict on a claim by what one backend measured.

    If the set-up is not as the claim needs it, the results say nothing either way.
    """
    outcomes, elsewhere = _all(checks_of(subject), measured)
    needs, unseen = _all(needs_of(subject), measured)
    verdict: ClaimVerdict
    if not outcomes:
        verdict = "not run"
    elif (unseen and not needs) or any(need.finding != "holds" for need in needs):
        verdict = "not supported by its set-up"
    else:
        holds = all(outcome.finding == "holds" for outcome in outcomes)
        verdict = "reproduced" if holds else "not reproduced"
    return Judged(subject, backend, verdict, outcomes, needs, elsewhere)


def suspicion(subject: Suspicion, backend: str, measured: Measurements) -> Judged:
    """The verdict on a suspicion: refuted as soon as one of its checks fails."""
    outcomes, elsewhere = _all(checks_of(subject), measured)
    findings = {outcome.finding for outcome in outcomes}
    verdict: SuspicionVerdict
    if not outcomes:
        verdict = "not run"
    elif "fails" in findings:
        verdict = "refuted"
    else:
        verdict = "open" if "open" in findings else "confirmed"
    return Judged(subject, backend, verdict, outcomes, elsewhere=elsewhere)


def _all(checks: Sequence[Check], measured: Measurements) -> tuple[list[Outcome], int]:
    """The outcomes of the checks, and how many of them have none here."""
    by_check = [_outcomes(check, measured) for check in checks]
    return [outcome for outcomes in by_check for outcome in outcomes], by_check.count([])


def _outcomes(check: Check, measured: Measurements) -> list[Outcome]:
    """The check at every choice of its points that was run."""
    used = {term.experiment or check.experiment for term in check.terms.values()}
    if not used <= set(measured):
        return []  # This backend does not run all that it compares.
    outcomes = []
    for bindings in points.products(check.each):
        values = _values(check, bindings, measured)
        if values is not None:
            value = estimate(values)
            outcomes.append(
                Outcome(check, bindings, value, len(values), _finding(check, value, len(values)))
            )
    return outcomes


def _values(
    check: Check, bindings: dict[str, Any], measured: Measurements
) -> list[float | None] | None:
    """The value of the check for each seed; None if a term has no points."""
    series: dict[str, list[Any]] = {}
    steady: dict[str, Any] = {}
    for name, term in check.terms.items():
        results = measured[term.experiment or check.experiment]
        chosen = points.at(results.points, _known(results, bindings) | term.at)
        if not chosen:
            return None
        series[name], along = _term(term, chosen)
        if term.along:
            steady[f"{name}_x"] = along
    seeds = min(len(values) for values in series.values())
    return [
        float(expressions.value(check.value, {k: v[i] for k, v in series.items()} | steady))
        for i in range(seeds)
    ]


def _known(results: Results, bindings: Mapping[str, Any]) -> dict[str, Any]:
    """The bindings of keys that the experiment sweeps: a term may belong to another experiment."""
    swept = results.plan.points[0].params
    return {key: value for key, value in bindings.items() if key in swept}


def _term(term: Term, chosen: list[Point]) -> tuple[list[Any], np.ndarray]:
    """The term for each seed, and the numbers along its key."""
    if not term.along:
        return [_average([c[i] for c in _per_seed(term, chosen)]) for i in _seeds(chosen)], _NONE
    groups = points.along(chosen, term.along)
    at = [points.number(value) for value, _ in groups]
    x = np.array([float(i) if v is None else v for i, v in enumerate(at)])
    columns = [_per_seed(term, group) for _, group in groups]
    return [
        np.array([_average([c[i] for c in column]) for column in columns]) for i in _seeds(chosen)
    ], x


_NONE = np.array([])


def _seeds(chosen: Sequence[Point]) -> range:
    return range(min(len(point.runs) for point in chosen))


def _per_seed(term: Term, chosen: Sequence[Point]) -> list[list[Any]]:
    """For each point, the value of the term in each of its runs."""
    return [
        [names.evaluated(term.value, point, i, term.flow) for i in _seeds(chosen)]
        for point in chosen
    ]


def _average(values: list[Any]) -> Any:
    return values[0] if len(values) == 1 else np.mean(np.array(values), axis=0)


def _finding(check: Check, value: Estimate | None, seeds: int) -> Finding:
    """Whether the whole interval lies within the bounds, or outside them.

    Open for a single seed, which has no interval, and if seeds lack the value: they may be the ones
    that matter.
    """
    if value is None or value.n < seeds or value.low is None or value.high is None:
        return "open"
    if check.between is not None:
        least, most = check.between
        return findings.between(value.low, value.high, least, most, closed=True)
    least = -math.inf if check.above is None else check.above
    most = math.inf if check.below is None else check.below
    return findings.between(value.low, value.high, least, most, closed=False)
