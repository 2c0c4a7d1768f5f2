//! What each number means.

use crate::warnings::{IDENTICAL_REPEATS, RULES};

/// The definition of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    /// Its path in the `--json` of a run; `flow.` stands for each of `flows`, `traffic.`
    /// for each of `traffic`.
    pub name: &'static str,
    /// Unit, `1` for shares and counts.
    pub unit: &'static str,
    /// Formula.
    pub definition: &'static str,
    /// The span of time that it covers.
    pub window: &'static str,
    /// Where it is measured.
    pub point: &'static str,
}

const fn metric(
    name: &'static str,
    unit: &'static str,
    window: &'static str,
    point: &'static str,
    definition: &'static str,
) -> Metric {
    Metric {
        name,
        unit,
        definition,
        window,
        point,
    }
}

/// Every metric, in the order of `--json`.
pub const METRICS: [Metric; 57] = [
    metric("flow.name", "text", "", "study", "Name of the flow."),
    metric("flow.cc", "text", "", "study", "Variant asked for."),
    metric(
        "flow.cc_in_force",
        "text",
        "",
        "sender",
        "Variant in force, read back.",
    ),
    metric(
        "flow.bytes_received",
        "byte",
        "run",
        "receiver",
        "Unique in-order bytes that the receiving application got.",
    ),
    metric(
        "flow.bytes_acked",
        "byte",
        "run",
        "sender",
        "Bytes acknowledged cumulatively.",
    ),
    metric(
        "flow.started_s",
        "s",
        "",
        "sender",
        "When the first SYN left; null if the flow never started.",
    ),
    metric(
        "flow.ended_s",
        "s",
        "",
        "sender",
        "When the transfer was acknowledged in full; null if it was not.",
    ),
    metric(
        "flow.elapsed_s",
        "s",
        "active",
        "sender",
        "Length of the active window.",
    ),
    metric(
        "flow.throughput_bps",
        "bit/s",
        "active",
        "receiver",
        "8 bytes_received / elapsed_s: what a user waits for, handshake and last acknowledgement included.",
    ),
    metric(
        "flow.goodput_bps",
        "bit/s",
        "first to last byte received",
        "receiver",
        "8 bytes_received / (last - first instant at which bytes reached the application); null without data or if all arrived at one instant.",
    ),
    metric(
        "flow.steady_goodput_bps",
        "bit/s",
        "steady",
        "receiver",
        "8 (bytes received until the window's end - until its beginning) / its length; null if the window is empty.",
    ),
    metric(
        "flow.segments_sent",
        "1",
        "run",
        "sender",
        "Data segments sent, retransmissions included.",
    ),
    metric(
        "flow.retransmits",
        "1",
        "run",
        "sender",
        "Segments retransmitted.",
    ),
    metric(
        "flow.rtos",
        "1",
        "run",
        "sender",
        "Retransmission timeouts.",
    ),
    metric(
        "flow.srtt_mean_s",
        "s",
        "run",
        "sender",
        "Mean of the smoothed RTT over acknowledgements.",
    ),
    metric(
        "flow.rtt_min_s",
        "s",
        "run",
        "sender",
        "Smallest RTT sample.",
    ),
    metric(
        "flow.rtt_p95_s",
        "s",
        "run",
        "sender",
        "95th percentile of the RTT samples, within 0.8% (histogram of 64 bins per octave).",
    ),
    metric(
        "flow.cwnd_mean_segments",
        "segment",
        "active",
        "sender",
        "Mean of the congestion window over time / mss.",
    ),
    metric(
        "flow.limited.cwnd",
        "1",
        "active",
        "sender",
        "Share of the time held back by the congestion window, recovery included.",
    ),
    metric(
        "flow.limited.rwnd",
        "1",
        "active",
        "sender",
        "Share of the time held back by the receiver's window.",
    ),
    metric(
        "flow.limited.application",
        "1",
        "active",
        "sender",
        "Share of the time with nothing to send.",
    ),
    metric(
        "flow.limited.sndbuf",
        "1",
        "active",
        "sender",
        "Share of the time held back by the send buffer.",
    ),
    metric(
        "flow.limited.pacing",
        "1",
        "active",
        "sender",
        "Share of the time held back by the pacing rate.",
    ),
    metric(
        "bottleneck.utilization",
        "1",
        "loaded",
        "bottleneck's transmitter",
        "8 bytes transmitted, headers and framing included / (rate x length of the window); null if the rate is infinite.",
    ),
    metric(
        "bottleneck.drops",
        "1",
        "run",
        "bottleneck",
        "Packets lost in its queue, at random and in outages.",
    ),
    metric(
        "bottleneck.drop_rate",
        "1",
        "run",
        "bottleneck",
        "drops / packets offered; null if none was offered.",
    ),
    metric(
        "bottleneck.ecn_marks",
        "1",
        "run",
        "bottleneck's queue",
        "Packets ECN-marked.",
    ),
    metric(
        "bottleneck.queue_delay_mean_s",
        "s",
        "run",
        "bottleneck's queue",
        "Mean of the time from arrival to departure for the link, over packets that left; exact. On a kernel that does not report packets (docs/netns.md): backlog / rate, over the samples.",
    ),
    metric(
        "bottleneck.queue_delay_p95_s",
        "s",
        "run",
        "bottleneck's queue",
        "95th percentile of the same, within 0.8%.",
    ),
    metric(
        "bottleneck.queue_max_bytes",
        "byte",
        "run",
        "bottleneck's queue",
        "Largest backlog.",
    ),
    metric(
        "jain",
        "1",
        "first to last byte received",
        "receiver",
        "(sum x)^2 / (n sum x^2) over goodput_bps of the n flows that started: a flow that got nothing through counts as 0, one whose data all arrived at one instant is left out; 1 for one flow, null if all are 0.",
    ),
    metric(
        "traffic.name",
        "text",
        "",
        "study",
        "Name of a source of cross traffic; present only with some.",
    ),
    metric("traffic.kind", "text", "", "study", "Its kind."),
    metric(
        "traffic.packets_sent",
        "1",
        "run",
        "hosts",
        "Packets that the hosts of a source of cross traffic sent, both ways.",
    ),
    metric(
        "traffic.packets_received",
        "1",
        "run",
        "hosts",
        "Packets that reached them, both ways.",
    ),
    metric(
        "traffic.sent_bps",
        "bit/s",
        "run",
        "hosts",
        "8 bytes sent on a link, headers and framing included / length of the run.",
    ),
    metric(
        "traffic.received_bps",
        "bit/s",
        "run",
        "hosts",
        "8 bytes that arrived / length of the run.",
    ),
    metric(
        "traffic.loss_rate",
        "1",
        "run",
        "hosts",
        "Of datagrams: (sent - received) / sent; those on their way at the end count as lost.",
    ),
    metric(
        "traffic.delay_mean_s",
        "s",
        "run",
        "receiver",
        "Mean time of datagrams from host to host; exact.",
    ),
    metric(
        "traffic.delay_p95_s",
        "s",
        "run",
        "receiver",
        "95th percentile of the same, within 0.8%.",
    ),
    metric(
        "traffic.rtt_mean_s",
        "s",
        "run",
        "sender",
        "Mean time from an echo request to its reply; exact.",
    ),
    metric(
        "traffic.rtt_p95_s",
        "s",
        "run",
        "sender",
        "95th percentile of the same, within 0.8%.",
    ),
    metric(
        "traffic.transfers.started",
        "1",
        "run",
        "sender",
        "Transfers that arrived, or requests that were made.",
    ),
    metric(
        "traffic.transfers.ended",
        "1",
        "run",
        "receiver",
        "Those of which every byte arrived.",
    ),
    metric(
        "traffic.transfers.retransmits",
        "1",
        "after warm-up",
        "sender",
        "Segments retransmitted by the transfers that ended.",
    ),
    metric(
        "traffic.transfers.fct_s",
        "s",
        "after warm-up",
        "receiver",
        "Flow completion time: from the arrival of a transfer (its SYN, or its request) to its last byte, over transfers that began after the warm-up and ended: mean, median, p95, p99, which are values that occurred.",
    ),
    metric(
        "traffic.transfers.slowdown",
        "1",
        "after warm-up",
        "receiver",
        "Flow completion time / the time alone on the empty path in closed form (docs/traffic.md): mean, median, p95, p99; null of exchanges.",
    ),
    metric(
        "traffic.transfers.classes",
        "list",
        "after warm-up",
        "receiver",
        "The same for sizes up to 10 kB, 100 kB, 1 MB, and above; classes without a transfer are left out.",
    ),
    metric(
        "fidelity.verdict",
        "text",
        "run",
        "host",
        "Whether the host kept up with real time, `kept up` or `too slow`; this and what follows only of runs in real time.",
    ),
    metric(
        "fidelity.reasons",
        "list",
        "run",
        "host",
        "Where it did not.",
    ),
    metric(
        "fidelity.timer_late_max_s",
        "s",
        "run",
        "host",
        "How late the agent's timers were at worst.",
    ),
    metric(
        "fidelity.timer_late_mean_s",
        "s",
        "run",
        "host",
        "How late they were on average.",
    ),
    metric(
        "fidelity.cpu_busy",
        "1",
        "run",
        "host",
        "Share of all processors' time that was used, by anyone.",
    ),
    metric(
        "fidelity.softirq_squeezed",
        "1",
        "run",
        "host",
        "Times that the kernel put off receiving.",
    ),
    metric(
        "fidelity.softnet_dropped",
        "1",
        "run",
        "host",
        "Packets that the kernel dropped between interfaces.",
    ),
    metric(
        "fidelity.rate_achieved",
        "1",
        "while well filled",
        "bottleneck's queue",
        "Bits sent / (rate * time) between samples that both show at least a quarter of the largest backlog, before the rate first changes; null below 0.5 s of them.",
    ),
    metric(
        "warnings",
        "list",
        "run",
        "",
        "What makes the numbers doubtful: code, message and remedy of each.",
    ),
];

/// The documentation page of metrics and warnings, `docs/metrics.md`.
pub fn markdown() -> String {
    let mut page = include_str!("catalog_intro.md").to_owned();
    page += "\n## Metrics\n\n| name | unit | window | measured at | definition |\n|---|---|---|---|---|\n";
    for Metric {
        name,
        unit,
        definition,
        window,
        point,
    } in METRICS
    {
        page += &format!("| `{name}` | {unit} | {window} | {point} | {definition} |\n");
    }
    page += "\n## Warnings\n\n| code | raised when |\n|---|---|\n";
    for rule in RULES {
        page += &format!("| `{}` | {} |\n", rule.code, rule.when);
    }
    page += &format!(
        "| `{IDENTICAL_REPEATS}` | two repeats of one sweep point gave the same numbers |\n"
    );
    // Found by further runs, which the package makes and compares.
    page += "| `phase-effects` | on the simulator, with several flows and nothing random: a start \
             shifted by part of a round trip moves a flow's share by more than a tenth |\n";
    page
}
