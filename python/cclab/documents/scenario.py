"""A scenario: what a run does, in integers of one unit.

Made of the core's types by `make document-types`: please change those instead.
"""

from __future__ import annotations

from typing import Literal, NotRequired, TypeAlias, TypedDict

By: TypeAlias = Literal["kernel", "simulator"]
"""Whose links carry the packets of a kernel's hosts."""


Codepoint: TypeAlias = Literal["not-ect", "ect1", "ect0", "ce"]
"""A codepoint of the ECN field (RFC 3168 section 5), as study files name it."""


DelayAt: TypeAlias = Literal["router", "sender"]
"""Where a flow's base delay is added."""


Direction: TypeAlias = Literal["forward", "reverse"]
"""Which way a flow's data travels over the bottleneck."""


EventKind: TypeAlias = Literal["ack", "queue", "drop", "state"]
"""A kind of traced event."""


class Forwarder(TypedDict):
    """
    A router whose processor is the limit: it forwards one packet after the other, whatever
    their size and direction.
    """

    backlog: int
    """Packets that may wait for it."""
    packet_rate: int
    """Packets per second, both directions together."""


class GilbertElliott(TypedDict):
    """
    A channel of two states (E. N. Gilbert, Bell System Technical Journal 39, 1960; E. O.
    Elliott, 42, 1963) with the parameters that netem's `gemodel` has. Every packet is judged by
    the state that it finds, and the state may change behind it.
    """

    bad: float
    """Probability of loss in the bad state (netem's `1-h`)."""
    good: float
    """Probability of loss in the good state (netem's `1-k`)."""
    p: float
    """Probability that the state turns bad behind a packet of the good state."""
    r: float
    """Probability that it turns good behind a packet of the bad state."""


Language: TypeAlias = Literal["c", "python", "rust"]
"""What a variant's file is written in."""


class Limit(TypedDict):
    """
    The size of a queue. Times and bandwidth-delay products have become bytes.

    It has one of these keys.
    """

    bytes: NotRequired[int]
    """Bytes, headers and framing included."""
    packets: NotRequired[int]
    """Packets."""


class ListedPackets(TypedDict):
    """Data packets that are lost: the n-th that pass the place, retransmissions included."""

    flow: NotRequired[str]
    """The flow whose packets count; absent: those of all flows."""
    packets: list[int]
    """Their numbers, counted from 1, in order."""


class AckDivisionMisbehaviour(TypedDict):
    """It acknowledges each full segment in several steps."""

    kind: Literal["ack-division"]
    pieces: int
    """Acknowledgements for each full segment."""


class DuplicateAcksMisbehaviour(TypedDict):
    """It repeats each acknowledgement."""

    copies: int
    """Copies that follow each."""
    kind: Literal["duplicate-acks"]


class OptimisticAcksMisbehaviour(TypedDict):
    """It acknowledges segments that have not come yet, and never asks for those that are lost."""

    ahead: int
    """Full segments beyond those that came."""
    kind: Literal["optimistic-acks"]


class LossConcealmentMisbehaviour(TypedDict):
    """It acknowledges gaps as if they had come."""

    kind: Literal["loss-concealment"]


class MarkConcealmentMisbehaviour(TypedDict):
    """It takes marked segments for unmarked ones."""

    kind: Literal["mark-concealment"]


class MarkExaggerationMisbehaviour(TypedDict):
    """It takes all segments for marked ones."""

    kind: Literal["mark-exaggeration"]


Misbehaviour: TypeAlias = (
    AckDivisionMisbehaviour
    | DuplicateAcksMisbehaviour
    | OptimisticAcksMisbehaviour
    | LossConcealmentMisbehaviour
    | MarkConcealmentMisbehaviour
    | MarkExaggerationMisbehaviour
)
"""How a receiver misbehaves (RFC 9743 section 7.6)."""


Place: TypeAlias = Literal["sender", "router", "receiver"]
"""Where on the path something happens to packets."""


ProbeKind: TypeAlias = Literal["ping", "udp"]
"""What a probe sends."""


class Queue(TypedDict):
    """A queueing discipline and its limit."""

    kind: str
    """Name in the registry of queueing disciplines."""
    limit: Limit
    """How much it holds."""
    params: NotRequired[dict[str, float]]
    """Parameters of the discipline, by name."""


Rate: TypeAlias = int
"""A positive rate in bits per second."""


class Remark(TypedDict):
    """A change of the codepoint of ECN in the IP header of packets that pass a place."""

    at: Place
    """Where."""
    probability: float
    """The probability that a packet is changed."""
    to: dict[str, Codepoint]
    """What each codepoint becomes; those that stay are absent."""


Routing: TypeAlias = Literal["shortest", "ecmp"]
"""Which of several shortest ways packets take: those of the same delay and as many links."""


class FixedSizes(TypedDict):
    """All alike."""

    bytes: int
    """So large."""
    kind: Literal["fixed"]


class LognormalSizes(TypedDict):
    """Lognormal."""

    kind: Literal["lognormal"]
    mean: float
    """Mean."""
    sigma: float
    """Standard deviation of the logarithm."""


class ParetoSizes(TypedDict):
    """Pareto."""

    kind: Literal["pareto"]
    mean: float
    """Mean."""
    shape: float
    """Exponent of the tail, above 1."""


class EmpiricalSizes(TypedDict):
    """
    As measured: linear between points of the cumulative distribution, the first of which is
    the share of its own size.
    """

    kind: Literal["empirical"]
    points: list[tuple[int, float]]
    """Size and the share of transfers up to it, rising to 1."""


Sizes: TypeAlias = FixedSizes | LognormalSizes | ParetoSizes | EmpiricalSizes
"""How large transfers are, in bytes."""


Time: TypeAlias = int
"""
Virtual time in integer nanoseconds: an instant since the run's beginning, or a span.

Additions saturate at `Time.NEVER` and subtractions at zero, so that "never" stays
never and the span between two instants out of order is empty, not a wrap.
"""


Topology: TypeAlias = Literal["chain", "dumbbell", "parking-lot", "graph"]
"""How hosts and routers are joined."""


class VariantFile(TypedDict):
    """
    The file of a variant, with all that it takes in from its folder. Where that folder is, it does
    not say: the same content elsewhere is the same file.
    """

    file: str
    """The file's name, without its folder."""
    label: str
    """What the flows of the scenario call it, as their `cc`; no built-in variant has this name."""
    language: Language
    """What it is written in."""
    name: str
    """
    What it calls itself: what the C file registers, the Python class, the name
    that the Rust file declares.
    """
    sha256: str
    """SHA-256 of the names and texts of `texts`, in hexadecimal digits."""
    texts: dict[str, str]
    """The text of the file and of those that it takes in, by their paths from its folder."""


FlowFrom = TypedDict(
    "FlowFrom",
    {"from": NotRequired[str]},
)


GraphLinkFrom = TypedDict(
    "GraphLinkFrom",
    {"from": str},
)


LossModelGilbertElliott = TypedDict(
    "LossModelGilbertElliott",
    {"gilbert-elliott": NotRequired[GilbertElliott]},
)


ProbeFrom = TypedDict(
    "ProbeFrom",
    {"from": NotRequired[str]},
)


TraceOptionsFrom = TypedDict(
    "TraceOptionsFrom",
    {"from": Time},
)


TrafficFrom = TypedDict(
    "TrafficFrom",
    {"from": NotRequired[str]},
)


WhenIs = TypedDict(
    "WhenIs",
    {"is": str | bool | float},
)


class OnOffApplication(TypedDict):
    """Writes at a rate for a time, then nothing for a time."""

    constant: bool
    """Whether these times are always the same instead of exponentially distributed."""
    kind: Literal["on-off"]
    off: Time
    """Mean time between."""
    on: Time
    """Mean time of writing."""
    rate: Rate
    """While it writes: payload."""


class RequestResponseApplication(TypedDict):
    """Answers requests, which ride on the acknowledgement of the last answer."""

    constant: bool
    """Whether that time is always the same instead of exponentially distributed."""
    kind: Literal["request-response"]
    response: int
    """Bytes of an answer."""
    think: Time
    """Mean time between the acknowledgement of an answer and the next request."""


class TelnetApplication(TypedDict):
    """Someone types."""

    interval: Time
    """Mean time between keystrokes, exponentially distributed."""
    kind: Literal["telnet"]
    nagle: bool
    """Whether short segments wait while data is outstanding (Nagle)."""


class FramesApplication(TypedDict):
    """Frames of audio or video, each written when it is made."""

    deadline: Time
    """How long after its making a frame is shown."""
    frame_rate: float
    """Frames per second."""
    group: int
    """Frames from one that needs no other to the next."""
    i_frame: int
    """Bytes of a frame that needs no other."""
    kind: Literal["frames"]
    p_frame: int
    """Bytes of a frame that needs the one before it."""
    skip_after: NotRequired[Time]
    """
    A frame is left out, and with it those of its group that follow, if one that was made so long
    before waits to be sent; absent: none ever is.
    """


class ConstantRateDatagrams(TypedDict):
    """Full datagrams at equal distances."""

    kind: Literal["constant-rate"]
    payload: int
    """Bytes of payload of a datagram."""
    rate: Rate
    """Payload per second."""


class OnOffDatagrams(TypedDict):
    """Full datagrams at equal distances for a time, then none for a time."""

    constant: bool
    """Whether these times are always the same instead of exponentially distributed."""
    kind: Literal["on-off"]
    off: Time
    """Mean time between."""
    on: Time
    """Mean time of sending."""
    payload: int
    """Bytes of payload of a datagram."""
    rate: Rate
    """Payload per second while it sends."""


class VideoDatagrams(TypedDict):
    """Frames of a video, each sent at once."""

    deadline: Time
    """How long after its making a frame is shown."""
    frame_rate: float
    """Frames per second."""
    group: int
    """Frames from one that needs no other to the next."""
    i_frame: int
    """Bytes of a frame that needs no other."""
    kind: Literal["video"]
    p_frame: int
    """Bytes of a frame that needs the one before it."""
    payload: int
    """The most bytes of payload of a datagram."""


Datagrams: TypeAlias = ConstantRateDatagrams | OnOffDatagrams | VideoDatagrams
"""A source of datagrams."""


class UniformJitter(TypedDict):
    """Every delay from zero to the largest is as likely."""

    distribution: Literal["uniform"]
    max: Time
    """The largest extra delay."""
    reorder: bool
    """Whether packets may overtake each other by it."""


class NormalJitter(TypedDict):
    """
    Around half of the largest, which is three standard deviations from either end; what
    falls beyond an end is at that end.
    """

    distribution: Literal["normal"]
    max: Time
    """The largest extra delay."""
    reorder: bool
    """Whether packets may overtake each other by it."""


class WifiJitter(TypedDict):
    """
    That of a Wi-Fi network with many others around (draft-huitema-ccwg-c4-test-04, section
    "Handling of High Jitter Environments").
    """

    average: Time
    """The average that the model is asked for."""
    distribution: Literal["wifi"]
    reorder: bool
    """Whether packets may overtake each other by it."""


Jitter: TypeAlias = UniformJitter | NormalJitter | WifiJitter
"""Random extra delay."""


class LossModel(LossModelGilbertElliott):
    """
    Which packets are lost.

    It has one of these keys.
    """

    random: NotRequired[float]
    """Each with this probability, independently of the others."""
    packets: NotRequired[ListedPackets]
    """Those of a list."""


class Outage(TypedDict):
    """A time during which every packet is lost."""

    at: Place
    """Where."""
    duration: Time
    """How long it lasts."""
    start: Time
    """When it begins."""


class PaceChange(TypedDict):
    """From when on an application writes otherwise."""

    at: Time
    """When, counted from the run's start."""
    rate: NotRequired[int]
    """Payload per second from then on, 0 for none; absent: as much as there is room for."""


class Probe(ProbeFrom):
    """
    A probe: a host that sends an echo every `interval`, whatever becomes of it, and another one
    that answers.
    """

    crosses: NotRequired[list[int]]
    """The first and the last bottleneck that it crosses, counted from 1; absent: all."""
    direction: Direction
    """Which way the requests go; the answers go the other way."""
    extra_delay: Time
    """Extra one-way delay, each way, so that the path has the base RTT asked for."""
    interval: Time
    """From one to the next."""
    kind: ProbeKind
    """What it sends."""
    name: str
    """Unique name."""
    payload: int
    """Bytes of data of each, beyond its headers."""
    start: Time
    """When the first is sent."""
    stop: NotRequired[Time]
    """No more are sent from then on; absent: until the run's end."""
    to: NotRequired[str]
    """The node of a graph that they go to."""


class Remembered(TypedDict):
    """What an earlier connection on the same path left (RFC 9959)."""

    rtt: Time
    """Its smallest round-trip time."""
    window: int
    """Bytes that it had in flight."""


class Reorder(TypedDict):
    """Packets that are held back, so that later ones overtake them."""

    delay: Time
    """For how long."""
    probability: float
    """Probability that a packet is."""


class Reroute(TypedDict):
    """A change of routes: from then on they are the shortest ways without some links."""

    at: Time
    """When."""
    without: list[int]
    """Indices in `Graph.links` of those that no route crosses."""


class Slots(TypedDict):
    """
    Instants at which packets that wait may pass, in order: those that come between two wait for
    the second, as behind a link that aggregates packets (Wi-Fi, DOCSIS, LTE).

    Where a change has them, slots every 0 ns are none.
    """

    bytes: NotRequired[int]
    """
    The bytes, with link framing, by which one is used up: the packet that comes to them or
    beyond is the last; absent: as many as come.
    """
    every: list[Time]
    """The shortest and the longest time until a slot opens."""
    packets: NotRequired[int]
    """The most packets that one lets pass; absent: all that wait."""


class Start(TypedDict):
    """
    When a flow starts: at `at`, or, to break phase effects, at a uniformly random time within
    `spread` after it, drawn from the run's seed.
    """

    at: Time
    """The earliest start."""
    spread: Time
    """The width of the interval the start is drawn from."""


class TraceOptions(TraceOptionsFrom):
    """What is recorded. Everything costs nothing when it is off."""

    capture: list[str]
    """
    Points at which packets are captured: `bottleneck`, `FLOW.sender`, `FLOW.receiver`, and links
    by their names.
    """
    events: list[EventKind]
    """One row per acknowledgement, per queue event, per drop."""
    interval: Time
    """Distance of the samples of each flow and queue; zero: none."""
    snaplen: int
    """Bytes of each captured packet that are kept."""
    until: Time | None
    """Events and captures end here; absent: at the run's end."""


class Traffic(TrafficFrom):
    """Cross traffic."""

    cc: NotRequired[str]
    """Name of the variant, or the label of its file, of kinds that are TCP."""
    cc_params: NotRequired[dict[str, float]]
    """Parameters of the variant."""
    crosses: NotRequired[list[int]]
    """The first and the last bottleneck that it crosses, counted from 1; absent: all."""
    direction: Direction
    """Which way its data go."""
    extra_delay: Time
    """Extra one-way delay, each way, so that the path has the base RTT asked for."""
    kind: str
    """Its kind; `cclab list traffic` has them."""
    name: str
    """Unique name."""
    params: dict[str, float]
    """Parameters by name, in SI units, defaults filled in."""
    sizes: NotRequired[Sizes]
    """Sizes of transfers, of kinds that have them."""
    start: Time
    """When it begins."""
    stop: NotRequired[Time]
    """When it ends; absent: with the run."""
    to: NotRequired[str]
    """The node of a graph that the data go to."""
    twin_of: NotRequired[str]
    """The source whose random numbers it draws, and so its arrivals and sizes."""


class When(WhenIs):
    """A column of the inner state of a flow's variant becomes a value."""

    column: str
    """The column of the state of its variant."""
    flow: str
    """The flow."""
    nth: NotRequired[int]
    """The n-th time that it becomes this value counts."""


class ScheduledApplication(TypedDict):
    """Writes as much as there is room for, pauses, or keeps to a rate, as a schedule says."""

    kind: Literal["scheduled"]
    schedule: list[PaceChange]
    """The changes, in the order of time; before the first it writes what there is room for."""


Application: TypeAlias = (
    OnOffApplication
    | RequestResponseApplication
    | TelnetApplication
    | FramesApplication
    | ScheduledApplication
)
"""What writes to a flow, if it is not bulk."""


class Change(TypedDict):
    """A change of a link at an instant."""

    at: Time
    """When: since the beginning of the run, or, of a change that waits for a state, since that."""
    delay: NotRequired[Time]
    """New one-way delay."""
    jitter: NotRequired[Time]
    """New largest extra delay of the jitter, or its new average."""
    loss: NotRequired[float]
    """New probability of independent loss in front of the queue, instead of those before."""
    rate: NotRequired[Rate]
    """New rate."""
    slots: NotRequired[Slots]
    """New slots instead of those before."""


class Flow(FlowFrom):
    """One flow."""

    application: NotRequired[Application]
    """The application; absent: bulk."""
    cc: str
    """
    Name of the variant, or the label of a file of `Scenario.variant_files`; empty of a flow
    with `Flow.udp`, which has none.
    """
    cc_params: NotRequired[dict[str, float]]
    """Parameters of the variant, by name."""
    command: NotRequired[list[str]]
    """A program to run instead (kernel backends)."""
    crosses: NotRequired[list[int]]
    """The first and the last bottleneck that the flow crosses, counted from 1; absent: all."""
    delay_at: DelayAt
    """Where the base delay is added (kernel backends)."""
    delay_limit: NotRequired[int]
    """
    Packets that the sending host's interface holds, delayed or waiting for the link; absent:
    all that come. With `delay_at` of the sender alone.
    """
    delayed_ack: int | None
    """Segments per acknowledgement; absent: the profile's. 1 acknowledges every segment."""
    direction: Direction
    """Which way the data goes."""
    duration: Time | None
    """How long it sends after its start; absent: until the transfer or the run ends."""
    ecn: bool | Literal["accecn"]
    """
    The feedback of marks that the flow asks for; `false`: it negotiates no ECN, unless its variant
    always does.
    """
    extra_delay: Time
    """
    Extra one-way delay that this flow's access link adds, each way, so that the path has
    the base RTT asked for.
    """
    group: NotRequired[str]
    """The group that the study file names; `Flow.group` knows those of a `count`, too."""
    kernel: NotRequired[str]
    """The name of its two hosts' kernel; absent: that of the scenario. (Backend `linux`.)"""
    mss: int | None
    """Maximum segment size in bytes; absent: the profile's."""
    name: str
    """Unique name; flows of a `count` are `name.1`, `name.2`, ..."""
    nodelay: NotRequired[bool]
    """Whether short segments leave at once although data is outstanding (no Nagle algorithm)."""
    packet_rate: NotRequired[int]
    """
    Packets per second that each of its two hosts handles, sent and received together;
    absent: whatever comes.
    """
    receiver: NotRequired[Misbehaviour]
    """What its receiver does otherwise than an honest one; absent: nothing."""
    receiver_ecn: NotRequired[bool | Literal["accecn"]]
    """The most that its receiver agrees to; absent: whatever it asks for."""
    remembered: NotRequired[Remembered]
    """What its connection remembers of an earlier one on its path (RFC 9959); absent: nothing."""
    rwnd: int | None
    """The largest window the receiver advertises, in bytes; absent: the profile's."""
    server: NotRequired[list[str]]
    """
    The receiving host's program beside `command`; absent: the known counterpart of the
    client, if there is one.
    """
    sndbuf: NotRequired[int]
    """Bytes of memory of the send buffer; absent: the profile's."""
    start: Start
    """When it starts."""
    sysctl: NotRequired[dict[str, str]]
    """Kernel settings by their sysctl name; lists are joined by spaces."""
    to: NotRequired[str]
    """The node of a graph that the data go to."""
    transfer: int | None
    """Bytes to send; absent: as many as time allows."""
    udp: NotRequired[Datagrams]
    """What sends datagrams of UDP; absent: the flow is TCP, or a program."""
    write_size: int | None
    """Bytes per write of the application; absent: as large as fits."""
    writes_per_second: float | None
    """Writes per second; absent: as often as there is room."""


class Loss(TypedDict):
    """A loss of packets, whatever they carry."""

    at: Place
    """Where."""
    model: LossModel
    """Which packets."""


class Triggered(TypedDict):
    """A change of a link that waits for the state of a flow's variant."""

    change: Change
    """What becomes of the link then."""
    when: When
    """What it waits for."""


class Link(TypedDict):
    """
    A link. Rate, delay and queue hold both ways; the impairments act on the direction that
    carries data.
    """

    corrupt: NotRequired[float]
    """Probability that a packet is changed on the way, so that the receiving host discards it."""
    delay: Time
    """One-way propagation delay."""
    duplicate: NotRequired[float]
    """Probability that a packet arrives at the queue twice."""
    jitter: NotRequired[Jitter]
    """Random extra delay of every packet."""
    loss: NotRequired[list[Loss]]
    """Losses."""
    outage: NotRequired[list[Outage]]
    """Timed outages."""
    queue: Queue
    """The queue in front of the transmitter."""
    rate: Rate | None
    """
    Bits per second; absent: infinitely fast. Of a link that follows a trace, the mean: what
    utilization and queue limits are measured by.
    """
    remark: NotRequired[list[Remark]]
    """Codepoints of ECN that are changed."""
    reorder: NotRequired[Reorder]
    """Packets that are held back and overtaken."""
    reverse: NotRequired[Link]
    """The way back, where it is not the mirror image (`Link.way_back`)."""
    schedule: NotRequired[list[Change]]
    """Changes during the run, in the order of time."""
    slots: NotRequired[Slots]
    """Packets that wait for slots behind the wire."""
    trace: NotRequired[str]
    """When the link sends, instead of at its rate."""
    triggered: NotRequired[list[Triggered]]
    """Changes that wait for the state of a flow's variant, in the order of the study file."""


class GraphLink(GraphLinkFrom):
    """A link of a graph."""

    link: Link
    """What it is like, both ways; losses, outages and the rest act from `from` to `to`."""
    name: str
    """Unique name."""
    one_way: NotRequired[bool]
    """Whether there is no way back."""
    to: str
    """Node at its end."""


class Graph(TypedDict):
    """
    The links of a `topology = "graph"`. Nodes are what links join: hosts and routers are told
    apart by what runs on them alone.
    """

    bottleneck: int
    """Index of the link under study, in the direction from `from` to `to`."""
    links: list[GraphLink]
    """Every link, in the order of the study file."""
    reroutes: NotRequired[list[Reroute]]
    """Changes of routes during the run, in the order of time."""
    routing: NotRequired[Routing]
    """Which of several shortest ways packets take."""


class Network(TypedDict):
    """The network of a scenario."""

    access: Link
    """The links between hosts and routers."""
    bottleneck: Link
    """The link under study, and its mirror image for the way back."""
    bottlenecks: NotRequired[int]
    """How many such bottlenecks there are in a row: 1 but in a parking lot."""
    by: NotRequired[By]
    """Whose links carry the packets; absent: those that the backend likes best."""
    graph: NotRequired[Graph]
    """The links of a graph, of which the bottleneck is one."""
    router: NotRequired[Forwarder]
    """What each router forwards at most; absent: whatever comes."""
    topology: Topology
    """How hosts and routers are joined."""


class Scenario(TypedDict):
    """
    One sweep point of a study, ready to run. Holds only what can change a result, so that a
    run's content hash does not depend on titles, questions or the order of keys.
    """

    duration: Time | None
    """When the run ends; absent: when every flow has ended."""
    flows: list[Flow]
    """The flows, `count` unrolled, in the order of the study file."""
    kernel: NotRequired[str]
    """
    The name of the kernel of hosts that have none of their own; absent: that which is used by
    default. (Backend `linux`.)
    """
    network: Network
    """The network."""
    probes: NotRequired[list[Probe]]
    """Probes."""
    stack: str
    """Name of the profile of TCP behaviour."""
    trace: TraceOptions
    """What is recorded."""
    traffic: NotRequired[list[Traffic]]
    """Cross traffic."""
    variant_files: NotRequired[list[VariantFile]]
    """
    The files of variants that flows and cross traffic have, each once, in the order of their
    labels.
    """
    warmup: Time
    """Left out of the `steady_*` metrics."""
