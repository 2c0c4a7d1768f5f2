"""How often in a row a sender doubles the time between its attempts, as RFC 6298 asks."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_GRAIN = 0.1
"""Part of twice a gap that the next may lack: timers tick, and samples have a distance."""


def doublings(time: NDArray[np.float64], segments_sent: NDArray[np.float64]) -> float:
    """The most times in a row that the gap between departures is at least twice the one before.

    A departure is a sample by which more segments had left than by the one before. What is left
    from the last departure to the last sample counts as a gap where it is long enough: it would
    only have become longer. Not a number with fewer than two departures.
    """
    departures = time[1:][np.diff(segments_sent) > 0]
    if len(departures) < 2:
        return float("nan")
    gaps = np.diff(np.append(departures, time[-1]))
    most = in_a_row = 0
    for before, gap in pairwise(gaps):
        in_a_row = in_a_row + 1 if gap >= (2 - _GRAIN) * before else 0
        most = max(most, in_a_row)
    return float(most)
