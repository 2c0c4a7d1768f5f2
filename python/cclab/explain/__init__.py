"""Explains a study before anything runs: network, paths, windows, limits, expectations.

`explain(scenario)` is a pure function of a resolved scenario; `cclab explain` prints it and the
figures of a sweep draw the expectation beside the measurement.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from cclab.documents import describe
from cclab.explain import groups, limits, told
from cclab.explain.crossing import Crossing, crossings
from cclab.explain.groups import GroupExplanation
from cclab.explain.limits import Limit
from cclab.explain.probe import ProbeExplanation, explain_probe
from cclab.explain.shown import Shown
from cclab.explain.told import Explained
from cclab.explain.traffic import (
    TrafficExplanation,
    explain_traffic,
    under_study_bps,
)

if TYPE_CHECKING:
    from cclab.documents.description import Description, FlowFacts
    from cclab.documents.scenario import Flow, Network, Scenario

__all__ = [
    "Explained",
    "Explanation",
    "FlowExplanation",
    "GroupExplanation",
    "Limit",
    "Link",
    "ProbeExplanation",
    "TrafficExplanation",
    "explain",
]


@dataclass(frozen=True, repr=False)
class Link(Shown):
    """A link in one direction."""

    name: str
    rate_bps: float | None
    """None: infinitely fast."""
    delay_s: float


@dataclass(frozen=True, repr=False)
class FlowExplanation(Shown):
    """A flow's path, windows and limits."""

    name: str
    cc: str
    data: list[str]
    """Names of the links that its data crosses."""
    acks: list[str]
    base_rtt_s: float
    """Propagation over the path and back."""
    empty_rtt_s: float
    """`base_rtt_s` plus the transmission of a full packet and its acknowledgement on every link:
    what the first round trip measures on an empty path."""
    bottleneck: str | None
    """The link of its path with the smallest share for each of the flows that cross it."""
    bdp_bytes: float | None
    """That link's rate times the base RTT."""
    queue_bytes: float | None
    """What the queue before that link holds."""
    loss: float
    """Joint probability of the independent random losses on the way of its data."""
    rwnd_bytes: int | None
    sndbuf_bytes: int | None
    initial_window_bytes: int
    limits: list[Limit]
    """Every bound, lowest first."""
    expected_bps: float | None
    """The lowest limit: the expected throughput in payload. None if nothing bounds it, or if the
    flow loses packets at random and no closed form covers its variant: then the lowest limit is
    only an upper bound."""
    binds: str | None
    """Name of the lowest."""
    near: list[str]
    """If a window, an application or a packet rate binds: the others of these that would bind soon
    after it."""
    notes: list[str]
    """What follows for the experiment."""


@dataclass(frozen=True, repr=False)
class Explanation(Shown):
    """A scenario explained."""

    topology: str
    links: list[Link]
    flows: list[FlowExplanation]
    groups: list[GroupExplanation]
    """Flows that belong together; empty without any."""
    traffic: list[TrafficExplanation]
    """Cross traffic; empty without any."""
    probes: list[ProbeExplanation]
    """Probes; empty without any."""
    notes: list[str]
    """What concerns the flows together."""

    def document(self) -> dict[str, Any]:
        """Everything as JSON values."""
        return asdict(self)

    def __str__(self) -> str:
        """Its table of flows as text."""
        return told.text(self)

    def _repr_html_(self) -> str:
        return told.html(self)


def explain(scenario: Scenario) -> Explanation:
    """Explains a resolved scenario. Raises `StudyError` where the simulator cannot build it."""
    described = describe(scenario)
    links = limits.rated(scenario["network"], described["links"], scenario["duration"])
    traffic = [
        explain_traffic(spec, facts, links)
        for spec, facts in zip(scenario.get("traffic", []), described["traffic"], strict=True)
    ]
    crossing = crossings(described, links, traffic)
    flows = [
        _flow(scenario["network"], spec, flow, described, links, crossing)
        for spec, flow in zip(scenario["flows"], described["flows"], strict=True)
    ]
    return Explanation(
        topology=scenario["network"]["topology"],
        links=[Link(link.name, link.rate_bps, link.delay_s) for link in links],
        flows=flows,
        groups=groups.explain_groups(scenario["flows"], flows),
        traffic=traffic,
        probes=[
            explain_probe(spec, facts, links)
            for spec, facts in zip(scenario.get("probes", []), described["probes"], strict=True)
        ],
        notes=[
            *_together(flows),
            *(note for one in crossing for note in one.notes),
            *_of_courses(scenario["network"], links),
        ],
    )


def _flow(
    network: Network,
    spec: Flow,
    flow: FlowFacts,
    described: Description,
    links: list[limits.RatedLink],
    crossing: list[Crossing],
) -> FlowExplanation:
    base = flow["base_rtt_s"]
    empty = base + sum(
        bytes_ * 8 / wire_bps
        for way, bytes_ in (
            (flow["data"], flow["packet_bytes"]),
            (flow["acks"], flow["ack_bytes"]),
        )
        for i in way
        if (wire_bps := links[i].wire_bps) is not None
    )
    slowest, bounds = limits.of_links(flow, links, crossing)
    if slowest is not None:
        bounds += crossing[slowest].limits(flow)
    bounds += limits.of_windows(flow, empty)
    bounds += limits.of_application(spec, flow, empty)
    bounds += limits.of_source(spec, flow)
    sharers_of_routers = limits.sharers_of_routers(flow, described)
    bounds += limits.of_packet_rates(spec, network, flow, sharers_of_routers)
    data = [links[i].name for i in flow["data"]]
    loss = limits.loss_probability(network, data)
    bursts = limits.loses_in_bursts(network, data)
    lossy = loss > 0 or bursts
    known = True
    if flow["source_bps"] is None:
        of_loss = limits.of_loss(flow, loss, empty)
        known = not lossy or (bool(of_loss) and not bursts)
        bounds += of_loss
    bounds.sort(key=lambda limit: limit.bps)
    near = _near(bounds)
    bottleneck = None if slowest is None else links[slowest]
    bdp = queue = None
    if bottleneck is not None and bottleneck.rate_bps is not None:
        bdp = bottleneck.rate_bps * base / 8
        queue = _queue_bytes(network, bottleneck.name, flow)
    return FlowExplanation(
        name=flow["name"],
        cc=flow["cc"] or _UDP,
        data=data,
        acks=[links[i].name for i in flow["acks"]],
        base_rtt_s=base,
        empty_rtt_s=empty,
        bottleneck=None if bottleneck is None else bottleneck.name,
        bdp_bytes=bdp,
        queue_bytes=queue,
        loss=loss,
        rwnd_bytes=flow["rwnd_bytes"],
        sndbuf_bytes=flow["sndbuf_bytes"],
        initial_window_bytes=flow["initial_window_bytes"],
        limits=bounds,
        expected_bps=bounds[0].bps if bounds and known else None,
        binds=bounds[0].name if bounds else None,
        near=near,
        notes=[
            *_of_variant(flow, loss, bursts, known),
            *_of_near(bounds, near),
            *_notes(flow, links, slowest, bdp, queue, lossy),
        ],
    )


_OF_HOSTS = ("rwnd", "sndbuf", "application", "packet-rate")
"""Limits that do not react to the network."""

_NEAR = 1.5
"""A limit is near the lowest if it is above it by at most this factor."""


def _near(bounds: list[Limit]) -> list[str]:
    """The limits of hosts that are near the lowest, which is one."""
    if not bounds or bounds[0].name not in _OF_HOSTS:
        return []
    near = [limit.name for limit in bounds[1:] if limit.bps <= _NEAR * bounds[0].bps]
    return [name for name in dict.fromkeys(near) if name in _OF_HOSTS and name != bounds[0].name]


def _of_near(bounds: list[Limit], near: list[str]) -> list[str]:
    if not near:
        return []
    others = " and ".join(near)
    return [f"{others} would soon bind where {bounds[0].name} did not: raise them together"]


def _queue_bytes(network: Network, name: str, flow: FlowFacts) -> float | None:
    """What the queue before the link called `name` holds, in bytes of this flow's packets."""
    link = limits.link_called(network, name)
    if link is None:
        return None
    limit = link["queue"]["limit"]
    if "bytes" in limit:
        return float(limit["bytes"])
    return float(limit["packets"] * flow["packet_bytes"])


def _of_variant(flow: FlowFacts, loss: float, bursts: bool, known: bool) -> list[str]:
    """A note that nothing is expected under loss, unless a formula for the variant is `known`."""
    if flow["source_bps"] is not None:
        return ["datagrams do not slow down: what the network does not carry is lost"]
    if not flow["cc_simulated"]:
        return [
            f"the simulator has no {flow['cc']}, the kernel backends have it: its network is "
            "explained, and no closed form of its response to loss is known"
        ]
    if known:
        return []
    under = "losses in bursts" if bursts else f"a loss of {loss:.3%}"
    return [
        f"no closed form is known here for {flow['cc']} under {under}: nothing is expected, and "
        "its limits say only what it has at most"
    ]


def _notes(
    flow: FlowFacts,
    links: list[limits.RatedLink],
    slowest: int | None,
    bdp: float | None,
    queue: float | None,
    lossy: bool,
) -> list[str]:
    notes = []
    if slowest is not None and under_study_bps(slowest, links) is None:
        notes.append(
            f"its slowest link is {links[slowest].name}, not the bottleneck: the queue under "
            "study will stay empty unless others fill it"
        )
    if bdp is None or queue is None:
        return notes
    # Framing and headers are part of what the path holds.
    inflated = flow["packet_bytes"] / flow["payload_bytes"]
    filling, held = (
        min((w for w in (flow["rwnd_bytes"], of_buffer) if w is not None), default=None)
        for of_buffer in (flow["sndbuf_round_bytes"], flow["sndbuf_bytes"])
    )
    if filling is None or held is None:
        return notes
    if filling * inflated < bdp:
        notes.append(
            f"its window ({filling:,} bytes) is below the path's BDP ({bdp:,.0f} bytes): "
            "it alone never fills the link"
            + (", and its queue never drops a packet" if lossy else " and never loses a packet")
        )
    elif held * inflated < bdp + queue and not lossy:
        notes.append(
            f"its window ({held:,} bytes) fits the path and its queue "
            f"({bdp + queue:,.0f} bytes): alone it loses nothing, and its window, not congestion "
            "control, sets its rate"
        )
    return notes


_UDP = "udp"
"""In the place of the variant of a flow that has none."""

_UNEQUAL = 1.05
"""RTTs that differ by less are alike."""


def _together(flows: list[FlowExplanation]) -> list[str]:
    notes = []
    rtts = sorted({flow.base_rtt_s for flow in flows if flow.base_rtt_s > 0})
    if len(rtts) > 1 and rtts[-1] > _UNEQUAL * rtts[0]:
        ratio = rtts[-1] / rtts[0]
        notes.append(
            f"base RTTs differ by {ratio:.3g}: with Reno's rule the shorter takes about "
            f"{ratio:.3g} times the longer's rate where losses are independent (rate ~ 1/RTT) and "
            f"up to {ratio**2:.3g} times where they are synchronised (1/RTT^2; "
            "Lakshman and Madhow 1997)"
        )
    bounded = [
        f for f in flows if f.binds in _OF_HOSTS and f.expected_bps is not None and f.cc != _UDP
    ]
    if bounded and len(flows) > 1:
        names = groups.folded([flow.name for flow in bounded])
        notes.append(
            f"{names}: limited by {', '.join(sorted({str(f.binds) for f in bounded}))} rather than "
            "by congestion: how they share says nothing about their variants"
        )
    return notes


def _of_courses(network: Network, links: list[limits.RatedLink]) -> list[str]:
    """Links of which more than the rate changes in the course of a run, or at no known instant."""
    notes = []
    times = [change["at"] / 1e9 for change in network.get("graph", {}).get("reroutes", [])]
    if times:
        at = ", ".join(f"{time:g} s" for time in times)
        notes.append(
            f"routes change at {at}: paths, limits and what is expected are those at the start"
        )
    for name in dict.fromkeys(link.name for link in links):
        written = limits.link_called(network, name)
        if written is not None and "triggered" in written:
            notes.append(
                f"{name} changes as a flow's variant comes into a state, at an instant that is not "
                "known before: all is told as it is without these changes"
            )
        changes = [] if written is None else written.get("schedule", [])
        keys = [key for key in ("delay", "loss") if any(key in change for change in changes)]
        if keys:
            notes.append(
                f"the {' and the '.join(keys)} of {name} changes by its schedule: round trips, "
                "windows and losses are told as they are at the start"
            )
    return notes
