//! What a trace is to see of a network, whoever stands around it.

use cclab_layout::{BOTTLENECK, Layout, LinkId, LinkKind};
use cclab_net::{ROUTES, Sight, Watch};
use cclab_packet::Packet;
use cclab_spec::{BOTTLENECK_POINT, Scenario};
use cclab_trace::Probe;
use cclab_trace::schema::{QueueAction, QueueEvent};
use cclab_units::Time;

use crate::traffic::Traffic;

/// Looks on at the network for a probe, if it `SEES`: what it sees waits here until the hosts can be asked
/// what they know of it.
pub struct Lookout<const SEES: bool> {
    /// What was seen and not yet told.
    pub seen: Vec<Sight>,
    /// How many links are under study, there and back, whose queues the probe wants to know of; they
    /// are the first.
    queues: usize,
    points: LinkPoints,
}

impl<const SEES: bool> Lookout<SEES> {
    /// One for `probe` of a run of `scenario`.
    pub fn new(scenario: &Scenario, layout: &Layout, probe: &dyn Probe) -> Lookout<SEES> {
        Lookout {
            seen: Vec::new(),
            queues: match probe.looks_at_queues() {
                true => 2 * scenario.network.bottlenecks as usize,
                false => 0,
            },
            points: LinkPoints::new(scenario, layout),
        }
    }

    /// Whether the probe may want to know of the queue of `link`.
    pub fn looks_at_queue(&self, link: u32) -> bool {
        (link as usize) < self.queues
    }

    /// The capture points that see what passes the end `end` of `link`.
    pub fn points(&self, link: u32, end: End) -> &[u32] {
        self.points.of(link, end)
    }
}

impl<const SEES: bool> Watch for Lookout<SEES> {
    const ON: bool = SEES;

    fn wants_queue(&self, link: usize) -> bool {
        link < self.queues || !self.points.of(link as u32, End::Near).is_empty()
    }

    fn wants_arrivals(&self, link: usize) -> bool {
        !self.points.of(link as u32, End::Far).is_empty()
    }

    fn see(&mut self, sight: Sight) {
        self.seen.push(sight);
    }
}

/// An end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Where packets leave its queue.
    Near,
    /// Where they come off its wire.
    Far,
}

/// Which capture points see the packets of links. A point is at the interface of a node to a link: it
/// sees what leaves there as its transmission begins, and what comes off the way back.
#[derive(Default)]
struct LinkPoints {
    /// By link, then by end; empty if there are no points.
    ends: Vec<[Vec<u32>; 2]>,
}

impl LinkPoints {
    fn new(scenario: &Scenario, layout: &Layout) -> LinkPoints {
        let mut points = LinkPoints::default();
        for (point, name) in (0..).zip(&scenario.trace.capture) {
            let Some(link) = link_of(layout, name) else {
                continue; // a host's
            };
            points
                .ends
                .resize_with(layout.links.len(), Default::default);
            points.ends[link.index()][End::Near as usize].push(point);
            if let Some(back) = layout.link(link).back {
                points.ends[back.index()][End::Far as usize].push(point);
            }
        }
        points
    }

    #[inline]
    fn of(&self, link: u32, end: End) -> &[u32] {
        let ends = self.ends.get(link as usize);
        ends.map_or(&[], |ends| &ends[end as usize])
    }
}

/// The link that the capture point `name` is at, if it is at one.
fn link_of(layout: &Layout, name: &str) -> Option<LinkId> {
    if name == BOTTLENECK_POINT {
        return Some(BOTTLENECK);
    }
    // Processors bear the names of hosts.
    let mut lines = layout
        .ids()
        .filter(|(_, link)| matches!(link.kind, LinkKind::Line { .. }));
    lines.find(|(_, link)| link.name == name).map(|(id, _)| id)
}

/// Which capture points see the packets of each host.
#[derive(Default)]
pub struct Captures {
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
