//! What a run was: rows of samples and summaries from the state of flows.

use cclab_tcp::Sender;
use cclab_tcp::limits::Limit;
use cclab_tcp::sender::State;
use cclab_trace::schema::{FlowSample, FlowSummary, Limited};
use cclab_units::Time;

use crate::flow::Flow;

/// The threshold, unless it is still unlimited.
pub fn known_ssthresh(sender: &Sender) -> Option<u64> {
    Some(sender.cc().ssthresh()).filter(|&ssthresh| ssthresh != u64::MAX)
}

/// The state of a flow now.
pub fn flow_sample(index: usize, flow: &Flow) -> FlowSample {
    let sender = &flow.sender;
    let counters = sender.counters();
    FlowSample {
        flow: index as u32,
        cwnd: sender.window(),
        ssthresh: known_ssthresh(sender),
        srtt: flow.srtt(),
        in_flight: sender.board().in_flight(),
        rwnd: sender.rwnd(),
        delivery_rate: sender.last_ack().rate.and_then(|rate| rate.rate()),
        pacing_rate: sender.cc().pacing_rate(),
        snd_una: sender.snd_una(),
        snd_nxt: sender.snd_nxt(),
        bytes_received: flow.receiver.bytes_received(),
        segments_sent: counters.segments_sent,
        retransmits: counters.retransmits,
    }
}

/// The flows' rows of a run that ends at `now`. With thousands of flows it matters that each goes
/// when its row is there, and that the rows, which take its place in memory, do not keep all of it.
pub fn flow_summaries(flows: Vec<Flow>, specs: &[cclab_spec::Flow], now: Time) -> Vec<FlowSummary> {
    let mut rows: Vec<FlowSummary> = flows
        .into_iter()
        .zip(specs)
        .map(|(flow, spec)| flow_summary(flow, spec, now))
        .collect();
    rows.shrink_to_fit();
    rows
}

fn flow_summary(flow: Flow, spec: &cclab_spec::Flow, now: Time) -> FlowSummary {
    let sender = &flow.sender;
    let counters = sender.counters();
    let limits = sender.limits();
    let spent = |limit| limits.spent(limit, now);
    FlowSummary {
        name: spec.name.clone(),
        cc: spec.cc.clone(),
        cc_in_force: spec.cc.clone(),
        started: flow.started,
        first_byte: flow.receiver.first_byte(),
        last_byte: flow.receiver.last_byte(),
        ended: flow.ended,
        aborted: sender.state() == State::Aborted,
        mss: flow.mss,
        bytes_received: flow.receiver.bytes_received(),
        bytes_acked: sender.bytes_acked(),
        segments_sent: counters.segments_sent,
        retransmits: counters.retransmits,
        rtos: counters.rtos,
        fast_recoveries: counters.fast_recoveries,
        undos: counters.undos,
        tail_loss_probes: counters.tail_loss_probes,
        ecn_echoes: counters.ecn_echoes,
        limited: Limited {
            cwnd: spent(Limit::Cwnd),
            rwnd: spent(Limit::Rwnd),
            application: spent(Limit::Application),
            sndbuf: spent(Limit::Sndbuf),
            pacing: spent(Limit::Pacing),
        },
        rtt_min: Some(sender.rtt().min_rtt()).filter(|_| sender.rtt().sampled()),
        srtt_mean: (flow.srtt_count > 0)
            .then(|| Time::from_nanos((flow.srtt_sum / u128::from(flow.srtt_count)) as u64)),
        cwnd_mean: limits.cwnd_mean(now),
        rtt: flow.rtt,
        ..FlowSummary::default()
    }
}
