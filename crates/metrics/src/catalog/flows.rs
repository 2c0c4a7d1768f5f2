//! What the numbers of a flow mean.

use super::{Metric, metric};

/// Of a flow, in the order of `--json`.
pub(super) const FLOWS: &[Metric] = &[
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
        "flow.max_min_bps",
        "bit/s",
        "steady",
        "study",
        "Its goodput if the network were shared max-min fairly (see Max-min fair rates); null where that is not known.",
    )
    .of("Bertsekas and Gallager, Data Networks (1992), section 6.5.2; RFC 5166, section 2.3"),
    metric(
        "flow.max_min_share",
        "1",
        "steady",
        "receiver",
        "steady_goodput_bps / max_min_bps.",
    )
    .of("Prudentia (Philip et al., SIGCOMM 2024)"),
    metric(
        "flow.least_share",
        "1",
        "steady",
        "receiver",
        "The smallest, over every 5 buckets in a row, of the bytes that it received / the bytes that all flows received; null with fewer buckets.",
    )
    .of("the ratio of Arun et al., Starvation in End-to-End Congestion Control (SIGCOMM 2022), over a sliding window"),
    metric(
        "flow.starved_s",
        "s",
        "steady",
        "receiver",
        "Length of the longest row of buckets in each of which it received less than a tenth of max_min_bps; 0 if there is none.",
    )
    .of("own definition; RFC 9743 asks for starvation to be looked for"),
    metric(
        "flow.goodput_cov",
        "1",
        "steady",
        "receiver",
        "Coefficient of variation: standard deviation of the bytes received in a bucket (over n) / their mean; null with fewer than 2 buckets.",
    )
    .of("RFC 5166, section 2.2; Floyd et al., Equation-Based Congestion Control (SIGCOMM 2000)"),
    metric(
        "flow.power",
        "bit/s^2",
        "run",
        "receiver, sender",
        "goodput_bps / srtt_mean_s.",
    )
    .of("Kleinrock, Power and Deterministic Rules of Thumb (ICC 1979)"),
    metric(
        "flow.fct_s",
        "s",
        "run",
        "receiver",
        "Flow completion time: from the first SYN to the arrival of the last byte; null of a flow without a transfer, and of one that did not end.",
    )
    .of("docs/traffic.md; Dukkipati and McKeown, Why Flow-Completion Time is the Right Metric (CCR 2006)"),
    metric(
        "flow.slowdown",
        "1",
        "run",
        "receiver",
        "fct_s / the time alone on the empty path in closed form (docs/traffic.md); null where something else than the path sets the pace: an application, writes, a program, packet rates.",
    )
    .of("docs/traffic.md"),
    metric(
        "flow.solo_goodput_bps",
        "bit/s",
        "steady of either run",
        "receiver",
        "x: its steady_goodput_bps in the run in which it is alone (see Baselines); null without baselines, as all that follows.",
    ),
    metric(
        "flow.harm_goodput",
        "1",
        "steady of either run",
        "receiver",
        "(x - y) / x of steady_goodput_bps, with y its value in this run: 0 no harm, 1 all is taken, below 0 it has more than alone.",
    )
    .of("Ware et al., Beyond Jain's Fairness Index (HotNets 2019)"),
    metric(
        "flow.harm_delay",
        "1",
        "run",
        "sender",
        "(y - x) / y of srtt_mean_s.",
    )
    .of("Ware et al., Beyond Jain's Fairness Index (HotNets 2019)"),
    metric(
        "flow.harm_loss",
        "1",
        "run",
        "sender",
        "(y - x) / y of retransmits / segments_sent; 0 if both are 0, null if y alone is.",
    )
    .of("Ware et al., Beyond Jain's Fairness Index (HotNets 2019)"),
    metric(
        "flow.harm_fct",
        "1",
        "run",
        "receiver",
        "(y - x) / y of fct_s.",
    )
    .of("Ware et al., Beyond Jain's Fairness Index (HotNets 2019)"),
    metric(
        "flow.self_goodput_bps",
        "bit/s",
        "steady of either run",
        "receiver",
        "Its steady_goodput_bps in the run in which every flow is of its kind (see Baselines).",
    ),
    metric(
        "flow.friendliness",
        "1",
        "steady of either run",
        "receiver",
        "steady_goodput_bps / self_goodput_bps: 1 says that the others are to it as its own kind is.",
    )
    .of("draft-irtf-iccrg-tcpeval-01, section 6.1: throughput of a camp in MIX / in BASELINE"),
];
