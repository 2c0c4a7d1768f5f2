//! What the numbers of the bottleneck and of a run as a whole mean.

use super::{Metric, metric};

/// Of the bottleneck and of the run, in the order of `--json`.
pub(super) const WHOLE: &[Metric] = &[
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
        "bottleneck.queue_delay_p99_s",
        "s",
        "run",
        "bottleneck's queue",
        "99th percentile of the same, within 0.8%.",
    ),
    metric(
        "bottleneck.queue_max_bytes",
        "byte",
        "run",
        "bottleneck's queue",
        "Largest backlog.",
    ),
    metric(
        "bottleneck.queue_power",
        "bit/s^2",
        "run",
        "bottleneck's transmitter and queue",
        "Throughput / delay: 8 bytes transmitted / length of the run, over queue_delay_mean_s + the mean time to transmit a packet; null if the rate changes or is infinite.",
    )
    .of("Kleinrock, Power and Deterministic Rules of Thumb (ICC 1979)"),
    metric(
        "jain",
        "1",
        "first to last byte received",
        "receiver",
        "(sum x)^2 / (n sum x^2) over goodput_bps of the n flows that started: a flow that got nothing through counts as 0, one whose data all arrived at one instant is left out; 1 for one flow, null if all are 0.",
    )
    .of("Jain, Chiu and Hawe, A Quantitative Measure of Fairness (DEC-TR-301, 1984)"),
    metric(
        "jain_mean",
        "1",
        "steady",
        "receiver",
        "Mean of the index over buckets, of the bytes that each flow received in one; buckets in which nothing arrived are left out.",
    )
    .of("the same; buckets as transperf has them"),
    metric(
        "jain_min",
        "1",
        "steady",
        "receiver",
        "Smallest of the same.",
    )
    .of("the same; buckets as transperf has them"),
    metric(
        "convergence_s",
        "s",
        "from the last start on, warm-up included",
        "receiver",
        "From the last start to the beginning of the first 5 buckets in a row in each of which the index is at least 0.95; null if that never happens, and for one flow.",
    )
    .of("RFC 5166, section 2.3: of two flows, delta-fair convergence with delta = 0.23"),
    metric(
        "throughput_ratio",
        "1",
        "first to last byte received",
        "receiver",
        "Smallest / largest of the values that jain is taken over; null if all are 0.",
    )
    .of("RFC 5166, section 2.3 (epsilon-fair: at least 1 - epsilon)"),
    metric(
        "smallest_share",
        "1",
        "steady",
        "receiver",
        "Smallest flow.least_share.",
    ),
    metric(
        "longest_starved_s",
        "s",
        "steady",
        "receiver",
        "Largest flow.starved_s.",
    ),
];
