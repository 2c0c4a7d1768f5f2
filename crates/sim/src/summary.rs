//! What a run was: rows of samples and summaries from the state of flows.

use cclab_tcp::Sender;
use cclab_tcp::limits::Limit;
use cclab_tcp::sender::State;
use cclab_trace::Histogram;
use cclab_trace::schema::{FlowSample, FlowSummary, Limited, Resumption};
use cclab_units::Time;

use crate::flow::Flow;
use crate::tcp_flow::TcpFlow;
use crate::warmup::{Counted, RoundTrips};

/// The threshold, unless it is still unlimited.
pub fn known_ssthresh(sender: &Sender) -> Option<u64> {
    Some(sender.ssthresh()).filter(|&ssthresh| ssthresh != u64::MAX)
}

/// The state of a flow now.
pub fn flow_sample(index: usize, flow: &Flow) -> FlowSample {
    match flow {
        Flow::Tcp(flow) => tcp_sample(index, flow),
        Flow::Udp(flow) => flow.sample(),
    }
}

fn tcp_sample(index: usize, flow: &TcpFlow) -> FlowSample {
    let sender = &flow.sender;
    let counters = sender.counters();
    FlowSample {
        flow: index as u32,
        cwnd: sender.window(),
        ssthresh: known_ssthresh(sender),
        srtt: flow.srtt(),
        in_flight: sender.board().in_flight(),
        rwnd: sender.rwnd(),
        delivery_rate: sender.last_ack().rate(),
        pacing_rate: sender.pacing_rate(),
        snd_una: sender.snd_una(),
        snd_nxt: sender.snd_nxt(),
        bytes_received: flow.receiver.bytes_received(),
        segments_sent: counters.segments_sent,
        retransmits: counters.retransmits,
    }
}

/// The flows' rows of a run that ends at `now`, whose warm-up is over at `warmup`, with what they had counted when the warm-up ended.
/// With thousands of flows it matters that each goes when its row is there, and that the rows, which
/// take its place in memory, do not keep all of it.
pub fn flow_summaries(
    flows: Vec<Flow>,
    specs: &[cclab_spec::Flow],
    warm: Option<&Counted>,
    [warmup, now]: [Time; 2],
) -> Vec<FlowSummary> {
    let before = |index: usize| warm.map(|counted| &counted.flows[index]);
    let mut rows: Vec<FlowSummary> = flows
        .into_iter()
        .zip(specs)
        .enumerate()
        .map(|(index, (flow, spec))| flow_summary(flow, spec, before(index), [warmup, now]))
        .collect();
    rows.shrink_to_fit();
    rows
}

fn flow_summary(
    flow: Flow,
    spec: &cclab_spec::Flow,
    warm: Option<&RoundTrips>,
    [warmup, now]: [Time; 2],
) -> FlowSummary {
    match flow {
        Flow::Tcp(flow) => tcp_summary(flow, spec, warm, [warmup, now]),
        Flow::Udp(flow) => flow.summary(spec, now),
    }
}

fn tcp_summary(
    flow: TcpFlow,
    spec: &cclab_spec::Flow,
    warm: Option<&RoundTrips>,
    [warmup, now]: [Time; 2],
) -> FlowSummary {
    let srtt = (flow.srtt_sum, flow.srtt_count);
    let sender = &flow.sender;
    let counters = sender.counters();
    let limits = sender.limits();
    let spent = |limit| limits.spent(limit, now);
    let watched = flow.application.playback();
    let delays = watched.as_ref().map(|(playback, _)| {
        let warm = (warmup > Time::ZERO).then(|| playback.delays(warmup));
        (playback.delays(Time::ZERO), warm.unwrap_or_default())
    });
    let (frame_delay, warm_frame_delay) = delays.unwrap_or_default();
    let frames = watched.map(|(playback, made)| playback.finish(made, now, warmup));
    let [frames, warm_frames] = frames.unwrap_or_default();
    FlowSummary {
        name: spec.name.clone(),
        cc: spec.cc.clone(),
        cc_in_force: spec.cc.clone(),
        started: flow.started.time(),
        first_byte: flow.receiver.first_byte(),
        last_byte: flow.receiver.last_byte(),
        ended: flow.ended.time(),
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
        srtt_mean: mean(srtt),
        warm_srtt_mean: warm
            .and_then(|before| mean((srtt.0 - before.srtt.0, srtt.1 - before.srtt.1))),
        cwnd_mean: limits.cwnd_mean(now),
        warm_rtt: warm.map_or_else(Histogram::default, |before| flow.rtt.since(&before.rtt)),
        rtt: flow.rtt,
        frames,
        warm_frames,
        frame_delay,
        warm_frame_delay,
        resumption: sender.resumed().map(|resumed| Resumption {
            jumped: resumed.jumped,
            validated: resumed.validated,
            retreated: resumed.retreated,
        }),
        ..FlowSummary::default()
    }
}

/// The mean of a sum of so many nanoseconds.
fn mean((sum, count): (u128, u64)) -> Option<Time> {
    (count > 0).then(|| Time::from_nanos((sum / u128::from(count)) as u64))
}
