"""Expectations: checks of a study that its results must meet at every sweep point."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from cclab.metrics import shown_name
from cclab.plan import text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cclab.plan import Expectation
    from cclab.stats import Estimate
    from cclab.summary import PointSummary


MOST_NAMED = 5
"""Points of an expectation that are named at once; the others are counted."""


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

    @property
    def lack(self) -> float:
        """By what part of the bound the value misses it; infinite where there is none."""
        bound = self.expectation.value
        if self.measured is None:
            return math.inf
        return abs(self.measured - bound) / (abs(bound) or 1.0)


@dataclass(frozen=True)
class Unmet:
    """An expectation that some sweep points do not meet."""

    expectation: Expectation
    worst: list[Failure]
    """Those points, up to `MOST_NAMED`, that are furthest from it, in the study's order."""
    others: list[Failure]


def unmet(failures: Sequence[Failure]) -> list[Unmet]:
    """The failures of each expectation, the worst apart."""
    found = []
    for expectation, members in groupby(failures, lambda failure: failure.expectation):
        own = list(members)
        ranked = sorted(range(len(own)), key=lambda place: -own[place].lack)
        named = set(ranked[:MOST_NAMED])
        found.append(
            Unmet(
                expectation,
                [failure for place, failure in enumerate(own) if place in named],
                [failure for place, failure in enumerate(own) if place not in named],
            )
        )
    return found


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
            return point.whole.get(shown_name("run", expectation.metric, warm=point.warm))
        case "bottleneck":
            return point.bottleneck.get(
                shown_name("bottleneck", expectation.metric, warm=point.warm)
            )
        case {"flow": name}:
            flow = next((f for f in point.flows if f.name == name), None)
            if flow and expectation.metric == "share":
                return flow.share
            metric = shown_name("flow", expectation.metric, warm=point.warm)
            return flow.estimates.get(metric) if flow else None
        case {"group": name}:
            group = next((g for g in point.groups if g.name == name), None)
            metric = shown_name("group", expectation.metric, warm=point.warm)
            return group.estimates.get(metric) if group else None
        case {"band": name}:
            band = next((b for b in point.bands if b.name == name), None)
            metric = shown_name("band", expectation.metric, warm=point.warm)
            return band.estimates.get(metric) if band else None
        case {"traffic": name}:
            source = next((t for t in point.traffic if t.name == name), None)
            return source.estimates.get(expectation.metric) if source else None
        case {"probe": name}:
            probe = next((p for p in point.probes if p.name == name), None)
            return probe.estimates.get(expectation.metric) if probe else None
        case _:
            return None
