"""Verdicts from values: at a setting, of a line, on a card; and what chance makes of them."""

from __future__ import annotations

import random
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec import structs
from scipy import stats

from cclab.evaluation import judge, told
from cclab.evaluation.evidence import Beyond, Line, Sample
from cclab.evaluation.schema import Criterion

if TYPE_CHECKING:
    from collections.abc import Sequence

CRITERION = Criterion(
    id="c",
    clause="1",
    obligation="MUST",
    text="is good",
    scenario="s",
    measure="value",
    value="x",
    better="lower",
    margin=0.1,
)


def _sample(variant: str, values: Sequence[float | None], unended: int = 0) -> Sample:
    """Of which the runs of the last seeds had not ended."""
    seeds = list(range(len(values)))
    runs = [f"{variant}{seed}" for seed in seeds]
    last = tuple(seeds[len(seeds) - unended :])
    return Sample(variant, seeds, [*values], runs, unended=last)


def _line(values: Sequence[float | None], *standards: Sequence[float | None], **more: Any) -> Line:
    criterion = _criterion(**more)
    subject = _sample("new", values)
    besides = [
        judge.compared(criterion, subject, _sample(f"std{n}", s), standards=len(standards))
        for n, s in enumerate(standards)
    ]
    setting = judge.at_setting(criterion, {}, subject, besides)
    return judge.corrected([judge.line(criterion, [setting])])[0]


def _criterion(**more: Any) -> Criterion:
    return structs.replace(CRITERION, **more)


def _timed_line(
    values: Sequence[float],
    standard: Sequence[float],
    new_unended: int | None = None,
    **more: Any,
) -> Line:
    """Times of which those that reached 180 s had not ended, or so many of the subject's."""
    criterion = _criterion(**{"better": "lower", "unit": "s", **more})
    unended = [sum(time >= 180 for time in times) for times in (values, standard)]
    new = _sample("new", values, unended[0] if new_unended is None else new_unended)
    std = _sample("std", standard, unended[1])
    setting = judge.at_setting(criterion, {}, new, [judge.compared(criterion, new, std)])
    return judge.corrected([judge.line(criterion, [setting])])[0]


STANDARD = [10.0, 10.5, 9.5, 10.2, 9.8, 10.1, 9.9, 10.4, 9.6, 10.0]


def test_what_had_not_ended_is_never_no_worse() -> None:
    never, soon = [180.0] * 10, [20.0 + n / 10 for n in range(10)]
    both = _timed_line(never, never)
    assert (both.verdict, both.more_seeds) == ("undecided", None)
    assert "at least 180 s; std at least 180 s" in told.why(both)
    assert "runs that ended before it did: 10 of 10 of new, 10 of 10 of std" in told.why(both)
    # One that did not end is enough: the mean may be anything above.
    late = [170.0 + n for n in range(11)]
    assert _timed_line(late, [t - 1 for t in late]).verdict == "undecided"
    assert _timed_line(never, soon).verdict == "worse than standard"
    assert _timed_line(soon, never).verdict == "no worse than standard"
    # Nor is one worse than a standard that would take longer than was seen.
    cut_short, complete = [180.0] * 10, [400.0] * 10
    assert _timed_line(complete, cut_short, new_unended=0).verdict == "undecided"
    bounded = _timed_line(never, never, margin=None, below=200.0)
    assert bounded.verdict == "undecided"
    assert _timed_line(never, never, margin=None, below=100.0).verdict == "fails"
    # Of a rate it is the other way: what was not over by then was slower than was seen.
    slow: dict[str, Any] = {"better": "higher", "unit": "bit/s", "margin": None}
    assert _timed_line(never, never, above=100.0, **slow).verdict == "undecided"
    assert _timed_line(never, never, above=200.0, **slow).verdict == "fails"
    # The least that it can be is enough where more is asked, and not against it.
    assert _timed_line(never, never, margin=None, above=100.0).verdict == "meets"
    assert _timed_line(never, never, margin=None, above=200.0).verdict == "undecided"


def test_of_some_seeds_only_their_unended_runs_count() -> None:
    sample = _sample("new", [1.0, 2.0, 180.0], unended=1)
    assert sample.of([0, 1]).unended == ()
    assert sample.of([2, 0]).unended == (2,)


def test_the_whole_interval_decides() -> None:
    assert _line([v * 1.02 for v in STANDARD], STANDARD).verdict == "no worse than standard"
    assert _line([v * 1.30 for v in STANDARD], STANDARD).verdict == "worse than standard"
    noisy = [v + (4 if n % 2 else -2) for n, v in enumerate(STANDARD)]
    line = _line(noisy, STANDARD)
    assert line.verdict == "undecided"
    assert line.more_seeds is None or line.more_seeds > 0


def test_more_is_better_where_it_is() -> None:
    less = [v * 0.7 for v in STANDARD]
    assert _line(less, STANDARD, better="higher").verdict == "worse than standard"
    assert _line(less, STANDARD).verdict == "no worse than standard"


def test_no_worse_than_one_standard_is_no_worse() -> None:
    bad = [v * 1.5 for v in STANDARD]
    assert _line(bad, STANDARD, bad).verdict == "no worse than standard"
    assert _line(bad, STANDARD, STANDARD).verdict == "worse than standard"


def test_slack_holds_where_it_is_more_than_the_share() -> None:
    zero = [0.0] * 10
    assert _line([0.004] * 10, zero, slack=0.005).verdict == "no worse than standard"
    assert _line([0.006] * 10, zero, slack=0.005).verdict == "worse than standard"


def test_a_bound_is_kept_broken_or_open() -> None:
    assert _line(STANDARD, margin=None, below=12.0).verdict == "meets"
    assert _line(STANDARD, margin=None, below=9.0).verdict == "fails"
    assert _line(STANDARD, margin=None, below=10.0).verdict == "undecided"
    assert _line(STANDARD, margin=None, above=9.0).verdict == "meets"


def test_a_yes_in_five_of_five_runs_is_not_certain() -> None:
    """At 97.5% a no in up to 52% of other runs is possible then (Clopper and Pearson), in 46% after
    six of six."""
    asked: dict[str, Any] = {"margin": None, "above": 1.0, "better": "higher"}
    five = _line([1.0] * 5, **asked)
    assert five.verdict == "undecided"
    assert five.more_seeds == 1
    assert _line([1.0] * 6, **asked).verdict == "meets"
    assert _line([0.0] * 3, **asked).verdict == "undecided"
    assert _line([0.0] * 6, **asked).verdict == "fails"


def test_equal_values_beside_standards_are_tested_by_their_number() -> None:
    def verdict(ours: float, seeds: int, standards: int = 1) -> str:
        return _line([ours] * seeds, *([[0.0] * seeds] * standards), slack=0.5).verdict

    assert [verdict(0.0, seeds) for seeds in (5, 6)] == ["undecided", "no worse than standard"]
    assert [verdict(1.0, seeds) for seeds in (4, 6)] == ["undecided", "worse than standard"]
    # The level is shared by the standards.
    assert [verdict(0.0, seeds, 2) for seeds in (6, 7)] == ["undecided", "no worse than standard"]


def test_the_runs_of_a_standard_are_no_worse_than_themselves() -> None:
    criterion = _criterion(margin=0.0)
    itself = _sample("cubic", [10.0, 12.0])
    assert judge.compared(criterion, itself, itself).standing == "no worse"
    # Two variants may give equal values by chance.
    assert judge.compared(criterion, itself, _sample("new", [10.0, 12.0])).standing == "undecided"


def test_among_many_bounds_chance_breaks_one_in_twenty_at_most() -> None:
    """Values whose mean is the bound: one in forty intervals lies beyond it by chance."""
    dice = random.Random(9743)
    criterion = _criterion(margin=None, below=10.0)
    broken = failed = lines = 0
    for _ in range(20):
        judged = []
        for _ in range(40):
            samples = [_sample("x", [dice.gauss(10, 1) for _ in range(10)]) for _ in range(3)]
            settings = [judge.at_setting(criterion, {}, sample, []) for sample in samples]
            broken += sum(setting.kept == "fails" for setting in settings)
            judged.append(judge.line(criterion, settings))
        card = judge.corrected(judged)
        lines += len(card)
        failed += sum(line.verdict == "fails" for line in card)
        assert {line.verdict for line in card} <= {"fails", "undecided", "meets"}
    assert broken > lines / 20
    assert failed <= lines / 100


def test_a_run_without_a_value_and_a_warning_decide_nothing() -> None:
    missing = [None, *STANDARD[1:]]
    assert _line(missing, STANDARD).verdict == "undecided"
    assert _line(missing, margin=None, below=12.0).verdict == "undecided"
    line = _line([v * 1.5 for v in STANDARD], STANDARD)
    setting = line.settings[0]
    doubted = replace(setting.subject, doubts=("limited-by-rwnd",))
    beside = judge.compared(line.criterion, doubted, setting.besides[0].standard)
    again = judge.corrected(
        [judge.line(line.criterion, [judge.at_setting(line.criterion, {}, doubted, [beside])])]
    )[0]
    assert again.verdict == "undecided"
    assert again.q is None


def test_a_warning_of_one_standard_leaves_what_is_said_beside_another() -> None:
    ours = _sample("new", STANDARD)
    doubted = replace(_sample("std0", STANDARD), doubts=("too-few-loss-cycles",))
    worse = _sample("std1", [v * 0.5 for v in STANDARD])

    def verdict(criterion: Criterion, *standards: Sample) -> str:
        besides = [judge.compared(criterion, ours, standard) for standard in standards]
        setting = judge.at_setting(criterion, {}, ours, besides)
        return judge.corrected([judge.line(criterion, [setting])])[0].verdict

    assert verdict(_criterion(), doubted, _sample("std1", STANDARD)) == "no worse than standard"
    # Who may be no worse than the one that is in doubt is not worse than every standard.
    assert verdict(_criterion(), doubted, worse) == "undecided"
    # A bound is of the variant alone.
    assert verdict(_criterion(margin=None, below=20.0), doubted, worse) == "meets"


def test_few_seeds_do_not_make_it_no_worse() -> None:
    """The bootstrap's interval of three seeds is too narrow: one end in eight is on a wrong side.

    On the margin itself, `no worse` is to be said in one of forty cases at most, beside two
    standards as well.
    """
    dice = random.Random(5)
    for seeds, standards in ((3, 1), (5, 2), (10, 2)):
        said = 0
        for _ in range(400):
            beside = [[dice.gauss(10, 0.5) for _ in range(seeds)] for _ in range(standards)]
            ours = [dice.gauss(11, 0.5) for _ in range(seeds)]
            said += _line(ours, *beside).verdict == "no worse than standard"
        assert said <= 20, (seeds, standards)


def test_what_lies_furthest_beyond_the_bound_is_told_first() -> None:
    criterion = _criterion(margin=None, above=5.0, better="higher")
    settings = [
        replace(
            judge.at_setting(criterion, {}, _sample("x", [v * part for v in STANDARD]), []),
            label=str(part),
        )
        for part in (1.0, 0.6, 0.8)
    ]
    line = judge.corrected([judge.line(criterion, settings)])[0]
    assert line.verdict == "meets"
    assert [setting.label for setting in line.deciding] == ["0.6", "0.8", "1.0"]


def test_the_seeds_that_are_said_to_be_missing_do_decide() -> None:
    dice = random.Random(23)

    def drawn(n: int, mean: float) -> list[float]:
        return [dice.gauss(mean, 1.0) for _ in range(n)]

    decided = 0
    for _ in range(40):
        line = _line(drawn(10, 10.3), drawn(10, 10.0))
        if line.more_seeds is not None:
            n = 10 + line.more_seeds
            decided += _line(drawn(4 * n, 10.3), drawn(4 * n, 10.0)).verdict != "undecided"
    assert decided >= 10


def test_where_nothing_differs_one_line_in_twenty_at_most_is_called_worse() -> None:
    """The null, by chance alone: cards of forty lines with no margin to hide behind."""
    dice = random.Random(9743)
    called = lines = 0
    for _ in range(20):
        judged = []
        for _ in range(40):
            criterion = _criterion(margin=0.0)
            settings = []
            for _ in range(3):
                samples = [_sample(name, [dice.gauss(10, 1) for _ in range(10)]) for name in "ab"]
                beside = judge.compared(criterion, *samples)
                settings.append(judge.at_setting(criterion, {}, samples[0], [beside]))
            judged.append(judge.line(criterion, settings))
        card = judge.corrected(judged)
        lines += len(card)
        called += sum(line.verdict == "worse than standard" for line in card)
    assert lines == 800
    assert called <= lines / 20
    # And with a correction for nothing, chance would have had its way.
    assert called < 8


@given(
    st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=30),
    st.sampled_from([0.025, 0.0125, 1e-3, 1e-5]),
)
def test_by_how_much_a_limit_is_exceeded_is_tested_as_scipy_does_it(
    values: list[float], level: float
) -> None:
    excess = np.array(values)
    beyond = Beyond.of(excess)
    assume(beyond.deviation > 0 and beyond.estimate.mean != 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        tests = [stats.ttest_1samp(excess, 0.0, alternative=side) for side in ("greater", "less")]
    assert [beyond.beyond_p, beyond.within_p] == [test.pvalue for test in tests]
    # At the number of seeds that is said the mean is enough, and at none before.
    seeds = np.arange(len(values) + 1, 10_001)
    needed = stats.t.isf(level, seeds - 1) * beyond.deviation / np.sqrt(seeds)
    enough = seeds[np.abs(beyond.estimate.mean) >= needed]
    more = beyond.more_seeds(level, level)
    assert more == (enough[0] - len(values) if len(enough) else None)
