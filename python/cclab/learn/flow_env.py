"""One flow as a Gymnasium environment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np

from cclab.errors import InputError
from cclab.learn.action import Action, RateAction
from cclab.learn.episode import Episode
from cclab.learn.observation import BOUND, Observation, aurora_reward
from cclab.learn.settings import check_length, episode_of, length_s, scenarios

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from cclab.learn.interval import Interval
    from cclab.plan.study import Study


class FlowEnv(gymnasium.Env["NDArray[np.float32]", "NDArray[np.float32]"]):
    """One flow of a study, whose window and rate the agent sets between monitor intervals.

    An episode is a run of the study: of the sweep point that the environment's dice choose, with
    a seed of their own. It is truncated when the run ends, and terminated when the flow does.
    `info` has the last `Interval`, the run's seed, and the sweep point's index.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012  -- as Gymnasium declares it

    def __init__(
        self,
        study: str | Path | Study,
        flow: str | None = None,
        *,
        set: str | Sequence[str] = (),
        round_trips: float = 1.0,
        interval_s: float | None = None,
        action: Action | None = None,
        history: int = 10,
        reward: Callable[[Interval], float] = aurora_reward,
        steered: bool = True,
    ) -> None:
        """An environment around `flow` of `study` (the first one if None).

        `set` replaces keys of the study. An interval lasts `round_trips` smoothed round trips, or
        `interval_s` seconds. `action` says what a number in -1..1 does (`RateAction()`),
        `history` how many intervals are seen, `reward` what one is worth. With `steered=False`
        the flow keeps the variant of the study and actions do nothing: what a classic variant
        earns here. Raises `StudyError` or `InputError` if the study, or the flow's name, is wrong.
        """
        check_length(round_trips, interval_s)
        self.scenarios = scenarios(study, set)
        names = [each["name"] for each in self.scenarios[0]["flows"]]
        self.flow = flow if flow is not None else names[0]
        if self.flow not in names:
            raise InputError(f"there is no flow {self.flow}: the study has {', '.join(names)}")
        self.steered = steered
        self._round_trips = round_trips
        self._interval_s = interval_s
        self._action: Action = action if action is not None else RateAction()
        self._observation = Observation(history)
        self._reward = reward
        self._episode: Episode | None = None
        shape = (self._observation.size,)
        self.observation_space = gymnasium.spaces.Box(-BOUND, BOUND, shape, np.float32)
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begins another run; `options` may fix its `point` (index) and `run_seed`."""
        super().reset(seed=seed)
        point, run_seed = episode_of(options, len(self.scenarios), self.np_random)
        steered = [self.flow] if self.steered else []
        self._episode = Episode(self.scenarios[point], run_seed, steered)
        self._last = self._episode.begin([self.flow])[self.flow]
        self._action.begin(self._last)
        self._observation.begin()
        self._info = {"point": point, "run_seed": run_seed}
        return self._observation.seen(), {**self._info, "interval": self._last}

    def step(
        self, action: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Acts, and lets an interval pass."""
        if self._episode is None:
            raise InputError("reset the environment before its first step")
        episode = self._episode
        if self.steered:
            value = float(np.asarray(action, dtype=np.float64).reshape(-1)[0])
            cwnd, rate = self._action.take(value, self._last)
            episode.steer(self.flow, cwnd, rate)
        seconds = length_s([self._last], self._round_trips, self._interval_s)
        self._last = episode.advance(seconds)[self.flow]
        seen = self._observation.take(self._last)
        terminated = not self._last.runs
        truncated = episode.over and not terminated
        info = {**self._info, "interval": self._last}
        return seen, self._reward(self._last), terminated, truncated, info

    def close(self) -> None:
        """Leaves the run."""
        self._episode = None
