//! The numbers of one run, as `--json` prints them. [`crate::metrics`] defines each; `None` is
//! printed as null and means "not measured".

use serde::{Deserialize, Serialize};

use crate::warnings::Warning;

/// The numbers of one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunMetrics {
    /// One per flow, in the scenario's order.
    pub flows: Vec<FlowMetrics>,
    /// The link under study, in the direction of its queue, loss and outages.
    pub bottleneck: BottleneckMetrics,
    /// Jain's index over the flows' goodput.
    pub jain: Option<f64>,
    /// Mean of Jain's index over seconds.
    pub jain_mean: Option<f64>,
    /// Smallest of the same.
    pub jain_min: Option<f64>,
    /// From the last start until the flows share evenly and go on to.
    pub convergence_s: Option<f64>,
    /// Smallest over largest goodput.
    pub throughput_ratio: Option<f64>,
    /// The smallest of the flows' `least_share`.
    pub smallest_share: Option<f64>,
    /// The largest of the flows' `starved_s`.
    pub longest_starved_s: Option<f64>,
    /// One per source of cross traffic, in the scenario's order; absent without any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub traffic: Vec<TrafficMetrics>,
    /// The kernel that it ran on; only of runs on one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<KernelMetrics>,
    /// Whether the host kept up; only of runs in real time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fidelity: Option<FidelityMetrics>,
    /// What makes the numbers doubtful.
    pub warnings: Vec<Warning>,
}

/// A kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelMetrics {
    /// `uname -r`.
    pub release: String,
    /// `uname -v`.
    pub version: String,
    /// SHA-256 of its configuration; absent if it does not show it.
    pub config_sha256: Option<String>,
}

/// The numbers of one flow.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FlowMetrics {
    /// Name.
    pub name: String,
    /// Variant asked for.
    pub cc: String,
    /// Variant in force.
    pub cc_in_force: String,
    /// In-order bytes that the receiving application got.
    pub bytes_received: u64,
    /// Bytes acknowledged to the sender.
    pub bytes_acked: u64,
    /// When the first SYN left.
    pub started_s: Option<f64>,
    /// When the transfer was acknowledged in full.
    pub ended_s: Option<f64>,
    /// From the start to the end, the flow's or the run's.
    pub elapsed_s: Option<f64>,
    /// Bytes received over the elapsed time.
    pub throughput_bps: Option<f64>,
    /// Bytes received from the first to the last of them.
    pub goodput_bps: Option<f64>,
    /// Bytes received in the steady window.
    pub steady_goodput_bps: Option<f64>,
    /// Data segments sent, retransmissions included.
    pub segments_sent: u64,
    /// Segments retransmitted.
    pub retransmits: u64,
    /// Retransmission timeouts.
    pub rtos: u64,
    /// Mean of srtt over acknowledgements.
    pub srtt_mean_s: Option<f64>,
    /// Smallest RTT.
    pub rtt_min_s: Option<f64>,
    /// 95th percentile of RTT samples.
    pub rtt_p95_s: Option<f64>,
    /// Mean congestion window over time, in full segments.
    pub cwnd_mean_segments: Option<f64>,
    /// What held the flow back.
    pub limited: Option<LimitedShares>,
    /// Its goodput if the network were shared max-min fairly.
    pub max_min_bps: Option<f64>,
    /// Its steady goodput over that.
    pub max_min_share: Option<f64>,
    /// The smallest part of all goodput that it had in five seconds.
    pub least_share: Option<f64>,
    /// The longest time in which it got next to nothing of its fair rate.
    pub starved_s: Option<f64>,
    /// Coefficient of variation of its goodput over seconds.
    pub goodput_cov: Option<f64>,
    /// Goodput over delay.
    pub power: Option<f64>,
    /// Completion time of its transfer.
    pub fct_s: Option<f64>,
    /// That over the time alone on the empty path.
    pub slowdown: Option<f64>,
}

/// Shares of a flow's active time that it was held back by each limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LimitedShares {
    /// By the congestion window, recovery included.
    pub cwnd: f64,
    /// By the receiver's window.
    pub rwnd: f64,
    /// By the application, which had nothing to send.
    pub application: f64,
    /// By the send buffer.
    pub sndbuf: f64,
    /// By the pacing rate.
    pub pacing: f64,
}

/// The numbers of the bottleneck.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BottleneckMetrics {
    /// Share of its rate that was used.
    pub utilization: Option<f64>,
    /// Packets lost at it.
    pub drops: u64,
    /// Share of the packets offered to it that were lost.
    pub drop_rate: Option<f64>,
    /// Packets that it ECN-marked.
    pub ecn_marks: u64,
    /// Mean time that packets waited.
    pub queue_delay_mean_s: Option<f64>,
    /// 95th percentile of the time that packets waited.
    pub queue_delay_p95_s: Option<f64>,
    /// 99th percentile of the same.
    pub queue_delay_p99_s: Option<f64>,
    /// Largest backlog.
    pub queue_max_bytes: u64,
    /// Throughput over delay.
    pub queue_power: Option<f64>,
}

/// The numbers of a source of cross traffic.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TrafficMetrics {
    /// Name.
    pub name: String,
    /// Kind.
    pub kind: String,
    /// Packets that its hosts sent, both ways.
    pub packets_sent: u64,
    /// Packets that reached its hosts, both ways.
    pub packets_received: u64,
    /// Bits sent on a link over the run, headers and framing included.
    pub sent_bps: Option<f64>,
    /// Bits received.
    pub received_bps: Option<f64>,
    /// Share of its datagrams that were lost, or on their way at the run's end.
    pub loss_rate: Option<f64>,
    /// Mean time of datagrams from host to host.
    pub delay_mean_s: Option<f64>,
    /// 95th percentile of the same.
    pub delay_p95_s: Option<f64>,
    /// Mean time from an echo request to its reply.
    pub rtt_mean_s: Option<f64>,
    /// 95th percentile of the same.
    pub rtt_p95_s: Option<f64>,
    /// Its transfers or exchanges; absent of other kinds.
    pub transfers: Option<TransferMetrics>,
}

/// The numbers of transfers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TransferMetrics {
    /// Transfers that began.
    pub started: u64,
    /// Transfers that ended in full.
    pub ended: u64,
    /// Segments retransmitted by those counted below.
    pub retransmits: u64,
    /// Times from arrival to the last byte, of transfers that began after the warm-up and ended.
    pub fct_s: Option<Distribution>,
    /// These times over those alone on the empty path.
    pub slowdown: Option<Distribution>,
    /// The same by size; classes without a transfer are left out.
    pub classes: Vec<SizeClass>,
}

/// Transfers of similar size.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SizeClass {
    /// They are larger than this.
    pub above_bytes: u64,
    /// And not larger than this; absent: as large as they come.
    pub up_to_bytes: Option<u64>,
    /// How many ended.
    pub count: u64,
    /// See [`TransferMetrics::fct_s`].
    pub fct_s: Option<Distribution>,
    /// See [`TransferMetrics::slowdown`].
    pub slowdown: Option<Distribution>,
}

/// What is told of many values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Distribution {
    /// Mean.
    pub mean: f64,
    /// Median.
    pub median: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
}

/// Whether a host kept up with a run in real time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    /// Nothing says that it did not.
    #[serde(rename = "kept up")]
    KeptUp,
    /// Something does.
    #[serde(rename = "too slow")]
    TooSlow,
}

/// How well a host kept up with a run in real time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FidelityMetrics {
    /// Whether it did.
    pub verdict: Verdict,
    /// Where it did not.
    pub reasons: Vec<String>,
    /// How late timers were at worst.
    pub timer_late_max_s: f64,
    /// How late they were on average.
    pub timer_late_mean_s: f64,
    /// Share of the processors' time that was used, by anyone.
    pub cpu_busy: f64,
    /// Times that the kernel put off receiving.
    pub softirq_squeezed: u64,
    /// Packets that the kernel dropped between interfaces.
    pub softnet_dropped: u64,
    /// What the bottleneck sent while packets waited, as a share of its rate.
    pub rate_achieved: Option<f64>,
}
