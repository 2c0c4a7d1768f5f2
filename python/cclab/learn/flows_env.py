"""Several flows that share a bottleneck as a PettingZoo environment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
import pettingzoo

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

    Seen = NDArray[np.float32]


class FlowsEnv(pettingzoo.ParallelEnv):  # type: ignore[misc]  # pettingzoo has no types
    """Flows of a study as agents that act at once; the others keep their variants.

    Spaces, rewards and episodes are those of `FlowEnv`; an interval lasts `round_trips` of the
    longest smoothed round trip among the agents, or `interval_s`. `info` of an agent has its
    `Interval`, and under `others` those of all flows that are no agents.
    """

    metadata: dict[str, Any] = {"name": "cclab_flows_v0", "render_modes": []}  # noqa: RUF012

    def __init__(
        self,
        study: str | Path | Study,
        flows: Sequence[str] | None = None,
        *,
        set: str | Sequence[str] = (),
        round_trips: float = 1.0,
        interval_s: float | None = None,
        action: Callable[[], Action] = RateAction,
        history: int = 10,
        reward: Callable[[Interval], float] = aurora_reward,
    ) -> None:
        """An environment around `flows` of `study` (all if None); the rest as of `FlowEnv`."""
        check_length(round_trips, interval_s)
        self.scenarios = scenarios(study, set)
        names = [each["name"] for each in self.scenarios[0]["flows"]]
        self.possible_agents = [*flows] if flows is not None else names
        for name in self.possible_agents:
            if name not in names:
                raise InputError(f"there is no flow {name}: the study has {', '.join(names)}")
        self.agents: list[str] = []
        self._round_trips = round_trips
        self._interval_s = interval_s
        self._actions = {name: action() for name in self.possible_agents}
        self._observations = {name: Observation(history) for name in self.possible_agents}
        self._reward = reward
        self._episode: Episode | None = None
        self._dice = np.random.default_rng()
        size = Observation(history).size
        box = gymnasium.spaces.Box
        # Each agent has spaces of its own: they have dice.
        self.observation_spaces = {
            name: box(-BOUND, BOUND, (size,), np.float32) for name in self.possible_agents
        }
        self.action_spaces = {
            name: box(-1.0, 1.0, (1,), np.float32) for name in self.possible_agents
        }

    def observation_space(self, agent: str) -> gymnasium.Space[Any]:
        """The space of what `agent` sees."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> gymnasium.Space[Any]:
        """The space of what `agent` does."""
        return self.action_spaces[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Seen], dict[str, dict[str, Any]]]:
        """Begins another run; `options` may fix its `point` (index) and `run_seed`."""
        if seed is not None:
            self._dice = np.random.default_rng(seed)
        point, run_seed = episode_of(options, len(self.scenarios), self._dice)
        self.agents = [*self.possible_agents]
        self._episode = Episode(self.scenarios[point], run_seed, self.possible_agents)
        self._last = self._episode.begin(self.possible_agents)
        self._run = {"point": point, "run_seed": run_seed}
        for name in self.agents:
            self._actions[name].begin(self._last[name])
            self._observations[name].begin()
        seen = {name: self._observations[name].seen() for name in self.agents}
        return seen, self._infos()

    def step(
        self, actions: dict[str, Seen]
    ) -> tuple[
        dict[str, Seen],
        dict[str, float],
        dict[str, bool],
        dict[str, bool],
        dict[str, dict[str, Any]],
    ]:
        """All agents act, and an interval passes."""
        if self._episode is None:
            raise InputError("reset the environment before its first step")
        for name in self.agents:
            value = float(np.asarray(actions[name], dtype=np.float64).reshape(-1)[0])
            cwnd, rate = self._actions[name].take(value, self._last[name])
            self._episode.steer(name, cwnd, rate)
        agents = [self._last[name] for name in self.agents]
        seconds = length_s(agents, self._round_trips, self._interval_s)
        self._last = self._episode.advance(seconds)
        seen = {name: self._observations[name].take(self._last[name]) for name in self.agents}
        rewards = {name: self._reward(self._last[name]) for name in self.agents}
        terminated = {name: not self._last[name].runs for name in self.agents}
        over = self._episode.over
        truncated = {name: over and not terminated[name] for name in self.agents}
        infos = self._infos()
        self.agents = [] if over else [name for name in self.agents if not terminated[name]]
        return seen, rewards, terminated, truncated, infos

    def _infos(self) -> dict[str, dict[str, Any]]:
        agents = self.possible_agents
        others = {name: last for name, last in self._last.items() if name not in agents}
        return {
            name: {**self._run, "interval": self._last[name], "others": others}
            for name in self.agents
        }

    def close(self) -> None:
        """Leaves the run."""
        self._episode = None
