//! The numbers of the named queues of the bottleneck's discipline.

use cclab_trace::schema::BandSummary;
use serde::{Deserialize, Serialize};

use crate::table::Quantity::{Count, Delay, Percentage, Text};
use crate::table::{measured, row};

measured! {
    /// The numbers of a named queue.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    pub struct BandMetrics as "band." of &BandSummary {
        name: String = |of| of.name.clone(),
            "Name of a queue of the bottleneck's discipline; present only of one that has several with names: `L` (low latency) and `C` (classic) of dualpi2.",
            row(Text, "", "study");

        packets: u64 = |of| of.packets,
            "Packets that left it for the link.",
            row(Count, "run", "bottleneck's queue");

        drops: u64 = |of| of.drops,
            "Packets dropped that were in it, or were to go there.",
            row(Count, "run", "bottleneck's queue").lower().column("drops", 0);

        ecn_marks: u64 = |of| of.marks,
            "Packets of it that were ECN-marked.",
            row(Count, "run", "bottleneck's queue").column("marks", 0);

        mark_rate: Option<f64> = |of| (of.packets > 0).then(|| of.marks as f64 / of.packets as f64),
            "ecn_marks / packets; null if none left.",
            row(Percentage, "run", "bottleneck's queue").column("marked", 1);

        queue_delay_mean_s: Option<f64> = |of| of.sojourn.mean().map(|ns| ns / 1e9),
            "Mean of the time from arrival to departure for the link, over its packets that left; exact.",
            row(Delay, "run", "bottleneck's queue").lower().column("queue delay", 2);

        queue_delay_p95_s: Option<f64> = |of| of.sojourn.quantile(0.95).map(|ns| ns / 1e9),
            "95th percentile of the same, within 0.8%.",
            row(Delay, "run", "bottleneck's queue").lower();

        queue_delay_p99_s: Option<f64> = |of| of.sojourn.quantile(0.99).map(|ns| ns / 1e9),
            "99th percentile of the same, within 0.8%.",
            row(Delay, "run", "bottleneck's queue").lower().column("p99", 2);
    }
}
