//! Probes: hosts and ways of their own, as flows have them, and what the agent is told of each.

use cclab_packet::{address, port};
use cclab_spec::{Flow, Scenario};
use cclab_units::Time;

use crate::network::{DEFAULT_MSS, Network};
use crate::orders::Probe;

/// `scenario` with a flow in the place of each probe, behind its own flows: a network has the same
/// namespaces, cables, addresses and routes for both. They change nothing for the others: their
/// segments are no larger, and they set nothing.
pub(crate) fn as_flows(scenario: &Scenario) -> Scenario {
    let mut all = scenario.clone();
    let sizes = scenario.flows.iter();
    let mss = sizes.map(|flow| flow.mss.unwrap_or(DEFAULT_MSS)).max();
    all.flows.extend(all.probes.drain(..).map(|probe| {
        Flow::bulk(probe.name, "reno").with(|flow| {
            flow.mss = mss;
            flow.extra_delay = probe.extra_delay;
            flow.direction = probe.direction;
            flow.crosses = probe.crosses;
            flow.from = probe.from;
            flow.to = probe.to;
        })
    }));
    all
}

/// The probes of `scenario`, whose places in `network` follow those of its flows.
pub(crate) fn probes(scenario: &Scenario, network: &Network<'_>) -> Vec<Probe> {
    let behind = scenario.flows.len();
    let probes = scenario.probes.iter().zip(behind..);
    let probes = probes.map(|(spec, index)| {
        let (sender, receiver) = network.paths[index].ends();
        let number = index as u32;
        let end = spec.stop.into_iter().chain(scenario.duration).min();
        Probe {
            name: spec.name.clone(),
            kind: spec.kind,
            sender: sender.namespace,
            receiver: receiver.namespace,
            source: address(number, false),
            source_port: port(number, false),
            destination: address(number, true),
            destination_port: port(number, true),
            start: spec.start,
            stop: end.unwrap_or(Time::NEVER),
            interval: spec.interval,
            payload: spec.payload,
        }
    });
    probes.collect()
}

/// Bytes of the largest packet of a probe, without framing.
pub(crate) fn largest_packet(scenario: &Scenario) -> u32 {
    let sizes = scenario.probes.iter();
    let largest = sizes.map(|probe| u32::from(probe.packet_bytes(0))).max();
    largest.unwrap_or(0)
}
