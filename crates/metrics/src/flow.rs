//! The numbers of one flow.

use cclab_trace::Trace;
use cclab_trace::schema::FlowSummary;
use cclab_units::Time;

use crate::run_metrics::{FlowMetrics, LimitedShares};
use crate::series::value_at;
use crate::window::Window;

/// Bits per byte.
const BITS: f64 = 8.0;

/// The numbers of `flow` in a run that ended at `end` and whose steady window is `steady`;
/// `received` are the instants at which the bytes received by the flow are known, `transfer` tells
/// whether it has one, and how long it takes alone on the empty path. What it had of other flows is
/// left open.
pub(crate) fn measure_flow(
    flow: &FlowSummary,
    end: Time,
    received: &[(Time, u64)],
    steady: Option<Window>,
    transfer: (bool, Option<f64>),
) -> FlowMetrics {
    let active = Window::active(flow, end);
    let fct_s = completion_s(flow).filter(|_| transfer.0);
    let srtt = flow.srtt_mean.map(Time::as_secs_f64);
    FlowMetrics {
        name: flow.name.clone(),
        cc: flow.cc.clone(),
        cc_in_force: flow.cc_in_force.clone(),
        bytes_received: flow.bytes_received,
        bytes_acked: flow.bytes_acked,
        started_s: flow.started.map(Time::as_secs_f64),
        ended_s: flow.ended.map(Time::as_secs_f64),
        elapsed_s: active.map(Window::seconds),
        throughput_bps: active.map(|w| flow.bytes_received as f64 * BITS / w.seconds()),
        goodput_bps: goodput_bps(flow),
        steady_goodput_bps: steady.and_then(|w| steady_goodput_bps(received, w)),
        segments_sent: flow.segments_sent,
        retransmits: flow.retransmits,
        rtos: flow.rtos,
        srtt_mean_s: srtt,
        rtt_min_s: flow.rtt_min.map(Time::as_secs_f64),
        rtt_p95_s: flow.rtt.quantile(0.95).map(|ns| ns / 1e9),
        cwnd_mean_segments: (active.is_some() && flow.mss > 0)
            .then(|| flow.cwnd_mean / f64::from(flow.mss)),
        limited: active.map(|w| limited_shares(flow, w)),
        power: goodput_bps(flow)
            .zip(srtt.filter(|&rtt| rtt > 0.0))
            .map(|(goodput, rtt)| goodput / rtt),
        fct_s,
        slowdown: fct_s.zip(transfer.1).map(|(fct, alone)| fct / alone),
        ..FlowMetrics::default()
    }
}

/// From the SYN to the arrival of the last byte, of a transfer that ended in full.
fn completion_s(flow: &FlowSummary) -> Option<f64> {
    flow.ended?;
    Some((flow.last_byte? - flow.started?).as_secs_f64())
}

/// What a flow weighs in Jain's index: its goodput; zero if it started and got nothing through,
/// for starving is the most unfair outcome; `None` if it never started, or if all its data
/// arrived at one instant, which has no rate.
pub(crate) fn share(flow: &FlowSummary) -> Option<f64> {
    match (flow.started, flow.bytes_received) {
        (None, _) => None,
        (Some(_), 0) => Some(0.0),
        (Some(_), _) => goodput_bps(flow),
    }
}

fn goodput_bps(flow: &FlowSummary) -> Option<f64> {
    let window = Window::new(flow.first_byte?, flow.last_byte?)?;
    Some(flow.bytes_received as f64 * BITS / window.seconds())
}

/// `received` are the instants at which the bytes received by the flow are known.
fn steady_goodput_bps(received: &[(Time, u64)], window: Window) -> Option<f64> {
    let bytes = value_at(received, window.to)? - value_at(received, window.from)?;
    Some(bytes * BITS / window.seconds())
}

/// For each flow the instants at which the bytes received are known: its samples, and, if it has
/// any, its start and the end of the run.
pub(crate) fn received(trace: &Trace) -> Vec<Vec<(Time, u64)>> {
    let run = &trace.summary;
    let mut flows = vec![Vec::new(); run.flows.len()];
    for (at, sample) in &trace.flow_samples {
        if let Some(points) = flows.get_mut(sample.flow as usize) {
            points.push((*at, sample.bytes_received));
        }
    }
    for (points, flow) in flows.iter_mut().zip(&run.flows) {
        let Some(start) = flow.started.filter(|_| !points.is_empty()) else {
            continue;
        };
        points.insert(points.partition_point(|&(at, _)| at < start), (start, 0));
        if points.last().is_some_and(|&(at, _)| at < run.end) {
            points.push((run.end, flow.bytes_received));
        }
    }
    flows
}

fn limited_shares(flow: &FlowSummary, active: Window) -> LimitedShares {
    let share = |time: Time| time.as_secs_f64() / active.seconds();
    LimitedShares {
        cwnd: share(flow.limited.cwnd),
        rwnd: share(flow.limited.rwnd),
        application: share(flow.limited.application),
        sndbuf: share(flow.limited.sndbuf),
        pacing: share(flow.limited.pacing),
    }
}
