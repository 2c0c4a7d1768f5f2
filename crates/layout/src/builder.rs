//! What the generators of topologies build with.

use cclab_spec::{
    DelayAt, Direction, Flow, Link as Line, Probe, Scenario, Traffic, bottleneck_name,
    way_back_name,
};
use cclab_units::Time;

use crate::layout::{Detour, Journey, Layout, LineId, Link, LinkId, LinkKind, Node, NodeId, Role};

/// Packets that may wait for a host's processor: `net.core.netdev_max_backlog` of Linux.
const HOST_BACKLOG: u64 = 1000;

/// A flow, source of traffic or probe that is to get its way: where it begins and ends, and what its base
/// RTT lacks.
#[derive(Clone, Copy)]
pub(crate) struct Traveller<'a> {
    pub name: &'a str,
    pub extra: Time,
    /// Where that is added.
    delay_at: DelayAt,
    pub direction: Direction,
    pub crosses: Option<[u32; 2]>,
    /// In a graph: the nodes that data come from and go to.
    pub nodes: Option<(&'a str, &'a str)>,
    /// What its hosts handle at most.
    packet_rate: Option<u64>,
}

impl<'a> From<&'a Flow> for Traveller<'a> {
    fn from(flow: &'a Flow) -> Traveller<'a> {
        Traveller {
            name: &flow.name,
            extra: flow.extra_delay,
            delay_at: flow.delay_at,
            direction: flow.direction,
            crosses: flow.crosses,
            nodes: flow.from.as_deref().zip(flow.to.as_deref()),
            packet_rate: flow.packet_rate,
        }
    }
}

impl<'a> From<&'a Traffic> for Traveller<'a> {
    fn from(traffic: &'a Traffic) -> Traveller<'a> {
        Traveller {
            name: &traffic.name,
            extra: traffic.extra_delay,
            delay_at: DelayAt::Router,
            direction: traffic.direction,
            crosses: traffic.crosses,
            nodes: traffic.from.as_deref().zip(traffic.to.as_deref()),
            packet_rate: None,
        }
    }
}

impl<'a> From<&'a Probe> for Traveller<'a> {
    fn from(probe: &'a Probe) -> Traveller<'a> {
        Traveller {
            name: &probe.name,
            extra: probe.extra_delay,
            delay_at: DelayAt::Router,
            direction: probe.direction,
            crosses: probe.crosses,
            nodes: probe.from.as_deref().zip(probe.to.as_deref()),
            packet_rate: None,
        }
    }
}

impl Traveller<'_> {
    /// What its base RTT lacks each way, where that is not added as its data leave their host.
    pub fn on_both_ways(&self) -> Time {
        match self.delay_at {
            DelayAt::Router => self.extra,
            DelayAt::Sender => Time::ZERO,
        }
    }
}

/// The way of a traveller between two nodes, the left one (a graph's `from`) and the right one.
pub(crate) struct Sides {
    pub nodes: [NodeId; 2],
    pub rightward: Vec<LinkId>,
    pub leftward: Vec<LinkId>,
    /// The same two after each change of routes, in the order of time.
    pub detours: Vec<(Time, [Vec<LinkId>; 2])>,
    /// The access links at either end, each with its way back, if there are such.
    pub access: Option<[[LinkId; 2]; 2]>,
}

/// The first and the last link of a journey's data and of its acknowledgements, and its access
/// links at the sender and at the receiver.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reach {
    pub data: [LinkId; 2],
    pub acks: [LinkId; 2],
    pub access: Option<[[LinkId; 2]; 2]>,
}

/// A layout in the making.
pub(crate) struct Builder<'a> {
    pub scenario: &'a Scenario,
    pub layout: Layout,
    /// What is written of the bottleneck, and of its way back.
    pub bottleneck_lines: [LineId; 2],
    /// What is written of access links, and of their ways back; absent in a graph.
    pub access_lines: Option<[LineId; 2]>,
    pub reaches: Vec<Reach>,
}

impl<'a> Builder<'a> {
    /// Nothing but what is written of the bottleneck.
    pub fn new(scenario: &'a Scenario) -> Builder<'a> {
        let mut builder = Builder {
            scenario,
            layout: Layout::default(),
            bottleneck_lines: [LineId(0), LineId(1)],
            access_lines: None,
            reaches: Vec::new(),
        };
        builder.lines(&scenario.network.bottleneck);
        builder
    }

    /// What is written of a link, and of its way back.
    pub fn lines(&mut self, link: &Line) -> [LineId; 2] {
        let first = self.layout.lines.len() as u32;
        self.layout.lines.extend([link.clone(), link.way_back()]);
        [LineId(first), LineId(first + 1)]
    }

    /// What is written of access links, and of their ways back.
    pub fn access(&mut self) -> [LineId; 2] {
        if let Some(lines) = self.access_lines {
            return lines;
        }
        let lines = self.lines(&self.scenario.network.access);
        self.access_lines = Some(lines);
        lines
    }

    /// One more node.
    pub fn node(&mut self, name: String, role: Role) -> NodeId {
        self.layout.nodes.push(Node {
            name,
            role,
            processor: None,
        });
        NodeId(self.layout.nodes.len() as u32 - 1)
    }

    /// Routers in a row and the bottlenecks between them; the processors of the routers, if the
    /// scenario limits them.
    pub fn row(&mut self) -> Vec<NodeId> {
        let network = &self.scenario.network;
        let routers: Vec<NodeId> = (1..=network.bottlenecks + 1)
            .map(|number| self.node(format!("r{number}"), Role::Router))
            .collect();
        for (number, ends) in (1..).zip(routers.windows(2)) {
            self.bottleneck(bottleneck_name(number), [ends[0], ends[1]]);
        }
        if let Some(router) = network.router {
            for (number, &node) in (1..).zip(&routers) {
                let name = format!("r{number}");
                let processor = self.processor(name, node, router.packet_rate, router.backlog);
                self.layout.nodes[node.index()].processor = Some(processor);
            }
        }
        routers
    }

    /// A link under study, and its way back.
    pub fn bottleneck(&mut self, name: String, ends: [NodeId; 2]) -> [LinkId; 2] {
        let pair = self.pair(name, ends, self.bottleneck_lines, Time::ZERO);
        self.layout.bottlenecks.push(pair);
        pair
    }

    /// A link and its way back, each with `extra` delay beyond what is written.
    pub fn pair(
        &mut self,
        name: String,
        [from, to]: [NodeId; 2],
        [there, back]: [LineId; 2],
        extra: Time,
    ) -> [LinkId; 2] {
        let line = |line| LinkKind::Line { line, extra };
        let reverse = way_back_name(&name);
        let forward = self.one(name, [from, to], line(there));
        let reverse = self.one(reverse, [to, from], line(back));
        self.join([forward, reverse])
    }

    /// A link without a way back.
    pub fn one_way(&mut self, name: String, ends: [NodeId; 2], line: LineId) -> LinkId {
        let extra = Time::ZERO;
        self.one(name, ends, LinkKind::Line { line, extra })
    }

    fn one(&mut self, name: String, [from, to]: [NodeId; 2], kind: LinkKind) -> LinkId {
        self.layout.links.push(Link {
            name,
            from,
            to,
            back: None,
            kind,
        });
        LinkId(self.layout.links.len() as u32 - 1)
    }

    /// Makes two links each the other's way back.
    fn join(&mut self, [forward, reverse]: [LinkId; 2]) -> [LinkId; 2] {
        self.layout.links[forward.index()].back = Some(reverse);
        self.layout.links[reverse.index()].back = Some(forward);
        [forward, reverse]
    }

    fn processor(&mut self, name: String, node: NodeId, packet_rate: u64, backlog: u64) -> LinkId {
        let kind = LinkKind::Processor {
            packet_rate,
            backlog,
        };
        self.one(name, [node, node], kind)
    }

    /// Lets the packets of `traveller` go over the links of `sides`, beside which it has the delay
    /// that its base RTT lacks to itself, at the left end.
    pub fn route_with_own_delay(&mut self, traveller: &Traveller<'_>, mut sides: Sides) {
        let extra = traveller.on_both_ways();
        // Where routes change, a delay of none keeps the place at which packets enter the network.
        let changes = !sides.detours.is_empty();
        if changes {
            let name = format!("{}.entry", traveller.name);
            let entry = self.one(name, [sides.nodes[1]; 2], LinkKind::Delay(Time::ZERO));
            let detours = sides.detours.iter_mut().map(|(_, [_, left])| left);
            for leftward in detours.chain([&mut sides.leftward]) {
                leftward.insert(0, entry);
            }
        }
        if extra > Time::ZERO || changes {
            let ends = [sides.nodes[0]; 2];
            let kind = LinkKind::Delay(extra);
            let name = format!("{}.delay", traveller.name);
            let reverse = way_back_name(&name);
            let forward = self.one(name, ends, kind);
            let reverse = self.one(reverse, ends, kind);
            let [forward, reverse] = self.join([forward, reverse]);
            let ways = [(&mut sides.rightward, &mut sides.leftward)];
            let detours = sides.detours.iter_mut();
            let detours = detours.map(|(_, [right, left])| (right, left));
            for (rightward, leftward) in detours.chain(ways) {
                rightward.insert(0, forward);
                leftward.push(reverse);
            }
        }
        self.route(traveller, sides);
    }

    /// Lets the packets of `traveller` go over the links of `sides`; before them comes what delays
    /// its data alone.
    pub fn route(&mut self, traveller: &Traveller<'_>, sides: Sides) {
        let Sides {
            nodes: [left, right],
            rightward,
            leftward,
            detours,
            access,
        } = sides;
        let (times, others): (Vec<Time>, Vec<_>) = detours.into_iter().unzip();
        let mut ways: Vec<[Vec<LinkId>; 2]> = [[rightward, leftward]]
            .into_iter()
            .chain(others)
            .map(|way| way.map(|links| self.through_routers(links)))
            .collect();
        let (sender, receiver, access) = match traveller.direction {
            Direction::Forward => (left, right, access),
            Direction::Reverse => {
                let turned =
                    |[left, right]: [[LinkId; 2]; 2]| [[right[1], right[0]], [left[1], left[0]]];
                ways.iter_mut().for_each(|way| way.reverse());
                (right, left, access.map(turned))
            }
        };
        if traveller.extra > traveller.on_both_ways() {
            let kind = LinkKind::Delay(traveller.extra * 2);
            let name = format!("{}.delay", traveller.name);
            let delay = self.one(name, [sender; 2], kind);
            ways.iter_mut().for_each(|[data, _]| data.insert(0, delay));
        }
        let ends = |way: &[LinkId]| [way[0], way[way.len() - 1]];
        self.reaches.push(Reach {
            data: ends(&ways[0][0]),
            acks: ends(&ways[0][1]),
            access,
        });
        self.through_hosts(traveller, [sender, receiver], &mut ways);
        let mut ways = ways.into_iter();
        let [data, acks] = ways.next().expect("there is a way from the start");
        let detours = times.into_iter().zip(ways);
        let journey = Journey {
            name: traveller.name.to_owned(),
            sender,
            receiver,
            direction: traveller.direction,
            data,
            acks,
            detours: detours
                .map(|(at, [data, acks])| Detour { at, data, acks })
                .collect(),
            access,
            extra: traveller.extra,
        };
        if self.layout.flows.len() < self.scenario.flows.len() {
            self.layout.flows.push(journey);
        } else if self.layout.traffic.len() < self.scenario.traffic.len() {
            self.layout.traffic.push(journey);
        } else {
            self.layout.probes.push(journey);
        }
    }

    /// `way` with the processors of the routers that it passes, of which there may be none.
    fn through_routers(&self, way: Vec<LinkId>) -> Vec<LinkId> {
        let behind = |&link: &LinkId| self.layout.node(self.layout.link(link).to).processor;
        way.into_iter()
            .flat_map(|link| [Some(link), behind(&link)])
            .flatten()
            .collect()
    }

    /// Adds the processors of the hosts at their ends to the ways of data and acknowledgements, if
    /// these limit them.
    fn through_hosts(
        &mut self,
        traveller: &Traveller<'_>,
        hosts: [NodeId; 2],
        ways: &mut [[Vec<LinkId>; 2]],
    ) {
        let Some(packet_rate) = traveller.packet_rate else {
            return;
        };
        let [sender, receiver] =
            [("sender", hosts[0]), ("receiver", hosts[1])].map(|(end, host)| {
                let name = format!("{}.{end}", traveller.name);
                self.processor(name, host, packet_rate, HOST_BACKLOG)
            });
        for [data, acks] in ways {
            data.insert(0, sender);
            data.push(receiver);
            acks.insert(0, receiver);
            acks.push(sender);
        }
    }
}
