"""What a comparison of one metric comes to, in a word for programs and in words for people."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from cclab.comparison.difference import Difference
    from cclab.comparison.metric import Metric
    from cclab.stats import Estimate

Code = Literal[
    "higher", "lower", "none-seen", "equal", "no-variance", "no-interval", "not-measured"
]
"""B against A. `none-seen`: the interval holds zero. `equal`: the same in every run. `no-variance`:
another value, and the same difference in every run, so that runs tell nothing of chance.
`no-interval`: a side has a single run. `not-measured`: a side has no value."""


@dataclass(frozen=True)
class Verdict:
    """The outcome for one metric at one sweep point."""

    code: Code
    words: str
    """Such as "B higher by 3.2% (2.1 to 4.4)"."""


def verdict(metric: Metric, found: Difference | None, measured: tuple[bool, bool]) -> Verdict:
    """The verdict on `found`; `measured` says which of A and B have a value in some run."""
    if found is None:
        return Verdict("not-measured", _NOT_MEASURED.get(measured, "not measured on both sides"))
    absolute = found.absolute
    if absolute.n == 1:
        return Verdict("no-interval", f"{_by(metric, found)}; {_single(found)}: no interval")
    if found.constant:
        if absolute.mean == 0:
            return Verdict("equal", "equal in every run")
        return Verdict("no-variance", f"{_by(metric, found)} in every run")
    if absolute.low is not None and absolute.low > 0:
        return Verdict("higher", _by(metric, found))
    if absolute.high is not None and absolute.high < 0:
        return Verdict("lower", _by(metric, found))
    low, high, unit = _interval(metric, found, sign=1)
    return Verdict("none-seen", f"no difference seen ({low} to {high}{unit})")


_NOT_MEASURED = {
    (True, False): "measured in A only",
    (False, True): "measured in B only",
    (False, False): "not measured",
}


def _single(found: Difference) -> str:
    if found.a.n == found.b.n:
        return "one run each"
    return f"one run of {'A' if found.a.n == 1 else 'B'}"


def _by(metric: Metric, found: Difference) -> str:
    """B higher or lower by so much, with the interval if there is one."""
    mean = found.absolute.mean
    if mean == 0:
        return "equal"
    sign = 1 if mean > 0 else -1
    scale, unit, estimate = _scale(metric, found)
    digits = _digits(estimate, scale)
    size = f"{abs(estimate.mean) / scale:.{digits}f}{unit}"
    words = f"B {'higher' if sign > 0 else 'lower'} by {size}"
    if estimate.low is None:
        return words
    low, high, _ = _interval(metric, found, sign)
    return f"{words} ({low} to {high})"


def _interval(metric: Metric, found: Difference, sign: int) -> tuple[str, str, str]:
    """The ends of the interval of `sign` × the difference, and their unit."""
    scale, unit, estimate = _scale(metric, found)
    if estimate.low is None or estimate.high is None:
        raise ValueError(f"{metric.name}: no interval to tell")
    low, high = sorted(sign * end / scale for end in (estimate.low, estimate.high))
    digits = _digits(estimate, scale)
    # The zero is added for the sign: "-0.0" would say more than is meant.
    return f"{round(low, digits) + 0.0:.{digits}f}", f"{round(high, digits) + 0.0:.{digits}f}", unit


def _scale(metric: Metric, found: Difference) -> tuple[float, str, Estimate]:
    """The unit in which the difference is told: what to divide by, its name; and the difference.

    Per cent of A, or the metric's own unit where per cent would mislead or A has none to take.
    """
    relative = found.relative
    # A relative difference without the interval that the absolute one has says less than that.
    whole = relative is not None and (relative.low is not None or found.absolute.low is None)
    if relative is not None and whole and not metric.bounded:
        return 0.01, "%", relative
    divisor, name, _ = metric.unit(max(abs(found.a.mean), abs(found.b.mean)))
    if name == "%":
        name = "points"
    return divisor, f" {name}" if name else "", found.absolute


def _digits(estimate: Estimate, scale: float) -> int:
    """Digits after the point, enough to show half of the interval's half width.

    More where an end beside zero would be rounded to it. Three digits that count where there is no
    interval.
    """
    half = estimate.half_width
    finest = abs(estimate.mean) / 100 if half is None else half / 2
    if finest == 0:
        return 0
    digits = min(max(-math.floor(math.log10(finest / scale)), 0), 6)
    near = _nearest_to_zero(estimate) / scale
    if near > 0 and round(near, digits) == 0:
        # The verdict rests on this end not being zero.
        return -math.floor(math.log10(near))
    return digits


def _nearest_to_zero(estimate: Estimate) -> float:
    """The size of the end of an interval beside zero; zero where it holds zero or is none."""
    low, high = estimate.low, estimate.high
    if low is None or high is None or low <= 0 <= high:
        return 0.0
    return min(abs(low), abs(high))
