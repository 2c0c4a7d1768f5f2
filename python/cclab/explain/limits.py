"""What may bind a flow, each limit with its rate and its reason."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cclab import _core, units
from cclab.explain import laws
from cclab.explain.shown import Shown
from cclab.explain.traffic import application_limit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cclab.documents.description import Description, FlowFacts, LinkFacts
    from cclab.documents.scenario import Flow, Link, Network
    from cclab.explain.crossing import Crossing


@dataclass(frozen=True, repr=False)
class Limit(Shown):
    """An upper bound of a flow's throughput."""

    name: str
    """Stable name: `link`, `left`, `share`, `rwnd`, `sndbuf`, `application`, `packet-rate`,
    `loss`."""
    bps: float
    """Bits of payload per second."""
    reason: str
    """In words, with numbers."""


_SHAPES: dict[str, str | None] = {row["name"]: row["shapes"] for row in json.loads(_core.qdiscs())}
"""The parameter of each discipline that sets its rate; None: the rate of the link."""


@dataclass(frozen=True)
class RatedLink:
    """A link in one direction, with what it carries over a run."""

    name: str
    delay_s: float
    wire_bps: float | None
    """The rate at which packets are transmitted; None: infinitely fast."""
    rate_bps: float | None
    """That, or the lower rate that its queue lets pass."""
    course: str | None
    """What its rate follows, of which the rates are the mean: its trace, its schedule."""


def rated(network: Network, links: list[LinkFacts], duration_ns: int | None) -> list[RatedLink]:
    """The `links` of a description with their rates over a run.

    A run that ends with its transfers has no known length: then the first rate of a schedule
    counts.
    """
    all_rated = []
    for link in links:
        written = link_called(network, link["name"])
        wire: float | None = link["rate_bps"]
        course = None
        if written is not None:
            course = "its trace" if "trace" in written else None
            changes = [(c["at"], c["rate"]) for c in written.get("schedule", []) if "rate" in c]
            if changes and duration_ns and wire is not None:
                wire, course = _mean(wire, changes, duration_ns), "its schedule"
        rate = wire if written is None else shaped(written, wire)
        all_rated.append(RatedLink(link["name"], link["delay_s"], wire, rate, course))
    return all_rated


def shaped(link: Link, wire_bps: float | None) -> float | None:
    """What the queue of a link lets pass, which transmits at `wire_bps`."""
    shapes = _SHAPES.get(link["queue"]["kind"])
    rate = link["queue"].get("params", {}).get(shapes) if shapes else None
    return wire_bps if rate is None else min(rate, wire_bps or rate)


def _mean(first: float, changes: list[tuple[int, int]], duration_ns: int) -> float:
    """The mean over a run of what is `first` until the `changes`, weighted by time."""
    total, value, since = 0.0, first, 0
    for instant, changed in sorted(changes, key=lambda change: change[0]):
        at = min(instant, duration_ns)
        total += value * (at - since)
        value, since = changed, at
    return (total + value * (duration_ns - since)) / duration_ns


def of_links(
    flow: FlowFacts, links: list[RatedLink], crossing: Sequence[Crossing]
) -> tuple[int | None, list[Limit]]:
    """The bottleneck of the path, and what its slowest link carries.

    The bottleneck is the index of the link with the smallest part for the flow beside everything
    else that is `crossing`; None if every link is infinitely fast.
    """
    rates = {i: rate for i in flow["data"] if (rate := links[i].rate_bps) is not None}
    if not rates:
        return None, []
    # Of equal ones the first in the way.
    tightest = min(rates, key=lambda i: crossing[i].part(flow, rates[i]))
    slowest = min((tightest, *rates), key=lambda i: rates[i])
    efficiency = flow["payload_bytes"] / flow["packet_bytes"]
    rate = rates[slowest]
    changing = f" on average over {course}" if (course := links[slowest].course) else ""
    why = (
        f"{links[slowest].name} carries {units.told_rate(rate)}{changing}, "
        f"{efficiency:.1%} of it payload ({flow['payload_bytes']} of {flow['packet_bytes']} bytes)"
    )
    return tightest, [Limit("link", rate * efficiency, why)]


def of_source(spec: Flow, flow: FlowFacts) -> list[Limit]:
    """What a source of datagrams sends in the mean."""
    bps = flow["source_bps"]
    if bps is None:
        return []
    why = f"its source, {spec['udp']['kind']}, sends {units.told_rate(bps)} of payload in the mean"
    return [Limit("application", bps, why)]


def of_windows(flow: FlowFacts, rtt_s: float) -> list[Limit]:
    """The windows that do not react to the network."""
    if rtt_s <= 0:
        return []
    rwnd, held, passed = flow["rwnd_bytes"], flow["sndbuf_bytes"], flow["sndbuf_round_bytes"]
    windows = []
    if rwnd is not None:
        windows.append(("rwnd", rwnd, f"the receiver advertises at most {rwnd:,} bytes"))
    if held is not None and passed is not None:
        what = f"the send buffer holds {held:,} bytes"
        if passed < held:
            what += f" and takes more when a third is free: {passed:,} bytes"
        windows.append(("sndbuf", passed, what))
    payload, limits = flow["payload_bytes"], []
    for name, window, what in windows:
        # Only whole segments fit a window.
        segments = max(window // payload, 1)
        rate = laws.window_limit(min(segments * payload, window), rtt_s)
        why = f"{what}, {segments} segments a round trip of {units.told_time(rtt_s)}"
        limits.append(Limit(name, rate, why))
    return limits


def of_application(spec: Flow, flow: FlowFacts, rtt_s: float) -> list[Limit]:
    """What the application writes."""
    if application := spec.get("application"):
        bps, why = application_limit(application, rtt_s)
        return [Limit("application", bps, why)] if bps < math.inf else []
    per_second = spec["writes_per_second"]
    if not per_second:
        return []
    size = spec["write_size"] or flow["payload_bytes"]
    why = f"the application writes {size:,} bytes {per_second:g} times a second"
    return [Limit("application", size * 8 * per_second, why)]


def of_packet_rates(spec: Flow, network: Network, flow: FlowFacts, sharers: int) -> list[Limit]:
    """The packet rates of hosts and routers, whatever the packets' size.

    `sharers` flows, this one among them, pass the router that the most flows pass.
    """
    limits = []
    router = network.get("router")
    rates = [
        ("router forwards", router["packet_rate"] if router else None, sharers),
        ("host handles", spec.get("packet_rate"), 1),
    ]
    for what, rate, flows in rates:
        if rate:
            # Acknowledgements are packets too.
            acknowledged = flow["ack_every"] > 0
            data = rate / (1 + 1 / flow["ack_every"] if acknowledged else 1) / flows
            why = f"the {what} {rate:,} packets a second"
            why += ", acknowledgements included" if acknowledged else ""
            if flows > 1:
                why += f", an equal share of {flows} flows"
            limits.append(Limit("packet-rate", data * flow["payload_bytes"] * 8, why))
    return limits


_ROUTER = re.compile(r"r\d+")


def sharers_of_routers(flow: FlowFacts, described: Description) -> int:
    """How many flows pass the busiest router on the path of `flow`."""
    links = described["links"]
    routers = {i for i in flow["data"] + flow["acks"] if _ROUTER.fullmatch(links[i]["name"])}
    counts = [
        sum(router in other["data"] + other["acks"] for other in described["flows"])
        for router in routers
    ]
    return max(counts, default=1)


_BOTTLENECK = re.compile(r"bottleneck\d*(\.reverse)?")


def link_called(network: Network, name: str) -> Link | None:
    """What the scenario says of the link that traces call `name`, with what happens to data there.

    None for links that the study does not write: wires of extra delay, processors of hosts and
    routers. The way back has impairments only where they are its own.
    """
    if graph := network.get("graph"):
        for edge in graph["links"]:
            if name == edge["name"]:
                return edge["link"]
            if name == f"{edge['name']}.reverse":
                return _mirrored(edge["link"])
        return None
    bottleneck = network["bottleneck"]
    if match := _BOTTLENECK.fullmatch(name):
        return (bottleneck.get("reverse") or _mirrored(bottleneck)) if match[1] else bottleneck
    if name.removesuffix(".reverse").endswith(".access"):
        # They act in the direction of a flow's data, whichever that is.
        return network["access"]
    return None


def _mirrored(link: Link) -> Link:
    """The way back of a link that has none of its own, as `Link::way_back` of crates/spec."""
    back: Link = {"rate": link["rate"], "delay": link["delay"], "queue": link["queue"]}
    if "trace" in link:
        back["trace"] = link["trace"]
    changes = [change.copy() for change in link.get("schedule", [])]
    for change in changes:
        change.pop("loss", None)
    if changes := [change for change in changes if len(change) > 1]:
        back["schedule"] = changes
    triggered = [
        waiting
        for waiting in link.get("triggered", [])
        if {"rate", "delay"} & waiting["change"].keys()
    ]
    if triggered:
        back["triggered"] = triggered
    return back


def loss_probability(network: Network, data: list[str]) -> float:
    """The joint probability of the independent random losses on the way `data` over links.

    Each link loses where packets enter it; hosts lose what the bottleneck and the access links
    have at senders and receivers.
    """
    passed = 1.0
    for link in (link_called(network, name) for name in data):
        if link is not None:
            passed *= _passed(link, at_hosts=False) * (1 - link.get("corrupt", 0.0))
    if not network.get("graph"):
        for impaired in (network["bottleneck"], network["access"]):
            passed *= _passed(impaired, at_hosts=True)
    return 1 - passed


def loses_in_bursts(network: Network, data: list[str]) -> bool:
    """Whether a link on the way `data`, or a host at its ends, loses packets in bursts, for which
    no formula here exists."""
    links = [link for link in (link_called(network, name) for name in data) if link is not None]
    ends = [] if network.get("graph") else [network["bottleneck"], network["access"]]
    return any(
        "random" not in loss["model"] and (loss["at"] != "router") == at_hosts
        for at_hosts, impaired in ((False, links), (True, ends))
        for link in impaired
        for loss in link.get("loss", [])
    )


def _passed(link: Link, *, at_hosts: bool) -> float:
    """The share that the independent losses of `link` at hosts, or at its own entry, let pass."""
    passed = 1.0
    for loss in link.get("loss", []):
        if (loss["at"] != "router") == at_hosts:
            passed *= 1 - loss["model"].get("random", 0.0)
    return passed


def of_loss(flow: FlowFacts, p: float, rtt_s: float) -> list[Limit]:
    """What random loss leaves, by the formulas that know the variant."""
    if p <= 0 or rtt_s <= 0:
        return []
    limits = []
    payload, every = flow["payload_bytes"], flow["segments_per_step"]
    known = laws.response_window(
        flow["cc"], p, rtt_s, flow["cc_params"], counts_segments=flow["counts_segments"]
    )
    if known is not None:
        window, source = known
        why = f"loss of {p:.3%}: {window:.1f} segments on average by {source}"
        limits.append(Limit("loss", window * payload * 8 / rtt_s, why))
    if flow["cc"] in laws.RENO_LIKE and flow["rwnd_bytes"] is not None:
        windows = flow["rwnd_bytes"] / payload
        rto = max(flow["rto_min_s"], rtt_s)
        rate = laws.padhye(payload, rtt_s, p, rto, windows, every)
        why = (
            f"loss of {p:.3%} with timeouts of {units.told_time(rto)} and a step for every {every} "
            "acknowledged: the model of Padhye et al. (1998)"
        )
        limits.append(Limit("loss-and-timeouts", rate, why))
        rate = laws.mathis(payload, rtt_s, p, every)
        why = f"loss of {p:.3%}: MSS/RTT C/sqrt(p) of Mathis et al. (1997)"
        limits.append(Limit("loss-macroscopic", rate, why))
    return limits
