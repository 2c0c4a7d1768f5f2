"""Groups of flows at a sweep point: from the metrics of runs to estimates."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cclab.measure import pooled
from cclab.metrics import FLOW_METRICS, GROUP_METRICS, group_share, kind, of_flow, shown_like

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from cclab.measure.stats import Estimate

Runs = list[dict[str, Any]]
"""The metrics of the runs of a sweep point."""

Key = tuple[str | int, ...]
"""What is estimated: its subject, which of them, and its name."""

MOST_FLOWS = 8
"""At a point with more, the flows of a group are one row of tables."""

POOLED = {"fct_p50_s": 0.5, "fct_p95_s": 0.95, "fct_p99_s": 0.99}
"""Percentiles over the flows of all runs together: of a run's few flows, the mean over runs of the
largest would pass for a percentile."""


@dataclass(frozen=True)
class MeanFlow:
    """The flows of a group whose data go one way, as one."""

    direction: str
    names: list[str]
    """Of its flows."""
    variants: list[str]
    """Of its flows, each once."""
    estimates: dict[str, Estimate | None]
    """Means over its flows, by the names in `FLOW_METRICS`, and `share`."""
    limited: dict[str, float]
    """Fractions of its flows' time held back by each limit: means over flows and runs."""
    warm: bool
    """Whether tables show what was measured after a warm-up."""

    @property
    def cc(self) -> str:
        """Its variants in words."""
        return ", ".join(self.variants)

    def estimate(self, name: str) -> Estimate | None:
        """What tables show of the metric `name` of its flows, their `share` included."""
        return self.estimates.get(shown_like("flow", name, warm=self.warm))


@dataclass(frozen=True)
class GroupSummary:
    """A group of flows at a sweep point, over the runs of the point."""

    name: str
    variants: list[str]
    """Of its flows, each once."""
    flows: int
    """How many it has."""
    estimates: dict[str, Estimate | None]
    """By the names in `GROUP_METRICS`, and `share`; None where no run measured it."""
    directions: list[str]
    """The ways that data of its flows go, `forward` first."""
    each: list[MeanFlow]
    """Its flows as one, or as one of each direction: what goes there and back has no mean. Empty
    where flows have rows of their own; so has one that goes its way alone."""
    limited: dict[str, float]
    """Fractions of its flows' time held back by each limit: means over flows and runs."""
    warm: bool
    """Whether tables show what was measured after a warm-up."""

    @property
    def cc(self) -> str:
        """Its variants in words."""
        return ", ".join(self.variants)

    def estimate(self, name: str) -> Estimate | None:
        """What tables show of the metric `name`, its `share` included."""
        return self.estimates.get(shown_like("group", name, warm=self.warm))

    def document(self, of: Callable[[Estimate | None], Any]) -> dict[str, Any]:
        """As the `summary` of a results document spells it; `of` spells an estimate."""
        names = (*GROUP_METRICS, "share")
        return {
            "name": self.name,
            "variants": self.variants,
            "flows": self.flows,
            **{name: of(self.estimates[name]) for name in names},
            "limited": self.limited,
        }


def folds(runs: Runs) -> bool:
    """Whether the flows of a group are one row of tables."""
    return bool(runs) and len(runs[0]["flows"]) > MOST_FLOWS


def names_in(runs: Runs) -> list[str]:
    """The names of the groups."""
    return [group["name"] for group in runs[0].get("groups", [])] if runs else []


def values(
    runs: Runs, shares: Callable[[int], list[float | None]]
) -> dict[Key, list[float | None]]:
    """What is estimated of each group, run by run: subject, group and name of each row.

    `shares` gives those of a flow, by its number.
    """
    rows: dict[Key, list[float | None]] = {}
    for place, group in enumerate(names_in(runs)):
        members = [run["groups"][place] for run in runs]
        for name in GROUP_METRICS:
            if name not in POOLED:
                rows["group", group, name] = [member[name] for member in members]
        rows["group", group, "share"] = [group_share(run, group) for run in runs]
        for way, alike in _folded(runs, group).items():
            each = [[of_flow(run["flows"][number]) for number in alike] for run in runs]
            for name in FLOW_METRICS:
                rows["each", group, way, name] = [_mean(flow[name] for flow in run) for run in each]
            each_share = zip(*(shares(number) for number in alike), strict=True)
            rows["each", group, way, "share"] = [_mean(of_run) for of_run in each_share]
    return rows


def summaries(
    runs: Runs, estimates_of: Mapping[Key, Estimate | None], *, warm: bool
) -> list[GroupSummary]:
    """The groups, with what was `found` of their `values`."""
    told = []
    for place, group in enumerate(names_in(runs)):
        took = completion_times(runs, group)
        of_pool = {name: pooled.percentile(took, share) for name, share in POOLED.items()}
        group_of_run = runs[0]["groups"][place]
        numbers = members(runs[0], group)
        told.append(
            GroupSummary(
                name=group,
                variants=group_of_run["variants"],
                flows=group_of_run["flows"],
                estimates={
                    name: of_pool[name] if name in of_pool else estimates_of["group", group, name]
                    for name in (*GROUP_METRICS, "share")
                },
                directions=list(_ways(runs[0], group)),
                each=[
                    _mean_flow(runs, group, way, alike, estimates_of, warm=warm)
                    for way, alike in _folded(runs, group).items()
                ],
                limited=_limited_in(runs, numbers),
                warm=warm,
            )
        )
    return told


def _mean_flow(
    runs: Runs,
    group: str,
    way: str,
    numbers: list[int],
    estimates_of: Mapping[Key, Estimate | None],
    *,
    warm: bool,
) -> MeanFlow:
    """The flows `numbers` of a group, which go one `way`, as one."""
    flows = [runs[0]["flows"][number] for number in numbers]
    return MeanFlow(
        direction=way,
        names=[flow["name"] for flow in flows],
        variants=list(dict.fromkeys(map(kind, flows))),
        estimates={
            name: estimates_of["each", group, way, name] for name in (*FLOW_METRICS, "share")
        },
        limited=_limited_in(runs, numbers),
        warm=warm,
    )


def _ways(run: dict[str, Any], group: str) -> dict[str, list[int]]:
    """The numbers of the flows of a group by the direction of their data, `forward` first."""
    places: dict[str, list[int]] = {}
    for number in members(run, group):
        places.setdefault(run["flows"][number]["direction"], []).append(number)
    return dict(sorted(places.items()))


def _folded(runs: Runs, group: str) -> dict[str, list[int]]:
    """The flows of a group that are one row of tables, by their direction."""
    if not folds(runs):
        return {}
    return {way: alike for way, alike in _ways(runs[0], group).items() if len(alike) > 1}


def members(run: dict[str, Any], group: str) -> list[int]:
    """The numbers of the flows of a group."""
    return [number for number, flow in enumerate(run["flows"]) if flow.get("group") == group]


def completion_times(runs: Runs, group: str) -> list[list[float]]:
    """Seconds that each transfer of a group took that ended, run by run."""
    return [
        [
            flow["fct_s"]
            for flow in run["flows"]
            if flow.get("group") == group and flow["fct_s"] is not None
        ]
        for run in runs
    ]


def longest(limited: dict[str, float]) -> tuple[str, float] | None:
    """The limit that held back longest, and for which fraction of the time; None of none."""
    return max(limited.items(), key=lambda cause: cause[1]) if limited else None


def _mean(of_run: Iterable[float | None]) -> float | None:
    known = [value for value in of_run if value is not None]
    return math.fsum(known) / len(known) if known else None


def _limited_in(runs: Runs, numbers: list[int]) -> dict[str, float]:
    """Means over runs and the flows `numbers` of the fractions of time that each limit held."""
    shares = [run["flows"][number]["limited"] for run in runs for number in numbers]
    known = [limits for limits in shares if limits is not None]
    causes = dict.fromkeys(cause for limits in known for cause in limits)
    return {
        cause: math.fsum(shares_of.get(cause) or 0.0 for shares_of in known) / len(known)
        for cause in causes
    }
