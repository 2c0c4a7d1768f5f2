//! From a scenario and a seed to orders.

use cclab_spec::{BOTTLENECK_POINT, EventKind, Scenario};
use cclab_units::Time;

use crate::network::{self, Network};
use crate::orders::{Capture, Change, Events, Flow, Orders, SCHEMA, Wire};
use crate::{Target, flow, probe, route, settings, tap};

/// The orders of the run of `scenario` with `seed`. The caller has made sure that
/// [`crate::unsupported`] finds nothing in it.
pub fn orders(scenario: &Scenario, seed: u64, target: Target) -> Orders {
    let travellers = probe::as_flows(scenario);
    let mut network = network::build(&travellers, target, probe::largest_packet(scenario));
    route::add(&travellers, &mut network);
    // What leaves and reaches hosts on a wire, its other end sees.
    let wired = target == Target::Wire;
    if !wired {
        tap::add(scenario, &mut network);
    }
    let flows = 0..scenario.flows.len();
    let flows: Vec<Flow> = flows
        .map(|index| flow::flow(scenario, &network, index, seed, !wired))
        .collect();
    let trace = &scenario.trace;
    Orders {
        schema: SCHEMA.to_owned(),
        end: scenario.duration,
        interval: trace.interval,
        marks: marks(scenario, &flows),
        sysctl: settings::of_machine(scenario.flows.iter(), target),
        flows,
        probes: probe::probes(scenario, &network),
        captures: match wired {
            true => Vec::new(),
            false => captures(scenario, &network),
        },
        wire: wired.then(|| Wire {
            zero: zero(&network),
            mtu: network.mtu,
            lasts: !scenario.traffic.is_empty() && scenario.duration.is_some(),
            news: None,
            looks_back: false,
        }),
        snaplen: trace.snaplen,
        capture_from: trace.from,
        capture_until: trace.until,
        events: Events {
            acks: true,
            dequeues: !wired,
            enqueues: !wired && trace.events.contains(&EventKind::Queue),
            losses: !wired,
        },
        changes: in_order(network.changes),
        namespaces: network.namespaces,
        links: network.links,
        queues: network.queues,
    }
}

/// A guest's clock at time zero where it is the same for all: later than any set-up ends, which
/// takes virtual time where namespaces and interfaces wait for one another.
fn zero(network: &Network<'_>) -> u64 {
    const AT_LEAST: u64 = 100_000_000_000;
    const EACH: u64 = 1_000_000_000;
    AT_LEAST + EACH * network.namespaces.len() as u64
}

/// Changes in the order of time, one per instant and namespace.
fn in_order(mut changes: Vec<Change>) -> Vec<Change> {
    changes.sort_by_key(|change| (change.at, change.namespace));
    let mut joined: Vec<Change> = Vec::new();
    for change in changes {
        match joined.last_mut() {
            Some(last) if (last.at, last.namespace) == (change.at, change.namespace) => {
                last.tc.extend(change.tc);
                last.iptables.extend(change.iptables);
            }
            _ => joined.push(change),
        }
    }
    joined
}

/// The end of the warm-up, the edges of outages and the last start: figures hold between them.
fn marks(scenario: &Scenario, flows: &[Flow]) -> Vec<Time> {
    let outages = &scenario.network.bottleneck.outage;
    let edges = outages
        .iter()
        .flat_map(|outage| [outage.start, outage.start + outage.duration]);
    let mut marks: Vec<Time> = edges.chain([scenario.warmup]).collect();
    marks.retain(|&at| at > Time::ZERO && scenario.duration.is_none_or(|end| at < end));
    marks.extend(flows.iter().map(|flow| flow.start).max());
    marks.sort();
    marks.dedup();
    marks
}

/// The flow whose host the capture point `point` is at, if it is at one, and whether it is the
/// sender.
pub fn host_of(scenario: &Scenario, point: &str) -> Option<(usize, bool)> {
    let (name, side) = point.rsplit_once('.')?;
    let index = scenario.flows.iter().position(|flow| flow.name == name)?;
    match side {
        "sender" => Some((index, true)),
        "receiver" => Some((index, false)),
        _ => None,
    }
}

fn captures(scenario: &Scenario, network: &Network<'_>) -> Vec<Capture> {
    let capture = |point: &String| {
        if point == BOTTLENECK_POINT {
            let end = network.before_bottleneck();
            return Capture {
                point: point.clone(),
                namespace: end.namespace,
                interface: end.interface.clone(),
                flow: None,
            };
        }
        let (index, at_sender) = host_of(scenario, point).expect("other points are refused");
        let (sender, receiver) = network.paths[index].ends();
        let end = if at_sender { sender } else { receiver };
        Capture {
            point: point.clone(),
            namespace: end.namespace,
            interface: end.interface.clone(),
            flow: Some(index as u32),
        }
    };
    scenario.trace.capture.iter().map(capture).collect()
}
