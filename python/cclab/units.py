"""The unit in which an axis or a table reads best, and the digits that a number deserves."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_RATES = ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"))
_SIZES = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"))
_TIMES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))


def rate(largest_bps: float) -> tuple[float, str]:
    """Bits per second in the unit, and its name, for values up to `largest_bps`."""
    return _pick(largest_bps, _RATES, (1.0, "bit/s"))


def size(largest_bytes: float) -> tuple[float, str]:
    """Bytes in the unit, and its name, for values up to `largest_bytes`."""
    return _pick(largest_bytes, _SIZES, (1.0, "B"))


def time(largest_s: float) -> tuple[float, str]:
    """Seconds in the unit, and its name, for values up to `largest_s`."""
    # Nothing at all is no time in particular.
    return _pick(largest_s, _TIMES, (1e-9, "ns") if largest_s > 0 else (1e-3, "ms"))


IN_WORDS = 4
"""Significant digits of a lone number in words."""


def told_rate(bps: float) -> str:
    """A rate with its unit: `1.5 Gbit/s`."""
    return _told(bps, rate(bps))


def told_size(bytes_: float) -> str:
    """A size with its unit: `64 kB`."""
    return _told(bytes_, size(bytes_))


def told_time(seconds: float, digits: int = IN_WORDS) -> str:
    """A time with its unit: `20 µs`."""
    return _told(seconds, time(seconds), digits)


def _told(value: float, unit: tuple[float, str], digits: int = IN_WORDS) -> str:
    return f"{value / unit[0]:.{digits}g} {unit[1]}"


def _pick(
    largest: float, units: tuple[tuple[float, str], ...], least: tuple[float, str]
) -> tuple[float, str]:
    return next((unit for unit in units if largest >= unit[0]), least)


ALONE = 3
"""Significant digits of a number without an interval."""

MOST = 5
"""Significant digits of a number beside an interval, however narrow that is."""

OF_INTERVAL = 2
"""Significant digits of half an interval, which say how many its mean has."""


ROUNDING = 1e-9
"""Of a number: what differs by less differs by the rounding of sums."""


def digits(value: float, half: float | None = None) -> int:
    """Digits after the point: as many as half its interval deserves, or the number alone."""
    by_half = half is not None and half > ROUNDING * abs(value)
    size, significant = (half, OF_INTERVAL) if half and by_half else (abs(value), ALONE)
    if not size or not math.isfinite(size):
        return 0
    return max(0, significant - 1 - _exponent(size, significant))


def column(
    values: Iterable[float | None], unit: Callable[[float], tuple[float, str]]
) -> tuple[str, list[str]]:
    """The name of the `unit` that suits the largest of a column's values, and each in that unit.

    Where there is no value the cell is empty.
    """
    known = list(values)
    size, name = unit(max((abs(value) for value in known if value is not None), default=0.0))
    return name, ["" if value is None else told(value / size) for value in known]


def told(value: float, half: float | None = None, *, least: int = 0) -> str:
    """A number, with half its interval if it has one.

    Without one, or if nothing varied, which is no interval either, it has at least `least` digits
    after the point, unless it is zero. However narrow an interval is, of the number no more than
    `MOST` digits count; one that these do not show is less than their last.
    """
    if half is None or half <= ROUNDING * abs(value):
        places = max(digits(value), least) if value else 0
        return f"{value:.{places}f}"
    last = max(0, MOST - 1 - _exponent(value, MOST)) if value else digits(value, half)
    places = min(digits(value, half), last)
    told = f"{half:.{places}f}"
    if places == last and float(told) == 0:
        told = f"<{10**-places:.{places}f}"
    return f"{value:.{places}f} ± {told}"


def _exponent(size: float, significant: int) -> int:
    """The power of ten of the first digit, as written: rounding up may give a digit more."""
    return int(f"{size:.{significant - 1}e}".partition("e")[2])
