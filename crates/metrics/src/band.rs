//! The numbers of the named queues of the bottleneck's discipline.

use cclab_trace::schema::BandSummary;
use serde::{Deserialize, Serialize};

use crate::table::Quantity::{Count, Delay, Percentage, Text};
use crate::table::{measured, row};

/// A named queue.
pub(crate) struct OfBand<'a> {
    /// What it did.
    pub band: &'a BandSummary,
    /// Whether there was a warm-up, so that something is of the time after it.
    pub warm: bool,
}

impl<'a> OfBand<'a> {
    fn after(&self) -> Option<&'a BandSummary> {
        self.warm.then_some(self.band)
    }
}

measured! {
    /// The numbers of a named queue.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    pub struct BandMetrics as "band." of &OfBand<'_> {
        name: String = |of| of.band.name.clone(),
            "Name of a queue of the bottleneck's discipline; present only of one that has several with names: `L` (low latency) and `C` (classic) of dualpi2.",
            row(Text, "", "study");

        packets: u64 = |of| of.band.packets,
            "Packets that left it for the link.",
            row(Count, "run", "bottleneck's queue");

        drops: u64 = |of| of.band.drops,
            "Packets dropped that were in it, or were to go there.",
            row(Count, "run", "bottleneck's queue").lower().column("drops", 0);

        ecn_marks: u64 = |of| of.band.marks,
            "Packets of it that were ECN-marked.",
            row(Count, "run", "bottleneck's queue").column("marks", 0);

        mark_rate: Option<f64> = |of| rate(of.band.marks, of.band.packets),
            "ecn_marks / packets; null if none left.",
            row(Percentage, "run", "bottleneck's queue").column("marked", 1);

        queue_delay_mean_s: Option<f64> = |of| of.band.sojourn.mean().map(|ns| ns / 1e9),
            "Mean of the time from arrival to departure for the link, over its packets that left; exact.",
            row(Delay, "run", "bottleneck's queue").lower().column("queue delay", 2);

        queue_delay_p95_s: Option<f64> = |of| of.band.sojourn.quantile(0.95).map(|ns| ns / 1e9),
            "95th percentile of the same, within 0.8%.",
            row(Delay, "run", "bottleneck's queue").lower();

        queue_delay_p99_s: Option<f64> = |of| of.band.sojourn.quantile(0.99).map(|ns| ns / 1e9),
            "99th percentile of the same, within 0.8%.",
            row(Delay, "run", "bottleneck's queue").lower().column("p99", 2);

        #[serde(default)]
        window_packets: Option<u64> = |of| Some(of.after()?.warm_packets),
            "Packets that left it for the link after the warm-up; null without one, as all that begins with `window_`.",
            row(Count, "after warm-up", "bottleneck's queue");

        #[serde(default)]
        window_drops: Option<u64> = |of| Some(of.after()?.warm_drops),
            "drops after the warm-up.",
            row(Count, "after warm-up", "bottleneck's queue").lower();

        #[serde(default)]
        window_ecn_marks: Option<u64> = |of| Some(of.after()?.warm_marks),
            "ecn_marks after the warm-up.",
            row(Count, "after warm-up", "bottleneck's queue");

        #[serde(default)]
        window_mark_rate: Option<f64> = |of| of.after().and_then(|band| rate(band.warm_marks, band.warm_packets)),
            "window_ecn_marks / window_packets; null if none left.",
            row(Percentage, "after warm-up", "bottleneck's queue");

        #[serde(default)]
        window_queue_delay_mean_s: Option<f64> = |of| Some(of.after()?.warm_sojourn.mean()? / 1e9),
            "queue_delay_mean_s over packets that left after the warm-up.",
            row(Delay, "after warm-up", "bottleneck's queue").lower();

        #[serde(default)]
        window_queue_delay_p95_s: Option<f64> = |of| Some(of.after()?.warm_sojourn.quantile(0.95)? / 1e9),
            "95th percentile of the same, within 0.8%.",
            row(Delay, "after warm-up", "bottleneck's queue").lower();

        #[serde(default)]
        window_queue_delay_p99_s: Option<f64> = |of| Some(of.after()?.warm_sojourn.quantile(0.99)? / 1e9),
            "99th percentile of the same, within 0.8%.",
            row(Delay, "after warm-up", "bottleneck's queue").lower();
    }
}

fn rate(marks: u64, packets: u64) -> Option<f64> {
    (packets > 0).then(|| marks as f64 / packets as f64)
}
