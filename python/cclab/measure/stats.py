"""Estimates over runs. A run is one observation; samples inside a run never are."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, cast

import msgspec
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    Whole = NDArray[np.int64]
    Flags = NDArray[np.bool_]

RESAMPLES = 10_000
"""Bootstrap resamples: the ends of the interval then move by well under 1% of its width."""

CONFIDENCE = 0.95
"""The probability that the interval is meant to hold the mean."""

SEED = 0xCC1AB
"""The resamples are always the same ones, so that equal runs give equal reports."""

_BLOCK = 1 << 17
"""Numbers worked on at a time: they stay in a processor's cache."""

_FEW = 7
"""Of up to so many runs there are few distinct resamples: weighing them is quicker than sorting all
of them."""


class Estimate(msgspec.Struct, frozen=True, gc=False):
    """A mean over runs and its confidence interval.

    A report has hundreds of thousands: they hold numbers alone, and no search for what is no longer
    needed looks at them.
    """

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
    return estimates([list(values)])[0]


def estimates(rows: Sequence[Sequence[float | None]] | Floats) -> list[Estimate | None]:
    """`estimate` of each row of a table with a column per run; None or NaN where not measured.

    What a row gives does not depend on the rows beside it. `scipy.stats.bootstrap` draws the same
    resamples from the same seed, but its last bits depend on how many rows it is given, and 6,480
    rows of five runs take it 10 s, not 0.2 s; of ten runs 13 s, not 2.8 s (measured).
    """
    if len(rows) == 0:
        return []
    table = np.asarray(cast("ArrayLike", rows), dtype=np.float64)
    estimated: list[Estimate | None] = [None] * len(table)
    for n, places, seen in by_runs(table):
        if n == 0:
            continue
        means, low, high = means_of(seen), seen.min(axis=1), seen.max(axis=1)
        means = np.clip(means, low, high)
        if n == 1:
            for place, mean in zip(places.tolist(), means.tolist(), strict=True):
                estimated[place] = Estimate(mean, None, None, 1)
            continue
        varied = np.flatnonzero(low < high)
        # Centred first, so that little is lost where runs differ by little.
        centred = seen[varied] - means[varied, None]
        ends = over_blocks(_ends, resamples(n).counts.shape[1], centred)
        ends += means[varied, None]
        low[varied] = np.minimum(means[varied], np.maximum(low[varied], ends[:, 0]))
        high[varied] = np.maximum(means[varied], np.minimum(high[varied], ends[:, 1]))
        every = zip(places.tolist(), means.tolist(), low.tolist(), high.tolist(), strict=True)
        for place, mean, lower, upper in every:
            estimated[place] = Estimate(mean, lower, upper, n)
    return estimated


def by_runs(table: Floats) -> Iterator[tuple[int, Whole, Floats]]:
    """The rows of `table` by how many runs measured them.

    That number, the numbers of the rows, and their finite values, as many in each.
    """
    finite = np.isfinite(table)
    counts = finite.sum(axis=1)
    for n in np.unique(counts):
        places = np.flatnonzero(counts == n)
        yield int(n), places, table[places][finite[places]].reshape(len(places), n)


def means_of(seen: Floats) -> Floats:
    """The mean of each row, rounded once: it does not depend on the order of the runs."""
    sums = np.array([math.fsum(row) for row in seen.tolist()], dtype=np.float64)
    means: Floats = sums / seen.shape[1]
    return means


@dataclass(frozen=True)
class Resamples:
    """The resamples of n runs, each as how often it takes each run."""

    counts: Floats
    """A row for every run, a column for every resample."""
    times: Whole | None
    """How often each column was drawn; None: once each."""


@lru_cache(maxsize=4)
def resamples(n: int) -> Resamples:
    """The resamples of `n` runs: always the same `RESAMPLES` draws.

    A mean does not care in which order its runs were drawn: of few runs there are few distinct
    resamples (126 of five), and each is counted once, with how often it was drawn.
    """
    counts = tally(draws(np.random.Generator(np.random.PCG64(SEED)), n), n)
    if n > _FEW:
        return Resamples(np.ascontiguousarray(counts.T), None)
    distinct, times = np.unique(counts, axis=0, return_counts=True)
    return Resamples(np.ascontiguousarray(distinct.T), times)


def draws(random: np.random.Generator, n: int) -> Whole:
    """The numbers of the runs that each resample takes."""
    return random.integers(0, n, size=(RESAMPLES, n))


def tally(drawn: Whole, n: int) -> Floats:
    """How often each resample, a row, takes each of `n` runs."""
    counts = np.zeros((len(drawn), n))
    np.add.at(counts, (np.arange(len(drawn))[:, None], drawn), 1.0)
    return counts


def _ends(seen: Floats) -> Floats:
    """The ends of the interval of each row, in two columns."""
    drawn = resamples(seen.shape[1])
    return percentiles(resampled_means(seen, drawn.counts), drawn.times)


def over_blocks(work: Callable[..., Floats], width: int, *tables: Floats) -> Floats:
    """What `work` makes of a few rows of each of `tables` at a time, put together.

    As many rows as need some `_BLOCK` numbers, at `width` numbers a row; on every processor.
    """
    step = max(1, _BLOCK // width)
    starts = range(0, max(len(tables[0]), 1), step)
    blocks = [[table[start : start + step] for table in tables] for start in starts]
    if len(blocks) == 1:
        return work(*blocks[0])
    with ThreadPoolExecutor() as pool:
        return np.concatenate(list(pool.map(lambda block: work(*block), blocks)))


def resampled_means(seen: Floats, counts: Floats) -> Floats:
    """The mean of each row of `seen` in each column of `counts`."""
    means = weighed_sums(seen, counts)
    means /= seen.shape[1]
    return means


def weighed_sums(seen: Floats, weights: Floats) -> Floats:
    """The sum of each row of `seen`, weighed by each column of `weights`.

    It is `seen @ weights`, but added up run by run: the last bits of a product of matrices depend
    on how many rows there are and on the processor, and its threads get into the way of ours.
    """
    sums = np.zeros((len(seen), weights.shape[1]))
    part = np.empty_like(sums)
    for run in range(len(weights)):
        np.multiply(seen[:, run, None], weights[run], out=part)
        sums += part
    return sums


def percentiles(means: Floats, times: Whole | None) -> Floats:
    """The 2.5th and 97.5th percentile of each row, whose columns count `times` each.

    Between two neighbours, linear, as `numpy.percentile` has it.
    """
    tail = (1 - CONFIDENCE) / 2
    places = [q * (RESAMPLES - 1) for q in (tail, 1 - tail)]
    wanted = [whole for place in places for whole in (math.floor(place), math.ceil(place))]
    if times is None:
        ranked = np.sort(means, axis=1)[:, wanted]
    else:
        order = np.argsort(means, axis=1)
        reached = np.cumsum(times[order], axis=1)
        columns = np.stack([(reached <= rank).sum(axis=1) for rank in wanted], axis=1)
        ranked = np.take_along_axis(means, np.take_along_axis(order, columns, 1), 1)
    below, above = ranked[:, 0::2], ranked[:, 1::2]
    part = np.array([place - math.floor(place) for place in places])
    ends: Floats = below + (above - below) * part
    return ends
