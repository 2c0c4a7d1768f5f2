"""The difference of two sets of runs. As in `cclab.stats`, a run is one observation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cclab.stats import CONFIDENCE, RESAMPLES, Estimate, estimate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Runs = NDArray[np.float64]

_SEED = 0xCC1AB
"""The resamples are always the same ones, so that equal runs give equal comparisons."""

_TINY = 1e-200
"""No metric is so small: it is zero, and nothing is relative to it."""


@dataclass(frozen=True)
class Difference:
    """How much more B is than A, over runs."""

    a: Estimate
    """A alone."""
    b: Estimate
    """B alone."""
    absolute: Estimate
    """Mean of B - mean of A, in the metric's unit. Without an interval from a single run, and where
    nothing varies."""
    relative: Estimate | None
    """The same / mean of A; None if that is not above zero. Without an interval where `absolute`
    has none, and where resamples of A have a mean that is not above zero."""
    constant: bool
    """Whether there are several runs and the difference does not vary between them: every pair
    differs by the same, or all runs of a side are equal."""


def difference(
    a: Sequence[float | None], b: Sequence[float | None], *, paired: bool
) -> Difference | None:
    """B - A with its 95% percentile-bootstrap intervals; None if no run (no pair) measured it.

    `paired`: the runs at equal places in `a` and `b` belong together, and pairs are resampled;
    those that one side did not measure are left out on both. Otherwise the runs of each side are
    resampled by themselves. With very few runs the intervals are too narrow, as `stats.estimate`
    says of its own; docs/compare.md says how often they then show a difference that is none.

    Raises `ValueError` if `paired` and the sides are not equally long.
    """
    if paired:
        both = [
            (x, y)
            for x, y in zip(a, b, strict=True)
            if x is not None and y is not None and math.isfinite(x) and math.isfinite(y)
        ]
        a, b = [x for x, _ in both], [y for _, y in both]
    of_a, of_b = estimate(a), estimate(b)
    if of_a is None or of_b is None:
        return None
    mean = of_b.mean - of_a.mean
    ratio = mean / of_a.mean if of_a.mean > _TINY else None
    runs_a, runs_b = _seen(a), _seen(b)
    n = min(of_a.n, of_b.n)
    constant = n > 1 and not _varies(runs_a, runs_b, paired)
    if n == 1 or constant:
        relative = None if ratio is None else Estimate(ratio, None, None, n)
        return Difference(of_a, of_b, Estimate(mean, None, None, n), relative, constant)
    means_a, means_b = _resampled(runs_a, runs_b, paired)
    absolute = _estimate(mean, means_b - means_a, n)
    if ratio is None:
        relative = None
    elif means_a.min() > _TINY:
        relative = _estimate(ratio, (means_b - means_a) / means_a, n)
    else:
        relative = Estimate(ratio, None, None, n)
    return Difference(of_a, of_b, absolute, relative, constant)


def _seen(values: Sequence[float | None]) -> Runs:
    return np.array([v for v in values if v is not None and math.isfinite(v)], dtype=np.float64)


def _varies(a: Runs, b: Runs, paired: bool) -> bool:
    """Whether there is a spread from which an interval could be made."""
    return bool(np.ptp(b - a) > 0) if paired else bool(np.ptp(a) > 0 or np.ptp(b) > 0)


def _resampled(a: Runs, b: Runs, paired: bool) -> tuple[Runs, Runs]:
    """The means of A and of B in each resample."""
    random = np.random.Generator(np.random.PCG64(_SEED))
    draws_a = random.integers(0, a.size, size=(RESAMPLES, a.size))
    draws_b = draws_a if paired else random.integers(0, b.size, size=(RESAMPLES, b.size))
    return a[draws_a].mean(axis=1), b[draws_b].mean(axis=1)


def _estimate(mean: float, resampled: Runs, n: int) -> Estimate:
    tail = 100 * (1 - CONFIDENCE) / 2
    low, high = np.percentile(resampled, [tail, 100 - tail])
    return Estimate(mean, min(mean, float(low)), max(mean, float(high)), n)
