"""What an explanation of a difference says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from agreement.runs import POINTS, RUNS


@dataclass(frozen=True)
class Explanation:
    """Why some columns differ on some kinds."""

    judge: str
    columns: tuple[str, ...]
    kinds: tuple[str, ...]
    """All on which the columns differ for that reason, and none on which they agree."""
    why: str
    right: Literal["cclab", "tcptrace", "tshark", "either"]
    """Who is; either, where it is a matter of what one wants to know."""
    theirs: Literal["more", "less", "other"] = "other"
    """What the judge's numbers are beside cclab's, in every case."""


def kinds(family: str, *names: str) -> tuple[str, ...]:
    """Kinds of a family."""
    return tuple(f"{family}/{name}" for name in names)


def runs(*points: str) -> tuple[str, ...]:
    """Captures of all runs at some points, at all of them if none is named.

    What the dice of a run come to changes with the simulator and the kernel: an explanation need
    not hold of each of its runs, but of one at least.
    """
    return tuple(f"{run}/{point}" for run in RUNS for point in points or POINTS)
