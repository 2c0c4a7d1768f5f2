"""What crosses a link: flows of TCP, which share it, and sources that send whatever the network
does."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cclab import units
from cclab.explain.groups import folded
from cclab.explain.limits import Limit

if TYPE_CHECKING:
    from cclab.documents.description import Description, FlowFacts
    from cclab.explain.limits import RatedLink
    from cclab.explain.traffic import TrafficExplanation


@dataclass(frozen=True)
class Crossing:
    """A link, and what crosses it in its direction."""

    link: RatedLink
    sharers: int
    """Flows of TCP."""
    sources: dict[str, float]
    """Cross traffic that does not yield: bits a second that each source offers, by its name."""
    datagrams: dict[str, float]
    """The same of the flows of datagrams."""

    @property
    def offered_bps(self) -> float:
        """What comes whether the link carries it or not."""
        return math.fsum((*self.sources.values(), *self.datagrams.values()))

    @property
    def names(self) -> str:
        """Of those who offer that, in words."""
        return folded([*self.sources, *self.datagrams])

    def part(self, flow: FlowFacts, rate: float) -> float:
        """What the link, which carries `rate`, has for a flow, in bits a second on it."""
        own = self.datagrams.get(flow["name"])
        if own is None:
            return max(rate - self.offered_bps, 0.0) / self.sharers
        # Of more than it carries, each has what its part of it is.
        return max(rate * own / self.offered_bps if own else 0.0, rate - (self.offered_bps - own))

    def limits(self, flow: FlowFacts) -> list[Limit]:
        """What others who cross the link leave of it to a flow, in payload."""
        if self.link.rate_bps is None:
            return []
        part = self.part(flow, self.link.rate_bps)
        payload = flow["payload_bytes"] / flow["packet_bytes"]
        own = self.datagrams.get(flow["name"])
        others = [*self.sources, *(name for name in self.datagrams if name != flow["name"])]
        bounds = []
        what = self.link.name
        if others:
            what = f"what {folded(others)} leaves of {what}"
            left = part * (self.sharers if own is None else 1)
            bounds.append(Limit("left", left * payload, what))
        if own is None and self.sharers > 1:
            why = f"an equal share of {what} among {self.sharers} flows"
            bounds.append(Limit("share", part * payload, why))
        return bounds

    @property
    def notes(self) -> list[str]:
        """That nothing may be left to the flows that share the link."""
        rate = self.link.rate_bps
        if not self.sharers or rate is None or self.offered_bps < rate:
            return []
        return [
            f"{self.names}: {units.told_rate(self.offered_bps)} offered to {self.link.name}, "
            f"which carries {units.told_rate(rate)}: nothing is sure to be left for flows of TCP"
        ]


def crossings(
    described: Description, links: list[RatedLink], traffic: list[TrafficExplanation]
) -> list[Crossing]:
    """What crosses each of `links`, those of `described`, in their order."""
    by_link = [Crossing(link, 0, {}, {}) for link in links]
    sharers = [0] * len(links)
    for facts, source in zip(described["traffic"], traffic, strict=True):
        for link in () if source.yields else facts["data"]:
            by_link[link].sources[source.name] = source.offered_bps
    for flow in described["flows"]:
        if flow["source_bps"] is None:
            for link in flow["data"]:
                sharers[link] += 1
            continue
        offered = flow["source_bps"] * flow["packet_bytes"] / flow["payload_bytes"]
        for link in flow["data"]:
            by_link[link].datagrams[flow["name"]] = offered
            # What a link does not carry does not come to the next.
            offered = min(offered, links[link].rate_bps or offered)
    return [
        Crossing(crossing.link, flows, crossing.sources, crossing.datagrams)
        for crossing, flows in zip(by_link, sharers, strict=True)
    ]
