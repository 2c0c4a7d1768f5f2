"""From the metrics of runs to estimates per sweep point."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from cclab import _core
from cclab.measure import grouped
from cclab.measure.stats import Estimate, estimates
from cclab.metrics import (
    BAND_METRICS,
    BOTTLENECK_METRICS,
    FLOW_METRICS,
    PROBE_METRICS,
    RUN_METRICS,
    TRAFFIC_METRICS,
    kind,
    of_flow,
    of_source,
    shares,
    shown_like,
    warmed_up,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cclab.measure.grouped import GroupSummary, Key
    from cclab.measure.points import Point


@dataclass(frozen=True)
class _OfKind:
    """Something of a kind at a sweep point, over the runs of the point."""

    name: str
    kind: str
    estimates: dict[str, Estimate | None]
    """By the names of its metrics; None where no run measured it."""

    def document(self) -> dict[str, Any]:
        """As the `summary` of a results document spells it."""
        estimates = {name: _document(value) for name, value in self.estimates.items()}
        return {"name": self.name, "kind": self.kind, **estimates}


class TrafficSummary(_OfKind):
    """A source of cross traffic, with the metrics in `TRAFFIC_METRICS`."""


class ProbeSummary(_OfKind):
    """A probe, with the metrics in `PROBE_METRICS`."""


@dataclass(frozen=True)
class BandSummary:
    """A named queue of the bottleneck's discipline at a sweep point, over the runs of the point."""

    name: str
    estimates: dict[str, Estimate | None]
    """By the names in `BAND_METRICS`; None where no run measured it."""
    warm: bool
    """Whether tables show what was measured after a warm-up."""

    def estimate(self, name: str) -> Estimate | None:
        """What tables show of the metric `name`."""
        return self.estimates.get(shown_like("band", name, warm=self.warm))

    def document(self) -> dict[str, Any]:
        """As the `summary` of a results document spells it."""
        return {"name": self.name, **{k: _document(v) for k, v in self.estimates.items()}}


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
    group: str | None
    """The group that it is in."""
    direction: str
    """Whether its data go with the bottleneck, `forward`, or against it, `reverse`."""
    warm: bool
    """Whether tables show what was measured after a warm-up."""

    def estimate(self, name: str) -> Estimate | None:
        """What tables show of the metric `name`: after a warm-up, what happened after it.

        Its `share` is a metric here.
        """
        return (
            self.share
            if name == "share"
            else self.estimates.get(shown_like("flow", name, warm=self.warm))
        )

    @property
    def limited_by(self) -> tuple[str, float] | None:
        """What held it back longest, and for which fraction of its time."""
        return grouped.longest(self.limited)

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
    groups: list[GroupSummary]
    """Flows that belong together; empty without any."""
    bottleneck: dict[str, Estimate | None]
    """By the names in `BOTTLENECK_METRICS`."""
    whole: dict[str, Estimate | None]
    """By the names in `RUN_METRICS`."""
    bands: list[BandSummary]
    """The named queues of the bottleneck's discipline; empty of a single queue."""
    traffic: list[TrafficSummary]
    """Cross traffic; empty without any."""
    probes: list[ProbeSummary]
    """Probes; empty without any."""
    warm: bool
    """Whether tables show what was measured after a warm-up."""

    @property
    def folds(self) -> bool:
        """Whether the flows of a group are one row of tables."""
        return len(self.flows) > grouped.MOST_FLOWS

    @property
    def jain(self) -> Estimate | None:
        """Jain's index over goodput, after a warm-up if there was one."""
        return self.of_whole("jain")

    def of_whole(self, name: str) -> Estimate | None:
        """What tables show of the metric `name` of runs."""
        return self.whole.get(shown_like("run", name, warm=self.warm))

    def of_bottleneck(self, name: str) -> Estimate | None:
        """What tables show of the metric `name` of the bottleneck."""
        return self.bottleneck.get(shown_like("bottleneck", name, warm=self.warm))

    def document(self) -> dict[str, Any]:
        """As the `summary` of a results document spells it."""
        return {
            "params": self.params,
            "n": self.n,
            "flows": [flow.document() for flow in self.flows],
            **({"groups": [g.document(_document) for g in self.groups]} if self.groups else {}),
            "bottleneck": {k: _document(self.bottleneck[k]) for k in BOTTLENECK_METRICS}
            | ({"bands": [band.document() for band in self.bands]} if self.bands else {}),
            **{name: _document(self.whole[name]) for name in RUN_METRICS},
            **({"traffic": [t.document() for t in self.traffic]} if self.traffic else {}),
            **({"probes": [p.document() for p in self.probes]} if self.probes else {}),
        }


def summarise(points: Sequence[Point]) -> list[PointSummary]:
    """The estimates at each of `points`, over the runs of it that are in the store.

    All of them at once: the resamples are the same for every metric of as many runs.
    """
    values = [_values([run.metrics for run in point.runs]) for point in points]
    found = iter(_estimated([row for rows in values for row in rows.values()]))
    # Of the two, the keys end first.
    return [
        _summary(point, dict(zip(rows, found, strict=False)))
        for point, rows in zip(points, values, strict=True)
    ]


_OF_FLOW = itemgetter(*FLOW_METRICS)
_OF_BOTTLENECK = itemgetter(*BOTTLENECK_METRICS)
_OF_RUN = itemgetter(*RUN_METRICS)
"""All numbers at once: a report has tens of millions."""


@cache
def _keys_of_flow(index: int) -> tuple[Key, ...]:
    return tuple(("flow", index, name) for name in FLOW_METRICS)


_KEYS_OF_BOTTLENECK: tuple[Key, ...] = tuple(("bottleneck", name) for name in BOTTLENECK_METRICS)
_KEYS_OF_RUN: tuple[Key, ...] = tuple(("run", name) for name in RUN_METRICS)


def _values(runs: list[dict[str, Any]]) -> dict[Key, Sequence[float | None]]:
    """What is estimated at a sweep point, run by run."""
    rows: dict[Key, Sequence[float | None]] = {}
    shares_of = [shares(run) for run in runs]

    def share(index: int) -> list[float | None]:
        return [of_run[index] for of_run in shares_of]

    for index in range(len(runs[0]["flows"]) if runs else 0):
        flows = [_OF_FLOW(of_flow(run["flows"][index])) for run in runs]
        rows |= zip(_keys_of_flow(index), zip(*flows, strict=True), strict=True)
        rows["flow", index, "share"] = share(index)
    rows |= grouped.values(runs, share)
    bottlenecks = [_OF_BOTTLENECK(run["bottleneck"]) for run in runs]
    rows |= zip(_KEYS_OF_BOTTLENECK, zip(*bottlenecks, strict=True), strict=True)
    for index in range(len(runs[0]["bottleneck"].get("bands", [])) if runs else 0):
        bands = [run["bottleneck"]["bands"][index] for run in runs]
        for name in BAND_METRICS:
            rows["band", index, name] = [band[name] for band in bands]
    rows |= zip(_KEYS_OF_RUN, zip(*map(_OF_RUN, runs), strict=True), strict=True)
    for index in range(len(runs[0].get("traffic", [])) if runs else 0):
        sources = [of_source(run["traffic"][index]) for run in runs]
        for name in TRAFFIC_METRICS:
            rows["traffic", index, name] = [source[name] for source in sources]
    for index in range(len(runs[0].get("probes", [])) if runs else 0):
        for name in PROBE_METRICS:
            rows["probe", index, name] = [run["probes"][index][name] for run in runs]
    return rows


def _estimated(rows: list[Sequence[float | None]]) -> list[Estimate | None]:
    """The estimate of each of `rows`, which may be of different lengths."""
    estimated: list[Estimate | None] = [None] * len(rows)
    by_length: dict[int, list[int]] = {}
    for place, row in enumerate(rows):
        if row.count(None) < len(row):  # many metrics are of few studies
            by_length.setdefault(len(row), []).append(place)
    for places in by_length.values():
        alike = estimates([rows[place] for place in places])
        for place, estimate in zip(places, alike, strict=True):
            estimated[place] = estimate
    return estimated


def _summary(point: Point, estimated: dict[Key, Estimate | None]) -> PointSummary:
    runs = [run.metrics for run in point.runs]
    warm = any(warmed_up(run) for run in runs)
    first = runs[0] if runs else {"flows": []}
    of_groups = {key: value for key, value in estimated.items() if key[0] in ("group", "each")}
    return PointSummary(
        params=point.params,
        n=len(runs),
        flows=[
            FlowSummary(
                name=flow["name"],
                cc=flow["cc"],
                kind=kind(flow),
                estimates=dict(
                    zip(FLOW_METRICS, map(estimated.__getitem__, _keys_of_flow(index)), strict=True)
                ),
                share=estimated["flow", index, "share"],
                limited=_limited([run["flows"][index]["limited"] for run in runs]),
                group=flow.get("group"),
                direction=flow["direction"],
                warm=warm,
            )
            for index, flow in enumerate(point.flows)
        ],
        groups=grouped.summaries(runs, of_groups, warm=warm),
        bottleneck={name: estimated["bottleneck", name] for name in BOTTLENECK_METRICS},
        whole={name: estimated["run", name] for name in RUN_METRICS},
        bands=[
            BandSummary(
                band["name"],
                {name: estimated["band", index, name] for name in BAND_METRICS},
                warm,
            )
            for index, band in enumerate(first.get("bottleneck", {}).get("bands", []))
        ],
        traffic=[
            TrafficSummary(
                source["name"],
                source["kind"],
                {name: estimated["traffic", index, name] for name in TRAFFIC_METRICS},
            )
            for index, source in enumerate(first.get("traffic", []))
        ],
        probes=[
            ProbeSummary(
                probe["name"],
                probe["kind"],
                {name: estimated["probe", index, name] for name in PROBE_METRICS},
            )
            for index, probe in enumerate(first.get("probes", []))
        ],
        warm=warm,
    )


def _limited(runs: list[dict[str, float] | None]) -> dict[str, float]:
    """The means over runs of the fractions of time that each limit held a flow back."""
    known = [shares for shares in runs if shares is not None]
    causes = dict.fromkeys(cause for shares in known for cause in shares)
    return {
        cause: sum(shares.get(cause) or 0.0 for shares in known) / len(known) for cause in causes
    }


OF_POINTS = frozenset(_core.POINT_WARNINGS)
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
    return folded(
        (warning, run.run.id, point.index)
        for point in points
        for run in point.runs
        for warning in run.metrics["warnings"]
    )


def folded(raised: Iterable[tuple[dict[str, str], str, int]]) -> list[Raised]:
    """Each kind of doubt once, of warnings with the id of their run and the index of its point."""
    first: dict[str, dict[str, str]] = {}
    runs: dict[str, dict[str, None]] = {}
    places: dict[str, set[int]] = {}
    for warning, run, point in raised:
        code = warning["code"]
        first.setdefault(code, warning)
        runs.setdefault(code, {})[run] = None
        places.setdefault(code, set()).add(point)
    return [
        Raised(code, one["message"], one["remedy"], list(runs[code]), len(places[code]))
        for code, one in first.items()
    ]


def _document(value: Estimate | None) -> dict[str, object] | None:
    return None if value is None else value.document()
