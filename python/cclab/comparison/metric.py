"""The metrics that can be compared, and how each is shown."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from cclab import units
from cclab.errors import InputError
from cclab.summary import (
    BOTTLENECK_METRICS,
    EVERY_TRAFFIC_METRIC,
    FLOW_METRICS,
    RUN_METRICS,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

Better = Literal["higher", "lower"]
"""The way in which a metric gets better."""

_HARMS = ("harm_goodput", "harm_delay", "harm_loss", "harm_fct")
_PERCENT = ("utilization", "drop_rate", "loss_rate", "least_share", "smallest_share", *_HARMS)
_INDICES = ("jain", "jain_mean", "jain_min", "throughput_ratio")
_SECONDS = ("elapsed_s", "fct_s", "convergence_s", "starved_s", "longest_starved_s")
"""Times of a run's own length; others are round trips and waits, told in milliseconds."""


@dataclass(frozen=True)
class Metric:
    """A number that every run has: of a flow, of a source of cross traffic, of the bottleneck or
    of the run itself."""

    name: str
    """As results documents spell it, with its SI unit: `goodput_bps`."""
    subject: Literal["flow", "traffic", "bottleneck", "run"]

    @property
    def path(self) -> str:
        """As docs/metrics.md and expectations spell it: `flow.goodput_bps`."""
        return self.name if self.subject == "run" else f"{self.subject}.{self.name}"

    @property
    def title(self) -> str:
        """Its name in words, without the unit."""
        plain = self.name.removesuffix("_bps").removesuffix("_s").removesuffix("_bytes")
        return plain.removesuffix("_segments").replace("_", " ").replace("jain", "Jain")

    @property
    def better(self) -> Better | None:
        """Which way is the better one; None where neither is as such."""
        if self.name in _MORE:
            return "higher"
        return "lower" if self.name in _LESS else None

    @property
    def bounded(self) -> bool:
        """Whether it is a fraction: differences are then absolute, for a ratio would mislead."""
        return self.name in (*_PERCENT, *_INDICES)

    def unit(self, largest: float) -> tuple[float, str, int]:
        """What to divide by, the name of that unit (may be empty) and digits after the point.

        It suits values up to `largest`.
        """
        if self.name.endswith("_bps"):
            return (*units.rate(largest), 2)
        if self.name in _SECONDS:
            return (1.0, "s", 2)
        if self.name in ("power", "queue_power"):
            return (1e6, "Mbit/s²", 2)
        if self.name.endswith("_s"):
            return (1e-3, "ms", 2)
        if "bytes" in self.name:
            return (*units.size(largest), 2)
        if self.name in _PERCENT:
            return (0.01, "%", 2)
        if self.name in (*_INDICES, "max_min_share", "goodput_cov", "friendliness"):
            return (1.0, "", 3)
        if self.name.startswith("slowdown"):
            return (1.0, "", 2)
        return (1.0, "", 1)


_MORE = frozenset(
    {
        *("goodput_bps", "throughput_bps", "steady_goodput_bps", "received_bps"),
        *("utilization", "ended", "power", "queue_power", "least_share", "smallest_share"),
        *("jain", "jain_mean", "jain_min", "throughput_ratio"),
    }
)
"""Of these, more is better."""

_LESS = frozenset(
    {
        *("elapsed_s", "retransmits", "rtos", "srtt_mean_s", "rtt_mean_s", "rtt_p95_s"),
        *("drops", "drop_rate", "loss_rate", "delay_mean_s", "delay_p95_s"),
        *("queue_delay_mean_s", "queue_delay_p95_s", "queue_delay_p99_s", "queue_max_bytes"),
        *("fct_s", "slowdown", "goodput_cov", *_HARMS),
        *("starved_s", "longest_starved_s", "convergence_s"),
        *(name for name in EVERY_TRAFFIC_METRIC if name.startswith(("fct_", "slowdown_"))),
    }
)
"""Of these, less is better. Bytes and segments of flows, windows, marks and the smallest RTT are in
neither: whether more of them is better, only the question of a study can say."""

METRICS = (
    *(Metric(name, "flow") for name in FLOW_METRICS),
    *(Metric(name, "traffic") for name in EVERY_TRAFFIC_METRIC),
    *(Metric(name, "bottleneck") for name in BOTTLENECK_METRICS),
    *(Metric(name, "run") for name in RUN_METRICS),
)
"""Every metric that can be compared."""

DEFAULT = (
    *("goodput_bps", "elapsed_s", "retransmits", "srtt_mean_s", "rtt_p95_s"),
    *("traffic.fct_mean_s", "traffic.fct_median_s", "traffic.fct_p99_s", "traffic.slowdown_mean"),
    *("traffic.slowdown_p99", "traffic.delay_mean_s", "traffic.loss_rate", "traffic.rtt_mean_s"),
    *("utilization", "queue_delay_mean_s", "drop_rate", "jain"),
)
"""What is compared if nothing is chosen; `elapsed_s` where a flow has a transfer, of cross traffic
what its kind has."""


def metric_names(names: Sequence[str]) -> list[Metric]:
    """The metrics called `names`, with their subject before them or without; `DEFAULT` if none.

    A name without its subject that several subjects have is the flow's.

    Raises `InputError` if there is none of that name.
    """
    known = {metric.path: metric for metric in METRICS}
    for metric in METRICS:
        known.setdefault(metric.name, metric)
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1, cutoff=0.85)
            # A name without its unit is nearer than one that only looks like it.
            near = near or [metric for metric in known if metric.startswith(f"{name}_")]
            near = near or difflib.get_close_matches(name, known, n=1)
            hint = f" (did you mean {near[0]}?)" if near else ""
            every = ", ".join(metric.name for metric in METRICS)
            raise InputError(f"no metric {name!r} to compare{hint}; one of {every}")
    return list(dict.fromkeys(known[name] for name in names or DEFAULT))
