//! What a trace is to see of a network, whoever stands around it.

use std::marker::PhantomData;

use cclab_layout::{BOTTLENECK, BOTTLENECK_REVERSE};
use cclab_net::{ROUTES, Sight, Watch};
use cclab_packet::Packet;
use cclab_spec::Scenario;
use cclab_trace::Probe;
use cclab_trace::schema::{QueueAction, QueueEvent};
use cclab_units::Time;

use crate::traffic::Traffic;

/// Looks on at the network for the probe `P`: what it sees waits here until the hosts can be asked
/// what they know of it.
pub struct Lookout<P> {
    /// What was seen and not yet told.
    pub seen: Vec<Sight>,
    /// Whether packets are captured at the bottleneck.
    captures: bool,
    probe: PhantomData<P>,
}

impl<P> Lookout<P> {
    /// One that `captures` packets at the bottleneck, or not.
    pub fn new(captures: bool) -> Lookout<P> {
        Lookout {
            seen: Vec::new(),
            captures,
            probe: PhantomData,
        }
    }
}

impl<P: Probe> Watch for Lookout<P> {
    const ON: bool = P::ON;

    fn wants_queue(&self, link: usize) -> bool {
        link == BOTTLENECK.index()
    }

    fn wants_arrivals(&self, link: usize) -> bool {
        self.captures && link == BOTTLENECK_REVERSE.index()
    }

    fn see(&mut self, sight: Sight) {
        self.seen.push(sight);
    }
}

/// Which capture points see the packets of the bottleneck and of each host.
#[derive(Default)]
pub struct Captures {
    /// That of the bottleneck.
    pub bottleneck: Option<u32>,
    /// By side, then by flow.
    pub hosts: [Vec<Option<u32>>; 2],
}

impl Captures {
    /// The points of `scenario`.
    pub fn new(scenario: &Scenario) -> Captures {
        let point = |name: &str| {
            let found = scenario
                .trace
                .capture
                .iter()
                .position(|point| point == name);
            found.map(|index| index as u32)
        };
        let of_host = |host: &str| {
            scenario
                .flows
                .iter()
                .map(|flow| point(&format!("{}.{host}", flow.name)))
                .collect()
        };
        Captures {
            bottleneck: point("bottleneck"),
            hosts: [of_host("sender"), of_host("receiver")],
        }
    }
}

/// The index of a packet's flow in a trace: sources of cross traffic follow the flows, and probes
/// follow these.
pub fn traced_flow(scenario: &Scenario, traffic: &Traffic<'_>, packet: &Packet) -> u32 {
    let flows = scenario.flows.len() as u32;
    let sources = scenario.traffic.len() as u32;
    let behind = flows + ROUTES as u32 * sources;
    let probes = behind..behind + scenario.probes.len() as u32;
    match packet.flow {
        flow if flow < flows => flow,
        flow if probes.contains(&flow) => flows + sources + flow - behind,
        flow => flows + traffic.source_of(flow),
    }
}

/// `packet` of the flow `flow` enters or leaves the queue of `link`, which holds so many bytes then;
/// one that leaves has waited.
pub fn queue_event(
    link: u32,
    action: QueueAction,
    flow: u32,
    packet: &Packet,
    (backlog, sojourn): (u64, Option<Time>),
) -> QueueEvent {
    QueueEvent {
        link,
        action,
        flow,
        wire_len: u32::from(packet.wire_len),
        backlog,
        sojourn,
    }
}
