"""What runs say of a criterion: of a variant, beside a standard, at a setting, and in all."""

from __future__ import annotations

import bisect
import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy import special, stats

from cclab.measure import findings
from cclab.measure.stats import Estimate, estimate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cclab.evaluation.schema import Criterion
    from cclab.measure.findings import Finding
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

NOT_EVALUATED: Verdict = "not evaluated"

WITHIN = 0.025
"""Of the one-sided tests that something is within its limit, and outside of a 95% interval."""

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
    doubts: tuple[str, ...] = ()
    """The warnings of its runs that leave undecided what depends on them."""
    let_pass: tuple[str, ...] = ()
    """The warnings of its runs that the suite says leave nothing undecided here."""
    unended: tuple[int, ...] = ()
    """The seeds of runs in which a time asked for had not ended: it is longer than was seen."""

    @property
    def estimate(self) -> Estimate | None:
        """The mean over seeds and its interval; None if no run has a value."""
        return estimate(self.values)

    def of(self, seeds: Sequence[int]) -> Sample:
        """The runs with those seeds, in their order."""
        places = [self.seeds.index(seed) for seed in seeds]
        values, runs = [self.values[n] for n in places], [self.runs[n] for n in places]
        unended = tuple(seed for seed in self.unended if seed in seeds)
        return replace(self, seeds=list(seeds), values=values, runs=runs, unended=unended)

    @property
    def whole(self) -> bool:
        """Whether every run measured it."""
        return bool(self.values) and None not in self.values


@dataclass(frozen=True)
class Beyond:
    """By how much what was measured lies beyond its limit: below zero, it keeps the limit."""

    estimate: Estimate
    deviation: float
    """Standard deviation over seeds."""
    beyond_p: float
    """Of a one-sided t-test that the mean is not beyond the limit; of a sign test where the values
    of all seeds are equal."""
    within_p: float
    """Of such a test that it is not within it."""

    @classmethod
    def of(cls, excess: Floats) -> Beyond:
        """By the values over the limit, of each seed."""
        mean = estimate(excess.tolist())
        assert mean is not None, "every run has a value"
        if len(excess) < 2:
            return cls(mean, math.inf, 1.0, 1.0)
        if np.ptp(excess) <= _ROUNDING * np.abs(excess).max():
            # No variance to test by. That other seeds would be on the other side as often as not
            # is refuted by how many are not (sign test; Clopper and Pearson 1934, of one half).
            chance = 0.5 ** len(excess)
            return cls(mean, 0.0, *((chance, 1.0) if excess[0] > 0 else (1.0, chance)))
        # A permutation test of ten pairs gives nothing below 1/1024, which no correction for some
        # hundred comparisons leaves standing.
        test = stats.ttest_1samp(excess, 0.0, alternative="greater")
        # The other side of the same test: nearly all that a test takes is spent around it.
        within_p = special.stdtr(len(excess) - 1, test.statistic)
        deviation = float(np.std(excess, ddof=1))
        return cls(mean, deviation, float(test.pvalue), float(within_p))

    def finding(self, level: float = WITHIN) -> Finding:
        """Whether the limit is kept: by the whole interval, and by the test at `level` too.

        The bootstrap's interval alone is too narrow for few seeds: of three, one end in eight.
        """
        low, high = self.estimate.low, self.estimate.high
        if low is None or high is None:
            return "open"
        finding = findings.between(low, high, most=0.0, closed=True)
        return "open" if finding == "holds" and self.within_p > level else finding

    def more_seeds(self, within: float, beyond: float) -> int | None:
        """How many more seeds would about decide, by tests at these levels; None if none would."""
        mean, n = abs(self.estimate.mean), self.estimate.n
        level = beyond if self.estimate.mean > 0 else within
        if self.deviation == 0:
            return max(1, math.ceil(-math.log2(level)) - n)
        if mean == 0 or not math.isfinite(self.deviation):
            return None

        def enough(seeds: int) -> bool:
            needed = -special.stdtrit(seeds - 1, level) * self.deviation / math.sqrt(seeds)
            return bool(mean >= needed)

        # What is needed falls with every seed.
        more = bisect.bisect_left(range(n + 1, _MOST_SEEDS + 1), True, key=enough) + 1
        return more if n + more <= _MOST_SEEDS else None


@dataclass(frozen=True)
class Beside:
    """The subject beside a standard, seed by seed, at one setting."""

    standard: Sample
    difference: Estimate | None = None
    """Subject minus standard, in the criterion's unit; None where one was not measured."""
    excess: Beyond | None = None
    """By how much the subject is worse than the standard with its margin; None without either."""
    standing: Standing | None = None
    """None where the criterion has no margin."""

    @property
    def p(self) -> float | None:
        """Of not being worse by more than the margin; None where that was not tested, or where a
        run of the standard did not see the end of what is timed."""
        if self.excess is None or self.standard.unended:
            return None
        return self.excess.beyond_p


@dataclass(frozen=True)
class Setting:
    """A criterion at one setting of its scenario."""

    params: dict[str, Any]
    label: str
    """The setting in words: the keys whose values are not everywhere the same."""
    subject: Sample
    besides: list[Beside]
    kept: Finding | None
    """Whether the subject keeps the bound; None where the criterion has none."""
    beyond: Beyond | None
    """By how much it lies beyond the bound; None where there is none or it was not measured."""

    @property
    def standing(self) -> Standing | None:
        """Against the standards: no worse than one of them is no worse than standard."""
        standings = [beside.standing for beside in self.besides if beside.standing is not None]
        if not standings:
            return None
        if "no worse" in standings:
            return "no worse"
        return "worse" if all(standing == "worse" for standing in standings) else "undecided"

    @property
    def p(self) -> float | None:
        """Of being worse than every standard; None where that was not tested."""
        if self.standing is None or self.subject.doubts:
            return None
        if any(beside.standard.doubts for beside in self.besides):
            return None
        p_values = [beside.p for beside in self.besides]
        return None if None in p_values else max(p for p in p_values if p is not None)

    @property
    def bound_p(self) -> float | None:
        """Of keeping the bound; None where that was not tested."""
        return None if self.beyond is None or self.subject.doubts else self.beyond.beyond_p

    @property
    def samples(self) -> list[Sample]:
        """The subject's and the standards'."""
        return [self.subject, *(beside.standard for beside in self.besides)]

    @property
    def doubts(self) -> list[str]:
        """The warnings that leave something undecided here."""
        return [*dict.fromkeys(code for sample in self.samples for code in sample.doubts)]

    @property
    def let_pass(self) -> list[str]:
        """The warnings that the suite says leave nothing undecided here."""
        return [*dict.fromkeys(code for sample in self.samples for code in sample.let_pass)]

    @property
    def unmeasured(self) -> bool:
        """Whether some run that the verdict needs has no value."""
        compared = [beside.standard for beside in self.besides if beside.standing is not None]
        return not all(sample.whole for sample in (self.subject, *compared))

    @property
    def unended(self) -> bool:
        """Whether some run did not see the end of what is timed."""
        return any(sample.unended for sample in self.samples)

    @property
    def undecided(self) -> bool:
        """Whether the runs here leave the verdict open, or stand against it without its tests."""
        of_bound = self.kept is not None and (self.kept != "holds" or bool(self.subject.doubts))
        return of_bound or self.standing in ("worse", "undecided")

    @property
    def nearest(self) -> Beside | None:
        """The standard that the subject comes off best beside."""
        measured = [(b.excess.estimate.mean, b) for b in self.besides if b.excess is not None]
        return min(measured, key=lambda pair: pair[0])[1] if measured else None


@dataclass(frozen=True)
class Line:
    """A criterion, judged."""

    criterion: Criterion
    settings: list[Setting]
    p: float | None = None
    """Of being worse somewhere, corrected for the number of settings (Bonferroni)."""
    bound_p: float | None = None
    """Of breaking the bound somewhere, corrected likewise."""
    q: float | None = None
    """`p`, corrected for the number of such tests on the card (Benjamini and Hochberg)."""
    bound_q: float | None = None
    """`bound_p`, corrected likewise."""
    more_seeds: int | None = None
    """How many more seeds would about decide an undecided line; None where none would."""
    unavailable: str = ""
    """Why nothing was run or measured; empty if it was."""
    left_out: tuple[str, ...] = ()
    """The settings that the backend does not do, each with the reason."""
    done: bool = True
    """Whether its runs are there, whatever they tell."""
    deciding: list[Setting] = field(default_factory=list)
    """The settings that give the verdict, the one that says most first."""
    verdict: Verdict = NOT_EVALUATED

    @property
    def let_pass(self) -> list[str]:
        """The warnings of its runs that the suite says leave nothing undecided."""
        return [*dict.fromkeys(code for setting in self.settings for code in setting.let_pass)]
