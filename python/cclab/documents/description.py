"""A scenario as the simulator sees it.

Made of the core's types by `make document-types`: please change those instead.
"""

from __future__ import annotations

from typing import TypedDict


class FlowFacts(TypedDict):
    """A flow."""

    ack_bytes: int
    """Bytes of an acknowledgement on a link."""
    ack_every: int
    """Segments per acknowledgement."""
    acks: list[int]
    """Links that its acknowledgements cross."""
    alone_s: float | None
    """
    How long its transfer takes alone on the empty path, in seconds (docs/traffic.md); None
    of a flow without one, and where something else than the path sets its pace: its
    application, its writes, a program, the packet rate of a host or router.
    """
    base_rtt_s: float
    """Propagation over the whole path and back, in seconds."""
    cc: str
    """Its variant; empty over UDP."""
    cc_params: dict[str, float]
    """The variant's parameters: as given, else their defaults; those without either are absent."""
    cc_simulated: bool
    """Whether the simulator has that variant."""
    counts_segments: bool
    """Whether its window counts whole segments, as the modules of Linux do."""
    data: list[int]
    """Links that its data crosses, in order, as indices of `Description.links`."""
    initial_window_bytes: int
    """Initial window in bytes."""
    name: str
    """Its name."""
    packet_bytes: int
    """Bytes of a full packet on a link."""
    payload_bytes: int
    """Payload bytes of a full segment."""
    rto_min_s: float
    """Smallest retransmission timeout, in seconds."""
    rwnd_bytes: int | None
    """Largest window that the receiver advertises, in bytes; None over UDP."""
    segments_per_step: int
    """
    Segments acknowledged for each step of the window: 1 where the stack counts what an
    acknowledgement covers, `ack_every` where it counts acknowledgements.
    """
    sndbuf_bytes: int | None
    """Bytes of payload that the send buffer ever holds; None: no limit."""
    sndbuf_round_bytes: int | None
    """
    Bytes of payload that it lets go in a round trip, at most: fewer than it holds where the
    application writes again only when a part is free.
    """
    source_bps: float | None
    """Over UDP, the payload that its source sends in the mean, in bit/s."""


class LinkFacts(TypedDict):
    """A link in one direction."""

    delay_s: float
    """One-way propagation delay in seconds."""
    name: str
    """Its name in traces."""
    rate_bps: int | None
    """Bits per second; None: infinitely fast."""


class ProbeFacts(TypedDict):
    """A probe."""

    acks: list[int]
    """Links that its answers cross."""
    base_rtt_s: float
    """Propagation over the whole path and back, in seconds."""
    data: list[int]
    """Links that its requests cross, in order, as indices of `Description.links`."""
    idle_rtt_s: float
    """The round trip on the empty path: that and the transmission of request and answer."""
    kind: str
    """Its kind."""
    load_bps: float
    """What it sends each way."""
    name: str
    """Its name."""
    packet_bytes: int
    """Bytes of a packet on a link."""


class TrafficFacts(TypedDict):
    """A source of cross traffic."""

    acks: list[int]
    """Links that acknowledgements, requests and replies cross."""
    base_rtt_s: float
    """Propagation over the whole path and back, in seconds."""
    data: list[int]
    """Links that its data crosses, in order, as indices of `Description.links`."""
    framing_bytes: int
    """Bytes of link framing of a packet."""
    header_bytes: int
    """Bytes on a link beyond the payload of a segment of its connections."""
    kind: str
    """Its kind."""
    mean_size_bytes: float | None
    """Bytes that its transfers or answers have on average; None of kinds without."""
    name: str
    """Its name."""
    payload_bytes: int
    """Payload bytes of a full segment of its connections."""


class Description(TypedDict):
    """A scenario's network and flows, for people. Lists are in the scenario's order."""

    flows: list[FlowFacts]
    """Every flow."""
    links: list[LinkFacts]
    """Every link in one direction."""
    probes: list[ProbeFacts]
    """Every probe."""
    traffic: list[TrafficFacts]
    """Every source of cross traffic."""
