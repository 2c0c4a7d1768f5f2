"""A sweep that is killed before some step that others could see, or at any moment, and started
again: it leaves what an undisturbed one does."""

from __future__ import annotations

import contextlib
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from attacks.kind import Kind, Missed
from attacks.saying import said
from attacks.stepping import killed_at, steps_of
from cclab.cli.exits import DONE
from conftest import kept
from waiting import PATIENCE_S

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

    from attacks.kind import Strike

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

CHANGED = ("plan", "runs", "index", "report", "tmp")
"""What a step changes that a sweep is killed at; each as often as the others."""


def changed_by(path: str) -> str:
    """What a step changes that changes `path` in a store."""
    parts = Path(path).parts or ("the folder",)
    if "plans" in parts or parts[-1] == "plan.json":
        return "plan"
    if parts[-1].startswith("index"):
        return "index"
    return parts[0]


class Sweep:
    """A sweep into a new folder, or into one with results, and what it leaves undisturbed."""

    def __init__(self, place: Path, *, grown: bool) -> None:
        place.mkdir()
        study, self.start, self.out = place / "study.toml", place / "start", place / "out"
        study.write_text(STUDY)
        self.words = ["run", str(study), "--out", str(self.out), "--jobs", "1", "--repeat", "4"]
        if grown:
            done = said(["run", str(study), "--out", str(self.start), "--repeat", "2"])
            assert done.code == DONE, done.err
        self.restore()
        began = time.monotonic()
        self.steps = steps_of(self.words, self.out)
        self.takes_s = time.monotonic() - began
        self.undisturbed = kept(self.out)

    def restore(self) -> None:
        """The folder as it is before the sweep."""
        shutil.rmtree(self.out, ignore_errors=True)
        if self.start.exists():
            shutil.copytree(self.start, self.out)

    def killed_at_a_step(self, changed: str, chance: random.Random) -> str:
        """Kills it just before a step that changes this: says where."""
        numbers = [number for number, path in self.steps if changed_by(path) == changed]
        last = chance.choice(numbers)
        code, _ = killed_at(last, self.words, self.out)
        if code == DONE:
            raise Missed(f"it was done before step {last}")
        assert code == -signal.SIGKILL, f"step {last}: it ended with {code}"
        return f"killed at step {last} of {len(self.steps)}, of {changed}"

    def killed_at_a_moment(self, chance: random.Random) -> str:
        """Kills it while it works: says when."""
        child = subprocess.Popen(
            [sys.executable, "-m", "cclab", *self.words],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        after = chance.uniform(0.0, self.takes_s)
        try:
            time.sleep(after)
        finally:
            child.send_signal(signal.SIGKILL)
            code = child.wait(PATIENCE_S)
        if code != -signal.SIGKILL:
            raise Missed(f"it was done before {after:.3f} s")
        return f"killed after {after:.3f} s"

    def started_again(self) -> str | None:
        """What is wrong about what the same command leaves."""
        done = said(self.words)
        if done.code != DONE:
            return f"started again, it ends with {done.code}: {done.err}"
        now = kept(self.out)
        names = now.keys() | self.undisturbed.keys()
        other = sorted(name for name in names if now.get(name) != self.undisturbed.get(name))
        if other:
            return f"not as an undisturbed one leaves it: {other}"
        return "something was set aside" if (self.out / "aside").exists() else None


@contextlib.contextmanager
def _bench(place: Path) -> Iterator[Strike]:
    sweeps = [Sweep(place / "new", grown=False), Sweep(place / "grown", grown=True)]

    def strike(number: int, chance: random.Random) -> str | None:
        kinds = [*CHANGED, "a moment"]
        sweep, changed = sweeps[number % 2], kinds[number // 2 % len(kinds)]
        sweep.restore()
        if changed == "a moment":
            when = sweep.killed_at_a_moment(chance)
        else:
            when = sweep.killed_at_a_step(changed, chance)
        failed = sweep.started_again()
        return failed and f"{when}: {failed}"

    yield strike


KILLS = Kind("a sweep is killed at a step or a moment, and started again", _bench, 12)
