"""Stretches of time of one length."""

from __future__ import annotations

import math

import numpy as np

from cclab.errors import InputError

MOST = 200
"""Bins in which a series of a given span falls at most, unless somebody asks for others."""

_MOST_EVER = 10_000_000
_LEAST_S = 1e-4


def width(span_s: float, least_s: float = 0.0) -> float:
    """A round length, 1, 2 or 5 times a power of ten, of which `MOST` cover `span_s` seconds.

    At least `least_s`, if that is more: bins shorter than a round trip show its bursts.
    """
    wanted = max(span_s / MOST, least_s, _LEAST_S)
    power = 10.0 ** math.floor(math.log10(wanted))
    # A little less than what is wanted will do: 0.1 is not a power of ten to the last bit.
    steps = (step * power for step in (1, 2, 5, 10))
    return float(f"{next(s for s in steps if s >= wanted * (1 - 1e-9)):.1g}")


def asked(bin_s: float | None, span_s: float, least_s: float = 0.0) -> float:
    """The length that was asked for, or else `width`. Raises `InputError` if it cannot be."""
    if bin_s is None:
        return width(span_s, least_s)
    if not (math.isfinite(bin_s) and bin_s > 0):
        raise InputError(f"bins of {bin_s} s; they must be longer than 0")
    if span_s / bin_s > _MOST_EVER:
        raise InputError(f"bins of {bin_s} s are more than {_MOST_EVER} in {span_s:.0f} s")
    return bin_s


def totals(
    time_s: np.ndarray, amounts: np.ndarray, began_s: float, bin_s: float, n: int
) -> np.ndarray:
    """The sum of the `amounts` in each of `n` bins from `began_s` on."""
    place = np.clip(((time_s - began_s) / bin_s).astype(np.int64), 0, n - 1)
    return np.bincount(place, weights=amounts, minlength=n)
