"""What an action does: it changes a rate or a window by a factor."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from cclab.learn.interval import Interval

LEAST_SEGMENTS = 2.0
LEAST_BPS = 10e3
MOST_BPS = 1e12
ROOM = 4.0
"""Round trips' worth of a rate that its window leaves room for, so that the rate is what limits."""


def factor(action: float, scale: float) -> float:
    """By what `action` in -1..1 multiplies: 1 + scale * action, or its inverse below zero."""
    bounded = min(1.0, max(-1.0, action))
    return 1.0 + scale * bounded if bounded >= 0 else 1.0 / (1.0 - scale * bounded)


class Action(Protocol):
    """How a number in -1..1 becomes a window and a rate."""

    def begin(self, interval: Interval) -> None:
        """A flow begins, of which this is known."""

    def take(self, action: float, interval: Interval) -> tuple[float, float | None]:
        """The window in segments and the rate in bit/s (None: no pacing) after `action`."""


class RateAction:
    """Paces, and multiplies the rate: `x (1 + a scale)`, or `x / (1 - a scale)` below zero.

    The rule of Aurora (Jay et al., "A Deep Reinforcement Learning Perspective on Internet
    Congestion Control", ICML 2019, section 3.2), whose scale is 0.025.
    """

    def __init__(self, scale: float = 0.025) -> None:
        self.scale = scale
        self.rate_bps = LEAST_BPS

    def begin(self, interval: Interval) -> None:
        """The rate begins where the initial window leaves in a round trip."""
        self.rate_bps = max(LEAST_BPS, 8 * interval.cwnd_bytes / interval.srtt_s)

    def take(self, action: float, interval: Interval) -> tuple[float, float | None]:
        """The rate after `action`, and a window that leaves it room."""
        rate = self.rate_bps * factor(action, self.scale)
        self.rate_bps = min(MOST_BPS, max(LEAST_BPS, rate))
        in_a_round = self.rate_bps / 8 * interval.srtt_s / max(1, interval.mss_bytes)
        return max(10.0, math.ceil(ROOM * in_a_round)), self.rate_bps


class WindowAction:
    """Multiplies the window, which acknowledgements clock, by the same rule."""

    def __init__(self, scale: float = 0.5) -> None:
        self.scale = scale
        self.cwnd = LEAST_SEGMENTS

    def begin(self, interval: Interval) -> None:
        """The window begins as it is."""
        self.cwnd = max(LEAST_SEGMENTS, interval.cwnd_bytes / max(1, interval.mss_bytes))

    def take(self, action: float, interval: Interval) -> tuple[float, float | None]:
        """The window after `action`; no rate."""
        self.cwnd = min(1e6, max(LEAST_SEGMENTS, self.cwnd * factor(action, self.scale)))
        return self.cwnd, None
