"""Commands that write and are killed, before some step that others could see or at any moment, and
started again: they leave what an undisturbed one does."""

from __future__ import annotations

import contextlib
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

from attacks.disks import CCLAB
from attacks.kind import Kind, Missed
from attacks.saying import said
from attacks.stepping import killed_at, steps_of
from attacks.writing import STUDY, WRITINGS, Sources, left_in
from cclab.cli.exits import DONE, WRONG_INPUT
from conftest import kept
from waiting import PATIENCE_S

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

    from attacks.kind import Strike

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
        where = killed_at_one_of(numbers, self.words, self.out, chance)
        return f"{where} of {len(self.steps)}, of {changed}"

    def started_again(self) -> str | None:
        """What is wrong about what the same command leaves."""
        done = said(self.words)
        if done.code != DONE:
            return f"started again, it ends with {done.code}: {done.err}"
        if wrong := difference(kept(self.out), self.undisturbed):
            return wrong
        return "something was set aside" if (self.out / "aside").exists() else None


class Command:
    """One of the commands that write, and what it leaves undisturbed."""

    def __init__(self, name: str, sources: Sources, here: Path) -> None:
        self.name, self.sources, self.here = name, sources, here
        self.words = sources.words(WRITINGS[name], here)
        self.restore()
        began = time.monotonic()
        self.steps = [number for number, _ in steps_of(self.words, here)]
        assert self.steps, f"{name}: no step"
        self.takes_s = time.monotonic() - began
        self.undisturbed = left_in(here)

    def restore(self) -> None:
        """Where it writes, as it is before."""
        shutil.rmtree(self.here, ignore_errors=True)
        self.here.mkdir()
        self.sources.prepare(WRITINGS[self.name], self.here)

    def killed(self, chance: random.Random) -> str:
        """Kills it at a step, or at a moment: says where."""
        if chance.random() < 0.5:
            return killed_at_a_moment(self.words, self.takes_s, chance)
        return killed_at_one_of(self.steps, self.words, self.here, chance)

    def started_again(self) -> str | None:
        """What is wrong about what it left, or about what the same command leaves."""
        # What was whole may be refused a second time: it stays.
        there = self.undisturbed.items() <= left_in(self.here).items()
        done = said(self.words)
        if done.code == WRONG_INPUT and there:
            return None
        if done.code != DONE:
            return f"started again, it ends with {done.code}: {done.err}"
        return difference(left_in(self.here), self.undisturbed)


def difference(now: dict[str, bytes], undisturbed: dict[str, bytes]) -> str | None:
    """What is not as undisturbed."""
    names = now.keys() | undisturbed.keys()
    other = sorted(name for name in names if now.get(name) != undisturbed.get(name))
    return f"not as an undisturbed one leaves it: {other}" if other else None


def killed_at_one_of(
    numbers: list[int], words: list[str], folder: Path, chance: random.Random
) -> str:
    """Kills the command just before one of these steps in the folder: says where."""
    number = chance.choice(numbers)
    code, _ = killed_at(number, words, folder)
    if code == DONE:
        raise Missed(f"it was done before step {number}")
    assert code == -signal.SIGKILL, f"step {number}: it ended with {code}"
    return f"killed at step {number}"


def killed_at_a_moment(words: list[str], takes_s: float, chance: random.Random) -> str:
    """Kills the command while it works, which takes about so long: says when."""
    child = subprocess.Popen([*CCLAB, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = chance.uniform(0.0, takes_s)
    try:
        time.sleep(after)
    finally:
        child.send_signal(signal.SIGKILL)
        code = child.wait(PATIENCE_S)
    if code != -signal.SIGKILL:
        raise Missed(f"it was done before {after:.3f} s")
    return f"killed after {after:.3f} s"


@contextlib.contextmanager
def _bench(place: Path) -> Iterator[Strike]:
    sweeps = [Sweep(place / "new", grown=False), Sweep(place / "grown", grown=True)]
    sources = Sources(place / "sources")
    names = [name for name in WRITINGS if name != "run"]
    commands: dict[str, Command] = {}

    def strike(number: int, chance: random.Random) -> str | None:
        """In turn of the sweep and of another command, which is prepared when it first is due."""
        turn = number // 2
        if number % 2:
            name = names[turn % len(names)]
            if name not in commands:
                commands[name] = Command(name, sources, place / name.replace(" ", "-"))
            commands[name].restore()
            when = f"{name} {commands[name].killed(chance)}"
            failed = commands[name].started_again()
            return failed and f"{when}: {failed}"
        kinds = [*CHANGED, "a moment"]
        sweep, changed = sweeps[turn % 2], kinds[turn // 2 % len(kinds)]
        sweep.restore()
        if changed == "a moment":
            when = killed_at_a_moment(sweep.words, sweep.takes_s, chance)
        else:
            when = sweep.killed_at_a_step(changed, chance)
        failed = sweep.started_again()
        return failed and f"{when}: {failed}"

    yield strike


KILLS = Kind("a command that writes is killed at a step or a moment, and started again", _bench, 8)
