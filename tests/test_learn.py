"""The environment for learning: one flow, several, and what classic variants earn there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from pettingzoo.test import parallel_api_test

import cclab
from cclab import InputError
from cclab.learn import (
    FlowEnv,
    FlowsEnv,
    Interval,
    RateAction,
    WindowAction,
    rollout,
    save_policy,
)
from cclab.learn.action import factor

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

STUDY = """\
title = "Two flows"
duration = "4s"

[network.bottleneck]
rate = "12Mbit"
delay = "10ms"
queue = { kind = "droptail", limit = "40p" }

[[flow]]
name = "one"
cc = "cubic"

[[flow]]
name = "two"
cc = "reno"
start = "200ms"
"""
ALONE = STUDY[: STUDY.rindex("[[flow]]")]


@pytest.fixture
def alone(tmp_path: Path) -> Path:
    """A study of one flow."""
    path = tmp_path / "alone.toml"
    path.write_text(ALONE)
    return path


@pytest.fixture
def two(tmp_path: Path) -> Path:
    """A study of two flows."""
    path = tmp_path / "two.toml"
    path.write_text(STUDY)
    return path


def test_gymnasium_accepts_the_environment(alone: Path) -> None:
    env = gymnasium.make("cclab/Flow-v0", study=str(alone))
    check_env(env.unwrapped, skip_render_check=True)


@pytest.mark.filterwarnings("ignore::UserWarning")  # the test's own words on rewards
def test_pettingzoo_accepts_the_environment(two: Path) -> None:
    parallel_api_test(FlowsEnv(two), num_cycles=200)


def test_the_same_seed_makes_the_same_episode(alone: Path) -> None:
    def played() -> list[float]:
        env = FlowEnv(alone)
        env.action_space.seed(1)
        return rollout(env, lambda _: env.action_space.sample(), seed=7).rewards

    first = played()
    assert first == played()
    assert len(first) > 50


def test_a_larger_rate_fills_the_link_and_then_the_queue(alone: Path) -> None:
    """12 Mbit/s less headers is 11.5 of payload (1448 of 1514 bytes); 40 packets wait 40 ms."""
    up = rollout(FlowEnv(alone, action=RateAction(0.1)), lambda _: np.ones(1, np.float32), seed=1)
    late = up.intervals[len(up.intervals) // 2 : -1]
    assert np.mean([each.throughput_bps for each in late]) == pytest.approx(11.5e6, rel=0.03)
    assert np.mean([each.rtt_s for each in late]) > 0.05
    assert up.loss_rate > 0.1


def test_a_window_is_what_is_in_flight(alone: Path) -> None:
    """A window that stays 10 segments over 20 ms of delay leaves the queue empty."""
    flat = rollout(FlowEnv(alone, action=WindowAction()), lambda _: np.zeros(1, np.float32), seed=1)
    last = flat.intervals[-2]
    assert last.cwnd_bytes == 10 * last.mss_bytes
    assert last.latency_ratio < 1.1
    assert last.lost_bytes == 0


def test_a_classic_variant_earns_what_its_run_does(alone: Path) -> None:
    cubic = rollout(FlowEnv(alone, steered=False), seed=3)
    # Its queue overflows now and then, and the link is full all the same.
    assert cubic.throughput_bps == pytest.approx(11.5e6, rel=0.05)
    assert 0 < cubic.loss_rate < 0.05
    idle = rollout(FlowEnv(alone, steered=False), lambda _: np.ones(1, np.float32), seed=3)
    assert idle.rewards == cubic.rewards  # actions do nothing


def test_agents_share_the_bottleneck_with_variants(two: Path) -> None:
    env = FlowsEnv(two, ["two"])
    env.reset(seed=1)
    infos: dict[str, dict[str, Any]] = {}
    while env.agents:
        *_, infos = env.step({"two": np.zeros(1, np.float32)})
    other = infos["two"]["others"]["one"]
    assert isinstance(other, Interval)
    assert other.delivered_bytes > 0


def test_processes_make_the_episodes_that_one_process_makes(alone: Path) -> None:
    def of(mode: str) -> np.ndarray[Any, Any]:
        envs = gymnasium.make_vec(
            "cclab/Flow-v0", num_envs=2, vectorization_mode=mode, study=str(alone)
        )
        envs.reset(seed=5)
        seen = [envs.step(np.full((2, 1), 0.5, np.float32))[0] for _ in range(20)]
        envs.close()
        return np.stack(seen)

    assert np.array_equal(of("sync"), of("async"))


def test_sweep_points_are_drawn(tmp_path: Path) -> None:
    path = tmp_path / "sweep.toml"
    path.write_text(ALONE + '\n[sweep]\n"network.bottleneck.rate" = ["5Mbit", "50Mbit"]\n')
    env = FlowEnv(path)
    points = {env.reset(seed=seed)[1]["point"] for seed in range(10)}
    assert points == {0, 1}
    assert env.reset(options={"point": 1, "run_seed": 4})[1]["run_seed"] == 4


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda study: FlowEnv(study, "three"), "there is no flow three: the study has one, two"),
        (lambda study: FlowsEnv(study, ["three"]), "there is no flow three"),
        (lambda study: FlowEnv(study, interval_s=0), "an interval is longer than 0"),
        (
            lambda study: FlowEnv(study, set="duration=1ms").reset(),
            "the run ends before one measured a round trip",
        ),
        (
            lambda study: FlowEnv(study).reset(options={"point": 1}),
            "there is no sweep point 1: the study has 0 to 0",
        ),
        (lambda study: FlowEnv(study).step(np.zeros(1, np.float32)), "reset the environment"),
    ],
)
def test_what_is_wrong_is_told(two: Path, make: Callable[[Path], object], what: str) -> None:
    with pytest.raises(InputError, match=what):
        make(two)


def test_variants_of_files_are_no_part_of_an_environment(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text("class Own:\n    def on_ack(self, ack):\n        pass\n")
    path = tmp_path / "study.toml"
    path.write_text(STUDY.replace('"reno"', '"./own.py:Own"'))
    with pytest.raises(InputError, match=r"^two has the variant of own.py: "):
        FlowEnv(path).reset()
    FlowEnv(path, "two").reset()  # whose variant nobody asks


def test_a_factor_and_its_inverse() -> None:
    """1 + 0.5 and 1 / (1 + 0.5); beyond -1..1 nothing is added."""
    assert (factor(1, 0.5), factor(-1, 0.5), factor(3, 0.5)) == (1.5, 1 / 1.5, 1.5)


@pytest.mark.parametrize("action", [RateAction(0.1), WindowAction(0.1)])
def test_a_policy_that_is_saved_is_a_variant(
    alone: Path, action: RateAction | WindowAction
) -> None:
    """The action follows the delay: up while a round trip is below 1.3 of the smallest."""
    history = 3
    weights = np.zeros((1, 3 * history))
    weights[0, -2] = -5.0  # the latest latency ratio less 1
    save_policy(alone.parent / "policy.py", [(weights, [1.5])], history=history, action=action)
    alone.write_text(ALONE.replace('cc = "cubic"', 'cc = "./policy.py:Policy"'))
    (row,) = cclab.run(alone, out=alone.parent / "store").flows.to_dicts()
    alone.write_text(ALONE)
    env = FlowEnv(alone, action=action, history=history)
    taught = rollout(env, lambda seen: (weights @ seen + 1.5).astype(np.float32), seed=1)
    assert row["goodput_bps"] == pytest.approx(taught.throughput_bps, rel=0.1)
    assert row["srtt_mean_s"] == pytest.approx(taught.rtt_s, rel=0.15)


def test_a_policy_of_another_shape_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"layer 1 has weights of shape \(1, 4\)"):
        save_policy(tmp_path / "policy.py", [(np.zeros((1, 4)), [0.0])])
    with pytest.raises(InputError, match="the last layer has one output"):
        save_policy(tmp_path / "policy.py", [(np.zeros((2, 30)), [0.0, 0.0])])
    with pytest.raises(InputError, match="not finite"):
        save_policy(tmp_path / "policy.py", [(np.full((1, 30), np.nan), [0.0])])
    assert not (tmp_path / "policy.py").exists()
