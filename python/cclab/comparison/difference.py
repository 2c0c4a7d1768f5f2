"""The difference of two sets of runs. As in `measure.stats`, a run is one observation."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, cast

import numpy as np

from cclab.comparison import permutation
from cclab.measure import stats
from cclab.measure.stats import Estimate, estimates

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike

    from cclab.measure.stats import Flags, Floats, Whole

    Table = Sequence[Sequence[float | None]] | Floats

TINY = 1e-200
"""No metric is so small: it is zero, and nothing is relative to it."""


@dataclass(frozen=True)
class Difference:
    """How much more B is than A, over runs."""

    a: Estimate
    """A alone."""
    b: Estimate
    """B alone."""
    absolute: Estimate
    """Mean of B - mean of A, in the metric's unit. A single run, or runs that do not vary, give no
    interval."""
    relative: Estimate | None
    """`absolute` over the mean of A; None unless that mean is above zero. It has no interval if
    `absolute` has none, or if some resample of A has a mean that is not above zero."""
    constant: bool
    """Whether there are several runs and the difference does not vary between them: every pair
    differs by the same, or all runs of a side are equal."""
    p: float | None
    """The p-value of a permutation test: how often chance alone would set the sides so far apart.
    None if a side has a single run, or if the sides are equal in every run."""


def difference(
    a: Sequence[float | None], b: Sequence[float | None], *, paired: bool
) -> Difference | None:
    """B - A with its 95% percentile-bootstrap intervals; None if no run (no pair) measured it.

    `paired`: the runs at equal places in `a` and `b` belong together, and pairs are resampled,
    without those that one side did not measure. Otherwise each side's runs are resampled by
    themselves. With very few runs the intervals are too narrow, as those of `stats.estimate` are;
    docs/compare.md says how often they then show a difference where there is none.

    Raises `ValueError` if `paired` and the sides are not equally long.
    """
    return differences([list(a)], [list(b)], paired=paired)[0]


def differences(a: Table, b: Table, *, paired: bool) -> list[Difference | None]:
    """`difference` of each row of `a` and the row of `b` beside it: tables with a column per run.

    What a row gives does not depend on the rows above and below it.
    """
    if len(a) == 0:
        return []
    table_a, table_b = (np.asarray(cast("ArrayLike", t), dtype=np.float64) for t in (a, b))
    if paired and table_a.shape != table_b.shape:
        raise ValueError("paired sides are equally long, and one of them is longer")
    if paired:
        both = np.isfinite(table_a) & np.isfinite(table_b)
        table_a, table_b = (np.where(both, table, np.nan) for table in (table_a, table_b))
    of_a, of_b = estimates(table_a), estimates(table_b)
    of_rows: list[Difference | None] = [None] * len(table_a)
    for places, runs_a, runs_b in _alike(table_a, table_b):
        if runs_a.shape[1] and runs_b.shape[1]:
            sides = [
                (side_a, side_b)
                for place in places.tolist()
                if (side_a := of_a[place]) is not None and (side_b := of_b[place]) is not None
            ]
            apart = _differences(sides, runs_a, runs_b, paired)
            for place, difference in zip(places.tolist(), apart, strict=True):
                of_rows[place] = difference
    return of_rows


def _alike(a: Floats, b: Floats) -> Iterator[tuple[Whole, Floats, Floats]]:
    """The rows with as many runs on each side: their numbers, and the runs of A and of B."""
    for _, places, runs_a in stats.by_runs(a):
        for _, among, runs_b in stats.by_runs(b[places]):
            yield places[among], runs_a[among], runs_b


def _differences(
    sides: list[tuple[Estimate, Estimate]], a: Floats, b: Floats, paired: bool
) -> list[Difference]:
    """Of rows that have as many runs each, all of which measured it."""
    n = min(a.shape[1], b.shape[1])
    mean_a = np.array([side_a.mean for side_a, _ in sides])
    means = np.array([side_b.mean for _, side_b in sides]) - mean_a
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratios = np.where(mean_a > TINY, means / mean_a, np.nan)
    varies = np.full(len(a), n > 1) & _spread(a, b, paired)
    ends = np.full((len(a), 4), np.nan)
    if varies.any():
        width = 2 * stats.RESAMPLES
        bootstrap = _of_pairs if paired else _of_groups
        ends[varies] = stats.over_blocks(bootstrap, width, a[varies], b[varies])
    p_values = np.full(len(a), np.nan)
    if n > 1:
        unequal = (a != b).any(axis=1) if paired else varies | (a[:, 0] != b[:, 0])
        test = _p_of_pairs if paired else permutation.of_groups
        p_values[unequal] = test(a[unequal], b[unequal])
    return [
        Difference(
            side_a,
            side_b,
            _estimate(mean, low, high, n),
            None if ratio != ratio else _estimate(ratio, low_ratio, high_ratio, n),
            n > 1 and not varied,
            None if p != p else p,
        )
        for (side_a, side_b), mean, ratio, varied, p, (low, high, low_ratio, high_ratio) in zip(
            sides,
            means.tolist(),
            ratios.tolist(),
            varies.tolist(),
            p_values.tolist(),
            ends.tolist(),
            strict=True,
        )
    ]


def _spread(a: Floats, b: Floats, paired: bool) -> Flags:
    """Whether there is a spread from which an interval could be made, row by row."""
    if paired:
        return cast("Flags", np.ptp(b - a, axis=1) > 0)
    return cast("Flags", (np.ptp(a, axis=1) > 0) | (np.ptp(b, axis=1) > 0))


def _p_of_pairs(a: Floats, b: Floats) -> Floats:
    return permutation.of_pairs(b - a)


def _of_pairs(a: Floats, b: Floats) -> Floats:
    """The ends of the intervals of the difference and of the relative one: pairs resampled."""
    drawn = stats.resamples(a.shape[1])
    means_a, means_b = (stats.resampled_means(side, drawn.counts) for side in (a, b))
    return _ends(means_a, means_b, drawn.times)


def _of_groups(a: Floats, b: Floats) -> Floats:
    """The same, each side resampled by itself."""
    drawn_a, drawn_b = _drawn(a.shape[1], b.shape[1])
    means_a, means_b = (
        stats.resampled_means(side, drawn.counts)[:, drawn.which]
        for side, drawn in ((a, drawn_a), (b, drawn_b))
    )
    return _ends(means_a, means_b, None)


@dataclass(frozen=True)
class _Drawn:
    """The resamples of one of two sides."""

    counts: Floats
    """How often each distinct one, a column, takes each run."""
    which: Whole
    """The column of each that was drawn."""


@lru_cache(maxsize=16)
def _drawn(n_a: int, n_b: int) -> tuple[_Drawn, _Drawn]:
    """The resamples of `n_a` runs of A and `n_b` of B, drawn by turns: always the same ones."""
    random = np.random.Generator(np.random.PCG64(stats.SEED))
    sides = []
    for n in (n_a, n_b):
        counts = stats.tally(stats.draws(random, n), n)
        distinct, which = np.unique(counts, axis=0, return_inverse=True)
        sides.append(_Drawn(np.ascontiguousarray(distinct.T), which.reshape(-1)))
    return sides[0], sides[1]


def _ends(means_a: Floats, means_b: Floats, times: Whole | None) -> Floats:
    """Four columns: the ends of B - A and of (B - A) / A; NaN where a mean of A is not above 0."""
    apart = means_b - means_a
    above = means_a.min(axis=1) > TINY
    ends = np.full((len(means_a), 4), np.nan)
    ends[:, :2] = stats.percentiles(apart, times)
    ends[above, 2:] = stats.percentiles(apart[above] / means_a[above], times)
    return ends


def _estimate(mean: float, low: float, high: float, n: int) -> Estimate:
    """Without an interval where its ends are not known."""
    if low != low:
        return Estimate(mean, None, None, n)
    return Estimate(mean, min(mean, low), max(mean, high), n)
