"""Kinds that try the programme of attacks itself: those of `test_attack.py`, and no others.

python -m attacks.rehearsal KIND ORDER FOLDER
"""

from __future__ import annotations

import contextlib
import subprocess
import time
from typing import TYPE_CHECKING

from attacks import worker
from attacks.kind import Kind, Missed
from attacks.kinds import KINDS

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator
    from pathlib import Path

    from attacks.kind import Strike


@contextlib.contextmanager
def _missing(place: Path) -> Iterator[Strike]:
    def strike(number: int, chance: random.Random) -> str | None:
        raise Missed(f"there is nothing at {number}")

    yield strike


@contextlib.contextmanager
def _hanging(place: Path) -> Iterator[Strike]:
    def strike(number: int, chance: random.Random) -> str | None:
        subprocess.run(["sleep", "infinity"], cwd=place, check=False)
        return None

    yield strike


@contextlib.contextmanager
def _slow(place: Path) -> Iterator[Strike]:
    def strike(number: int, chance: random.Random) -> str | None:
        time.sleep(0.1)
        return None

    yield strike


REHEARSED = {
    "misses": Kind("each try misses", _missing, None),
    "hangs": Kind("each try waits for a process that waits for ever", _hanging, None, wall_s=5.0),
    "is slow": Kind("each try takes a tenth of a second", _slow, None, hourly=3600 * 20),
}


if __name__ == "__main__":
    KINDS.update(REHEARSED)
    worker.main()
