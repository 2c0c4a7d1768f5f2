"""The outcomes of a comparison that fail a check in CI (`--fail-if`).

A check that judges fifty numbers must not fail by chance because there are fifty. So Holm's method
corrects all of them together, whatever corrects the verdicts of the table: where nothing got worse,
the check fails with a probability of 5% at most. The tests of `worse` are one-sided. With a margin,
B is tested against A made worse by the margin.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, get_args

from cclab.comparison import permutation
from cclab.comparison.correction import LEVEL, adjusted
from cclab.comparison.matching import differences_of
from cclab.comparison.overall import overall
from cclab.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cclab.comparison.margin import Margin
    from cclab.comparison.matching import Match, Row, Subject
    from cclab.comparison.metric import Metric
    from cclab.comparison.overall import Overall
    from cclab.comparison.results import Comparison

Outcome = Literal["worse", "undecided", "different"]
"""What can be a failure. `worse`: there is evidence that B is worse, with a margin by more than the
margin. `undecided`: the runs do not show that B is no worse than the margin allows. `different`:
there is evidence of a difference to either side."""

OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)


@dataclass(frozen=True)
class Fault:
    """A comparison that came out as it must not."""

    point: str
    """The sweep point in words, or "over all sweep points"."""
    subject: str
    """The flow or the traffic, or "whole run"."""
    metric: str
    outcome: str
    words: str
    p: float | None = None
    """Adjusted for all that is judged; None if undecided."""

    def __str__(self) -> str:
        """In one line."""
        told = f"{self.subject}, {self.metric}: {self.outcome}, {self.words}"
        if self.p is not None:
            told += f", p {'< 0.001' if self.p < 0.001 else f'= {self.p:.3f}'}"
        return told if self.point == "all runs" else f"{self.point}: {told}"


def outcomes(asked: Sequence[str], margin: Margin | None) -> tuple[Outcome, ...]:
    """The outcomes that `asked` names.

    Raises `InputError` if an outcome is unknown, or needs a margin.
    """
    chosen: list[Outcome] = []
    for name in asked:
        known = next((outcome for outcome in OUTCOMES if outcome == name), None)
        if known is None:
            raise InputError(f"--fail-if {name}: no such outcome; one of {', '.join(OUTCOMES)}")
        if known == "undecided" and margin is None:
            raise InputError(
                "--fail-if undecided: what is undecided, a margin says; add --margin 5%"
            )
        chosen.append(known)
    return tuple(dict.fromkeys(chosen))


@dataclass(frozen=True)
class Judged:
    """What a check comes to."""

    faults: list[Fault]
    number: int
    """Tests that were judged together."""


@dataclass(frozen=True)
class _Test:
    """A test that the check judges, and the fault that it is if its p-value is small enough."""

    fault: Fault
    p: float
    key: object
    """The comparison."""


def judge(compared: Comparison, asked: Sequence[Outcome]) -> Judged:
    """The comparisons whose outcome is among `asked`, at the sweep points and over all of them.

    Raises `InputError` if the runs could not have shown any outcome.
    """
    if not asked:
        return Judged([], 0)
    tests = _tests(compared, asked)
    _check_can_fail(compared, asked, len(tests))
    faults: list[Fault] = []
    failed: set[object] = set()
    for test, p in zip(tests, adjusted([test.p for test in tests], "holm"), strict=True):
        if p <= LEVEL and test.key not in failed:
            failed.add(test.key)
            faults.append(replace(test.fault, p=p))
    if "undecided" in asked:
        faults += [
            Fault(point.match.label, name, c.metric.title, "undecided", c.verdict.words)
            for point in compared.points
            for name, c in point.named
            if c.standing in ("undecided", "worse") and id(c) not in failed
        ]
    return Judged(faults, len(tests))


def _tests(compared: Comparison, asked: Sequence[Outcome]) -> list[_Test]:
    """All tests that the check judges, in the order of the comparisons."""
    margin, tests = compared.margin, list[_Test]()
    plain = _cells(compared)
    if "worse" in asked and not (margin is None and "different" in asked):
        shifted = plain if margin is None else _against(compared, margin)
        tests += [
            _Test(fault, _one_sided(metric, difference, p), key)
            for fault, metric, difference, p, key in shifted
            if metric.better is not None
        ]
    if "different" in asked:
        for fault, metric, difference, p, key in plain:
            code = "higher" if difference > 0 else "lower"
            if metric.better is not None:
                code = "better" if code == metric.better else "worse"
            tests.append(_Test(replace(fault, outcome=code), p, key))
    return tests


_Cell = tuple[Fault, "Metric", float, float, object]
"""The fault, the metric, the difference, the p-value to either side, the id of the comparison."""

_OVER_ALL = "over all sweep points"


def _cells(compared: Comparison) -> list[_Cell]:
    """The tests at each sweep point and over all of them."""
    cells: list[_Cell] = []
    for point in compared.points:
        for name, c in point.named:
            if c.p is not None and c.difference is not None:
                fault = Fault(point.match.label, name, c.metric.title, "worse", c.verdict.words)
                cells.append((fault, c.metric, c.difference.absolute.mean, c.p, id(c)))
    return cells + _over_all(compared.overall, compared.overall)


def _against(compared: Comparison, margin: Margin) -> list[_Cell]:
    """The same tests of B against A made worse by the margin."""
    cells: list[_Cell] = []
    points = [_shifted(point.match, margin) for point in compared.points]
    for point, match in zip(compared.points, points, strict=True):
        differences = differences_of(match.rows)
        for (name, c), difference in zip(point.named, differences, strict=True):
            if c.p is None or difference is None or difference.p is None:
                continue
            fault = Fault(point.match.label, name, c.metric.title, "worse", c.verdict.words)
            cells.append((fault, c.metric, difference.absolute.mean, difference.p, id(c)))
    return cells + _over_all(overall(points, "holm"), compared.overall)


def _over_all(tested: Sequence[Overall], told: Sequence[Overall]) -> list[_Cell]:
    """The tests over all sweep points: p-values from `tested`, words from `told`."""
    cells: list[_Cell] = []
    for test, shown in zip(tested, told, strict=True):
        if test.p is not None and shown.p is not None:
            subject = test.subject or "whole run"
            fault = Fault(_OVER_ALL, subject, test.metric.title, "worse", shown.words)
            cells.append((fault, test.metric, test.difference, test.p, id(shown)))
    return cells


def _shifted(match: Match, margin: Margin) -> Match:
    def rows(given: list[Row]) -> list[Row]:
        return [row if row.metric.better is None else margin.shifted(row) for row in given]

    def subjects(given: list[Subject]) -> list[Subject]:
        return [replace(subject, rows=rows(subject.rows)) for subject in given]

    return replace(
        match,
        groups=subjects(match.groups),
        flows=subjects(match.flows),
        traffic=subjects(match.traffic),
        probes=subjects(match.probes),
        bands=subjects(match.bands),
        whole=rows(match.whole),
    )


def _one_sided(metric: Metric, difference: float, p: float) -> float:
    """The p-value of B being worse, of that of a difference to either side."""
    worse = difference < 0 if metric.better == "higher" else difference > 0
    return p / 2 if worse else 1 - p / 2


def _check_can_fail(compared: Comparison, asked: Sequence[Outcome], tests: int) -> None:
    """Raises `InputError` if too few runs make it impossible for the check to fail."""
    if "undecided" in asked:
        return
    said = f"--fail-if {','.join(asked)}"
    if not tests:
        if any(c.verdict.untested == "equal" for c in compared.compared):
            return
        raise InputError(
            f"{said}: nothing could be tested, so nothing could fail; compare several runs of "
            "each side that differ by their seeds (repeat = 10, and something random in the study)"
        )
    sides = 1 if "different" in asked else 2
    bound = LEVEL / tests
    least = _least(compared) / sides
    if least <= bound:
        return
    enough = permutation.enough_pairs(sides * bound)
    fewer = "judge fewer metrics (--metric)"
    remedy = f"repeat the runs (--repeat {enough} or more), or {fewer}" if enough else fewer
    raise InputError(
        f"{said}: nothing could fail: {tests} comparisons are judged together, so that one of them "
        f"fails with p of at most {bound:.2g}, and these runs can give none below {least:.2g}; "
        f"{remedy}"
    )


def _least(compared: Comparison) -> float:
    """The smallest p-value, to either side, that the runs can give at a point or over all."""
    points = [point.match for point in compared.points]
    sizes = [(len(p.seeds_a), len(p.seeds_b), p.paired) for p in points]
    least = min(permutation.smallest(a, b, paired=paired) for a, b, paired in sizes)
    if len(points) > 1 and all(paired for _, _, paired in sizes):
        pairs = sum(a for a, _, _ in sizes)
        least = min(least, permutation.smallest(pairs, pairs, paired=True))
    return least
