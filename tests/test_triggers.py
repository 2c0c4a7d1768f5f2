"""Links that change as a flow's variant comes into a state, as people write and read them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import cclab
from cclab.cli.exits import WRONG_INPUT

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Cli

STUDY = """
duration = "6s"
warmup   = "1s"

[network.bottleneck]
rate     = "20Mbit"
delay    = "20ms"
queue    = {{ limit = "2bdp" }}
schedule = [
    {{ at = "5s", delay = "25ms" }},
    {{ when = {{ flow = "x", {when} }}, after = "100ms", rate = "12Mbit" }},
]

[[flow]]
name = "x"
cc   = "{cc}"
"""
DRAIN = 'column = "phase", is = "drain"'


def written(folder: Path, cc: str = "bbr3", when: str = DRAIN) -> Path:
    path = folder / "study.toml"
    path.write_text(STUDY.format(cc=cc, when=when))
    return path


def test_metrics_count_the_change_as_one_scheduled_when_it_came(tmp_path: Path) -> None:
    waits = cclab.run(written(tmp_path), out=tmp_path / "waits").runs[0]
    (met,) = waits.trace.summary["met_ns"]
    text = written(tmp_path).read_text()
    begin, end = text.index("when ="), text.index(", rate =")
    at = f'at = "{met + 100_000_000}ns"'
    (tmp_path / "study.toml").write_text(text[:begin] + at + text[end:])
    scheduled = cclab.run(tmp_path / "study.toml", out=tmp_path / "scheduled").runs[0]
    assert "met_ns" not in scheduled.trace.summary
    assert waits.metrics == scheduled.metrics
    # Of a link that had kept its first rate it would be much less.
    assert waits.metrics["bottleneck"]["utilization"] > 0.95
    assert waits.metrics["flows"][0]["max_min_bps"] < 15e6


def test_a_state_that_does_not_come_about_is_a_warning(tmp_path: Path, cli: Cli) -> None:
    study = written(tmp_path, when='column = "phase", is = "startup", nth = 2')
    done = cli("run", study, "--out", tmp_path / "out", "--json")
    assert done.returncode == 0
    (run,) = json.loads(done.stdout)["runs"]
    told = {warning["code"]: warning["message"] for warning in run["warnings"]}
    assert 'phase of x becomes "startup" for time 2' in told["trigger-never-met"]
    trace = cclab.load(tmp_path / "out").runs[0].trace
    assert trace.summary["met_ns"] == [None]


@pytest.mark.parametrize(
    ("cc", "when", "place", "says"),
    [
        ("bbr3", 'column = "phase", is = "drained"', "11:51", 'it is one of "startup", "drain", '),
        ("bbr3", 'column = "fase", is = "drain"', "11:37", "its variant bbr3 has phase, bw_bps, "),
        ("reno", DRAIN, "11:23", "the state of x, whose variant reno tells none"),
    ],
)
def test_what_never_comes_about_is_refused_where_it_is_written(
    tmp_path: Path, cli: Cli, cc: str, when: str, place: str, says: str
) -> None:
    study = written(tmp_path, cc, when)
    refused = cli("run", study, "--out", tmp_path / "out")
    assert refused.returncode == WRONG_INPUT
    assert f"study.toml:{place}: " in refused.stderr
    assert says in refused.stderr
    assert len(refused.stderr.splitlines()) == 2
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("backend", ["linux", "netns"])
@pytest.mark.parametrize("by", ["simulator", "kernel"])
def test_kernels_refuse_it_with_what_to_write_instead(
    tmp_path: Path, cli: Cli, backend: str, by: str
) -> None:
    study = written(tmp_path, "bbr")
    told = cli("run", study, "--backend", backend, "--set", f"network.by={by}")
    assert told.returncode == WRONG_INPUT
    assert "a change at a flow's state" in told.stderr
    assert "write it as `at`" in told.stderr
    assert "study.toml:11:14: " in told.stderr
