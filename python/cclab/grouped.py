"""Groups of flows at a sweep point: from the metrics of runs to estimates."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cclab import pooled
from cclab.metrics import FLOW_METRICS, GROUP_METRICS, of_flow, shown_like

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from cclab.stats import Estimate

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
class GroupSummary:
    """A group of flows at a sweep point, over the runs of the point."""

    name: str
    variants: list[str]
    """Of its flows, each once."""
    flows: int
    """How many it has."""
    estimates: dict[str, Estimate | None]
    """By the names in `GROUP_METRICS`, and `share`; None where no run measured it."""
    each: dict[str, Estimate | None]
    """Means over its flows, by the names in `FLOW_METRICS`, and `share`; empty where its flows
    have rows of their own."""
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

    def of_each(self, name: str) -> Estimate | None:
        """What tables show of the metric `name` of its flows, their `share` included."""
        return self.each.get(shown_like("flow", name, warm=self.warm))

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
        found = [run["groups"][place] for run in runs]
        for name in GROUP_METRICS:
            if name not in POOLED:
                rows["group", group, name] = [one[name] for one in found]
        numbers = members(runs[0], group)
        of_flows = [shares(number) for number in numbers]
        # Shares are of what goes one way: those of both ways do not add up.
        ways = {runs[0]["flows"][number]["direction"] for number in numbers}
        sums = [_sum(of_run) for of_run in zip(*of_flows, strict=True)]
        rows["group", group, "share"] = sums if len(ways) == 1 else [None] * len(runs)
        if folds(runs):
            for name in FLOW_METRICS:
                each = [[of_flow(run["flows"][number])[name] for number in numbers] for run in runs]
                rows["each", group, name] = [_mean(of_run) for of_run in each]
            each_share = zip(*of_flows, strict=True)
            rows["each", group, "share"] = [_mean(of_run) for of_run in each_share]
    return rows


def summaries(
    runs: Runs, found: Mapping[Key, Estimate | None], *, warm: bool
) -> list[GroupSummary]:
    """The groups, with what was `found` of their `values`."""
    told = []
    for place, group in enumerate(names_in(runs)):
        took = completion_times(runs, group)
        of_pool = {name: pooled.percentile(took, share) for name, share in POOLED.items()}
        one = runs[0]["groups"][place]
        numbers = members(runs[0], group)
        told.append(
            GroupSummary(
                name=group,
                variants=one["variants"],
                flows=one["flows"],
                estimates={
                    name: of_pool[name] if name in of_pool else found["group", group, name]
                    for name in (*GROUP_METRICS, "share")
                },
                each={
                    name: found["each", group, name]
                    for name in ((*FLOW_METRICS, "share") if folds(runs) else ())
                },
                limited=_limited(
                    [run["flows"][number]["limited"] for run in runs for number in numbers]
                ),
                warm=warm,
            )
        )
    return told


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
    return max(limited.items(), key=lambda one: one[1]) if limited else None


def _sum(of_run: Sequence[float | None]) -> float | None:
    known = [value for value in of_run if value is not None]
    return math.fsum(known) if known else None


def _mean(of_run: Sequence[float | None]) -> float | None:
    known = [value for value in of_run if value is not None]
    return math.fsum(known) / len(known) if known else None


def _limited(shares: list[dict[str, float | None] | None]) -> dict[str, float]:
    known = [one for one in shares if one is not None]
    causes = dict.fromkeys(cause for one in known for cause in one)
    return {
        cause: math.fsum(one.get(cause) or 0.0 for one in known) / len(known) for cause in causes
    }
