"""What an explanation of a difference says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

RUNS = ("simulator", "simulator unscaled", "kernel", "kernel unscaled")


@dataclass(frozen=True)
class Explanation:
    """Why some columns differ on some kinds."""

    judge: str
    columns: tuple[str, ...]
    kinds: tuple[str, ...]
    """All of them, and none on which the columns agree."""
    why: str
    right: Literal["cclab", "tcptrace", "tshark", "either"]
    """Who is; either, where it is a matter of what one wants to know."""
    theirs: Literal["more", "less", "other"] = "other"
    """What the judge's numbers are beside cclab's, in every case."""


def kinds(family: str, *names: str) -> tuple[str, ...]:
    """Kinds of a family."""
    return tuple(f"{family}/{name}" for name in names)


def runs(*points: str, of: tuple[str, ...] = RUNS) -> tuple[str, ...]:
    """Captures of runs at some points."""
    return tuple(f"{run}/{point}" for run in of for point in points)
