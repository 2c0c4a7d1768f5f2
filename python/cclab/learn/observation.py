"""What an agent sees of monitor intervals, and what they are worth."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cclab.learn.interval import Interval

FEATURES = 3
BOUND = 100.0


class Observation:
    """The last intervals by three figures each, the latest last.

    Those of Aurora (Jay et al., ICML 2019, section 3.1): the latency gradient (change of the mean
    round-trip time from one interval to the next, over the interval's length), the latency ratio
    (mean over smallest round-trip time) less 1, and the send ratio (sent over delivered) less 1;
    each bounded to -100..100. Zeros stand for intervals before the first.
    """

    def __init__(self, history: int = 10) -> None:
        self.history = history
        self._figures: deque[list[float]] = deque(maxlen=history)
        self.begin()

    @property
    def size(self) -> int:
        """Figures in an observation."""
        return FEATURES * self.history

    def begin(self) -> None:
        """Forgets: an episode begins."""
        self._figures.extend([0.0] * FEATURES for _ in range(self.history))
        self._rtt_s = 0.0

    def take(self, interval: Interval) -> NDArray[np.float32]:
        """The observation with `interval` as its latest."""
        change = interval.rtt_s - self._rtt_s if self._rtt_s > 0 else 0.0
        gradient = change / interval.seconds if interval.seconds > 0 else 0.0
        self._rtt_s = interval.rtt_s
        figures = [gradient, interval.latency_ratio - 1.0, interval.send_ratio - 1.0]
        self._figures.append([min(BOUND, max(-BOUND, figure)) for figure in figures])
        return self.seen()

    def seen(self) -> NDArray[np.float32]:
        """The observation as it is."""
        seen: NDArray[Any] = np.asarray(self._figures, dtype=np.float32)
        return seen.reshape(-1)


def aurora_reward(interval: Interval) -> float:
    """10 x throughput (segments/s) - 1000 x latency (s) - 2000 x loss rate: Aurora's reward."""
    segments = interval.throughput_bps / 8 / max(1, interval.mss_bytes)
    return 10 * segments - 1000 * interval.rtt_s - 2000 * interval.loss_rate
