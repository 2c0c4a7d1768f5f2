"""A sweep that is killed just before some step that others could see, and started again."""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cclab.cli.exits import DONE
from cclab.cli.main import invoke
from conftest import kept
from waiting import PATIENCE_S

STUDY = """\
title    = "A flow and datagrams on a slow link"
question = "What is left of a sweep that is killed?"
duration = "1s"
seed     = 7

[network.bottleneck]
rate  = "2Mbit"
delay = "5ms"
queue = { kind = "droptail", limit = "10p" }

[[flow]]
name = "only"
cc   = "reno"
rtt  = "20ms"

[[traffic]]
name = "noise"
kind = "constant-rate"
rate = "1Mbit"
packet_size = "500B"
"""
"""Of each table that a store has it makes some rows, and few figures: these take the longest."""

STEPPING = """
import itertools, os, signal, sys

place, last, words = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
numbers = itertools.count(1)

def step(event, arguments):
    if event == "open":
        paths = arguments[:1] if arguments[2] & (os.O_WRONLY | os.O_RDWR) else ()
    elif event in ("os.rename", "os.remove", "os.rmdir", "os.mkdir"):
        paths = arguments[:2] if event == "os.rename" else arguments[:1]
    else:
        return
    paths = [os.fspath(path) for path in paths if not isinstance(path, int)]
    if not any(isinstance(path, str) and path.startswith(place) for path in paths):
        return
    number = next(numbers)  # Threads take steps, too.
    if last in (0, number):
        os.write(2, f"step {number} {os.path.relpath(paths[-1], place)}\\n".encode())
    if number == last:
        os.kill(os.getpid(), signal.SIGKILL)

from cclab.cli.main import invoke

sys.addaudithook(step)
sys.exit(invoke(words))
"""
"""Tells each renaming, removal and making of a folder, and each opening of a file to write, in the
folder `place`, as Python is about to do it; and kills itself at the one whose number is given."""

TRIED = {"plan": 2, "runs": 3, "index": 2, "report": 2, "tmp": 3}
"""Steps to be killed at, by what they change; evenly over all that there are."""


def _of(path: str) -> str:
    """What a step changes that changes `path` in a store."""
    parts = Path(path).parts or ("the folder",)
    if "plans" in parts or parts[-1] == "plan.json":
        return "plan"
    if parts[-1].startswith("index"):
        return "index"
    return parts[0]


def _stepping(words: list[str], out: Path, last: int) -> tuple[int, list[tuple[int, str]]]:
    """Runs `words`, killed at the step `last`: the exit code, and the steps that were told."""
    done = subprocess.run(
        [sys.executable, "-c", STEPPING, str(out), str(last), *words],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    told = [line.split(maxsplit=2) for line in done.stderr.splitlines() if line[:5] == "step "]
    return done.returncode, [(int(number), _of(path)) for _, number, path in told]


def _every_so_many(numbers: list[int], tried: int, chance: random.Random) -> list[int]:
    """So many of `numbers`, as far from each other as they can be, the first of them by chance."""
    apart = len(numbers) / tried
    offset = chance.random() * apart
    return [numbers[int(offset + turn * apart)] for turn in range(tried)]


@pytest.mark.parametrize("grown", [False, True], ids=["new-folder", "folder-with-results"])
def test_a_sweep_killed_at_a_step_and_started_again_leaves_what_an_undisturbed_one_does(
    tmp_path: Path, grown: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    study, start, out = tmp_path / "study.toml", tmp_path / "start", tmp_path / "out"
    study.write_text(STUDY)
    if grown:
        assert invoke(["run", str(study), "--out", str(start), "--repeat", "2"]) == DONE
    words = ["run", str(study), "--out", str(out), "--jobs", "1", "--repeat", "4"]

    def restore() -> None:
        shutil.rmtree(out, ignore_errors=True)
        if grown:
            shutil.copytree(start, out)

    restore()
    code, steps = _stepping(words, out, 0)
    assert code == DONE
    undisturbed = kept(out)
    chance = random.Random(len(steps))
    killed_at = set()
    for changed, tried in TRIED.items():
        numbers = [number for number, of in steps if of == changed]
        for last in _every_so_many(numbers, tried, chance):
            restore()
            code, told = _stepping(words, out, last)
            assert code == -signal.SIGKILL, f"step {last} of {len(steps)}"
            killed_at.update(told)
            assert invoke(words) == DONE, f"killed at step {last}: {capsys.readouterr().err}"
            assert kept(out) == undisturbed, f"killed at step {last} of {len(steps)}"
            assert not (out / "aside").exists()
    # The threads of a sweep may come to their steps in another order.
    assert {of for _, of in killed_at} >= {"plan", "index", "report"}
    assert len(killed_at) == sum(TRIED.values())
