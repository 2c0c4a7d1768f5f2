"""Many flows at once: their median over time, and the bands that hold most of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.patches import Patch

from cclab.drawing.legend import entry
from cclab.drawing.style import MUTED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from cclab.drawing.palette import Look

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
_WIDE, _NARROW = 0.13, 0.25
"""Opacity of the bands of nine flows in ten, and of half of them."""

_STEPS = 600
"""Points of a curve at most."""


def draw(axes: Axes, courses: Sequence[tuple[np.ndarray, np.ndarray]], style: Look) -> None:
    """The bands of flows, given by the course of each, in the look of `style`."""
    seconds, (least, low, median, high, most) = quantiles(courses)
    for foot, head, alpha in ((least, most, _WIDE), (low, high, _NARROW)):
        axes.fill_between(seconds, foot, head, color=style.colour, alpha=alpha, linewidth=0)
    axes.plot(seconds, median, color=style.colour, linestyle=style.dash)


def quantiles(
    courses: Sequence[tuple[np.ndarray, np.ndarray]],
) -> tuple[np.ndarray, np.ndarray]:
    """Times, and at each of them the `QUANTILES` over the flows that last then.

    A flow keeps its last value from its first time to its last; at a time without flows the
    quantiles are NaN.
    """
    known = [(x, y) for x, y in courses if len(x)]
    if not known:
        return np.empty(0), np.empty((len(QUANTILES), 0))
    times = np.unique(np.concatenate([x for x, _ in known]))
    if len(times) > _STEPS:
        times = np.linspace(times[0], times[-1], _STEPS)
    held = np.full((len(known), len(times)), np.nan)
    for row, (x, y) in zip(held, known, strict=True):
        lasts = (times >= x[0]) & (times <= x[-1])
        row[lasts] = y[np.searchsorted(x, times[lasts], side="right") - 1]
    bands = np.full((len(QUANTILES), len(times)), np.nan)
    some = ~np.isnan(held).all(axis=0)
    bands[:, some] = np.nanquantile(held[:, some], QUANTILES, axis=0)
    return times, bands


def explanation() -> list[Artist]:
    """What the bands are, as entries of a legend."""
    return [
        entry("median of the flows", color=MUTED),
        Patch(color=MUTED, alpha=_WIDE + _NARROW, linewidth=0, label="half of them"),
        Patch(color=MUTED, alpha=_WIDE, linewidth=0, label="nine in ten"),
    ]
