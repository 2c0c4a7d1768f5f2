"""What may bind a flow, each limit with its rate and its reason."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cclab import _core, units
from cclab.explain import laws
from cclab.explain.shown import Shown
from cclab.explain.traffic import application_limit

if TYPE_CHECKING:
    from collections.abc import Sequence

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


def apply_shapers(network: dict[str, Any], links: list[dict[str, Any]]) -> None:
    """Lowers the rate of each link to what its queue lets pass.

    `wire_bps` keeps the rate at which packets are transmitted.
    """
    for link in links:
        link["wire_bps"] = link["rate_bps"]
        queue = (link_called(network, link["name"]) or {}).get("queue") or {}
        shapes = _SHAPES.get(queue.get("kind", ""))
        rate = (queue.get("params") or {}).get(shapes) if shapes else None
        if rate is not None:
            link["rate_bps"] = min(rate, link["rate_bps"] or rate)


def apply_courses(
    network: dict[str, Any], links: list[dict[str, Any]], duration_ns: int | None
) -> None:
    """Sets the rate of each link with a trace or a schedule to its mean over the run.

    A run that ends with its transfers has no known length: then the first rate counts.
    """
    for link in links:
        written = link_called(network, link["name"]) or {}
        if written.get("trace"):
            link["course"] = "its trace"
        changes = [c for c in written.get("schedule") or [] if c.get("rate") is not None]
        if changes and duration_ns and link["rate_bps"] is not None:
            link["rate_bps"] = _means(link["rate_bps"], changes, "rate", duration_ns)
            link["course"] = "its schedule"


def _means(first: float, changes: list[dict[str, Any]], key: str, duration_ns: int) -> float:
    """The mean over a run of what is `first` until the `changes` of `key`, weighted by time."""
    total, value, since = 0.0, first, 0
    for change in sorted(changes, key=lambda change: change["at"]):
        at = min(change["at"], duration_ns)
        total += value * (at - since)
        value, since = change[key], at
    return (total + value * (duration_ns - since)) / duration_ns


def of_links(
    flow: dict[str, Any], links: list[dict[str, Any]], crossing: Sequence[Crossing]
) -> tuple[int | None, list[Limit]]:
    """The bottleneck of the path, and what its slowest link carries.

    The bottleneck is the index of the link with the smallest part for the flow beside everything
    else that is `crossing`; None if every link is infinitely fast.
    """
    rated = [i for i in flow["data"] if links[i]["rate_bps"] is not None]
    if not rated:
        return None, []
    # Of equal ones the first in the way.
    tightest = min(rated, key=lambda i: crossing[i].part(flow))
    slowest = min((tightest, *rated), key=lambda i: links[i]["rate_bps"])
    efficiency = flow["payload_bytes"] / flow["packet_bytes"]
    rate = links[slowest]["rate_bps"]
    changing = f" on average over {course}" if (course := links[slowest].get("course")) else ""
    why = (
        f"{links[slowest]['name']} carries {units.told_rate(rate)}{changing}, "
        f"{efficiency:.1%} of it payload ({flow['payload_bytes']} of {flow['packet_bytes']} bytes)"
    )
    return tightest, [Limit("link", rate * efficiency, why)]


def of_source(spec: dict[str, Any], flow: dict[str, Any]) -> list[Limit]:
    """What a source of datagrams sends in the mean."""
    bps = flow["source_bps"]
    if bps is None:
        return []
    why = f"its source, {spec['udp']['kind']}, sends {units.told_rate(bps)} of payload in the mean"
    return [Limit("application", bps, why)]


def of_windows(flow: dict[str, Any], rtt_s: float) -> list[Limit]:
    """The windows that do not react to the network."""
    if rtt_s <= 0:
        return []
    rwnd, held, passed = (flow[key] for key in ("rwnd_bytes", "sndbuf_bytes", "sndbuf_round_bytes"))
    windows = []
    if rwnd is not None:
        windows.append(("rwnd", rwnd, f"the receiver advertises at most {rwnd:,} bytes"))
    if held is not None:
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


def of_application(spec: dict[str, Any], flow: dict[str, Any], rtt_s: float) -> list[Limit]:
    """What the application writes."""
    if application := spec.get("application"):
        return [Limit("application", *application_limit(application, rtt_s))]
    per_second = spec.get("writes_per_second")
    if not per_second:
        return []
    size = spec.get("write_size") or flow["payload_bytes"]
    why = f"the application writes {size:,} bytes {per_second:g} times a second"
    return [Limit("application", size * 8 * per_second, why)]


def of_packet_rates(
    spec: dict[str, Any], network: dict[str, Any], flow: dict[str, Any], sharers: int
) -> list[Limit]:
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


def sharers_of_routers(flow: dict[str, Any], described: dict[str, Any]) -> int:
    """How many flows pass the busiest router on the path of `flow`."""
    links = described["links"]
    routers = {i for i in flow["data"] + flow["acks"] if _ROUTER.fullmatch(links[i]["name"])}
    counts = [
        sum(router in other["data"] + other["acks"] for other in described["flows"])
        for router in routers
    ]
    return max(counts, default=1)


_BOTTLENECK = re.compile(r"bottleneck\d*(\.reverse)?")


def link_called(network: dict[str, Any], name: str) -> dict[str, Any] | None:
    """What the scenario says of the link that traces call `name`, with what happens to data there.

    None for links that the study does not write: wires of extra delay, processors of hosts and
    routers. The way back has impairments only where they are its own.
    """
    if graph := network.get("graph"):
        for edge in graph["links"]:
            if name == edge["name"]:
                return dict(edge["link"])
            if name == f"{edge['name']}.reverse":
                return _mirrored(edge["link"])
        return None
    bottleneck: dict[str, Any] = network["bottleneck"]
    if match := _BOTTLENECK.fullmatch(name):
        return (bottleneck.get("reverse") or _mirrored(bottleneck)) if match[1] else bottleneck
    if name.removesuffix(".reverse").endswith(".access"):
        # They act in the direction of a flow's data, whichever that is.
        return dict(network["access"])
    return None


def _mirrored(link: dict[str, Any]) -> dict[str, Any]:
    return {key: link.get(key) for key in ("rate", "delay", "queue")}


def loss_probability(network: dict[str, Any], data: list[str]) -> float:
    """The joint probability of the independent random losses on the way `data` over links.

    Each link loses where packets enter it; hosts lose what the bottleneck and the access links
    have at senders and receivers.
    """
    passed = 1.0
    for link in (link_called(network, name) for name in data):
        if link is not None:
            passed *= _passed(link, at_hosts=False) * (1 - (link.get("corrupt") or 0.0))
    if not network.get("graph"):
        for impaired in (network["bottleneck"], network["access"]):
            passed *= _passed(impaired, at_hosts=True)
    return 1 - passed


def loses_in_bursts(network: dict[str, Any], data: list[str]) -> bool:
    """Whether a link on the way `data`, or a host at its ends, loses packets in bursts, for which
    no formula here exists."""
    links = [link for link in (link_called(network, name) for name in data) if link is not None]
    ends = [] if network.get("graph") else [network["bottleneck"], network["access"]]
    return any(
        "random" not in loss["model"] and (loss["at"] != "router") == at_hosts
        for at_hosts, impaired in ((False, links), (True, ends))
        for link in impaired
        for loss in link.get("loss") or []
    )


def _passed(link: dict[str, Any], *, at_hosts: bool) -> float:
    """The share that the independent losses of `link` at hosts, or at its own entry, let pass."""
    passed = 1.0
    for loss in link.get("loss") or []:
        if (loss["at"] != "router") == at_hosts:
            passed *= 1 - loss["model"].get("random", 0.0)
    return passed


def of_loss(flow: dict[str, Any], p: float, rtt_s: float) -> list[Limit]:
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
    if flow["cc"] in laws.RENO_LIKE:
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
