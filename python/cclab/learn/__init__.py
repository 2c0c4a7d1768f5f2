"""Congestion control as an environment for learning: `pip install cclab[learn]`.

    import gymnasium, cclab.learn
    env = gymnasium.make("cclab/Flow-v0", study="study.toml", flow="mine")

A step is a monitor interval: the action changes a flow's rate or window, the observation tells
what became of it. `FlowEnv` is one flow (Gymnasium), `FlowsEnv` are several (PettingZoo);
docs/learning.md shows both.
"""

from __future__ import annotations

try:
    import gymnasium
    import pettingzoo  # noqa: F401  -- asked for here, so that one message names both
except ImportError as error:
    raise ImportError(
        f"cclab.learn needs gymnasium and pettingzoo ({error}): pip install 'cclab[learn]'"
    ) from error

from cclab.learn.action import Action, RateAction, WindowAction
from cclab.learn.episode import Episode
from cclab.learn.flow_env import FlowEnv
from cclab.learn.flows_env import FlowsEnv
from cclab.learn.interval import Interval
from cclab.learn.observation import Observation, aurora_reward
from cclab.learn.policy import save_policy
from cclab.learn.rollout import Rollout, rollout

__all__ = [
    "Action",
    "Episode",
    "FlowEnv",
    "FlowsEnv",
    "Interval",
    "Observation",
    "RateAction",
    "Rollout",
    "WindowAction",
    "aurora_reward",
    "rollout",
    "save_policy",
]

gymnasium.register(id="cclab/Flow-v0", entry_point="cclab.learn.flow_env:FlowEnv")
