"""The links under study that data cross, the flows that cross them, and their rates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cclab import _core
from cclab.documents import describe
from cclab.explain import limits

if TYPE_CHECKING:
    from cclab.measure.points import Measured


def crossed(run: Measured) -> dict[str, list[str]]:
    """For each link with a sampled queue, in the order of links, the flows whose data cross it.

    Links that no data cross are left out. If that leaves none, the link under study stands alone.
    """
    sampled = set(run.table("queue_samples")["link"].unique())
    every = crossing(run)
    crossed = {name: flows for name, flows in every.items() if name in sampled and flows}
    return crossed or {run.trace.bottleneck: []}


def crossing(run: Measured) -> dict[str, list[str]]:
    """For each link, in the order of links, the flows whose data cross it, sampled or not."""
    flows_of: dict[str, list[str]] = {name: [] for name in run.table("links")["name"]}
    for flow, links in _ways(run).items():
        for name in links:
            flows_of.setdefault(name, []).append(flow)
    return flows_of


def _ways(run: Measured) -> dict[str, list[str]]:
    """The links that the data of each flow cross, by the flow's name."""
    first = run.trace.bottleneck
    try:
        described = describe(run.run.scenario)
    except _core.StudyError:
        # What the simulator cannot describe, such as programs: they cross the link under study.
        way = {"forward": [first], "reverse": [f"{first}.reverse"]}
        return {flow["name"]: way[flow["direction"]] for flow in run.metrics["flows"]}
    names = [link["name"] for link in described["links"]]
    return {flow["name"]: [names[link] for link in flow["data"]] for flow in described["flows"]}


def rate_bps(run: Measured, link: str) -> float | None:
    """The constant rate of a link, or of its shaper, in bit/s; None if it has none."""
    written = limits.link_called(run.run.scenario["network"], link)
    if written is not None and {"schedule", "triggered", "trace"} & written.keys():
        return None
    wire = run.table("links").filter(name=link)["rate_bps"].item()
    rate = wire if written is None else limits.shaped(written, wire)
    return float(rate) if rate else None
