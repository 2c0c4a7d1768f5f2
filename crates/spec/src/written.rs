//! The study file as written. These structs are the one list of its keys: the parser, the
//! nearest-name suggestions, the sweep paths and the JSON Schema all come from them, and their
//! comments are the schema's descriptions.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::baseline::Baseline;
use crate::de::At;
use crate::ecn::Ecn;
use crate::flow::{DelayAt, Transport};
use crate::graph::Routing;
use crate::names;
use crate::repeat::Repeat;
use crate::scenario::{By, EventKind, Topology};
use crate::text::{
    BriefOrFull, Command, OneOrMany, PaceText, Param, QueueLimit, RateText, SizeText, SysctlValue,
    TimeText,
};

mod link;
mod placed;
mod probe;
mod traffic;

pub(crate) use link::{
    Access, Bleach, Bottleneck, Change, Distribution, GraphLink, Impairments, Jitter, Loss,
    LossKind, Outage, Remark, Reorder, Reverse, Slots, When,
};
pub(crate) use placed::PlaceKeys;
use placed::placed_table;
pub(crate) use probe::Probe;
pub(crate) use traffic::{Sizes, Traffic};

/// A cclab study: one question about congestion control, and the experiment that answers it.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
#[schemars(rename = "Study")]
pub(crate) struct Study {
    /// One line for headings.
    pub title: Option<String>,
    /// The question that the study answers.
    pub question: Option<String>,
    /// What executes the runs: the simulator, Linux in virtual time, or network namespaces.
    #[serde(default)]
    pub backend: Backend,
    /// When a run ends. Default: when every flow has ended.
    pub duration: Option<At<TimeText>>,
    /// The first part of a run, left out of the `steady_*` metrics. Default: "0s".
    pub warmup: Option<At<TimeText>>,
    /// The seed of the first repeat; repeats count up from it. Default: 1.
    #[serde(default = "one")]
    #[schemars(extend("default" = 1))]
    pub seed: At<u64>,
    /// How often each scenario runs, each time with the next seed: a number, or a rule such as
    /// "until ci95 < 2%". Default: 1.
    #[serde(default = "once")]
    #[schemars(extend("default" = 1))]
    pub repeat: At<Repeat>,
    /// The profile of TCP behaviour: "linux-6.12", "rfc", "ns2" or "ns3-3.1x". Default: "linux-6.12".
    pub stack: Option<At<String>>,
    /// The name of the kernel whose TCP the hosts have on backend "linux": one of `cclab kernel list`.
    /// Default: "6.12".
    pub kernel: Option<At<String>>,
    /// The network.
    pub network: At<Network>,
    /// The flows.
    #[serde(default)]
    pub flow: Vec<At<Flow>>,
    /// Cross traffic.
    #[serde(default)]
    pub traffic: Vec<At<Traffic>>,
    /// Probes: echoes at a fixed interval, which measure the round trip under load.
    #[serde(default)]
    pub probe: Vec<At<Probe>>,
    /// What is recorded.
    pub trace: Option<Trace>,
    /// Dotted paths of keys and the values they take in turn.
    #[expect(
        dead_code,
        reason = "declared for the schema; `sweep` reads it from the document"
    )]
    pub sweep: Option<Sweep>,
    /// The runs to make beside the study's own, for `harm_*` and `friendliness`: each flow alone, each
    /// among its own kind. Default: what the checks of `expect` need.
    #[serde(default)]
    pub baselines: OneOrMany<Baseline>,
    /// Checks by label, such as "jain > 0.95"; one that fails makes the run exit non-zero.
    #[serde(default)]
    pub expect: BTreeMap<String, At<String>>,
}

fn one() -> At<u64> {
    At {
        at: Default::default(),
        value: 1,
    }
}

fn once() -> At<Repeat> {
    At {
        at: Default::default(),
        value: Repeat::Times(1),
    }
}

/// What executes the runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Backend {
    /// The packet-level simulator.
    #[default]
    Sim,
    /// The Linux TCP stack in virtual time.
    Linux,
    /// Network namespaces on this host, in real time.
    Netns,
}

impl Backend {
    /// Its name in study files.
    pub fn name(self) -> &'static str {
        match self {
            Backend::Sim => "sim",
            Backend::Linux => "linux",
            Backend::Netns => "netns",
        }
    }
}

/// The network.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub(crate) struct Network {
    /// How hosts and routers are joined. Default: "dumbbell".
    pub topology: Option<Topology>,
    /// Whose links carry the packets between hosts of a kernel: the simulator's, or the kernel's own,
    /// set up by tc. Default: on backend "linux" the simulator's, on "netns" the kernel's.
    pub by: Option<By>,
    /// How many equal bottlenecks a parking lot has in a row. Default: 3.
    pub bottlenecks: Option<At<u32>>,
    /// The link under study; in a graph one of its links is.
    pub bottleneck: Option<At<Bottleneck>>,
    /// The links between hosts and routers. Default: infinitely fast, without delay.
    pub access: Option<At<Access>>,
    /// Packets per second that each router forwards, whatever their size, both directions
    /// together. Default: whatever comes.
    pub router_packet_rate: Option<At<u64>>,
    /// Packets that may wait for a router with a `router_packet_rate`. Default: 1000.
    pub router_backlog: Option<At<u64>>,
    /// The links of a graph.
    #[serde(default)]
    pub link: Vec<At<GraphLink>>,
    /// The name of the link of a graph that is under study. Default: the one with
    /// `bottleneck = true`.
    pub bottleneck_link: Option<At<String>>,
    /// Which of several shortest ways packets take in a graph: "shortest", all of them the first by
    /// the names of links, or "ecmp", each flow, source of traffic and probe the one that a hash of
    /// its name chooses at each node. Default: "shortest".
    pub routing: Option<At<Routing>>,
    /// Changes of routes during the run, in a graph.
    #[serde(default)]
    pub reroute: OneOrMany<Reroute>,
}

/// A change of routes: from then on they avoid some links, as where those are down.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub(crate) struct Reroute {
    /// When.
    pub at: At<TimeText>,
    /// Names of the links that no route crosses from then on, there and back. Default: none, so
    /// that routes are again what they were.
    pub without: Option<At<OneOrMany<String>>>,
}

/// A queueing discipline, its limit, and its parameters beside them, spelt as tc spells them.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "a table such as { kind = \"droptail\", limit = \"1bdp\" }"
)]
#[schemars(!deny_unknown_fields)]
pub(crate) struct Queue {
    /// The queueing discipline. Default: "droptail".
    #[schemars(extend("enum" = names::qdiscs()))]
    pub kind: Option<At<String>>,
    /// How much it holds: bytes, packets, bandwidth-delay products, or a time at the link's rate.
    pub limit: At<QueueLimit>,
    /// Parameters of the discipline.
    #[schemars(flatten)]
    pub params: Params,
}

/// Parameters by name; times, sizes, rates and shares become SI units.
pub(crate) type Params = BTreeMap<At<String>, Param>;

placed_table! {
    /// A flow of TCP or UDP, or `count` of them.
    Flow {
        /// Unique name: letters, digits, `-` and `_`. Default: "flow1", "flow2", ...
        name: Option<At<String>>,
        /// What carries its data: "tcp", or "udp" for an `application` that sends datagrams. Default:
        /// "tcp"; of a `command` what the program uses.
        transport: Option<At<Transport>>,
        /// The variant (congestion control algorithm) of TCP: its name, or the path of its file, such as
        /// "./tcp_foo.c" or "./mine.py:Mine", from the folder of the study file. Default: "cubic".
        #[schemars(extend("anyOf" = names::variants()))]
        cc: Option<At<String>>,
        /// The name of the kernel that its two hosts have on backend "linux". Default: that of the study.
        kernel: Option<At<String>>,
        /// Parameters of the variant, such as { beta = 0.8 }; `cclab list variants` names them.
        #[serde(default)]
        cc_params: Params,
        /// How many such flows; more than one are called NAME.1, NAME.2, ... With 0 the flow is
        /// absent. Default: 1.
        count: Option<At<u64>>,
        /// The flows that it is one of: several `[[flow]]` may name one group. Default: those of its
        /// own `count`, under its own name; a single flow is in none.
        group: Option<At<String>>,
        /// When it starts: an exact time, or a table with a spread. Default: at "0s" with a spread
        /// of "100ms".
        start: Option<BriefOrFull<TimeText, Start>>,
        /// Bytes to send. Default: as many as time allows.
        transfer: Option<At<SizeText>>,
        /// How long it sends after its start. Default: until the transfer or the run ends.
        duration: Option<At<TimeText>>,
        /// The largest window the receiver advertises. Default: the stack's.
        rwnd: Option<At<SizeText>>,
        /// The send buffer, as a kernel counts it: payload and what its packets take of memory beside.
        /// Default: the stack's.
        sndbuf: Option<At<SizeText>>,
        /// Maximum segment size. Default: the stack's.
        mss: Option<At<SizeText>>,
        /// Bytes per write of the application. Default: as large as fits.
        write_size: Option<At<SizeText>>,
        /// Writes per second. Default: as often as there is room.
        writes_per_second: Option<At<f64>>,
        /// Whether short segments leave at once although data is outstanding (TCP_NODELAY: no Nagle
        /// algorithm). Default: false.
        nodelay: Option<At<bool>>,
        /// Packets per second that each of its two hosts handles, whatever their size, sent and
        /// received together. Default: whatever comes.
        packet_rate: Option<At<u64>>,
        /// The feedback of marks that the flow asks for: false, true (echoes, RFC 3168) or "accecn"
        /// (counts, RFC 9768); or a table with that of each end. Default: false, and what the variant
        /// asks for in any case.
        ecn: Option<At<BriefOrFull<Ecn, EcnOfEnds>>>,
        /// Full segments per acknowledgement; 1 acknowledges every segment. Default: the stack's.
        delayed_ack: Option<At<u32>>,
        /// How its receiver behaves: "honest", or one way of misbehaving, "ack-division",
        /// "duplicate-acks", "optimistic-acks", "loss-concealment", "mark-concealment" or
        /// "mark-exaggeration"; or a table with that as its `kind`. Default: "honest".
        receiver: Option<At<BriefOrFull<String, Receiver>>>,
        /// What the connection remembers of an earlier one on the same path, from which it resumes with
        /// care (RFC 9959). Default: nothing.
        remembered: Option<At<Remembered>>,
        /// The application: "bulk", or a table with its `kind`. Default: bulk.
        application: Option<At<BriefOrFull<String, Application>>>,
        /// A program and its arguments to run instead (kernel backends). {src}, {dst}, {port} and
        /// {duration} stand for the flow's addresses, the receiver's port and seconds.
        command: Option<At<Command>>,
        /// The receiving host's program beside `command`, with the same placeholders. Default: what
        /// serves iperf3, iperf or netperf; for other programs a port that discards what comes.
        server: Option<At<Command>>,
        /// Where the base RTT is added (kernel backends). Default: "router".
        delay_at: Option<DelayAt>,
        /// Packets that the sending host's interface holds, delayed or waiting for the link, with
        /// `delay_at = "sender"`; one that finds as many there is lost. Default: all that come.
        delay_limit: Option<At<u32>>,
        /// Kernel settings by their sysctl name; lists are joined by spaces.
        #[serde(default)]
        sysctl: BTreeMap<String, SysctlValue>,
    }
}

/// A start within an interval, drawn from the run's seed.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "a table such as { at = \"1s\", spread = \"100ms\" }"
)]
pub(crate) struct Start {
    /// The earliest start. Default: "0s".
    pub at: Option<TimeText>,
    /// The width of the interval. Default: "100ms".
    pub spread: Option<TimeText>,
}

/// The feedback of marks that each end of a flow is ready for.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "a table such as { sender = \"accecn\", receiver = true }"
)]
pub(crate) struct EcnOfEnds {
    /// What the sender asks for. Default: false, and what the variant asks for in any case.
    pub sender: Option<Ecn>,
    /// The most that the receiver agrees to. Default: what the sender asks for.
    pub receiver: Option<Ecn>,
}

/// How a receiver behaves.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "a table such as { kind = \"ack-division\", pieces = 4 }"
)]
pub(crate) struct Receiver {
    /// What it does, as `receiver` without a table.
    pub kind: String,
    /// Acknowledgements for each full segment (ack-division). Default: 4.
    pub pieces: Option<At<u32>>,
    /// Copies of each acknowledgement (duplicate-acks). Default: 3.
    pub copies: Option<At<u32>>,
    /// Full segments beyond those that came (optimistic-acks). Default: 4.
    pub ahead: Option<At<u32>>,
}

/// What an earlier connection on the same path left.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "a table such as { window = \"18.75MB\", rtt = \"600ms\" }"
)]
pub(crate) struct Remembered {
    /// Bytes that it had in flight; the connection resumes at half of that.
    pub window: At<SizeText>,
    /// Its smallest round-trip time.
    pub rtt: At<TimeText>,
}

/// An application, with the parameters of its kind.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "a table such as { kind = \"telnet\", interval = \"200ms\" }"
)]
pub(crate) struct Application {
    /// What it is: "bulk", "scheduled", "frames", "on-off", "request-response" or "telnet"; over UDP
    /// "constant-rate", "on-off" or "video".
    pub kind: String,
    /// While it is on (constant-rate, on-off): bits of payload per second.
    pub rate: Option<RateText>,
    /// Mean time of writing (on-off). Default: "500ms".
    pub on: Option<TimeText>,
    /// Mean time between (on-off). Default: "500ms".
    pub off: Option<TimeText>,
    /// Mean time between an answer and the next request (request-response). Default: "1s".
    pub think: Option<TimeText>,
    /// Bytes of an answer (request-response).
    pub response: Option<SizeText>,
    /// Whether times are always the mean instead of exponentially distributed. Default: false.
    #[serde(default)]
    pub constant: bool,
    /// Mean time between keystrokes (telnet). Default: "500ms".
    pub interval: Option<TimeText>,
    /// Whether short segments wait while data is outstanding (telnet). Default: true.
    pub nagle: Option<bool>,
    /// Bytes of payload of a full datagram (over UDP). Default: "1200B".
    pub payload: Option<At<SizeText>>,
    /// Frames per second (frames, video). Default: 30.
    pub frame_rate: Option<At<f64>>,
    /// Bytes of a frame that needs no other (frames, video). Default: "60kB".
    pub i_frame: Option<At<SizeText>>,
    /// Bytes of a frame that needs the one before it (frames, video). Default: "12kB".
    pub p_frame: Option<At<SizeText>>,
    /// Frames from one that needs no other to the next (frames, video). Default: 30.
    pub group: Option<At<u32>>,
    /// How long after its making a frame is shown, if it is there (frames, video). Default: "150ms".
    pub deadline: Option<At<TimeText>>,
    /// A frame is left out, and with it those of its group that follow, if one that was made so long
    /// before waits to be sent (frames). Default: none is left out.
    pub skip_after: Option<At<TimeText>>,
    /// When it writes otherwise than before (scheduled); one change or several.
    #[serde(default)]
    pub schedule: OneOrMany<PaceChange>,
}

/// From when on an application writes otherwise.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "a table such as { at = \"40s\", rate = \"0\" }"
)]
pub(crate) struct PaceChange {
    /// When, counted from the run's start.
    pub at: At<TimeText>,
    /// Bits of payload per second from then on, "0" for a pause, or "unlimited".
    pub rate: PaceText,
}

/// What is recorded. What is off costs nothing.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub(crate) struct Trace {
    /// Distance of the samples of each flow and queue; "0s": none. Default: "100ms".
    pub interval: Option<At<TimeText>>,
    /// One row per event of these kinds. Default: none.
    #[serde(default)]
    pub events: Vec<EventKind>,
    /// Points of packet capture: "bottleneck", "FLOW.sender", "FLOW.receiver", or a link by its name
    /// (docs/topologies.md). Default: none.
    #[serde(default)]
    pub capture: Vec<At<String>>,
    /// Bytes kept of each captured packet. Default: "96B".
    pub snaplen: Option<At<SizeText>>,
    /// Events and captures begin here. Default: "0s".
    pub from: Option<At<TimeText>>,
    /// Events and captures end here. Default: at the run's end.
    pub until: Option<At<TimeText>>,
}

/// Dotted paths such as "flow.NAME.cc" and the list of values each takes. Several paths make
/// a product; the paths of a group in `zip` advance together.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table of lists")]
#[schemars(!deny_unknown_fields)]
#[expect(
    dead_code,
    reason = "declared for the schema; `sweep` reads it from the document"
)]
pub(crate) struct Sweep {
    /// Groups of paths that advance together: lists of equal length.
    #[serde(default)]
    pub zip: Vec<Vec<String>>,
    /// The values of each path.
    #[schemars(flatten)]
    pub params: BTreeMap<String, serde_json::Value>,
}
