"""From the metrics of runs to estimates per sweep point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cclab.stats import Estimate, estimate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cclab.results import Measured, Point

FLOW_METRICS = (
    "goodput_bps",
    "throughput_bps",
    "steady_goodput_bps",
    "bytes_received",
    "elapsed_s",
    "segments_sent",
    "retransmits",
    "rtos",
    "srtt_mean_s",
    "rtt_min_s",
    "rtt_p95_s",
    "cwnd_mean_segments",
)
"""The metrics of a flow that are estimated over runs."""

BOTTLENECK_METRICS = (
    "utilization",
    "drops",
    "drop_rate",
    "ecn_marks",
    "queue_delay_mean_s",
    "queue_delay_p95_s",
    "queue_max_bytes",
)
"""The metrics of the bottleneck that are estimated over runs."""


TRAFFIC_METRICS = (
    "sent_bps",
    "received_bps",
    "loss_rate",
    "delay_mean_s",
    "delay_p95_s",
    "rtt_mean_s",
    "rtt_p95_s",
)
"""The metrics of a source of cross traffic that are estimated over runs."""

_OF_TRANSFERS = ("mean", "median", "p95", "p99")

EVERY_TRAFFIC_METRIC = (
    *TRAFFIC_METRICS,
    *("started", "ended"),
    *(f"fct_{measure}_s" for measure in _OF_TRANSFERS),
    *(f"slowdown_{measure}" for measure in _OF_TRANSFERS),
)
"""The same and the numbers of its transfers, by the names that `flat_traffic` gives them."""


@dataclass(frozen=True)
class TrafficSummary:
    """A source of cross traffic at a sweep point, over the runs of the point."""

    name: str
    kind: str
    estimates: dict[str, Estimate | None]
    """By the names in `TRAFFIC_METRICS`, `started` and `ended`, and `fct_MEASURE_s` and
    `slowdown_MEASURE` with mean, median, p95 and p99; None where no run measured it."""

    def document(self) -> dict[str, Any]:
        """As the `summary` of a results document spells it."""
        estimates = {name: _document(value) for name, value in self.estimates.items()}
        return {"name": self.name, "kind": self.kind, **estimates}


@dataclass(frozen=True)
class FlowSummary:
    """A flow at a sweep point, over the runs of the point."""

    name: str
    cc: str
    estimates: dict[str, Estimate | None]
    """By the names in `FLOW_METRICS`; None where no run measured it."""
    share: Estimate | None
    """Its part of the goodput of all flows, from 0 to 1."""
    limited: dict[str, float]
    """Fractions of its time held back by each limit: means over runs."""

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
    jain: Estimate | None
    """Jain's index over goodput."""
    traffic: list[TrafficSummary]
    """Cross traffic; empty without any."""

    def document(self) -> dict[str, Any]:
        """As the `summary` of a results document spells it."""
        return {
            "params": self.params,
            "n": self.n,
            "flows": [flow.document() for flow in self.flows],
            "bottleneck": {k: _document(self.bottleneck[k]) for k in BOTTLENECK_METRICS},
            "jain": _document(self.jain),
            **({"traffic": [t.document() for t in self.traffic]} if self.traffic else {}),
        }


def summarise(point: Point) -> PointSummary:
    """The estimates at `point`, over the runs of it that are in the store."""
    runs = [run.metrics for run in point.runs]
    flows = [_flow(runs, index) for index in range(len(runs[0]["flows"]) if runs else 0)]
    bottleneck = {
        name: estimate(run["bottleneck"][name] for run in runs) for name in BOTTLENECK_METRICS
    }
    return PointSummary(
        params=point.params,
        n=len(runs),
        flows=flows,
        bottleneck=bottleneck,
        jain=estimate(run["jain"] for run in runs),
        traffic=_traffic(runs),
    )


@dataclass(frozen=True)
class Raised:
    """A doubt about some runs and what would settle it."""

    code: str
    message: str
    """What the first of the runs says; the others may differ in names and numbers."""
    remedy: str
    runs: list[str]
    """The runs it was raised for."""

    @property
    def extent(self) -> str:
        """How many more runs it concerns, in words; empty for a single run."""
        more = len(self.runs) - 1
        return f"and the like in {more} more run{'' if more == 1 else 's'}" if more else ""


def warnings(runs: Sequence[Measured]) -> list[Raised]:
    """The warnings of `runs`: each kind of doubt once, in order of appearance."""
    raised: dict[str, Raised] = {}
    for run in runs:
        for warning in run.metrics["warnings"]:
            first = raised.setdefault(
                warning["code"],
                Raised(warning["code"], warning["message"], warning["remedy"], []),
            )
            if run.run.id not in first.runs:
                first.runs.append(run.run.id)
    return list(raised.values())


def _flow(runs: list[dict[str, Any]], index: int) -> FlowSummary:
    flows = [run["flows"][index] for run in runs]
    totals = [sum(f["goodput_bps"] or 0.0 for f in run["flows"]) for run in runs]
    shares = [
        (flow["goodput_bps"] or 0.0) / total if total > 0 else None
        for flow, total in zip(flows, totals, strict=True)
    ]
    limited = [flow["limited"] for flow in flows if flow["limited"] is not None]
    causes = list(dict.fromkeys(cause for shares in limited for cause in shares))
    return FlowSummary(
        name=flows[0]["name"],
        cc=flows[0]["cc"],
        estimates={name: estimate(flow[name] for flow in flows) for name in FLOW_METRICS},
        share=estimate(shares),
        limited={
            cause: sum(shares.get(cause) or 0.0 for shares in limited) / len(limited)
            for cause in causes
        },
    )


def flat_transfers(source: dict[str, Any]) -> dict[str, Any]:
    """The numbers of a source's transfers under names of their own; all None of other kinds."""
    transfers = source["transfers"] or {}
    flat = {name: transfers.get(name) for name in ("started", "ended")}
    for measure in _OF_TRANSFERS:
        flat[f"fct_{measure}_s"] = (transfers.get("fct_s") or {}).get(measure)
    for measure in _OF_TRANSFERS:
        flat[f"slowdown_{measure}"] = (transfers.get("slowdown") or {}).get(measure)
    return flat


def flat_traffic(source: dict[str, Any]) -> dict[str, Any]:
    """The numbers of a source of cross traffic by the names in `EVERY_TRAFFIC_METRIC`."""
    return {name: source[name] for name in TRAFFIC_METRICS} | flat_transfers(source)


def _traffic(runs: list[dict[str, Any]]) -> list[TrafficSummary]:
    found = []
    for index, first in enumerate(runs[0].get("traffic", []) if runs else []):
        alike = [flat_traffic(run["traffic"][index]) for run in runs]
        estimates = {
            name: estimate(source[name] for source in alike) for name in EVERY_TRAFFIC_METRIC
        }
        found.append(TrafficSummary(first["name"], first["kind"], estimates))
    return found


def _document(value: Estimate | None) -> dict[str, object] | None:
    return None if value is None else value.document()
