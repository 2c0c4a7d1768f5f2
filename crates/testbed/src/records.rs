//! What the agent hands back, in the folder it was given:
//!
//! - `outcome.json`: [`Outcome`], the last file it writes; without it the run failed;
//! - `samples.jsonl`: one [`Sample`] per line, in the order of time;
//! - `events.ring`: pages of the kernel's trace ring, one after the other, each as read from
//!   `trace_pipe_raw`; `events.json`: [`EventFormats`];
//! - `capture.N`: the packets of capture point N as [`FRAME_HEADER`] bytes and data each;
//! - `datagrams.N.*`: what was seen of the datagrams of flow N, one [`Datagram`] after the other;
//! - `FLOW.stdout`, `FLOW.stderr`, `FLOW.server.stdout`, `FLOW.server.stderr` of programs.
//!
//! Times are nanoseconds since time zero of the run, except those of events and packets, which
//! are the kernel's own clocks; [`Outcome`] says what these showed at time zero.

pub use crate::datagram::Datagram;
use cclab_units::Time;
use serde::{Deserialize, Serialize};

/// Name and version of the format.
pub const SCHEMA: &str = "cclab-outcome/1";
/// File names in the folder.
pub const OUTCOME: &str = "outcome.json";
/// See [`OUTCOME`].
pub const SAMPLES: &str = "samples.jsonl";
/// See [`OUTCOME`].
pub const EVENTS: &str = "events.ring";
/// See [`OUTCOME`].
pub const EVENT_FORMATS: &str = "events.json";

/// Where the agent of hosts on a wire says that something is to be done at that instant.
pub const MARK: &str = "/sys/module/wire/parameters/mark";
/// It says so: queues are to be sampled.
pub const SAMPLE_MARK: &[u8] = b"sample";
/// It says so: the run is over.
pub const END_MARK: &[u8] = b"end";

/// What programs get to say their last words after the run's end.
pub const LAST_WORDS: Time = Time::from_secs(1);

/// Bytes before each captured packet, little endian: nanoseconds of CLOCK_REALTIME (8), bytes
/// of the packet (4), bytes of it that follow (4). Packets begin with their IP header.
pub const FRAME_HEADER: usize = 16;

/// The name of the file with the packets of capture point `index`.
pub fn capture_file(index: usize) -> String {
    format!("capture.{index}")
}

/// The name of the file with the datagrams of flow `index` that were `seen`, on the way back from
/// its receiver or not.
pub fn datagram_file(index: usize, backward: bool, seen: Seen) -> String {
    let way = if backward { ".back" } else { "" };
    let seen = match seen {
        Seen::Sent => "sent",
        Seen::Received => "received",
    };
    format!("datagrams.{index}{way}.{seen}")
}

/// Where a datagram was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// As it left the host that sent it.
    Sent,
    /// As the host that it was for took it in.
    Received,
}

/// What a run came to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outcome {
    /// [`SCHEMA`].
    pub schema: String,
    /// What went wrong; absent: nothing.
    pub failure: Option<Failure>,
    /// The kernel that ran it.
    pub kernel: Kernel,
    /// CLOCK_MONOTONIC at time zero in nanoseconds: the clock of events.
    pub monotonic_zero: u64,
    /// CLOCK_REALTIME at time zero in nanoseconds: the clock of packets.
    pub realtime_zero: u64,
    /// When the run ended.
    pub end: u64,
    /// One per flow, in the order of the orders.
    pub flows: Vec<FlowOutcome>,
    /// One per probe, in the order of the orders.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub probes: Vec<ProbeOutcome>,
    /// Namespaces by the number that the kernel's events name them by.
    pub namespaces: Vec<NamespaceId>,
    /// Counters of TCP by namespace that hosts a sender: `TcpExt` of /proc/net/netstat, at the
    /// end, by name.
    pub counters: Vec<std::collections::BTreeMap<String, u64>>,
    /// Events that the kernel's ring lost.
    pub events_lost: u64,
    /// Packets that each capture point lost.
    pub packets_lost: Vec<u64>,
    /// Datagrams of each flow that were not written down.
    pub datagrams_lost: Vec<u64>,
    /// How well the host kept up (real time only).
    pub fidelity: Option<Fidelity>,
}

/// Why a run failed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// What was being done, such as "queueing disciplines of r1".
    pub step: String,
    /// What went wrong: the command that failed with its input and output, or the system call
    /// and its error.
    pub problem: String,
}

/// A kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kernel {
    /// `uname -r`.
    pub release: String,
    /// `uname -v`.
    pub version: String,
    /// SHA-256 of its configuration, if the kernel shows it.
    pub config_sha256: Option<String>,
}

/// A namespace as the kernel knows it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamespaceId {
    /// Its inode number, which events name.
    pub inode: u32,
    /// Index and name of each of its interfaces.
    pub interfaces: Vec<(u32, String)>,
}

/// What a flow came to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowOutcome {
    /// The sender's variant, read back from its socket; empty if it never connected.
    pub cc_in_force: String,
    /// When the first SYN left.
    pub started: Option<u64>,
    /// When the first byte of data reached the receiving host.
    pub first_byte: Option<u64>,
    /// When the receiver saw the end of the data; absent if it did not.
    pub received_all: Option<u64>,
    /// When the sender's last byte was acknowledged; absent if it was not.
    pub ended: Option<u64>,
    /// The error that ended the connection, such as "Connection timed out".
    pub error: Option<String>,
    /// Exit status of the sender's program.
    pub status: Option<i32>,
    /// TCP_INFO of the sender's socket at the end; of a program, one per connection.
    pub sender: Vec<TcpInfo>,
    /// TCP_INFO of the receiver's socket at the end; of a program, one per connection.
    pub receiver: Vec<TcpInfo>,
}

/// What a probe came to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProbeOutcome {
    /// When each request left.
    pub sent: Vec<u64>,
    /// How long each took until its first answer came; absent: none did.
    pub rtt: Vec<Option<u64>>,
}

/// One line of `samples.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Sample {
    /// The state of a flow; a side without a connection is absent.
    Flow {
        /// When.
        at: u64,
        /// Index of the flow.
        flow: u32,
        /// TCP_INFO of the sender.
        sender: Option<Box<TcpInfo>>,
        /// In-order bytes that reached the receiver.
        received: u64,
    },
    /// The state of a queue.
    Queue {
        /// When.
        at: u64,
        /// Index of the link.
        link: u32,
        /// Counters of the root qdisc.
        root: QueueCounters,
        /// Counters of the discipline.
        discipline: QueueCounters,
    },
}

/// What the kernel counts at a qdisc.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueueCounters {
    /// Bytes waiting.
    pub backlog: u64,
    /// Packets waiting.
    pub packets: u64,
    /// Bytes sent so far.
    pub tx_bytes: u64,
    /// Packets sent so far.
    pub tx_packets: u64,
    /// Packets dropped so far.
    pub drops: u64,
    /// Packets marked so far.
    pub marks: u64,
}

/// `struct tcp_info` of Linux 6.12, as far as a trace has use for it, in its own units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TcpInfo {
    /// Congestion state: 0 open, 1 disorder, 2 CWR, 3 recovery, 4 loss.
    pub ca_state: u8,
    /// Bits: 1 timestamps, 2 SACK, 4 window scaling, 8 ECN.
    pub options: u8,
    /// Retransmission timeout in microseconds.
    pub rto: u32,
    /// Payload bytes of a full segment.
    pub snd_mss: u32,
    /// Payload bytes of the segments received.
    pub rcv_mss: u32,
    /// Segments sent and not acknowledged.
    pub unacked: u32,
    /// Segments of these that were selectively acknowledged.
    pub sacked: u32,
    /// Segments of these that are taken for lost.
    pub lost: u32,
    /// Segments of these that were retransmitted and are on their way.
    pub retrans: u32,
    /// Milliseconds since data were received.
    pub last_data_recv: u32,
    /// Smoothed RTT in microseconds; 0 before the first sample.
    pub rtt: u32,
    /// Its mean deviation.
    pub rttvar: u32,
    /// Slow-start threshold in segments; 0x7fffffff: unlimited.
    pub snd_ssthresh: u32,
    /// Congestion window in segments.
    pub snd_cwnd: u32,
    /// Segments retransmitted so far, SYN and FIN included.
    pub total_retrans: u32,
    /// Pacing rate in bytes per second; all ones: unlimited.
    pub pacing_rate: u64,
    /// Sequence space acknowledged so far: payload, SYN and FIN.
    pub bytes_acked: u64,
    /// Sequence space received in order so far: payload and FIN.
    pub bytes_received: u64,
    /// Segments sent so far, those without data included.
    pub segs_out: u32,
    /// Segments received so far.
    pub segs_in: u32,
    /// Bytes written and not sent.
    pub notsent_bytes: u32,
    /// Smallest RTT in microseconds; all ones: none.
    pub min_rtt: u32,
    /// Segments with data received so far.
    pub data_segs_in: u32,
    /// Segments with data sent so far, retransmissions included.
    pub data_segs_out: u32,
    /// Most recent delivery rate in bytes per second.
    pub delivery_rate: u64,
    /// Microseconds with data to send.
    pub busy_time: u64,
    /// Microseconds of these limited by the receiver's window.
    pub rwnd_limited: u64,
    /// Microseconds of these limited by the send buffer.
    pub sndbuf_limited: u64,
    /// Segments delivered, and those of them that were marked (ECN).
    pub delivered: u32,
    /// See `delivered`.
    pub delivered_ce: u32,
    /// Payload bytes sent so far, retransmissions included.
    pub bytes_sent: u64,
    /// Payload bytes retransmitted so far.
    pub bytes_retrans: u64,
    /// Duplicates reported by the receiver.
    pub dsack_dups: u32,
    /// Reordering seen so far.
    pub reord_seen: u32,
    /// Window that the peer last advertised, after scaling.
    pub snd_wnd: u32,
    /// Window advertised to the peer.
    pub rcv_wnd: u32,
    /// Retransmission timeouts so far.
    pub total_rto: u16,
    /// What the variant tells of its inner state (`union tcp_cc_info`), in words; zeros: nothing.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub cc_info: [u32; 5],
}

fn is_nothing(cc_info: &[u32; 5]) -> bool {
    *cc_info == [0; 5]
}

/// `events.json`: what is needed to read `events.ring`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventFormats {
    /// Bytes of a page of the ring.
    pub page_size: usize,
    /// The text of `events/header_page`.
    pub header_page: String,
    /// The text of `format` of each event recorded.
    pub events: Vec<String>,
}

/// How well a host kept up with real time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fidelity {
    /// How late the agent's timers were at worst, in nanoseconds.
    pub timer_late_max: u64,
    /// How late they were on average, in nanoseconds.
    pub timer_late_mean: u64,
    /// Share of the run during which all processors were busy, in [0, 1].
    pub cpu_busy: f64,
    /// Times that the kernel gave up receiving because it had used up its share (`time_squeeze`
    /// of /proc/net/softnet_stat).
    pub softirq_squeezed: u64,
    /// Packets dropped between interfaces because a processor's backlog was full.
    pub softnet_dropped: u64,
}
