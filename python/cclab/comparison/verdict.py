"""The outcome of comparing one metric: a code for programs, words for people."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from cclab.comparison.correction import LEVEL

if TYPE_CHECKING:
    from cclab.comparison.difference import Difference
    from cclab.comparison.metric import Metric
    from cclab.measure.stats import Estimate

Code = Literal["better", "worse", "higher", "lower", "no-evidence"]
"""B against A. `higher` and `lower` are the verdicts on metrics without a better direction.
`no-evidence` is not equality: the interval says how large a difference may have been missed."""

Untested = Literal["equal", "no-variance", "single-run", "not-measured"]
"""Why there was nothing to test. `equal`: the same in every run. `no-variance`: the runs of each
side are one run, repeated, and tell nothing of chance. `single-run`: a side has one run.
`not-measured`: a side has no value."""


@dataclass(frozen=True)
class Verdict:
    """The outcome for one metric at one sweep point."""

    code: Code
    untested: Untested | None
    words: str
    """The difference, such as "+3.2% (2.1 to 4.4)"."""


def code_of(metric: Metric, difference: float, p: float | None) -> Code:
    """The verdict on a difference with an adjusted p-value of `p`; None: it was not tested."""
    if p is None or p > LEVEL or difference == 0:
        return "no-evidence"
    direction: Code = "higher" if difference > 0 else "lower"
    if metric.better is None:
        return direction
    return "better" if direction == metric.better else "worse"


def untested(difference: Difference | None, repeated: bool) -> Untested | None:
    """Why `difference` cannot be tested; None if it can. `repeated`: the runs are one run,
    repeated."""
    if difference is None:
        return "not-measured"
    if difference.absolute.n == 1:
        return "single-run"
    if difference.p is None:
        return "equal"
    return "no-variance" if repeated else None


def words(metric: Metric, difference: Difference | None, measured: tuple[bool, bool]) -> str:
    """The difference in words; `measured` says which of A and B have a value in some run."""
    if difference is None:
        return _NOT_MEASURED.get(measured, "not measured on both sides")
    if difference.absolute.n == 1:
        single = "one run each" if difference.a.n == difference.b.n else _one_of(difference)
        return f"{_mean(metric, difference)}, {single}"
    if difference.constant:
        same = difference.absolute.mean == 0
        return "equal in every run" if same else f"{_mean(metric, difference)} in every run"
    low, high = _interval(metric, difference)
    return f"{_mean(metric, difference)} ({low} to {high})"


_NOT_MEASURED = {
    (True, False): "measured in A only",
    (False, True): "measured in B only",
    (False, False): "not measured",
}


def _one_of(difference: Difference) -> str:
    return f"one run of {'A' if difference.a.n == 1 else 'B'}"


def _mean(metric: Metric, difference: Difference) -> str:
    """How much higher B is, with its sign."""
    if difference.absolute.mean == 0:
        return "equal"
    scale, unit, estimate = _scale(metric, difference)
    told = f"{estimate.mean / scale:+.{_digits(estimate, scale)}f}"
    # Rounded to zero, the sign would say more than is meant.
    return f"{told.lstrip('+-') if float(told) == 0 else told}{unit}"


def _interval(metric: Metric, difference: Difference) -> tuple[str, str]:
    """The ends of the interval, in the unit of the mean."""
    scale, _, estimate = _scale(metric, difference)
    if estimate.low is None or estimate.high is None:
        raise ValueError(f"{metric.name}: no interval to tell")
    digits = _digits(estimate, scale)
    # The zero is added for the sign: "-0.0" would say more than is meant.
    ends = (round(end / scale, digits) + 0.0 for end in (estimate.low, estimate.high))
    low, high = (f"{end:.{digits}f}" for end in ends)
    return low, high


def _scale(metric: Metric, difference: Difference) -> tuple[float, str, Estimate]:
    """The unit of the difference in words: its divisor and its name; and the difference.

    The unit is per cent of A, or the metric's own where per cent would mislead or A is zero.
    """
    relative = difference.relative
    # A relative difference without the interval that the absolute one has says less than that.
    whole = relative is not None and (relative.low is not None or difference.absolute.low is None)
    if relative is not None and whole and not metric.bounded:
        return 0.01, "%", relative
    divisor, name, _ = metric.unit(max(abs(difference.a.mean), abs(difference.b.mean)))
    if name == "%":
        name = "points"
    return divisor, f" {name}" if name else "", difference.absolute


def _digits(estimate: Estimate, scale: float) -> int:
    """Digits after the point, enough to show half of the interval's half width.

    More digits where an end near zero would be rounded to it. Without an interval, three
    significant digits.
    """
    half = estimate.half_width
    finest = abs(estimate.mean) / 100 if half is None else half / 2
    if finest == 0:
        return 0
    digits = min(max(-math.floor(math.log10(finest / scale)), 0), 6)
    near = _nearest_to_zero(estimate) / scale
    if near > 0 and round(near, digits) == 0:
        # That this end is not zero must show.
        return -math.floor(math.log10(near))
    return digits


def _nearest_to_zero(estimate: Estimate) -> float:
    """The size of the interval's end nearest to zero; zero if the interval contains zero or is
    missing."""
    low, high = estimate.low, estimate.high
    if low is None or high is None or low <= 0 <= high:
        return 0.0
    return min(abs(low), abs(high))
