//! A layout as namespaces and the cables between them: a namespace for each node and one for the
//! wires, a cable for each link with its way back.

use std::collections::BTreeMap;

use cclab_layout::{BOTTLENECK, Layout, Link as LaidLink, LinkId, LinkKind, NodeId, Role};
use cclab_spec::{Direction, Forwarder, Link, Scenario};
use cclab_units::Time;

use crate::cable::{self, Egress, End, Front, Majors, Shaper, Wire};
use crate::impairment::Impairment;
use crate::orders::{Change, Namespace, Queue, Setting};
use crate::own::{Added, Own};
use crate::{Target, processor, settings, wired};

/// MSS of a flow that sets none: that of Ethernet.
pub(crate) const DEFAULT_MSS: u32 = 1460;
/// IP and TCP headers without options.
const HEADERS: u32 = 40;
/// Ethernet's header, which a qdisc counts.
const FRAMING: u32 = 14;
/// The interfaces' MTU where no flow has larger segments.
const MTU: u32 = 1500;

/// How late a host's timers may be without a link missing its rate.
const LATENESS: Time = Time::from_millis(1);

/// A network being laid out.
pub(crate) struct Network<'a> {
    pub scenario: &'a Scenario,
    target: Target,
    pub mtu: u32,
    packet: u64,
    burst: u64,
    /// Index of the namespace of wires.
    pub wires: usize,
    /// Cables with something between their ends.
    strung: usize,
    /// The ends of the cables that stand for a link and its way back, in the link's direction, by
    /// what they add for their flows.
    pub cables: BTreeMap<LinkId, Vec<(Added, [End; 2])>>,
    /// See [`crate::Orders`].
    pub namespaces: Vec<Namespace>,
    /// See [`crate::Orders`].
    pub links: Vec<String>,
    /// See [`crate::Orders`].
    pub queues: Vec<Queue>,
    /// See [`crate::Orders`], not yet in order.
    pub changes: Vec<Change>,
    /// Each flow's path.
    pub paths: Vec<Path>,
}

/// The cables that a flow crosses from left to right, each from its left end to its right one.
#[derive(Clone, Debug)]
pub(crate) struct Path {
    cables: Vec<[End; 2]>,
    /// Whether data go from left to right.
    rightward: bool,
}

impl Path {
    /// From the interface of the sending host to that of the receiving one, with nothing of the
    /// kernel's between them.
    pub fn direct(sender: End, receiver: End) -> Path {
        Path {
            cables: vec![[sender, receiver]],
            rightward: true,
        }
    }

    /// The interfaces of the sending and of the receiving host.
    pub fn ends(&self) -> (&End, &End) {
        let left = &self.cables[0][0];
        let right = &self.cables[self.cables.len() - 1][1];
        match self.rightward {
            true => (left, right),
            false => (right, left),
        }
    }

    /// The interfaces of each router on the way, towards its left and towards its right.
    pub fn routers(&self) -> impl Iterator<Item = [&End; 2]> {
        let neighbours = self.cables.windows(2);
        neighbours.map(|cables| [&cables[0][1], &cables[1][0]])
    }
}

/// Index of the namespace that `node` is: that of wires comes before all of them.
pub(crate) fn namespace_of(node: NodeId) -> usize {
    node.index() + 1
}

/// Lays out the network of `scenario`, which is supported, for `target`. Beside the segments of its
/// flows it carries packets of up to `other` bytes, without framing.
pub(crate) fn build(scenario: &Scenario, target: Target, other: u32) -> Network<'_> {
    let mut network = Network::new(scenario, target, other);
    if target == Target::Wire {
        wired::hosts(&mut network, scenario);
        return network;
    }
    let layout = Layout::of(scenario);
    network.wires = network.namespace("wires", settings::of_wires());
    network.nodes(&layout);
    for &pair in &layout.bottlenecks {
        network.bottleneck(&layout, pair);
    }
    network.access(&layout);
    network.processors(&layout);
    network.paths = (0..scenario.flows.len())
        .map(|index| network.path(&layout, index))
        .collect();
    network
}

impl<'a> Network<'a> {
    fn new(scenario: &'a Scenario, target: Target, other: u32) -> Network<'a> {
        let flows = &scenario.flows;
        let mss = flows
            .iter()
            .map(|flow| flow.mss.unwrap_or(DEFAULT_MSS))
            .max();
        let segment = mss.unwrap_or(DEFAULT_MSS) + HEADERS;
        let mtu = segment.max(MTU);
        // Datagrams, which a program also sends, are as large as the MTU lets them be.
        let datagrams = flows
            .iter()
            .any(|flow| flow.udp.is_some() || flow.command.is_some());
        let largest = if datagrams { mtu } else { segment };
        Network {
            scenario,
            target,
            mtu,
            packet: u64::from(segment + FRAMING),
            burst: u64::from(largest.max(other) + FRAMING),
            wires: 0,
            strung: 0,
            cables: BTreeMap::new(),
            namespaces: Vec::new(),
            links: Vec::new(),
            queues: Vec::new(),
            changes: Vec::new(),
            paths: Vec::new(),
        }
    }

    /// A namespace for each node.
    fn nodes(&mut self, layout: &Layout) {
        // The flows that each node sends, and those that it receives.
        let mut flows = vec![(Vec::new(), Vec::new()); layout.nodes.len()];
        for (flow, journey) in self.scenario.flows.iter().zip(&layout.flows) {
            flows[journey.sender.index()].0.push(flow);
            flows[journey.receiver.index()].1.push(flow);
        }
        for (node, (sent, received)) in layout.nodes.iter().zip(flows) {
            let settings = match node.role {
                Role::Router => settings::of_router(),
                Role::Host | Role::SharedHost | Role::Any => settings::of_host(&sent, &received),
            };
            self.namespace(&node.name, settings);
        }
    }

    pub(crate) fn namespace(&mut self, name: &str, sysctl: Vec<Setting>) -> usize {
        self.namespaces.push(Namespace {
            name: name.to_owned(),
            sysctl,
            ..Namespace::default()
        });
        self.namespaces.len() - 1
    }

    /// Whether packets take their time on the wires of links with a rate. The timers of a host
    /// are later than a packet is long, so that its wires would only distort what shapers do.
    pub(crate) fn serialises(&self) -> bool {
        self.target != Target::Host
    }

    /// The processors of the routers, whose interfaces are all there.
    fn processors(&mut self, layout: &Layout) {
        for (index, node) in (0..).zip(&layout.nodes) {
            let Some(id) = node.processor else { continue };
            let &LaidLink {
                kind:
                    LinkKind::Processor {
                        packet_rate,
                        backlog,
                    },
                ..
            } = layout.link(id)
            else {
                continue;
            };
            let forwarder = Forwarder {
                packet_rate,
                backlog,
            };
            let namespace = &mut self.namespaces[namespace_of(NodeId(index))];
            processor::install(&forwarder, self.mtu + FRAMING, namespace);
        }
    }

    /// The path of the flow at `index`.
    fn path(&self, layout: &Layout, index: usize) -> Path {
        let (flow, journey) = (&self.scenario.flows[index], &layout.flows[index]);
        let cable = |&id: &LinkId| {
            let link = layout.link(id);
            let back = link.back.filter(|&back| back < id);
            let cables = self.cables.get(&back.unwrap_or(id))?;
            let added = match layout.is_bottleneck(id) {
                true => Added::default(),
                false => Added::of(layout, id, flow, journey),
            };
            let (_, ends) = cables.iter().find(|(known, _)| *known == added)?;
            let mut ends = ends.clone();
            if back.is_some() {
                ends.reverse();
            }
            Some(ends)
        };
        Path {
            cables: journey.sides()[0].iter().filter_map(cable).collect(),
            rightward: flow.direction == Direction::Forward,
        }
    }

    /// The interface by which packets leave for the link under study.
    pub(crate) fn before_bottleneck(&self) -> &End {
        &self.cables[&BOTTLENECK][0].1[0]
    }

    /// The sending side of `link` at `end`.
    pub(crate) fn egress(
        &mut self,
        end: &End,
        link: &Link,
        netem: Option<String>,
        majors: Majors,
    ) -> Option<Shaper> {
        let egress = Egress {
            netem,
            queue: link.rate.map(|rate| (rate, &link.queue)),
            burst: self.burst,
            lateness: match self.target {
                Target::Guest | Target::Wire => Time::ZERO,
                Target::Host => LATENESS,
            },
            packet: self.packet,
            majors,
        };
        egress.install(&mut self.namespaces[end.namespace], &end.interface)
    }

    /// Joins two interfaces, the left and the right one; gives the interfaces between them, if
    /// there are any.
    pub(crate) fn cable(&mut self, [left, right]: &[End; 2], wire: &Wire) -> Option<[String; 2]> {
        for end in [left, right] {
            self.bring_up(end.namespace, &end.interface);
        }
        let name = |index: usize| self.namespaces[index].name.as_str();
        let (l, r) = (
            (name(left.namespace), left.interface.as_str()),
            (name(right.namespace), right.interface.as_str()),
        );
        if wire.is_plain() {
            self.links.push(cable::veth(l, r, self.mtu));
            return None;
        }
        let between = ["l", "r"].map(|side| format!("{side}{}", self.strung));
        let wires = name(self.wires);
        let lines = [
            cable::veth(l, (wires, &between[0]), self.mtu),
            cable::veth((wires, &between[1]), r, self.mtu),
        ];
        self.links.extend(lines);
        self.strung += 1;
        for interface in &between {
            self.bring_up(self.wires, interface);
        }
        // What leaves by the right interface came from the left.
        let tc = &mut self.namespaces[self.wires].tc;
        let netem =
            |interface: &str, netem| format!("qdisc add dev {interface} root handle 1: {netem}");
        tc.push(netem(&between[1], wire.rightward()));
        for (index, behind) in wire.behind().into_iter().enumerate() {
            let (parent, own) = (index + 1, index + 2);
            let place = format!("dev {} parent {parent}:1 handle {own}:", between[1]);
            tc.push(format!("qdisc add {place} {behind}"));
        }
        tc.push(netem(&between[0], wire.leftward()));
        tc.extend(cable::patch(&between[0], &between[1]));
        Some(between)
    }

    pub(crate) fn bring_up(&mut self, namespace: usize, interface: &str) {
        let namespace = &mut self.namespaces[namespace];
        namespace.interfaces.push(interface.to_owned());
        namespace.ip.push(format!("link set {interface} up"));
    }

    /// Changes the losses of packets that leave `end`, where the netem with the major number
    /// `major` is what the interface has of its `own`.
    pub(crate) fn lose(&mut self, end: &End, major: u32, own: Own, losses: &Impairment) {
        for &(at, loss) in &losses.steps {
            let place = format!("dev {} root handle {major:x}:", end.interface);
            let front = Front {
                delay: own.delay,
                limit: own.limit,
                rate: own.rate,
                loss,
                ..Front::default()
            };
            let line = format!("qdisc change {place} {}", front.netem());
            self.change(at, end.namespace, vec![line], vec![]);
        }
    }

    /// Notes commands for the instant `at`, unless the run is over by then.
    pub(crate) fn change(
        &mut self,
        at: Time,
        namespace: usize,
        tc: Vec<String>,
        iptables: Vec<Vec<String>>,
    ) {
        if self.scenario.duration.is_none_or(|end| at < end) {
            self.changes.push(Change {
                at,
                namespace,
                tc,
                iptables,
            });
        }
    }
}
