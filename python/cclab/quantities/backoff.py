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
    only have become longer. It counts as so many doublings as fit into it of the longest gap
    before, since who sends no more sends less than who doubles on: of 1 s, 6 s are two, of 2 and
    4 s. Before fewer than two departures that gap is the one between samples. Not a number with
    fewer than two samples.
    """
    if len(time) < 2:
        return float("nan")
    departures = time[1:][np.diff(segments_sent) > 0]
    silence = time[-1] - (departures[-1] if len(departures) else time[0])
    gaps = np.diff(departures)
    most = in_a_row = 0
    for before, gap in pairwise([*gaps, silence]):
        in_a_row = in_a_row + 1 if gap >= (2 - _GRAIN) * before else 0
        most = max(most, in_a_row)
    longest = gaps.max() if len(gaps) else np.diff(time).min()
    fitting, doubled = 0, longest * (2 - _GRAIN)
    while silence >= doubled:
        fitting, silence, doubled = fitting + 1, silence - doubled, doubled * 2
    return float(max(most, fitting))
