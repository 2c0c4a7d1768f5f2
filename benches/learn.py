"""Steps per second of a random agent, alone and over processes: `make bench-learn`."""

from __future__ import annotations

import os
import time

import gymnasium

import cclab.learn  # noqa: F401  -- registers the environment
from cclab.learn import FlowEnv

STUDY = "examples/learning.toml"
SECONDS = 5.0


def alone() -> tuple[float, float]:
    """Steps, and virtual seconds, per second of one environment in this process."""
    env = FlowEnv(STUDY)
    env.reset(seed=1)
    steps, virtual, began = 0, 0.0, time.perf_counter()
    while time.perf_counter() - began < SECONDS:
        _, _, terminated, truncated, info = env.step(env.action_space.sample())
        steps += 1
        virtual += info["interval"].seconds
        if terminated or truncated:
            env.reset()
    lasted = time.perf_counter() - began
    return steps / lasted, virtual / lasted


def over_processes(count: int) -> float:
    """Steps per second of `count` environments, each in a process."""
    envs = gymnasium.make_vec(
        "cclab/Flow-v0", num_envs=count, vectorization_mode="async", study=STUDY
    )
    envs.reset(seed=1)
    steps, began = 0, time.perf_counter()
    while time.perf_counter() - began < SECONDS:
        envs.step(envs.action_space.sample())
        steps += count
    rate = steps / (time.perf_counter() - began)
    envs.close()
    return rate


def main() -> None:
    """Prints the table."""
    one, virtual = alone()
    processes = max(2, os.cpu_count() or 2)
    several = over_processes(processes)
    print(f"one environment: {one:,.0f} steps/s, {virtual:,.0f} virtual seconds a second")
    print(f"{processes} processes: {several:,.0f} steps/s, {several / one:.2f} times one")


if __name__ == "__main__":
    main()
