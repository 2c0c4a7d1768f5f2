"""The metrics: one table of what the core says of each, and the names and units that follow.

A metric of many values, as the completion times of transfers, is told by several numbers: each has
a name and stands for itself.
"""

from __future__ import annotations

import difflib
import json
import math
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from cclab import _core, units

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

Better = Literal["higher", "lower"]
"""The way in which a metric gets better."""

Subject = Literal["flow", "group", "traffic", "probe", "bottleneck", "band", "run", "fidelity"]

_FIXED = {
    "percentage": (0.01, "%", 2),
    "index": (1.0, "", 3),
    "ratio": (1.0, "", 3),
    "factor": (1.0, "", 2),
    "power": (1e6, "Mbit/s²", 2),
    "segments": (1.0, "", 1),
    "count": (1.0, "", 1),
}
"""How what a metric is a number of is shown: what to divide by, the unit, digits after the point.
Times, rates and sizes take the unit that suits them."""


@dataclass(frozen=True)
class Column:
    """A column of the tables of reports."""

    heading: str
    """What stands above it, before the unit."""
    word: str
    """What of it the glossary explains."""
    digits: int
    """Digits after the point."""
    if_measured: bool
    """Whether it is there only where something in it was measured."""


@dataclass(frozen=True)
class Metric:
    """A number that runs have: of a flow, of a group of flows, of a source of cross traffic, of the
    bottleneck or a named queue of it, of the run itself, or of its host."""

    name: str
    """As results documents spell it, with its SI unit: `goodput_bps`."""
    subject: Subject
    definition: str
    title: str
    """Its name in words, without the unit."""
    quantity: str
    """What it is a number of."""
    dimension: str | None
    """What a value of a study file must be to be compared with it; None: a plain number."""
    most: float | None
    """What no value exceeds; None: there is no bound."""
    better: Better | None
    """Which way is the better one; None where neither is as such."""
    baseline: Literal["solo", "self"] | None
    """The runs beside a run's own that it needs."""
    estimated: bool
    """Whether it is estimated over runs."""
    of_summary: bool
    """Whether no run has it: it is made of the numbers of several flows."""
    compared: int
    """Its place among what is compared if nothing is chosen; 0: it is not."""
    queried: bool
    """Whether a query shows it if nothing is chosen."""
    column: Column | None
    keys: tuple[str, ...]
    """Where it stands below its subject in the metrics of a run."""
    window_of: str | None
    """The name of the one of the whole run whose place it takes in a study with a warm-up."""
    short: str | None
    """Of one with a `window_of`: what is short for whichever of the two tables show."""

    @property
    def path(self) -> str:
        """As checks spell it, without the name of a flow or a source: `flow.goodput_bps`."""
        return self.name if self.subject == "run" else f"{self.subject}.{self.name}"

    @property
    def is_percentage(self) -> bool:
        """Whether it is told in percent."""
        return self.quantity == "percentage"

    @property
    def bounded(self) -> bool:
        """Whether it is a fraction: differences are then absolute, for a ratio would mislead."""
        return self.quantity in ("percentage", "index")

    def unit(self, largest: float) -> tuple[float, str, int]:
        """What to divide by, the name of that unit (may be empty) and digits after the point.

        It suits values up to `largest`.
        """
        if self.quantity == "rate":
            return (*units.rate(largest), 2)
        if self.quantity == "size":
            return (*units.size(largest), 2)
        if self.quantity in ("duration", "delay"):
            return (*units.time(largest), 2)
        return _FIXED[self.quantity]

    @property
    def least_digits(self) -> int:
        """Digits after the point that its value has at least, in its unit: near the top of a
        fraction it is they that tell."""
        return {"percentage": 1, "index": 3}.get(self.quantity, 0)

    def told(self, value: float, half: float | None = None, *, largest: float) -> str:
        """A value with half its interval, without the unit: that which suits `largest`.

        Counts are whole where they are not means.
        """
        divisor, _, _ = self.unit(largest)
        if half is None and self.quantity == "count" and value == int(value):
            return f"{value:.0f}"
        half = None if half is None else half / divisor
        return units.told(value / divisor, half, least=self.least_digits)

    @property
    def heading(self) -> str:
        """What stands above its column, before the unit; its title if it has none."""
        return self.title if self.column is None else self.column.heading

    def of(self, owner: dict[str, Any]) -> Any:
        """Its value in the metrics of its subject; None where it was not measured."""
        value: Any = owner
        for key in self.keys:
            if value is None:
                return None
            value = value[key]
        return value


def _table() -> tuple[Metric, ...]:
    rows = [row for row in json.loads(_core.metrics()) if row["numbers"]]
    # Stable: what has no rank stays in the order of results documents.
    rows.sort(key=lambda row: row["rank"])
    return tuple(_metric(row, number) for row in rows for number in row["numbers"])


def _metric(row: dict[str, Any], number: dict[str, Any]) -> Metric:
    keys = row["name"].split(".")[0 if row["subject"] == "run" else 1 :]
    return Metric(
        name=number["name"],
        subject=row["subject"],
        definition=row["definition"],
        title=number["title"],
        quantity=row["quantity"],
        dimension=row["dimension"],
        most=row["bounds"][1],
        better=row["better"],
        baseline=row["baseline"],
        estimated=row["estimated"],
        of_summary=row["of_summary"],
        compared=number["compared"],
        queried=number["queried"],
        column=None if number["column"] is None else Column(**number["column"]),
        keys=(*keys, number["told"]) if number["told"] else tuple(keys),
        window_of=number["window_of"],
        short=number["short"],
    )


METRICS = _table()
"""Every number, those of a subject in the order in which summaries and tables have them."""


def of(subject: Subject) -> tuple[Metric, ...]:
    """Those of a subject that are estimated over runs, each of which has them."""
    return tuple(
        metric
        for metric in METRICS
        if metric.subject == subject and metric.estimated and not metric.of_summary
    )


def _names(subject: Subject) -> tuple[str, ...]:
    return tuple(metric.name for metric in of(subject))


FLOW_METRICS = _names("flow")
"""The metrics of a flow that are estimated over runs."""

GROUP_METRICS = _names("group")
"""The metrics of a group of flows that are estimated over runs."""

BAND_METRICS = _names("band")
"""The metrics of a named queue of the bottleneck's discipline that are estimated over runs."""

TRAFFIC_METRICS = _names("traffic")
"""The metrics of a source of cross traffic that are estimated over runs."""

PROBE_METRICS = _names("probe")
"""The metrics of a probe that are estimated over runs."""

BOTTLENECK_METRICS = _names("bottleneck")
"""The metrics of the bottleneck that are estimated over runs."""

RUN_METRICS = _names("run")
"""The metrics of a run as a whole that are estimated over runs."""

OF_SEVERAL = tuple(metric.name for metric in METRICS if metric.baseline is not None)
"""The metrics of a flow that are of runs beside its own, too."""

_BY_PATH = {metric.path: metric for metric in METRICS}
_BY_KEYS = {(str(metric.subject), metric.keys[-1]): metric for metric in reversed(METRICS)}


def named(subject: str, name: str) -> Metric | None:
    """The metric of a subject by its name; None if there is none."""
    return _BY_PATH.get(name if subject == "run" else f"{subject}.{name}")


def called(subject: str, word: str) -> Metric | None:
    """The metric of a subject by its name, or by its last key; None if there is none."""
    return named(subject, word) or _BY_KEYS.get((subject, word))


_IN_WINDOW = {
    (str(metric.subject), metric.window_of): metric for metric in METRICS if metric.window_of
}
_BY_SHORT = {(str(metric.subject), metric.short): metric for metric in METRICS if metric.short}


def shown(metric: Metric, *, warm: bool) -> Metric:
    """What tables show of a metric: where there was a warm-up, that of the time after it."""
    return _IN_WINDOW.get((metric.subject, metric.name), metric) if warm else metric


def shown_like(subject: str, name: str, *, warm: bool) -> str:
    """The name of what tables show of the metric `name` of a subject."""
    metric = named(subject, name)
    return name if metric is None else shown(metric, warm=warm).name


def shown_name(subject: str, name: str, *, warm: bool) -> str:
    """The name of what `name` means of a subject: a metric, or what is short for one that tables
    show (`goodput`, and `jain`, whose short name is its own)."""
    short = _BY_SHORT.get((subject, name))
    if short is None:
        return name
    return short.name if warm else str(short.window_of)


def warmed_up(measured: Mapping[str, Any]) -> bool:
    """Whether something was measured after a warm-up in the run that has these metrics."""
    flows = (flow.get("window_goodput_bps") for flow in measured["flows"])
    queue = measured.get("bottleneck", {}).get("window_queue_delay_mean_s")
    return queue is not None or any(goodput is not None for goodput in flows)


def columns(subject: Subject) -> tuple[Metric, ...]:
    """The metrics of a subject that have columns in the tables of reports."""
    return tuple(
        metric for metric in METRICS if metric.subject == subject and metric.column is not None
    )


def queried(*subjects: Subject) -> list[str]:
    """The metrics that a query for these subjects shows if nothing is chosen."""
    return [
        f"bottleneck.{metric.name}" if metric.subject == "bottleneck" else metric.name
        for subject in subjects
        for metric in METRICS
        if metric.subject == subject and metric.queried
    ]


def near(name: str, known: Collection[str], *, most: int) -> list[str]:
    """What of `known` somebody may mean who writes `name`, the nearest first; at most so many.

    What looks nearly alike; then what only lacks an end, such as the unit; then what has all its
    words, the last of them, or looks alike from further away.
    """
    words = [word for word in re.split(r"[._]", name.lower()) if word]
    subjects = {str(metric.subject) for metric in METRICS}
    telling = [word for word in words if word not in subjects] or words
    split = {known_name: re.split(r"[._]", known_name.lower()) for known_name in known}
    likely = [
        *difflib.get_close_matches(name, known, n=1, cutoff=0.85),
        *(known_name for known_name in known if known_name.startswith(f"{name}_")),
        *(known_name for known_name in known if all(word in split[known_name] for word in telling)),
        *(known_name for known_name in known if telling and telling[-1] in split[known_name]),
    ]
    return list(dict.fromkeys(likely or difflib.get_close_matches(name, known, n=1, cutoff=0.7)))[
        :most
    ]


FLOW_GROUPS = tuple(
    dict.fromkeys(
        metric.keys[0] for metric in METRICS if metric.subject == "flow" and len(metric.keys) > 1
    )
)
"""The keys of a flow below which there are metrics: null where a flow has none of them."""

_GROUPED = {
    group: [
        (metric.name, metric.keys[1])
        for metric in METRICS
        if metric.subject == "flow" and metric.keys[0] == group and len(metric.keys) > 1
    ]
    for group in FLOW_GROUPS
}
_UNMEASURED = dict.fromkeys(
    metric.name for metric in METRICS if metric.subject == "flow" and len(metric.keys) > 1
)
"""What a flow that has none of the groups has of their metrics."""


NO_VARIANT = "no traffic"
"""What stands for the variant of a program of which nothing was seen."""


def kind(flow: Mapping[str, Any]) -> str:
    """What legends call a flow: its variant, or what carries its data where that is not TCP."""
    return flow["cc"] or flow["transport"] or NO_VARIANT


def of_flow(flow: Mapping[str, Any]) -> dict[str, Any]:
    """What a run says of a flow, by the names of its metrics: `limited_cwnd`, `datagrams_loss`."""
    cells = dict(flow)
    groups = {group: cells.pop(group, None) for group in FLOW_GROUPS}
    cells |= _UNMEASURED
    for group, own in groups.items():
        if own:
            cells |= {name: own.get(key) for name, key in _GROUPED[group]}
    return cells


def transfers(source: dict[str, Any]) -> dict[str, Any]:
    """The numbers of a source's transfers under names of their own; all None of other kinds."""
    return {
        metric.name: metric.of(source) for metric in of("traffic") if metric.keys[0] == "transfers"
    }


def of_source(source: dict[str, Any]) -> dict[str, Any]:
    """The numbers of a source of cross traffic by the names in `TRAFFIC_METRICS`."""
    return {metric.name: metric.of(source) for metric in of("traffic")}


def shares(measured: Mapping[str, Any]) -> list[float | None]:
    """Of each flow of a run its part of the goodput at its bottleneck; None without any.

    A flow that starved has 0. One that is alone there has none, as there is nothing to share; nor
    has a program of which nothing was seen, nor a flow that was over when the warm-up ended.
    """
    warm = warmed_up(measured)
    name = shown_name("flow", "goodput", warm=warm)
    of_all = shown_name("flow", "bottleneck_goodput", warm=warm)
    flows = measured["flows"]
    at = Counter(flow["bottleneck"] for flow in flows)
    return [
        (flow[name] or 0.0) / total
        if (total := flow[of_all] or 0.0) > 0
        # Flows with another bottleneck may cross its own, too: then it has not all of that.
        and (at[flow["bottleneck"]] > 1 or (flow[name] or 0.0) < total)
        and flow["transport"] is not None
        and not (warm and flow[name] is None)
        else None
        for flow in flows
    ]


def group_share(measured: Mapping[str, Any], group: str) -> float | None:
    """Of a group of a run's flows the part of the goodput at their bottleneck; None without any.

    Shares of different bottlenecks, as of different directions, are of different wholes: they do
    not add up.
    """
    rows = zip(measured["flows"], shares(measured), strict=True)
    own = [(flow, share) for flow, share in rows if flow.get("group") == group]
    wholes = {(flow["direction"], flow["bottleneck"]) for flow, _ in own}
    known = [share for _, share in own if share is not None]
    return math.fsum(known) if known and len(wholes) == 1 else None
