"""What an interval says of a bound: the one verdict of `[expect]`, margins and reproductions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cclab.measure.stats import Estimate

Finding = Literal["holds", "fails", "open"]
"""Whether something is so: `open` if the runs at hand do not tell."""

_RANK: dict[Finding, int] = {"fails": 0, "open": 1, "holds": 2}


def between(
    low: float, high: float, least: float = -math.inf, most: float = math.inf, *, closed: bool
) -> Finding:
    """Whether a value between `low` and `high` lies between `least` and `most`.

    `holds` if the whole interval does, `fails` if it lies wholly beyond one of them. `closed`:
    `least` and `most` themselves are where it has to lie; else they are beyond.
    """
    if closed:
        inside, beyond = least <= low and high <= most, high < least or low > most
    else:
        inside, beyond = least < low and high < most, high <= least or low >= most
    return "holds" if inside else "fails" if beyond else "open"


def compared(estimate: Estimate | None, relation: str, bound: float) -> Finding:
    """Whether a mean is so to `bound`, by its interval; by itself if it is of a single run.

    What was not measured is open.
    """
    if estimate is None:
        return "open"
    low = estimate.mean if estimate.low is None else estimate.low
    high = estimate.mean if estimate.high is None else estimate.high
    match relation:
        case "<":
            return between(low, high, most=bound, closed=False)
        case "<=":
            return between(low, high, most=bound, closed=True)
        case ">":
            return between(low, high, least=bound, closed=False)
        case ">=":
            return between(low, high, least=bound, closed=True)
        case "==":
            return between(low, high, bound, bound, closed=True)
        case "!=":
            return denied(between(low, high, bound, bound, closed=True))
    raise ValueError(f"{relation!r} is no relation of numbers")


def denied(finding: Finding) -> Finding:
    """The finding on the contrary."""
    return {"holds": "fails", "fails": "holds", "open": "open"}[finding]  # type: ignore[return-value]


def every(findings: Iterable[Finding]) -> Finding:
    """Whether all of them hold."""
    return min(findings, key=_RANK.__getitem__, default="holds")


def some(findings: Iterable[Finding]) -> Finding:
    """Whether at least one of them holds."""
    return max(findings, key=_RANK.__getitem__, default="fails")
