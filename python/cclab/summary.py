"""From the metrics of runs to estimates per sweep point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cclab.metrics import (
    BOTTLENECK_METRICS,
    FLOW_METRICS,
    RUN_METRICS,
    TRAFFIC_METRICS,
    kind,
    of_flow,
    of_source,
)
from cclab.stats import Estimate, estimates

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cclab.results import Point


@dataclass(frozen=True)
class TrafficSummary:
    """A source of cross traffic at a sweep point, over the runs of the point."""

    name: str
    kind: str
    estimates: dict[str, Estimate | None]
    """By the names in `TRAFFIC_METRICS`; None where no run measured it."""

    def document(self) -> dict[str, Any]:
        """As the `summary` of a results document spells it."""
        estimates = {name: _document(value) for name, value in self.estimates.items()}
        return {"name": self.name, "kind": self.kind, **estimates}


@dataclass(frozen=True)
class FlowSummary:
    """A flow at a sweep point, over the runs of the point."""

    name: str
    cc: str | None
    """Its variant; None of what is not TCP."""
    kind: str
    """What legends call it: its variant, or what carries its data where that is not TCP."""
    estimates: dict[str, Estimate | None]
    """By the names in `FLOW_METRICS`; None where no run measured it."""
    share: Estimate | None
    """Its part of the goodput of all flows, from 0 to 1."""
    limited: dict[str, float]
    """Fractions of its time held back by each limit: means over runs."""

    def estimate(self, name: str) -> Estimate | None:
        """What there is of the metric `name`, its `share` included."""
        return self.share if name == "share" else self.estimates.get(name)

    @property
    def limited_by(self) -> tuple[str, float] | None:
        """What held it back longest, and for which fraction of its time."""
        if not self.limited:
            return None
        cause = max(self.limited, key=lambda name: self.limited[name])
        return cause, self.limited[cause]

    def document(self) -> dict[str, Any]:
        """As the `summary` of a results document spells it."""
        return {
            "name": self.name,
            "cc": self.cc,
            **{name: _document(self.estimates[name]) for name in FLOW_METRICS},
            "share": _document(self.share),
            "limited": self.limited,
        }


@dataclass(frozen=True)
class PointSummary:
    """A sweep point, over its runs."""

    params: dict[str, Any]
    n: int
    """Runs it stands on."""
    flows: list[FlowSummary]
    bottleneck: dict[str, Estimate | None]
    """By the names in `BOTTLENECK_METRICS`."""
    whole: dict[str, Estimate | None]
    """By the names in `RUN_METRICS`."""
    traffic: list[TrafficSummary]
    """Cross traffic; empty without any."""

    @property
    def jain(self) -> Estimate | None:
        """Jain's index over goodput."""
        return self.whole["jain"]

    def document(self) -> dict[str, Any]:
        """As the `summary` of a results document spells it."""
        return {
            "params": self.params,
            "n": self.n,
            "flows": [flow.document() for flow in self.flows],
            "bottleneck": {k: _document(self.bottleneck[k]) for k in BOTTLENECK_METRICS},
            **{name: _document(self.whole[name]) for name in RUN_METRICS},
            **({"traffic": [t.document() for t in self.traffic]} if self.traffic else {}),
        }


def summarise(points: Sequence[Point]) -> list[PointSummary]:
    """The estimates at each of `points`, over the runs of it that are in the store.

    All of them at once: the resamples are the same for every metric of as many runs.
    """
    values = [_values([run.metrics for run in point.runs]) for point in points]
    found = iter(_estimated([row for rows in values for row in rows.values()]))
    summaries = []
    for point, rows in zip(points, values, strict=True):
        summaries.append(_summary(point, {key: next(found) for key in rows}))
    return summaries


_Key = tuple[str | int, ...]
"""What is estimated: its subject, the number of the flow or of the traffic, and its name."""


def _values(runs: list[dict[str, Any]]) -> dict[_Key, list[float | None]]:
    """What is estimated at a sweep point, run by run."""
    rows: dict[_Key, list[float | None]] = {}
    for index in range(len(runs[0]["flows"]) if runs else 0):
        flows = [of_flow(run["flows"][index]) for run in runs]
        for name in FLOW_METRICS:
            rows["flow", index, name] = [flow[name] for flow in flows]
        rows["flow", index, "share"] = _shares(runs, index)
    for name in BOTTLENECK_METRICS:
        rows["bottleneck", name] = [run["bottleneck"][name] for run in runs]
    for name in RUN_METRICS:
        rows["run", name] = [run[name] for run in runs]
    for index in range(len(runs[0].get("traffic", [])) if runs else 0):
        sources = [of_source(run["traffic"][index]) for run in runs]
        for name in TRAFFIC_METRICS:
            rows["traffic", index, name] = [source[name] for source in sources]
    return rows


def _shares(runs: list[dict[str, Any]], index: int) -> list[float | None]:
    """A flow's part of the goodput of all flows, run by run; None without any goodput."""
    shares: list[float | None] = []
    for run in runs:
        goodputs = [flow["goodput_bps"] or 0.0 for flow in run["flows"]]
        total = sum(goodputs)
        shares.append(goodputs[index] / total if total > 0 else None)
    return shares


def _estimated(rows: list[list[float | None]]) -> list[Estimate | None]:
    """The estimate of each of `rows`, which may be of different lengths."""
    found: list[Estimate | None] = [None] * len(rows)
    by_length: dict[int, list[int]] = {}
    for place, row in enumerate(rows):
        if row.count(None) < len(row):  # many metrics are of few studies
            by_length.setdefault(len(row), []).append(place)
    for places in by_length.values():
        alike = estimates([rows[place] for place in places])
        for place, one in zip(places, alike, strict=True):
            found[place] = one
    return found


def _summary(point: Point, found: dict[_Key, Estimate | None]) -> PointSummary:
    runs = [run.metrics for run in point.runs]
    first = runs[0] if runs else {"flows": []}
    return PointSummary(
        params=point.params,
        n=len(runs),
        flows=[
            FlowSummary(
                name=flow["name"],
                cc=flow["cc"],
                kind=kind(flow),
                estimates={name: found["flow", index, name] for name in FLOW_METRICS},
                share=found["flow", index, "share"],
                limited=_limited([run["flows"][index]["limited"] for run in runs]),
            )
            for index, flow in enumerate(first["flows"])
        ],
        bottleneck={name: found["bottleneck", name] for name in BOTTLENECK_METRICS},
        whole={name: found["run", name] for name in RUN_METRICS},
        traffic=[
            TrafficSummary(
                source["name"],
                source["kind"],
                {name: found["traffic", index, name] for name in TRAFFIC_METRICS},
            )
            for index, source in enumerate(first.get("traffic", []))
        ],
    )


def _limited(runs: list[dict[str, float] | None]) -> dict[str, float]:
    """The means over runs of the fractions of time that each limit held a flow back."""
    known = [shares for shares in runs if shares is not None]
    causes = dict.fromkeys(cause for shares in known for cause in shares)
    return {
        cause: sum(shares.get(cause) or 0.0 for shares in known) / len(known) for cause in causes
    }


OF_POINTS = frozenset({"ci-not-reached", "identical-repeats", "phase-effects"})
"""The warnings that the runs of a sweep point raise together: each of them bears it."""


@dataclass(frozen=True)
class Raised:
    """A doubt about some runs and what would settle it."""

    code: str
    message: str
    """What the first of the runs says; the others may differ in names and numbers."""
    remedy: str
    runs: list[str]
    """The runs it was raised for."""
    points: int = 1
    """The sweep points that these are of."""

    @property
    def extent(self) -> str:
        """How many more sweep points or runs it concerns, in words; empty for a single one."""
        more = self.points - 1
        if self.code in OF_POINTS:
            many = "" if more == 1 else "s"
            return f"and the like at {more} more sweep point{many}" if more else ""
        over = f", at {self.points} sweep points in all" if more else ""
        more = len(self.runs) - 1
        many = "" if more == 1 else "s"
        return f"and the like in {more} more run{many}{over}" if more else ""


def warnings(points: Sequence[Point]) -> list[Raised]:
    """The warnings of the runs of `points`: each kind of doubt once, in order of appearance."""
    first: dict[str, dict[str, str]] = {}
    runs: dict[str, dict[str, None]] = {}
    places: dict[str, set[int]] = {}
    for point in points:
        for run in point.runs:
            for warning in run.metrics["warnings"]:
                code = warning["code"]
                first.setdefault(code, warning)
                runs.setdefault(code, {})[run.run.id] = None
                places.setdefault(code, set()).add(point.index)
    return [
        Raised(code, one["message"], one["remedy"], list(runs[code]), len(places[code]))
        for code, one in first.items()
    ]


def _document(value: Estimate | None) -> dict[str, object] | None:
    return None if value is None else value.document()
