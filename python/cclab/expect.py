"""Expectations: checks of a study that its results must meet at every sweep point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cclab.plan import text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cclab.plan import Expectation
    from cclab.stats import Estimate
    from cclab.summary import PointSummary


@dataclass(frozen=True)
class Failure:
    """An expectation that a sweep point does not meet."""

    expectation: Expectation
    params: dict[str, Any]
    """The sweep point."""
    measured: float | None
    """The mean over its runs; None if no run measured it."""

    def __str__(self) -> str:
        """The check, the point and the value in one line."""
        where = ", ".join(f"{key} = {text(value)}" for key, value in self.params.items())
        value = "not measured" if self.measured is None else f"{self.measured:.6g}"
        at = f" at {where}" if where else ""
        return f"{self.expectation.label}: {self.expectation.expression}, but it is {value}{at}"


def failures(
    expectations: Sequence[Expectation],
    summaries: Sequence[PointSummary],
    bare: Sequence[dict[str, Any]] = (),
) -> list[Failure]:
    """Every expectation that the mean at some sweep point does not meet, with the point.

    `bare` are the points without a run. What was not measured meets nothing.
    """
    found = []
    for expectation in expectations:
        for point in summaries:
            value = _measured(expectation, point)
            mean = None if value is None else value.mean
            if mean is None or not expectation.holds(mean):
                found.append(Failure(expectation, point.params, mean))
        found += [Failure(expectation, params, None) for params in bare]
    return found


def _measured(expectation: Expectation, point: PointSummary) -> Estimate | None:
    match expectation.subject:
        case "run":
            return point.whole.get(expectation.metric)
        case "bottleneck":
            return point.bottleneck.get(expectation.metric)
        case {"flow": name}:
            flow = next((f for f in point.flows if f.name == name), None)
            return flow.estimates.get(expectation.metric) if flow else None
        case {"traffic": name}:
            source = next((t for t in point.traffic if t.name == name), None)
            return source.estimates.get(expectation.metric) if source else None
        case _:
            return None
