"""What a kind of attack is: a bench, prepared once, and tries that do not know each other."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

Strike: TypeAlias = Callable[[int, random.Random], str | None]
"""One try, of a number and with the dice of that number: None if cclab held, else what failed.

What it raises is a failure, too, but for `Missed` and `Through`.
"""

Bench: TypeAlias = Callable[[Path], AbstractContextManager[Strike]]
"""Prepares, in an empty folder, what the tries of a kind share. Each leaves it as it was."""


class Missed(Exception):  # noqa: N818 - it is no error
    """The try struck nothing, such as a process that had ended: it does not count."""


class Through(Exception):  # noqa: N818 - it is no error
    """There is no try of this number, nor any of a higher one."""


@dataclass(frozen=True)
class Kind:
    """A kind of attack."""

    says: str
    """What is done to cclab, for the list of kinds."""
    bench: Bench
    short: int | None
    """How many tries the tests make; all that there are if None."""
    kernel: bool = False
    """Whether it boots the kernel of the linux backend."""
    processor_s: int = 120
    """More seconds of the processor than a try takes by far: one that takes them hangs."""
    hourly: int = 0
    """How many tries an hour's attack makes at least, however long they take."""
    wall_s: float = 1800.0
    """Longer than a try takes by far on a busy machine, and three times as long as one command of
    its may: one that takes so long hangs, and is ended."""
    memory_mib: int = 1024
    """More memory than a try takes by far, beyond the most that its process ever had before."""


def dice(seed: int, kind: str, number: int) -> random.Random:
    """Those of one try: they depend on nothing else."""
    return random.Random(f"{seed} {kind} {number}")
