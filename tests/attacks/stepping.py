"""A command whose steps in a folder are told, and that something befalls at one of them.

A step is each renaming, removal and making of a folder, and each opening of a file to write, as
Python is about to do it.
"""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

from cclab.cli.main import invoke
from waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path


def stepping(place: str, first: int, befall: Callable[[int], None], words: Sequence[str]) -> int:
    """Runs `words`; has `befall` do what it does just before step `first` in the folder `place`,
    and before each after it: it is told their numbers. What it raises, the step comes to.

    Each step is told on standard error, the first disturbed alone if there is one.
    """
    numbers = itertools.count(1)  # Threads take steps, too.

    def step(event: str, arguments: tuple[object, ...]) -> None:
        if event == "open":
            flags = arguments[2]
            writes = isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR)
            told = arguments[:1] if writes else ()
        elif event in ("os.rename", "os.remove", "os.rmdir", "os.mkdir"):
            told = arguments[:2] if event == "os.rename" else arguments[:1]
        else:
            return
        paths = [os.fspath(path) for path in told if isinstance(path, str | os.PathLike)]
        if not any(isinstance(path, str) and _is_in(path, place) for path in paths):
            return
        number = next(numbers)
        if first in (0, number):
            os.write(2, f"step {number} {os.path.relpath(paths[-1], place)}\n".encode())
        if 0 < first <= number:
            befall(number)

    sys.addaudithook(step)
    return invoke([*words])


def _is_in(path: str, place: str) -> bool:
    return path == place or path.startswith(place + os.sep)


def steps_of(words: Sequence[str], out: Path) -> list[tuple[int, str]]:
    """Runs `words` undisturbed: the number and the path, in `out`, of each step."""
    code, told = killed_at(0, words, out)
    assert code == 0, told
    lines = [line.split(maxsplit=2) for line in told.splitlines() if line.startswith("step ")]
    return [(int(number), path) for _, number, path in lines]


def killed_at(step: int, words: Sequence[str], out: Path) -> tuple[int, str]:
    """Runs `words`, killed just before this step, if it is not 0: exit code and standard error."""
    done = subprocess.run(
        [sys.executable, "-m", "attacks.stepping", str(out), str(step), *words],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    return done.returncode, done.stderr


def _kill(number: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(stepping(sys.argv[1], int(sys.argv[2]), _kill, sys.argv[3:]))
