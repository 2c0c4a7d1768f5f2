"""An evaluation that is killed or interrupted goes on, and ends in the card of one that was not."""

from __future__ import annotations

import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from cclab import evaluation
from cclab.cli.exits import DONE, INTERRUPTED
from cclab.cli.main import invoke
from conftest import files_of
from waiting import PATIENCE_S, await_that

if TYPE_CHECKING:
    from pathlib import Path

STUDY = """
title    = "Two flows"
duration = "{duration}"

[network.bottleneck]
rate  = "5Mbit"
queue = {{ limit = "1bdp" }}

[[flow]]
name  = "x"
rtt   = "40ms"
start = {{ at = "0s", spread = "1s" }}

[[flow]]
name = "rival"
rtt  = "40ms"

[sweep]
"flow.x.cc" = ["cubic"]
"""

SUITE = """
title     = "Two scenarios"
source    = "this test"
version   = 1
standards = ["cubic", "reno"]
despite   = ["not-converged", "too-few-loss-cycles"]
"""

SCENARIO = """
[[scenario]]
name    = "{name}"
title   = "Two flows"
study   = "{name}.toml"
subject = ["flow.x.cc"]
repeat  = {repeat}

[[criterion]]
id         = "{name}"
clause     = "1"
obligation = "own"
text       = "leaves the other flow something"
scenario   = "{name}"
measure    = "goodput of the other flow"
value      = "goodput_bps"
flow       = "rival"
unit       = "bit/s"
better     = "higher"
margin     = 0.3
"""

FIRST, SECOND = 4, 30
"""Runs of the two scenarios: the second takes so long that it does not end before it is killed."""


def left(out: Path) -> dict[str, bytes]:
    """Every file of a card and of its stores, but for what was under way."""
    return {name: text for name, text in files_of(out).items() if "/tmp/" not in name}


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("faults") / "two"
    folder.mkdir()
    text = SUITE
    for name, runs, duration in (("first", FIRST, "4s"), ("second", SECOND, "30s")):
        text += SCENARIO.format(name=name, repeat=runs // 2)
        (folder / f"{name}.toml").write_text(STUDY.format(duration=duration))
    (folder / "suite.toml").write_text(text)
    return folder


@pytest.fixture(scope="module")
def undisturbed(suite: Path) -> dict[str, bytes]:
    """What an evaluation leaves that nothing befell."""
    out = suite.parent / "undisturbed"
    evaluation.evaluate("cubic", suite=suite, out=out)
    return left(out)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_an_evaluation_goes_on_where_it_was_ended(
    suite: Path,
    undisturbed: dict[str, bytes],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    how: signal.Signals,
) -> None:
    out = tmp_path / "out"
    words = ["evaluate", "cubic", "--suite", str(suite), "--out", str(out), "--jobs", "1"]

    def ended(scenario: str) -> list[Path]:
        return sorted((out / scenario / "runs").glob("*.zip"))

    child = subprocess.Popen(
        [sys.executable, "-m", "cclab", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )

    def under_way() -> bool:
        assert child.poll() is None, "the evaluation ended before it could be ended"
        return len(ended("second")) >= 2

    try:
        await_that(under_way, "two runs of the second scenario")
        child.send_signal(how)
        told, complaint = child.communicate(timeout=PATIENCE_S)
    finally:
        child.kill()
    assert told == ""
    assert "Traceback" not in complaint
    if how == signal.SIGINT:
        assert child.returncode == INTERRUPTED
        *_, last = complaint.splitlines()
        kept = "finished runs are kept, the same command goes on from there"
        assert last == f"error: interrupted; {kept}"
    else:
        assert child.returncode == -how
    assert not (out / "card.json").exists()
    assert len(ended("first")) == FIRST
    before = {file: file.stat() for scenario in ("first", "second") for file in ended(scenario)}
    there = len(before)
    assert FIRST + 2 <= there < FIRST + SECOND

    assert invoke(words) == DONE
    missing = FIRST + SECOND - there
    assert f"{FIRST + SECOND} runs, {missing} of them to be done" in capsys.readouterr().err
    after = {file: file.stat() for file in before}
    assert {file: (s.st_ino, s.st_mtime_ns) for file, s in after.items()} == {
        file: (s.st_ino, s.st_mtime_ns) for file, s in before.items()
    }
    assert left(out) == undisturbed
