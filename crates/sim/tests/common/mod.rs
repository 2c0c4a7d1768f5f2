//! Scenarios and probes that the tests of the simulator share.

#![allow(
    dead_code,
    reason = "each test binary uses its own part of what all of them share"
)]

pub mod log;

use std::collections::BTreeMap;

use cclab_spec::{
    Direction, Flow, Graph, GraphLink, Limit, Link, Loss, Network, Outage, Place, Queue, Routing,
    Scenario, Topology, TraceOptions, Traffic,
};
use cclab_trace::schema::{FlowSample, RunSummary};
use cclab_trace::{Event, Probe};
use cclab_units::{Rate, Time};

/// The four stacks, with the payload of a full segment and its size on a link by default.
pub const STACKS: [(&str, u64, u64); 4] = [
    ("linux-6.12", 1448, 1514),
    ("rfc", 1448, 1500),
    ("ns2", 1000, 1040),
    ("ns3-3.1x", 536, 590),
];

/// Every topology.
pub const TOPOLOGIES: [Topology; 4] = [
    Topology::Chain,
    Topology::Dumbbell,
    Topology::ParkingLot,
    Topology::Graph,
];

pub fn rate(bps: u64) -> Rate {
    Rate::from_bps(bps).expect("a test's rate is positive")
}

/// A link with a first-in first-out queue; no rate is infinitely fast.
pub fn link(bps: Option<u64>, delay: Time, limit: Limit) -> Link {
    let queue = Queue {
        kind: "droptail".into(),
        limit,
        params: BTreeMap::new(),
    };
    Link::new(bps.map(rate), delay, queue)
}

/// An unlimited bulk flow that starts at once.
pub fn flow(name: &str, cc: &str) -> Flow {
    Flow::bulk(name, cc)
}

/// A dumbbell whose access links are infinitely fast and have no delay.
pub fn dumbbell(stack: &str, bottleneck: Link, flows: Vec<Flow>, duration: Time) -> Scenario {
    Scenario {
        duration: Some(duration),
        warmup: Time::ZERO,
        stack: stack.into(),
        kernel: None,
        network: Network {
            by: None,
            topology: Topology::Dumbbell,
            bottleneck,
            access: link(None, Time::ZERO, Limit::Packets(1_000)),
            bottlenecks: 1,
            router: None,
            graph: None,
        },
        flows,
        traffic: Vec::new(),
        probes: Vec::new(),
        variant_files: Vec::new(),
        trace: TraceOptions {
            interval: Time::ZERO,
            events: Vec::new(),
            capture: Vec::new(),
            snaplen: 0,
            from: Time::ZERO,
            until: None,
        },
    }
}

/// Puts the flows of a dumbbell into another topology: in a parking lot they cross different
/// bottlenecks, in a graph data and acknowledgements go different ways between the routers.
pub fn rewire(scenario: &mut Scenario, topology: Topology) {
    scenario.network.topology = topology;
    match topology {
        Topology::Chain | Topology::Dumbbell => {}
        Topology::ParkingLot => {
            scenario.network.bottlenecks = 3;
            let ways = [None, Some([1, 1]), Some([2, 3]), Some([2, 2])];
            for flow in &mut scenario.flows {
                let name: usize = flow.name.bytes().map(usize::from).sum();
                flow.crosses = ways[name % ways.len()];
            }
        }
        Topology::Graph => {
            // A loss at a host is a loss on its link; this graph has losses at the router alone.
            let bottleneck = &mut scenario.network.bottleneck;
            bottleneck
                .loss
                .iter_mut()
                .for_each(|loss| loss.at = Place::Router);
            bottleneck
                .outage
                .iter_mut()
                .for_each(|outage| outage.at = Place::Router);
            scenario.network.graph = Some(graph_of(&scenario.network));
            for flow in &mut scenario.flows {
                let (from, to) = match flow.direction {
                    Direction::Forward => ("a", "b"),
                    Direction::Reverse => ("b", "a"),
                };
                flow.direction = Direction::Forward;
                flow.from = Some(from.into());
                flow.to = Some(to.into());
            }
            for source in &mut scenario.traffic {
                let (from, to) = match source.direction {
                    Direction::Forward => ("a", "b"),
                    Direction::Reverse => ("b", "a"),
                };
                source.direction = Direction::Forward;
                source.from = Some(from.into());
                source.to = Some(to.into());
            }
        }
    }
}

/// Hosts `a` and `b` on either side of the bottleneck, and a shorter way back over a third router.
fn graph_of(network: &Network) -> Graph {
    let edge = |name: &str, from: &str, to: &str, one_way, link: &Link| GraphLink {
        name: name.into(),
        from: from.into(),
        to: to.into(),
        one_way,
        link: link.clone(),
    };
    let mut detour = network.access.clone();
    detour.delay = Time::from_millis(network.bottleneck.delay.as_millis() / 3);
    Graph {
        reroutes: Vec::new(),
        routing: Routing::Shortest,
        links: vec![
            edge("left", "a", "r1", false, &network.access),
            edge("middle", "r1", "r2", false, &network.bottleneck),
            edge("right", "b", "r2", false, &network.access),
            edge("down", "r2", "r3", true, &detour),
            edge("up", "r3", "r1", true, &detour),
        ],
        bottleneck: 1,
    }
}

/// Traffic of a kind from the beginning to the end, forward.
pub fn traffic(name: &str, kind: &str, params: &[(&str, f64)]) -> Traffic {
    let params = params.iter().map(|&(name, value)| (name.to_owned(), value));
    Traffic {
        name: name.into(),
        kind: kind.into(),
        extra_delay: Time::ZERO,
        direction: Direction::Forward,
        crosses: None,
        from: None,
        to: None,
        start: Time::ZERO,
        stop: None,
        cc: None,
        cc_params: BTreeMap::new(),
        sizes: None,
        twin_of: None,
        params: params.collect(),
    }
}

pub fn loss(at: Place, probability: f64) -> Loss {
    Loss::random(at, probability)
}

pub fn outage(at: Place, start: Time, duration: Time) -> Outage {
    Outage {
        at,
        start,
        duration,
    }
}

/// Lets the scenario capture at every host, and at both ends of every link.
pub fn capture_everywhere(scenario: &mut Scenario) {
    scenario.trace.capture = scenario.points();
}

/// Runs without a trace.
pub fn run(scenario: &Scenario, seed: u64) -> RunSummary {
    run_with(scenario, seed, &mut ())
}

/// Runs with a probe.
pub fn run_with<P: Probe>(scenario: &Scenario, seed: u64, probe: &mut P) -> RunSummary {
    cclab_sim::run(scenario, seed, probe, &cclab_sim::Progress::default())
        .unwrap_or_else(|error| panic!("{error}: {scenario:?}"))
}

/// Goodput of each flow in bit/s between the end of warm-up and the run's end.
pub fn steady_goodput(scenario: &Scenario, seed: u64) -> Vec<f64> {
    let mut marks = Marks::default();
    let summary = run_with(scenario, seed, &mut marks);
    let span = (summary.end - scenario.warmup).as_secs_f64();
    let received = |at, flow| {
        let found = marks
            .samples
            .iter()
            .find(|(t, s)| *t == at && s.flow == flow);
        found.expect("marks are sampled").1.bytes_received
    };
    (0..scenario.flows.len() as u32)
        .map(|flow| {
            let bytes = received(summary.end, flow) - received(scenario.warmup, flow);
            bytes as f64 * 8.0 / span
        })
        .collect()
}

/// Keeps the samples of flows.
#[derive(Default)]
pub struct Marks {
    pub samples: Vec<(Time, FlowSample)>,
}

impl Probe for Marks {
    fn record(&mut self, now: Time, event: Event<'_>) {
        if let Event::FlowSample(sample) = event {
            self.samples.push((now, sample));
        }
    }
}
