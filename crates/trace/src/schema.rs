//! The rows of a trace. Times are virtual, windows and counts are bytes of payload unless the
//! name says otherwise. A column is named `FIELD_ns`, `FIELD_bytes`, `FIELD_bps` by its unit.

mod datagrams;

use cclab_units::{Rare, Rate, Time};

use serde::{Deserialize, Serialize};

use crate::Histogram;

pub use datagrams::{Datagrams, Frames, FramesRow, WayRow};

/// `flow_samples.parquet`: the state of a flow at a multiple of the sampling interval, and at
/// the marks (end of warm-up, last start, first end, end of run).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FlowSample {
    /// Index of the flow.
    pub flow: u32,
    /// Congestion window.
    pub cwnd: u64,
    /// Slow-start threshold; absent while unlimited.
    pub ssthresh: Option<u64>,
    /// Smoothed RTT; absent before the first sample.
    pub srtt: Option<Time>,
    /// Estimated bytes in the network.
    pub in_flight: u64,
    /// Window the receiver last advertised, after scaling.
    pub rwnd: u64,
    /// Most recent delivery-rate sample.
    pub delivery_rate: Option<Rate>,
    /// Pacing rate in force, if the flow paces.
    pub pacing_rate: Option<Rate>,
    /// First unacknowledged byte, as an offset from the first byte of data.
    pub snd_una: u64,
    /// Next new byte to send, as an offset from the first byte of data.
    pub snd_nxt: u64,
    /// In-order bytes the receiving application got so far; over UDP the payload that arrived.
    pub bytes_received: u64,
    /// Data segments or datagrams sent so far, retransmissions included.
    pub segments_sent: u64,
    /// Segments retransmitted so far.
    pub retransmits: u64,
}

/// `queue_samples.parquet`: the state of the bottleneck at the same instants.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct QueueSample {
    /// Index of the link in [`RunSummary::links`].
    pub link: u32,
    /// Bytes waiting.
    pub backlog: u64,
    /// Packets waiting.
    pub backlog_packets: u64,
    /// Bytes transmitted so far, headers and framing included.
    pub tx_bytes: u64,
    /// Packets dropped by the queue so far.
    pub drops: u64,
    /// Packets ECN-marked by the queue so far.
    pub marks: u64,
    /// Bytes that the link could have transmitted so far; absent where its rate is constant.
    pub capacity: Option<u64>,
}

/// `acks.parquet`: the sender's state after it took in an acknowledgement.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AckEvent {
    /// Index of the flow.
    pub flow: u32,
    /// Acknowledged cumulatively, as an offset from the first byte of data.
    pub snd_una: u64,
    /// Next new byte to send, as an offset.
    pub snd_nxt: u64,
    /// Bytes newly acknowledged cumulatively.
    pub newly_acked: u64,
    /// Congestion window in force (recovery included).
    pub cwnd: u64,
    /// Slow-start threshold; absent while unlimited.
    pub ssthresh: Option<u64>,
    /// Round-trip time measured by this acknowledgement.
    pub rtt: Option<Time>,
    /// Smoothed RTT.
    pub srtt: Option<Time>,
    /// Retransmission timeout in force; absent where the backend does not tell.
    pub rto: Option<Time>,
    /// Estimated bytes in the network; absent where the backend does not tell.
    pub in_flight: Option<u64>,
    /// Window advertised by this acknowledgement, after scaling.
    pub rwnd: u64,
    /// Delivery rate sampled by this acknowledgement.
    pub delivery_rate: Option<Rate>,
    /// The rate that the stack keeps (Linux's `sk_pacing_rate`): a flow that paces leaves by it, and
    /// any flow's bursts are sized by it. Absent where there is none or the backend does not tell.
    pub pacing_rate: Option<Rate>,
    /// Whether the sender is in loss recovery; absent where the backend does not tell.
    pub in_recovery: Option<bool>,
}

/// What happened to a packet at a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QueueAction {
    /// It entered.
    #[default]
    Enqueue,
    /// It left for the link.
    Dequeue,
}

/// `queue_events.parquet`: a packet entered or left the queue of a bottleneck, or of its way back.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct QueueEvent {
    /// Index of the link.
    pub link: u32,
    /// What happened.
    pub action: QueueAction,
    /// Index of the packet's flow; of cross traffic, the number of flows and its own index;
    /// of probes, that of flows and sources and its own.
    pub flow: u32,
    /// Bytes of the packet on the link.
    pub wire_len: u32,
    /// Bytes waiting after it.
    pub backlog: u64,
    /// How long the packet waited; absent for arrivals.
    pub sojourn: Option<Time>,
}

/// Why a packet was lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DropReason {
    /// The queue had no room, or its discipline chose to drop.
    #[default]
    Queue,
    /// Random loss, independent of what came before.
    Random,
    /// Random loss in bursts (Gilbert-Elliott).
    Burst,
    /// The packet was on a list of packets to lose.
    Listed,
    /// A timed outage.
    Outage,
    /// The receiving host found the checksum wrong.
    Corrupt,
}

/// `drops.parquet`: a packet was lost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DropEvent {
    /// Index of the link.
    pub link: u32,
    /// Why.
    pub reason: DropReason,
    /// Index of the packet's flow; of cross traffic, the number of flows and its own index;
    /// of probes, that of flows and sources and its own.
    pub flow: u32,
    /// Offset of the packet's first byte of data (0 for packets without data).
    pub offset: u64,
    /// Bytes of the packet on the link.
    pub wire_len: u32,
}

/// Time that a flow spent held back by each limit, from its start to its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limited {
    /// By the congestion window, recovery included.
    pub cwnd: Time,
    /// By the receiver's window.
    pub rwnd: Time,
    /// By the application, which had nothing to send.
    pub application: Time,
    /// By the send buffer.
    pub sndbuf: Time,
    /// By the pacing rate.
    pub pacing: Time,
}

/// What was seen to carry a flow's data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Carrier {
    /// Segments of TCP.
    #[default]
    Tcp,
    /// Datagrams of UDP; QUIC is in them.
    Udp,
    /// Nothing: a program that sent neither.
    Nothing,
}

/// `flows.parquet`: what a flow did, one row per flow.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowSummary {
    /// Name.
    pub name: String,
    /// What was seen to carry its data.
    pub transport: Carrier,
    /// Variant asked for; empty of a flow over UDP.
    pub cc: String,
    /// Variant in force, read back.
    pub cc_in_force: String,
    /// When the first SYN or datagram left; absent if the flow never started.
    pub started: Option<Time>,
    /// When the first byte of data reached the receiving application.
    pub first_byte: Option<Time>,
    /// When the last byte so far reached the receiving application.
    pub last_byte: Option<Time>,
    /// When the transfer was acknowledged in full, or a source of datagrams sent its last; absent if
    /// that did not happen.
    pub ended: Option<Time>,
    /// Whether the sender gave up after too many timeouts in a row.
    pub aborted: bool,
    /// Payload bytes of a full segment.
    pub mss: u32,
    /// In-order bytes the receiving application got; over UDP the payload that arrived, each datagram
    /// counted once.
    pub bytes_received: u64,
    /// Bytes acknowledged to the sender.
    pub bytes_acked: u64,
    /// Data segments sent, retransmissions included.
    pub segments_sent: u64,
    /// Segments retransmitted.
    pub retransmits: u64,
    /// Retransmission timeouts.
    pub rtos: u64,
    /// Episodes of loss recovery that were not timeouts.
    pub fast_recoveries: u64,
    /// Window reductions undone as spurious.
    pub undos: u64,
    /// Tail loss probes sent.
    pub tail_loss_probes: u64,
    /// Acknowledgements that carried an ECN echo, or told of marks where they are counted.
    pub ecn_echoes: u64,
    /// What held the flow back.
    pub limited: Limited,
    /// Smallest RTT.
    pub rtt_min: Option<Time>,
    /// Mean of srtt over acknowledgements.
    pub srtt_mean: Option<Time>,
    /// Mean of the congestion window over time from the start to the end.
    pub cwnd_mean: f64,
    /// RTT samples in nanoseconds.
    pub rtt: Histogram,
    /// Mean of srtt over acknowledgements after the warm-up; absent without one, as what follows is
    /// empty.
    pub warm_srtt_mean: Option<Time>,
    /// RTT samples after the warm-up, in nanoseconds.
    pub warm_rtt: Histogram,
    /// Over UDP, the way of its data.
    pub datagrams: Rare<Datagrams>,
    /// Over UDP, the way back.
    pub back: Rare<Datagrams>,
    /// Of a video.
    pub frames: Frames,
    /// Of datagrams on the way of its data, those that left after the warm-up; nothing without one,
    /// as what follows.
    pub warm_datagrams: Rare<Datagrams>,
    /// The same of the way back.
    pub warm_back: Rare<Datagrams>,
    /// Of a video, the frames made after the warm-up.
    pub warm_frames: Frames,
    /// Of frames on a connection, how long each took from its making to its last byte's arrival, in
    /// nanoseconds.
    pub frame_delay: Histogram,
    /// The same of those made after the warm-up.
    pub warm_frame_delay: Histogram,
    /// Of a connection that remembers an earlier one, when it resumed from that.
    pub resumption: Option<Resumption>,
}

/// `resumptions.parquet`: when a connection resumed from what it remembers of an earlier one (RFC 9959).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resumption {
    /// When it went over to half the remembered window; absent: it did not.
    pub jumped: Option<Time>,
    /// When all that it had sent by that window was acknowledged without congestion; absent: that did
    /// not happen.
    pub validated: Option<Time>,
    /// When congestion made it retreat; absent: it did not.
    pub retreated: Option<Time>,
}

/// `links.parquet`: what a link did, one row per link and direction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinkSummary {
    /// Name: `bottleneck`, `bottleneck.reverse`, `FLOW.access`, ...
    pub name: String,
    /// Rate; absent when infinite.
    pub rate: Option<Rate>,
    /// Packets that were offered to it.
    pub offered: u64,
    /// Packets that were born on it: copies of others.
    pub duplicates: u64,
    /// Packets lost in the queue.
    pub queue_drops: u64,
    /// Packets lost at random, singly or in bursts.
    pub random_drops: u64,
    /// Packets lost because they were on a list.
    pub listed_drops: u64,
    /// Packets lost in outages.
    pub outage_drops: u64,
    /// Packets that the host at the far end discarded because their checksum was wrong.
    pub corrupt_drops: u64,
    /// Packets ECN-marked.
    pub marks: u64,
    /// Packets and bytes handed to the other end.
    pub delivered: u64,
    /// Bytes transmitted, headers and framing included.
    pub tx_bytes: u64,
    /// Packets in the queue and on the wire at the end of the run.
    pub in_flight: u64,
    /// Largest backlog in bytes.
    pub backlog_max: u64,
    /// Sojourn times in nanoseconds; kept for the bottleneck's two directions only.
    pub sojourn: Histogram,
    /// Those of packets that left after the warm-up; empty without one.
    pub warm_sojourn: Histogram,
    /// The queues of a discipline that has several with names; kept as `sojourn` is.
    pub bands: Vec<BandSummary>,
}

/// `bands.parquet`: what a named queue of a discipline did, one row per queue.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BandSummary {
    /// Name, such as `L`.
    pub name: String,
    /// Packets that left it for the link.
    pub packets: u64,
    /// Packets dropped that were in it, or were to go there.
    pub drops: u64,
    /// Packets of it that were ECN-marked.
    pub marks: u64,
    /// Sojourn times in nanoseconds.
    pub sojourn: Histogram,
    /// Those of the packets that left it after the warm-up; 0 without one, as what follows.
    pub warm_packets: u64,
    /// Those dropped after it.
    pub warm_drops: u64,
    /// Those marked after it.
    pub warm_marks: u64,
    /// Sojourn times of packets that left after it.
    pub warm_sojourn: Histogram,
}

impl BandSummary {
    /// Adds to it what it counted since it was `earlier`.
    ///
    /// # Panics
    /// If `earlier` counted what this one has not.
    pub fn warm_since(&mut self, earlier: &BandSummary) {
        self.warm_packets = self.packets - earlier.packets;
        self.warm_drops = self.drops - earlier.drops;
        self.warm_marks = self.marks - earlier.marks;
        self.warm_sojourn = self.sojourn.since(&earlier.sojourn);
    }
}

impl LinkSummary {
    /// Packets lost, for whatever reason.
    pub const fn drops(&self) -> u64 {
        self.queue_drops
            + self.random_drops
            + self.listed_drops
            + self.outage_drops
            + self.corrupt_drops
    }
}

/// `transfers.parquet`: a transfer of cross traffic that ended, or that the run's end cut short.
/// Its row bears the time at which it began.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Transfer {
    /// Index of the source in [`RunSummary::traffic`].
    pub source: u32,
    /// Bytes; of an exchange, of the answer, and 0 while the request is on its way.
    pub size: u64,
    /// When the first of them reached the receiving application.
    pub first_byte: Option<Time>,
    /// When the last of them did; absent if the run ended before, or the sender gave up.
    pub end: Option<Time>,
    /// Segments retransmitted.
    pub retransmits: u64,
    /// The time it took over the time it would take alone on the empty path; absent where that
    /// has no closed form.
    pub slowdown: Option<f64>,
}

/// `traffic.parquet`: what cross traffic did, one row per source.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TrafficSummary {
    /// Name.
    pub name: String,
    /// Kind.
    pub kind: String,
    /// Packets that its hosts put into the network, both ways.
    pub sent: u64,
    /// Bytes of them on a link.
    pub sent_bytes: u64,
    /// Packets that reached its hosts, both ways.
    pub received: u64,
    /// Bytes of them on a link.
    pub received_bytes: u64,
    /// Transfers or exchanges that began.
    pub started: u64,
    /// Transfers or exchanges that ended in full.
    pub ended: u64,
    /// How long datagrams were on their way, in nanoseconds.
    pub delay: Histogram,
    /// How long echo requests waited for their replies, in nanoseconds.
    pub rtt: Histogram,
}

/// A request of a probe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Echo {
    /// When it left.
    pub sent: Time,
    /// How long it took until the first answer came; absent: none did.
    pub rtt: Option<Time>,
}

/// `probe_samples.parquet`: a request of a probe. Its row bears the time at which it left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProbeSample {
    /// Index of the probe in [`RunSummary::probes`].
    pub probe: u32,
    /// See [`Echo::rtt`].
    pub rtt: Option<Time>,
}

/// `probes.parquet`: what a probe was, one row per probe; its requests are `probe_samples.parquet`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProbeSummary {
    /// Name.
    pub name: String,
    /// Kind.
    pub kind: String,
    /// From one request to the next.
    pub interval: Time,
    /// Bytes of a packet on a link, headers and framing included.
    pub packet_bytes: u32,
    /// Packets that its two hosts put into the network; absent where the backend does not tell.
    pub sent_packets: Option<u64>,
    /// Packets that reached its two hosts; absent where the backend does not tell.
    pub received_packets: Option<u64>,
    /// Its requests, in the order of time.
    pub echoes: Vec<Echo>,
}

/// What a run was, beside its rows: `summary.json`, `flows.parquet`, `links.parquet`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunSummary {
    /// When the run ended.
    pub end: Time,
    /// Events processed by the backend.
    pub events: u64,
    /// One per flow, in the scenario's order.
    pub flows: Vec<FlowSummary>,
    /// One per link and direction; 0 is the bottleneck, 1 its way back.
    pub links: Vec<LinkSummary>,
    /// One per source of cross traffic, in the scenario's order.
    pub traffic: Vec<TrafficSummary>,
    /// One per probe, in the scenario's order.
    pub probes: Vec<ProbeSummary>,
    /// When what changes of links wait for came about, in the order in which the scenario has it
    /// (`Scenario::whens`); `None`: never.
    pub met: Vec<Option<Time>>,
    /// The machines that ran it; none in a simulation.
    pub machines: Vec<Machine>,
    /// How well the host kept up; absent unless the run was in real time.
    pub fidelity: Option<Fidelity>,
}

/// A machine of a run: a kernel, and the flows whose hosts it has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// What the kernel is called where it was built; absent: it is the host's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// Its release, such as `6.12.8`.
    pub release: String,
    /// Its version: number of the build, and options.
    pub version: String,
    /// SHA-256 of its configuration, in hexadecimal digits; absent if the kernel does not show it.
    pub config_sha256: Option<String>,
    /// The names of its flows, in the scenario's order.
    #[serde(default)]
    pub flows: Vec<String>,
}

/// How well a host kept up with real time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fidelity {
    /// How late timers were at worst, in nanoseconds.
    pub timer_late_max_ns: u64,
    /// How late they were on average, in nanoseconds.
    pub timer_late_mean_ns: u64,
    /// Share of the run during which all processors were busy, in [0, 1].
    pub cpu_busy: f64,
    /// Times that the kernel put off receiving because it had used up its share of time.
    pub softirq_squeezed: u64,
    /// Packets that the kernel dropped between interfaces because it could not follow.
    pub softnet_dropped: u64,
}
