"""What both environments are made from: a study, and how long an interval is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cclab.errors import InputError
from cclab.plan.study import Study

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import numpy as np

    from cclab.documents.scenario import Scenario
    from cclab.learn.interval import Interval

LEAST_INTERVAL_S = 1e-3


def scenarios(study: str | Path | Study, set: str | Sequence[str]) -> list[Scenario]:
    """The scenarios of a study: one for each sweep point.

    Raises `StudyError` or `InputError` if the study is wrong or not for the simulator.
    """
    loaded = study if isinstance(study, Study) else Study.load(study)
    plan = loaded.plan(set=[set] if isinstance(set, str) else [*set], backend="sim")
    for point in plan.points:
        if point.unsupported:
            what = point.unsupported[0]
            raise InputError(f"the simulator does not do {what['what']} ({what['path']})")
    return [point.scenario for point in plan.points]


def episode_of(
    options: dict[str, Any] | None, points: int, dice: np.random.Generator
) -> tuple[int, int]:
    """The sweep point and the seed of the next run: those that `options` fix, or drawn ones.

    Raises `InputError` for a point that the study does not have.
    """
    chosen = options or {}
    point = int(chosen.get("point", dice.integers(points)))
    if not 0 <= point < points:
        raise InputError(f"there is no sweep point {point}: the study has 0 to {points - 1}")
    return point, int(chosen.get("run_seed", dice.integers(1, 2**31)))


def length_s(intervals: Sequence[Interval], round_trips: float, seconds: float | None) -> float:
    """How long the next interval is: `seconds`, or so many of the longest round trip."""
    if seconds is not None:
        return seconds
    longest = max((interval.srtt_s for interval in intervals), default=0.0)
    return max(LEAST_INTERVAL_S, round_trips * longest)


def check_length(round_trips: float, seconds: float | None) -> None:
    """Raises `InputError` if an interval would have no length."""
    if not round_trips > 0 or (seconds is not None and not seconds > 0):
        raise InputError("an interval is longer than 0: round_trips=1.0, or interval_s=0.02")
