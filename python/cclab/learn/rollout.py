"""An episode from its beginning to its end: what a policy, or a classic variant, earns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    import gymnasium
    import numpy as np
    from numpy.typing import NDArray

    from cclab.learn.interval import Interval


@dataclass(frozen=True)
class Rollout:
    """An episode that is over."""

    rewards: list[float]
    """What each interval earned."""
    intervals: list[Interval]
    """The intervals."""

    @property
    def mean_reward(self) -> float:
        """What an interval earned on average."""
        return sum(self.rewards) / len(self.rewards)

    @property
    def throughput_bps(self) -> float:
        """Payload delivered per second of the episode."""
        seconds = sum(interval.seconds for interval in self.intervals)
        delivered = sum(interval.delivered_bytes for interval in self.intervals)
        return 8 * delivered / seconds

    @property
    def rtt_s(self) -> float:
        """Mean round-trip time, each interval's by its length."""
        seconds = sum(interval.seconds for interval in self.intervals)
        return sum(each.rtt_s * each.seconds for each in self.intervals) / seconds

    @property
    def loss_rate(self) -> float:
        """Part of what was delivered or lost that was lost."""
        lost = sum(interval.lost_bytes for interval in self.intervals)
        delivered = sum(interval.delivered_bytes for interval in self.intervals)
        return lost / (lost + delivered) if lost + delivered else 0.0


def rollout(
    env: gymnasium.Env[Any, Any],
    policy: Callable[[NDArray[np.float32]], NDArray[np.float32]] | None = None,
    *,
    seed: int | None = None,
    options: dict[str, Any] | None = None,
) -> Rollout:
    """Plays an episode of `env` with `policy`; None: the actions do nothing, as those of an
    environment with `steered=False` do. `seed` and `options` are those of `reset`."""
    seen, _ = env.reset(seed=seed, options=options)
    idle = env.action_space.sample() * 0
    rewards: list[float] = []
    intervals: list[Interval] = []
    over = False
    while not over:
        action = idle if policy is None else policy(seen)
        seen, reward, terminated, truncated, info = env.step(action)
        rewards.append(float(reward))
        intervals.append(info["interval"])
        over = terminated or truncated
    return Rollout(rewards, intervals)
