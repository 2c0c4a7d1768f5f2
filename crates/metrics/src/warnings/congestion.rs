//! Losses, marks and links that are full: whether there was congestion, and enough of it.

use super::drift::not_converged;
use super::limits::MOST_OF_THE_TIME;
use super::spans::unended;
use super::{Evidence, joined};
use crate::bottleneck::{BOTTLENECK, REVERSE, utilization};
use crate::flow::is_tcp;
use crate::window::Window;
use cclab_cc::Signal;
use cclab_trace::schema::FlowSummary;
use std::collections::BTreeMap;

/// A loss-based variant fills a queue of one bandwidth-delay product always, and without any
/// queue still averages 3/4 (reno) to 0.85 (cubic); below 90% the study's bottleneck is often
/// not what limits.
const FULL: f64 = 0.9;

/// Rates within a loss cycle vary by about half of their mean, so the mean of 20 cycles still
/// has a standard error near 10%.
const ENOUGH_LOSS_CYCLES: u64 = 20;

/// Whether anything that a sender takes for congestion happened.
fn has_congestion_signal(evidence: &Evidence<'_>) -> bool {
    let run = &evidence.trace.summary;
    let at_links = run.links.iter().any(|link| link.drops() + link.marks > 0);
    at_links
        || run
            .flows
            .iter()
            .any(|flow| flow.retransmits + flow.ecn_echoes > 0)
}

/// The variant of `flow`; of one that never connected, that asked for.
pub(super) fn in_force(flow: &FlowSummary) -> &str {
    match flow.cc_in_force.as_str() {
        "" => &flow.cc,
        in_force => in_force,
    }
}

/// Whether the variant of `flow` waits for losses and marks; of an unknown one that is taken for
/// granted, unless it is in a file of the study's.
fn obeys_losses(evidence: &Evidence<'_>, flow: &FlowSummary) -> bool {
    let files = &evidence.input.variant_files;
    is_tcp(flow)
        && !files.iter().any(|file| file == in_force(flow))
        && cclab_cc::find(in_force(flow)).is_none_or(|variant| variant.signal == Signal::Losses)
}

pub(super) fn no_congestion_signal(evidence: &Evidence<'_>) -> Option<(String, String)> {
    if has_congestion_signal(evidence) {
        return None;
    }
    let flows = evidence.trace.summary.flows.iter();
    let waiting = flows.filter(|flow| flow.bytes_received > 0 && obeys_losses(evidence, flow));
    let named = waiting.map(|flow| format!("{} ({})", flow.name, flow.cc));
    joined(named).map(|flows| {
        (
            format!(
                "no packet was lost or ECN-marked anywhere, and nothing else tells these to slow \
                 down: {flows}"
            ),
            "raise `duration`, lower the `limit` of the queue or the `rate` of the bottleneck, or \
             raise what limits the flows, such as `rwnd`"
                .to_owned(),
        )
    })
}

/// The links that TCP flows have for their bottleneck and did not fill in the `steady` window, with
/// the part that was used. Of several links a flow fills one.
fn not_full(evidence: &Evidence<'_>, steady: Window) -> BTreeMap<usize, f64> {
    let (input, trace) = (evidence.input, evidence.trace);
    let mut known: BTreeMap<usize, Option<f64>> = BTreeMap::new();
    let mut found = BTreeMap::new();
    // A source of datagrams fills what it is meant to, whatever there is room for.
    let flows = trace.summary.flows.iter().enumerate();
    for (index, _) in flows.filter(|(_, row)| is_tcp(row)) {
        let used = input.bottlenecks(index).iter().filter_map(|&link| {
            let used = known.entry(link);
            let used = used.or_insert_with(|| utilization(trace, steady, link));
            Some((link, (*used)?))
        });
        let fullest = used.max_by(|a, b| a.1.total_cmp(&b.1));
        found.extend(fullest.filter(|(_, used)| *used < FULL));
    }
    found
}

/// Whether one of the TCP flows that cross the link at `link` was held back by something else for
/// most of its time.
fn is_held_back(evidence: &Evidence<'_>, link: usize) -> bool {
    let flows = evidence.metrics.flows.iter().enumerate();
    let mut crossing = flows.filter(|(index, _)| evidence.input.crosses(*index, link));
    crossing.any(|(_, flow)| {
        flow.limited
            .is_some_and(|l| l.rwnd + l.application + l.sndbuf > MOST_OF_THE_TIME)
    })
}

/// What messages call the link at `link`.
fn called(evidence: &Evidence<'_>, link: usize) -> String {
    let count = evidence.trace.summary.flows.len();
    let several = (0..count).any(|flow| {
        evidence
            .input
            .bottlenecks(flow)
            .iter()
            .any(|&l| l > REVERSE)
    });
    match link {
        _ if several => format!("the link {}", evidence.input.link_name(link)),
        BOTTLENECK => "the bottleneck".to_owned(),
        _ => "the bottleneck's way back".to_owned(),
    }
}

pub(super) fn bottleneck_not_full(evidence: &Evidence<'_>) -> Option<(String, String)> {
    let idle = not_full(evidence, evidence.steady?).into_iter();
    let idle = idle.filter(|(link, _)| !is_held_back(evidence, *link));
    let idle: Vec<(usize, f64)> = idle.collect();
    let named = joined(idle.iter().map(|&(link, used)| {
        let name = called(evidence, link);
        format!("{name} was used to {:.1}% only", used * 100.0)
    }))?;
    let links: Vec<usize> = idle.into_iter().map(|(link, _)| link).collect();
    let by_delay = avoiding_queues(evidence, &links);
    let end = evidence.trace.summary.end;
    if evidence.input.routes_change.is_some_and(|at| at < end) {
        return Some((
            format!("{named} in the steady window: routes change, and may lead elsewhere"),
            "nothing, where that is what the study is about; its metrics are of this link alone, \
             those of others are in `links` and `queue_samples` of the trace"
                .to_owned(),
        ));
    }
    let changes = evidence.input.rate_changes.is_some_and(|at| at < end);
    if changes && links.contains(&BOTTLENECK) {
        let why = match &by_delay {
            Some(flows) => format!(", most of all one that avoids queues: {flows}"),
            None => String::new(),
        };
        return Some((
            format!(
                "{named} in the steady window: its rate changes, and a variant takes round trips to \
                 find what it gained{why}"
            ),
            "nothing, where that is what is compared; what a variant can use at most is told by one \
             that keeps a queue, such as `cubic`, with a `limit` above the bandwidth-delay product \
             of the largest rate"
                .to_owned(),
        ));
    }
    Some(match by_delay {
        Some(flows) => (
            format!(
                "{named} in the steady window, by variants that avoid queues and may leave room: \
                 {flows}"
            ),
            "compare a variant that keeps a queue, such as `cubic`: if that fills it, this is what \
             these variants do; if not, check `rate` of [network.access], `packet_rate`, \
             `router_packet_rate`, `loss` and `outage`"
                .to_owned(),
        ),
        None => (
            format!("{named} in the steady window: it may not be what limits the flows"),
            "check `rate` of [network.access], `packet_rate` and `router_packet_rate`, the `limit` \
             of the queue against the bandwidth-delay product, `loss` and `outage`; lengthen \
             `warmup` if flows were still starting"
                .to_owned(),
        ),
    })
}

/// The flows that cross `links`, with their variants, if all of them react to delay.
fn avoiding_queues(evidence: &Evidence<'_>, links: &[usize]) -> Option<String> {
    let flows = evidence.trace.summary.flows.iter().enumerate();
    let crossing = flows.filter(|(index, flow)| {
        let crosses = |link: &usize| evidence.input.crosses(*index, *link);
        is_tcp(flow) && links.iter().any(crosses)
    });
    let crossing: Vec<&FlowSummary> = crossing.map(|(_, flow)| flow).collect();
    let by_delay = |flow: &&FlowSummary| {
        cclab_cc::find(in_force(flow)).is_some_and(|variant| variant.signal == Signal::Delay)
    };
    let named = crossing
        .iter()
        .map(|flow| format!("{} ({})", flow.name, in_force(flow)));
    crossing.iter().all(by_delay).then(|| joined(named))?
}

/// Cycles that ended with ECN marks, counted low: a window is reduced once for the echoes of a
/// round trip, and these are no more than its segments.
fn cycles_of_marks(flow: &FlowSummary) -> u64 {
    let segments = flow.cwnd_mean / f64::from(flow.mss.max(1));
    (flow.ecn_echoes as f64 / segments.max(1.0)) as u64
}

pub(super) fn too_few_loss_cycles(evidence: &Evidence<'_>) -> Option<(String, String)> {
    if !has_congestion_signal(evidence) {
        return None;
    }
    let short = unended(evidence).filter_map(|(flow, metrics, _)| {
        let cycles = flow.fast_recoveries + flow.rtos + cycles_of_marks(flow);
        let by_cwnd = metrics
            .limited
            .is_some_and(|limited| limited.cwnd > MOST_OF_THE_TIME);
        let text = format!("{} ({cycles})", flow.name);
        (by_cwnd && cycles < ENOUGH_LOSS_CYCLES).then_some(text)
    });
    joined(short).map(|flows| {
        (
            format!("too few loss cycles were seen for a stable mean: {flows}"),
            // Repeats of a transient are the same transient.
            match not_converged(evidence) {
                Some(_) => format!(
                    "raise `duration` until each flow has seen {ENOUGH_LOSS_CYCLES} of them"
                ),
                None => format!(
                    "raise `duration` until each flow has seen {ENOUGH_LOSS_CYCLES} of them, or \
                     `repeat`"
                ),
            },
        )
    })
}
