//! The numbers of flows that belong together.

use cclab_trace::Trace;
use cclab_trace::schema::FlowSummary;
use serde::{Deserialize, Serialize};

use crate::fairness::jain;
use crate::flow::{FlowMetrics, share};
use crate::of_many::{mean, nearest_rank};
use crate::table::Quantity::{Count, Delay, Duration, Index, List, Percentage, Rate, Text};
use crate::table::{Metric, measured, row};

/// Bits per byte.
const BITS: f64 = 8.0;

/// A group and what is known of its flows.
pub(crate) struct OfGroup<'a> {
    name: &'a str,
    /// What each of them did, and its numbers.
    flows: Vec<(&'a FlowSummary, &'a FlowMetrics)>,
    /// Seconds that each transfer took that ended, in order.
    took: Vec<f64>,
}

impl OfGroup<'_> {
    /// A number after the warm-up of each flow that has one.
    fn window(&self, of: fn(&FlowMetrics) -> Option<f64>) -> Vec<f64> {
        self.flows.iter().filter_map(|(_, flow)| of(flow)).collect()
    }

    /// The sum of a count over the flows that are TCP; `None` if none is.
    fn tcp(&self, of: fn(&FlowMetrics) -> Option<u64>) -> Option<u64> {
        let known = self.flows.iter().filter_map(|(_, flow)| of(flow));
        known.reduce(|a, b| a + b)
    }
}

measured! {
    /// The numbers of a group of flows.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    pub struct GroupMetrics as "group." of &OfGroup<'_> {
        name: String = |of| of.name.to_owned(),
            "Name of a group: of the `[[flow]]` whose `count` its flows are, or its `group`; present only with some.",
            row(Text, "", "study");

        variants: Vec<String> = variants,
            "Variants of its flows, each once; of those that are not TCP, their transport.",
            row(List, "", "study").shape("names");

        flows: u64 = |of| of.flows.len() as u64,
            "Its flows.",
            row(Count, "", "study").of_one_run();

        ended: u64 = |of| of.took.len() as u64,
            "Those whose transfer ended: the ones that completion times are of.",
            row(Count, "run", "receiver").higher();

        goodput_sum_bps: Option<f64> = goodput_sum_bps,
            "8 bytes_received of its flows together / (last - first byte received by any of them): what the group had of the network. The flows' goodput_bps add up to it where all were active at the same time.",
            row(Rate, "first to last byte received", "receivers").higher().rank(1).compared(11).queried().column("goodput", 2);

        goodput_mean_bps: Option<f64> = |of| mean(&rates(of)),
            "Mean of goodput_bps over its flows that started: one that got nothing through counts as 0, one whose data all arrived at one instant is left out.",
            row(Rate, "first to last byte received", "receivers").higher().rank(2).compared(12).queried().column("each", 2);

        jain: Option<f64> = |of| jain(&rates(of)),
            "Jain's index over the same: how its flows shared what the group had.",
            row(Index, "first to last byte received", "receivers").higher().compared(13).queried().column("Jain within", 3)
                .source("Jain, Chiu and Hawe, A Quantitative Measure of Fairness (DEC-TR-301, 1984)");

        window_goodput_sum_bps: Option<f64> = |of| of.window(|flow| flow.window_goodput_bps).into_iter().reduce(|a, b| a + b),
            "Sum of window_goodput_bps of its flows; null without a warm-up, as all that begins with `window_`.",
            row(Rate, "flow's window", "receivers").higher();

        window_goodput_mean_bps: Option<f64> = |of| mean(&of.window(|flow| flow.window_goodput_bps)),
            "Mean of the same.",
            row(Rate, "flow's window", "receivers").higher();

        window_jain: Option<f64> = |of| jain(&of.window(|flow| flow.window_goodput_bps)),
            "Jain's index over the same.",
            row(Index, "flow's window", "receivers").higher();

        window_srtt_mean_s: Option<f64> = |of| mean(&of.window(|flow| flow.window_srtt_mean_s)),
            "Mean of window_srtt_mean_s over its flows.",
            row(Delay, "flow's window", "senders").lower();

        retransmits: Option<u64> = |of| of.tcp(|flow| flow.retransmits),
            "Segments retransmitted by its flows together; null if none of them is TCP.",
            row(Count, "run", "senders").lower().compared(14).column("retransmits", 0);

        rtos: Option<u64> = |of| of.tcp(|flow| flow.rtos),
            "Retransmission timeouts of its flows together; null if none of them is TCP.",
            row(Count, "run", "senders").lower().column_if_measured("timeouts", 0);

        srtt_mean_s: Option<f64> = |of| mean(&of.flows.iter().filter_map(|(_, flow)| flow.srtt_mean_s).collect::<Vec<_>>()),
            "Mean of srtt_mean_s over its flows.",
            row(Delay, "run", "senders").lower().column("srtt", 1);

        fct_mean_s: Option<f64> = |of| mean(&of.took),
            "Mean of fct_s over its flows whose transfer ended.",
            row(Duration, "run", "receivers").lower().compared(15);

        fct_p50_s: Option<f64> = |of| nearest_rank(&of.took, 0.5),
            "Median of the same: the smallest value that at least half of them do not pass. In summaries and tables it is of the flows of all runs of a sweep point together, and its interval is over runs.",
            row(Duration, "run", "receivers").lower().compared(16).queried().column_if_measured("FCT p50", 2);

        fct_p95_s: Option<f64> = |of| nearest_rank(&of.took, 0.95),
            "95th percentile of the same.",
            row(Duration, "run", "receivers").lower().column_if_measured("FCT p95", 2);

        fct_p99_s: Option<f64> = |of| nearest_rank(&of.took, 0.99),
            "99th percentile of the same.",
            row(Duration, "run", "receivers").lower().compared(17).queried().column_if_measured("FCT p99", 2);
    }
}

/// What the package makes of the shares of a group's flows.
pub(crate) const SHARE: &[Metric] = &[Metric {
    name: "group.share",
    definition: "Sum of flow.share over its flows: their part of what crosses their bottleneck; null where they do not all have the same one, or do not all send the same way.",
    ..row(Percentage, "first to last byte received", "receivers")
        .of_summary()
        .rank(3)
        .column("share", 1)
}];

/// The numbers of each group of `trace`: of the flows in it, by their places in `groups`, in the
/// order in which their first flows stand.
pub(crate) fn measure(
    trace: &Trace,
    flows: &[FlowMetrics],
    groups: &[Option<String>],
) -> Vec<GroupMetrics> {
    let mut found: Vec<OfGroup<'_>> = Vec::new();
    for ((flow, metrics), group) in trace.summary.flows.iter().zip(flows).zip(groups) {
        let Some(name) = group else { continue };
        let place = found.iter().position(|known| known.name == name);
        let place = place.unwrap_or_else(|| {
            found.push(OfGroup {
                name,
                flows: Vec::new(),
                took: Vec::new(),
            });
            found.len() - 1
        });
        found[place].flows.push((flow, metrics));
        found[place].took.extend(metrics.fct_s);
    }
    for group in &mut found {
        group.took.sort_unstable_by(f64::total_cmp);
    }
    found.iter().map(GroupMetrics::measure).collect()
}

fn variants(of: &OfGroup<'_>) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for (_, flow) in &of.flows {
        let variant = flow.cc.as_ref().or(flow.transport.as_ref());
        if let Some(variant) = variant.filter(|variant| !found.contains(variant)) {
            found.push(variant.clone());
        }
    }
    found
}

/// What each flow weighs in Jain's index.
fn rates(of: &OfGroup<'_>) -> Vec<f64> {
    of.flows
        .iter()
        .filter_map(|(flow, _)| share(flow))
        .collect()
}

fn goodput_sum_bps(of: &OfGroup<'_>) -> Option<f64> {
    let flows = || of.flows.iter().map(|(flow, _)| flow);
    let first = flows().filter_map(|flow| flow.first_byte).min()?;
    let last = flows().filter_map(|flow| flow.last_byte).max()?;
    let bytes: u64 = flows().map(|flow| flow.bytes_received).sum();
    let seconds = (last - first).as_secs_f64();
    (seconds > 0.0).then(|| bytes as f64 * BITS / seconds)
}
