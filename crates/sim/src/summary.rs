//! What a run was: rows of samples and summaries from the state of flows and links.

use cclab_tcp::Sender;
use cclab_tcp::limits::Limit;
use cclab_tcp::sender::State;
use cclab_trace::schema::{FlowSample, FlowSummary, Limited, LinkSummary, QueueSample};
use cclab_units::Time;

use crate::SimError;
use crate::flow::Flow;
use crate::link::Link;

/// The threshold, unless it is still unlimited.
pub fn known_ssthresh(sender: &Sender) -> Option<u64> {
    Some(sender.cc().ssthresh()).filter(|&ssthresh| ssthresh != u64::MAX)
}

/// srtt, once there was a sample.
pub fn known_srtt(sender: &Sender) -> Option<Time> {
    Some(sender.rtt().srtt()).filter(|&srtt| srtt > Time::ZERO)
}

/// The state of a flow now.
pub fn flow_sample(index: usize, flow: &Flow) -> FlowSample {
    let sender = &flow.sender;
    let counters = sender.counters();
    FlowSample {
        flow: index as u32,
        cwnd: sender.window(),
        ssthresh: known_ssthresh(sender),
        srtt: known_srtt(sender),
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

/// The state of a link now.
pub fn queue_sample(index: usize, link: &Link, now: Time) -> QueueSample {
    let backlog = link.backlog(now);
    QueueSample {
        link: index as u32,
        backlog: backlog.bytes,
        backlog_packets: backlog.packets,
        tx_bytes: link.tx_bytes(now),
        drops: link.incidents.queue_drops,
        marks: link.marks(),
        capacity: link.capacity(now),
    }
}

/// Every packet offered to a link or born there was delivered, lost, or is still there.
pub fn check_conservation(links: &[Link]) -> Result<(), SimError> {
    for link in links {
        let counters = &link.counters;
        let accounted = counters.delivered + link.incidents.drops() + link.in_flight();
        if counters.offered + link.incidents.duplicates != accounted {
            return Err(SimError::NotConserved {
                link: link.name.to_string(),
                offered: counters.offered,
                accounted,
            });
        }
    }
    Ok(())
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

/// The links' rows of a run that is over.
pub fn link_summaries(links: Vec<Link>, now: Time) -> Vec<LinkSummary> {
    links
        .into_iter()
        .map(|link| link_summary(link, now))
        .collect()
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
    }
}

fn link_summary(link: Link, now: Time) -> LinkSummary {
    let counters = &link.counters;
    let incidents = &link.incidents;
    LinkSummary {
        rate: link.rate,
        offered: counters.offered,
        duplicates: incidents.duplicates,
        queue_drops: incidents.queue_drops,
        random_drops: incidents.random_drops,
        listed_drops: incidents.listed_drops,
        outage_drops: incidents.outage_drops,
        corrupt_drops: incidents.corrupt_drops,
        marks: link.marks(),
        delivered: counters.delivered,
        tx_bytes: link.tx_bytes(now),
        in_flight: link.in_flight(),
        backlog_max: incidents.backlog_max,
        sojourn: link
            .fittings
            .and_then(|fittings| fittings.sojourn)
            .map(|sojourn| *sojourn)
            .unwrap_or_default(),
        name: link.name.into(),
    }
}
