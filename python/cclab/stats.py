"""Estimates over runs. A run is one observation; samples inside a run never are."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

RESAMPLES = 10_000
"""Bootstrap resamples: the ends of the interval then move by well under 1% of its width."""

CONFIDENCE = 0.95
"""The probability that the interval is meant to hold the mean."""

_SEED = 0xCC1AB
"""The resamples are always the same ones, so that equal runs give equal reports."""


@dataclass(frozen=True)
class Estimate:
    """A mean over runs and its confidence interval."""

    mean: float
    """Arithmetic mean over the runs that measured it."""
    low: float | None
    """Lower end of the 95% interval; None from a single run."""
    high: float | None
    """Upper end of the 95% interval; None from a single run."""
    n: int
    """Number of runs that measured it."""

    @property
    def half_width(self) -> float | None:
        """Half the width of the interval; None from a single run."""
        if self.low is None or self.high is None:
            return None
        return (self.high - self.low) / 2

    def document(self) -> dict[str, object]:
        """The estimate as the `summary` of a results document spells it."""
        interval = None if self.low is None else [self.low, self.high]
        return {"mean": self.mean, "ci95": interval, "n": self.n}


def estimate(values: Iterable[float | None]) -> Estimate | None:
    """Mean and 95% percentile-bootstrap interval over runs; None if no run has a value.

    The interval takes the 2.5th and 97.5th percentile of the means of resamples of the runs,
    with replacement (Efron and Tibshirani 1993, section 13.3). It assumes nothing about the
    distribution, stays inside the range of the observations, and is too narrow for very few
    runs: with n = 2 it is the range itself.
    """
    seen = np.array([v for v in values if v is not None and math.isfinite(v)], dtype=np.float64)
    n = int(seen.size)
    if n == 0:
        return None
    mean = float(np.clip(math.fsum(seen) / n, seen.min(), seen.max()))
    if n == 1:
        return Estimate(mean, None, None, 1)
    draws = np.random.Generator(np.random.PCG64(_SEED)).integers(0, n, size=(RESAMPLES, n))
    # Centred first: the mean of equal observations is then that observation, to the last bit.
    means = mean + (seen - mean)[draws].mean(axis=1)
    tail = 100 * (1 - CONFIDENCE) / 2
    low, high = np.percentile(means, [tail, 100 - tail])
    return Estimate(
        mean,
        min(mean, max(float(low), float(seen.min()))),
        max(mean, min(float(high), float(seen.max()))),
        n,
    )
