//! Spans of time: whether flows lasted long enough, together, and were looked at often enough.

use super::{Evidence, joined};
use crate::flow::{FlowMetrics, is_seen};
use crate::window::Window;
use cclab_trace::schema::FlowSummary;
use cclab_units::Time;

/// A flow that spent a tenth of its life without the others has a mean rate that can be wrong by
/// about as much as the differences usually reported.
const ENOUGH_OVERLAP: f64 = 0.9;

/// "Some tens": slow start and the first loss take about ten round trips, and should not weigh
/// more than a third.
const ENOUGH_ROUND_TRIPS: f64 = 30.0;

/// A window of some tens of segments may fill its queue and fall again within some tens of round
/// trips, and slow start grows a thousandfold in ten: what lies further apart is not a course. What
/// a queue does within a round trip is seen by one sample in each, which is what is advised.
const MOST_ROUND_TRIPS_UNSEEN: f64 = 10.0;

pub(super) fn partial_overlap(evidence: &Evidence<'_>) -> Option<(String, String)> {
    let run = &evidence.trace.summary;
    // What is told is told of the time after the warm-up.
    let warmup = evidence.input.warmup;
    let active: Vec<(&FlowSummary, Window)> = run
        .flows
        .iter()
        // What sent neither TCP nor UDP is in none of what is compared.
        .filter(|flow| is_seen(flow))
        .filter_map(|flow| {
            let active = Window::active(flow, run.end)?;
            // One that was over by then is in none of it.
            Some((flow, active.after(warmup)?))
        })
        .collect();
    let from = active.iter().map(|(_, window)| window.from).max()?;
    let to = active.iter().map(|(_, window)| window.to).min()?;
    let common = Window::new(from, to).map_or(0.0, Window::seconds);
    let (flow, window) = active
        .iter()
        .max_by(|a, b| a.1.seconds().total_cmp(&b.1.seconds()))?;
    (common / window.seconds() < ENOUGH_OVERLAP).then(|| {
        (
            format!(
                "all flows were active together for {common:.3} s only, of the {:.3} s of {}: \
                 goodput, throughput and jain compare different times",
                window.seconds(),
                flow.name
            ),
            "let `warmup` last until the last start, compare steady_goodput_bps, or give all flows \
             one `start` and one `duration`"
                .to_owned(),
        )
    })
}

pub(super) fn coarse_samples(evidence: &Evidence<'_>) -> Option<(String, String)> {
    let every = evidence.input.sampled_every.as_secs_f64();
    let flows = evidence.metrics.flows.iter();
    let shortest = flows
        .filter_map(|flow| flow.rtt_min_s)
        .filter(|&rtt| rtt > 0.0)
        .reduce(f64::min)?;
    let longest = shortest * MOST_ROUND_TRIPS_UNSEEN;
    (every > longest).then(|| {
        let [every, rtt] = [every, shortest].map(Time::from_secs_f64);
        let each = evidence.metrics.flows.len() as u64;
        // As many as a study may ask for.
        let fits = rtt * (cclab_spec::MAX_SAMPLES / each.max(1));
        let remedy = match evidence.trace.summary.end <= fits {
            true => format!("set trace.interval to {rtt} or less"),
            false => format!(
                "set trace.interval to {rtt} or less, and `duration` to {fits} or less: a run may \
                 have so many samples and no more"
            ),
        };
        (
            format!(
                "samples are {every} apart and round trips take {rtt}: figures over time show \
                 neither windows nor queues as they were"
            ),
            remedy,
        )
    })
}

/// Flows that ran until the run's end, with the time for which they count. Finite transfers that
/// were completed are as long as the study wants them.
pub(super) fn unended<'a>(
    evidence: &'a Evidence<'_>,
) -> impl Iterator<Item = (&'a FlowSummary, &'a FlowMetrics, Window)> {
    let run = &evidence.trace.summary;
    let warm = evidence.steady.map(|steady| steady.from);
    run.flows
        .iter()
        .zip(&evidence.metrics.flows)
        .filter_map(move |(flow, metrics)| {
            let active = Window::active(flow, run.end)?;
            let window = Window::new(active.from.max(warm.unwrap_or(active.from)), active.to)?;
            flow.ended.is_none().then_some((flow, metrics, window))
        })
}

pub(super) fn too_few_round_trips(evidence: &Evidence<'_>) -> Option<(String, String)> {
    let short = unended(evidence).filter_map(|(_, flow, window)| {
        let round_trips = window.seconds() / flow.srtt_mean_s.filter(|&rtt| rtt > 0.0)?;
        let text = format!("{} ({round_trips:.0})", flow.name);
        (round_trips < ENOUGH_ROUND_TRIPS).then_some(text)
    });
    joined(short).map(|flows| {
        (
            format!("too few round trips were measured for a stable mean: {flows}"),
            format!("raise `duration` to at least {ENOUGH_ROUND_TRIPS} round trips after `warmup`"),
        )
    })
}
