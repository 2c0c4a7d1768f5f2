"""The links under study that data cross, the flows that cross them, and their rates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cclab import _core
from cclab.documents import describe
from cclab.explain import limits

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from cclab.measure.points import Measured


def crossed(run: Measured) -> dict[str, list[str]]:
    """For each link with a sampled queue, in the order of links, the flows whose data cross it.

    Links that no data cross are left out. If that leaves none, the link under study stands alone.
    """
    sampled = set(run.table("queue_samples")["link"].unique())
    return among(run, run.table("links")["name"].to_list(), sampled)


def among(run: Measured, links: Sequence[str], sampled: Collection[str]) -> dict[str, list[str]]:
    """As `crossed`, of a run whose trace has the `links`, the one under study first, and samples of
    the queues of those that are `sampled`."""
    network = run.run.scenario["network"]
    # Of a single bottleneck the simulator need not be asked, which takes milliseconds.
    is_alone = "graph" not in network and network.get("bottlenecks", 1) == 1
    ways = _through_bottleneck(run, links[0]) if is_alone else _ways(run, links[0])
    every = _flows_of(ways, links)
    crossed = {name: flows for name, flows in every.items() if name in sampled and flows}
    return crossed or {links[0]: []}


def crossing(run: Measured) -> dict[str, list[str]]:
    """For each link, in the order of links, the flows whose data cross it, sampled or not."""
    links = run.table("links")["name"].to_list()
    return _flows_of(_ways(run, links[0]), links)


def _flows_of(ways: dict[str, list[str]], links: Sequence[str]) -> dict[str, list[str]]:
    flows_of: dict[str, list[str]] = {name: [] for name in links}
    for flow, way in ways.items():
        for name in way:
            flows_of.setdefault(name, []).append(flow)
    return flows_of


def _ways(run: Measured, first: str) -> dict[str, list[str]]:
    """The links that the data of each flow cross, by the flow's name; `first` is under study."""
    try:
        described = describe(run.run.scenario)
    except _core.StudyError:
        # What the simulator cannot describe, such as programs.
        return _through_bottleneck(run, first)
    names = [link["name"] for link in described["links"]]
    return {flow["name"]: [names[link] for link in flow["data"]] for flow in described["flows"]}


def _through_bottleneck(run: Measured, first: str) -> dict[str, list[str]]:
    """The link under study, the `first`, or its way back: the one that each flow's data cross."""
    way = {"forward": [first], "reverse": [f"{first}.reverse"]}
    return {flow["name"]: way[flow["direction"]] for flow in run.metrics["flows"]}


def rate_bps(run: Measured, link: str) -> float | None:
    """The constant rate of a link, or of its shaper, in bit/s; None if it has none."""
    return steady_bps(run, link, run.table("links").filter(name=link)["rate_bps"].item())


def steady_bps(run: Measured, link: str, wire: float | None) -> float | None:
    """As `rate_bps`, of a link that transmits at `wire` bit/s; None: without end."""
    written = limits.link_called(run.run.scenario["network"], link)
    if written is not None and {"schedule", "triggered", "trace"} & written.keys():
        return None
    rate = wire if written is None else limits.shaped(written, wire)
    return float(rate) if rate else None
