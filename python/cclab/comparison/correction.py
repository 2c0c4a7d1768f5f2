"""Correction of p-values for their number: of twenty that mean nothing, one is below 5%."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from cclab import shown
from cclab.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cclab.measure.stats import Floats

Correction = Literal["fdr", "holm"]
"""What the correction bounds: `fdr`, the share of wrong verdicts among all verdicts (Benjamini and
Hochberg 1995, J. R. Stat. Soc. B 57:289); `holm`, the probability of any wrong verdict (Holm 1979,
Scand. J. Stat. 6:65)."""

CORRECTIONS: tuple[Correction, ...] = ("fdr", "holm")

LEVEL = 0.05
"""The bound: an adjusted p-value of at most this is evidence."""


def known_correction(name: str) -> Correction:
    """The correction called `name`. Raises `InputError` if there is none."""
    for known in CORRECTIONS:
        if name == known:
            return known
    raise InputError(f"no correction {shown.quoted(name)}; one of {', '.join(CORRECTIONS)}")


def adjusted(p_values: Sequence[float], correction: Correction) -> list[float]:
    """`p_values` such that each is at most `LEVEL` where the correction rejects its hypothesis.

    `scipy.stats` has no Holm, and its `false_discovery_control` rounds otherwise: 40% of adjusted
    p-values had another last bit (measured). Of `statsmodels`, which brings 150 MB with pandas,
    Holm is equal, and the other rounds otherwise too.
    """
    p = np.asarray(p_values, dtype=np.float64)
    if p.size == 0:
        return []
    order = np.argsort(p, kind="stable")
    ranked = _holm(p[order]) if correction == "holm" else _benjamini_hochberg(p[order])
    p_adjusted = np.empty_like(p)
    p_adjusted[order] = np.minimum(ranked, 1.0)
    values: list[float] = p_adjusted.tolist()
    return values


def _holm(p: Floats) -> Floats:
    """Rising `p`, each times the number of tests left, and never below the one before."""
    left = np.arange(p.size, 0, -1)
    rising: Floats = np.maximum.accumulate(p * left)
    return rising


def _benjamini_hochberg(p: Floats) -> Floats:
    """Rising `p`, each times all tests over its rank, and never above the one after."""
    ranks = np.arange(1, p.size + 1)
    falling: Floats = np.minimum.accumulate((p * p.size / ranks)[::-1])[::-1]
    return falling
