//! The books of a run: what hosts sent and got, what links took and gave, what the trace tells.

use cclab_spec::{Link, Scenario};
use cclab_trace::schema::{
    Carrier, FlowSummary, LinkSummary, ProbeSummary, RunSummary, TrafficSummary,
};
use cclab_trace::{Event, Probe};
use cclab_units::Time;

use crate::{Progress, run};

/// Counts packets at the hosts' own interfaces, and losses anywhere.
#[derive(Default)]
struct Ledger {
    points: Vec<String>,
    sent: u64,
    received: u64,
    dropped: u64,
    /// Transfers of each source of cross traffic: all, and those that ended.
    transfers: Vec<[u64; 2]>,
    /// Whether time ran backward, or within a transfer did.
    disorder: bool,
    now: Time,
}

impl Probe for Ledger {
    fn wants_acks(&self, _: Time) -> bool {
        true
    }
    fn wants_queue(&self, _: Time) -> bool {
        true
    }
    fn wants_drops(&self, _: Time) -> bool {
        true
    }
    fn wants_packets(&self, _: Time) -> bool {
        true
    }
    fn record(&mut self, now: Time, event: Event<'_>) {
        self.disorder |= now < self.now;
        self.now = now;
        match event {
            Event::Drop(_) => self.dropped += 1,
            Event::Transfer(began, transfer) => {
                let [all, ended] = &mut self.transfers[transfer.source as usize];
                *all += 1;
                *ended += u64::from(transfer.end.is_some());
                let times = [Some(began), transfer.first_byte, transfer.end];
                self.disorder |= !times.iter().flatten().is_sorted();
            }
            Event::Packet(point, packet) => {
                let point = &self.points[point as usize];
                if point == "bottleneck" {
                    return;
                }
                if point.ends_with(".sender") == packet.backward {
                    self.received += 1;
                } else {
                    self.sent += 1;
                }
            }
            _ => {}
        }
    }
}

/// Runs `scenario`, with captures at every host, and audits its books: no packet appears or
/// vanishes, on any link and in all.
///
/// # Errors
/// The entry that is wrong.
pub fn audit(scenario: &Scenario, seed: u64) -> Result<RunSummary, String> {
    let mut scenario = scenario.clone();
    scenario.trace.capture = capture_points(&scenario);
    let mut ledger = Ledger {
        points: scenario.trace.capture.clone(),
        transfers: vec![[0; 2]; scenario.traffic.len()],
        ..Ledger::default()
    };
    let summary = run(&scenario, seed, &mut ledger, &Progress::default())
        .map_err(|error| error.to_string())?;
    if ledger.disorder {
        return Err("events are not in the order of time".to_owned());
    }
    for link in &summary.links {
        audit_link(link, constant_rate(&scenario, link), summary.end)?;
    }
    for (flow, spec) in summary.flows.iter().zip(&scenario.flows) {
        let truthful = !spec.receiver.is_some_and(|receiver| receiver.loses_data());
        audit_flow(flow, truthful, summary.end)?;
    }
    for (source, traced) in summary.traffic.iter().zip(&ledger.transfers) {
        if *traced != [source.started, source.ended] {
            return Err(format!("of transfers {traced:?} were traced: {source:?}"));
        }
    }
    audit_all(&ledger, &summary)?;
    Ok(summary)
}

/// The bottleneck and every host.
fn capture_points(scenario: &Scenario) -> Vec<String> {
    let hosts = scenario
        .flows
        .iter()
        .flat_map(|flow| ["sender", "receiver"].map(|host| format!("{}.{host}", flow.name)));
    std::iter::once("bottleneck".to_owned())
        .chain(hosts)
        .collect()
}

/// Whether a link keeps its rate throughout, and so carries no more than that.
fn constant_rate(scenario: &Scenario, link: &LinkSummary) -> bool {
    let network = &scenario.network;
    let changes = |link: &Link| link.changes().next().is_some() || link.trace.is_some();
    if let Some(graph) = &network.graph {
        // Each has changes of its own: only where none has is every rate constant.
        return !graph.links.iter().any(|edge| changes(&edge.link));
    }
    match link.name.as_str() {
        name if name.contains("access") => !changes(&network.access),
        _ => !changes(&network.bottleneck) && !changes(&network.bottleneck.way_back()),
    }
}

fn audit_link(link: &LinkSummary, constant_rate: bool, end: Time) -> Result<(), String> {
    let accounted = link.delivered + link.drops() + link.in_flight;
    if link.offered + link.duplicates != accounted {
        return Err(format!("packets appear or vanish on {link:?}"));
    }
    let most = link.rate.filter(|_| constant_rate);
    if most.is_some_and(|rate| link.tx_bytes > rate.bytes_in(end)) {
        return Err(format!("more than the rate of the link on {link:?}"));
    }
    Ok(())
}

/// `truthful`: its receiver acknowledges only what came.
fn audit_flow(flow: &FlowSummary, truthful: bool, end: Time) -> Result<(), String> {
    // Linux counts srtt in whole microseconds.
    let mean = flow.srtt_mean.map(|mean| mean + Time::from_micros(1));
    let entries = [
        (
            !truthful || flow.bytes_acked <= flow.bytes_received,
            "acknowledged unreceived",
        ),
        (
            flow.retransmits <= flow.segments_sent,
            "more again than at all",
        ),
        (
            flow.srtt_mean.is_some() == flow.rtt_min.is_some(),
            "RTT half sampled",
        ),
        (flow.rtt_min <= mean, "a mean RTT below the least"),
        (
            flow.ended.is_none_or(|ended| ended <= end),
            "ended after the end",
        ),
        (
            flow.cwnd_mean.is_finite(),
            "a mean window that is no number",
        ),
    ];
    match entries.iter().find(|(holds, _)| !holds) {
        Some((_, what)) => Err(format!("{what}: {flow:?}")),
        None if flow.transport == Carrier::Udp => {
            let there = &flow.datagrams;
            let arrived = there.received + there.in_flight <= there.sent;
            match arrived && flow.bytes_received == there.received_bytes {
                true => Ok(()),
                false => Err(format!("received what was not sent: {flow:?}")),
            }
        }
        None => {
            let originals = flow.segments_sent - flow.retransmits;
            let least = flow.bytes_received.div_ceil(u64::from(flow.mss));
            match originals >= least {
                true => Ok(()),
                false => Err(format!("received what was not sent: {flow:?}")),
            }
        }
    }
}

fn audit_all(ledger: &Ledger, summary: &RunSummary) -> Result<(), String> {
    let sum = |count: fn(&LinkSummary) -> u64| summary.links.iter().map(count).sum::<u64>();
    let dropped = sum(LinkSummary::drops);
    if dropped != ledger.dropped {
        return Err(format!(
            "{dropped} packets were dropped, {} drops traced",
            ledger.dropped
        ));
    }
    let traffic =
        |count: fn(&TrafficSummary) -> u64| -> u64 { summary.traffic.iter().map(count).sum() };
    let probes = |count: fn(&ProbeSummary) -> Option<u64>| -> u64 {
        summary.probes.iter().filter_map(count).sum()
    };
    let born = ledger.sent
        + traffic(|source| source.sent)
        + probes(|probe| probe.sent_packets)
        + sum(|link| link.duplicates);
    let got = ledger.received
        + traffic(|source| source.received)
        + probes(|probe| probe.received_packets);
    let gone = got + dropped + sum(|link| link.in_flight);
    if born != gone {
        return Err(format!("hosts and links: {born} packets came, {gone} went"));
    }
    Ok(())
}
