"""The unit in which an axis or a table reads best."""

from __future__ import annotations

_RATES = ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"))
_SIZES = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"))
_TIMES = ((1.0, "s"), (1e-3, "ms"))


def rate(largest_bps: float) -> tuple[float, str]:
    """Bits per second in the unit, and its name, for values up to `largest_bps`."""
    return _pick(largest_bps, _RATES, (1.0, "bit/s"))


def size(largest_bytes: float) -> tuple[float, str]:
    """Bytes in the unit, and its name, for values up to `largest_bytes`."""
    return _pick(largest_bytes, _SIZES, (1.0, "B"))


def time(largest_s: float) -> tuple[float, str]:
    """Seconds in the unit, and its name, for values up to `largest_s`."""
    return _pick(largest_s, _TIMES, (1e-6, "µs"))


def _pick(
    largest: float, units: tuple[tuple[float, str], ...], least: tuple[float, str]
) -> tuple[float, str]:
    return next((unit for unit in units if largest >= unit[0]), least)
