//! The layout itself: plain data.

use cclab_spec::{Direction, Link as Line, Place};
use cclab_units::{Rate, Time};

/// The bottleneck in the direction under study: every layout begins with it.
pub const BOTTLENECK: LinkId = LinkId(0);
/// Its way back.
pub const BOTTLENECK_REVERSE: LinkId = LinkId(1);

/// A link in one direction, by its place in [`Layout::links`] and in traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(pub u32);

impl LinkId {
    /// It as an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A node, by its place in [`Layout::nodes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

impl NodeId {
    /// It as an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// What a study writes of links, by its place in [`Layout::lines`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LineId(pub u32);

impl LineId {
    /// It as an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The network of a scenario.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layout {
    /// Routers, then hosts.
    pub nodes: Vec<Node>,
    /// What the study writes of links, each direction once.
    pub lines: Vec<Line>,
    /// Every link in one direction: bottlenecks first, each before its way back.
    pub links: Vec<Link>,
    /// The links under study with their ways back, in a row from left to right.
    pub bottlenecks: Vec<[LinkId; 2]>,
    /// The flows, in the scenario's order.
    pub flows: Vec<Journey>,
    /// The sources of cross traffic, in the scenario's order.
    pub traffic: Vec<Journey>,
    /// The probes, in the scenario's order.
    pub probes: Vec<Journey>,
    /// Where links disturb packets. What acts at one end of one link acts in this order.
    pub impairments: Vec<Impairment>,
}

/// A host or a router.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Unique name.
    pub name: String,
    /// What it is there for.
    pub role: Role,
    /// What it forwards at most, if that is limited: a link from the node to itself.
    pub processor: Option<LinkId>,
}

/// What a node is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It forwards packets.
    Router,
    /// It sends and receives those of one flow or source of traffic.
    Host,
    /// It sends and receives those of all.
    SharedHost,
    /// A node of a graph, which may do any of this.
    Any,
}

/// A link in one direction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Its name in traces, which also names its streams of random numbers.
    pub name: String,
    /// The node whose packets it takes.
    pub from: NodeId,
    /// The node that it brings them to; the same for what lies inside a node.
    pub to: NodeId,
    /// Its way back, if there is one.
    pub back: Option<LinkId>,
    /// What it is made of.
    pub kind: LinkKind,
}

/// What a link is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkKind {
    /// A queue, a transmitter and a wire.
    Line {
        /// As the study writes it.
        line: LineId,
        /// Propagation beyond that, which makes up a base RTT.
        extra: Time,
    },
    /// Nothing but the propagation that makes up the base RTT of one journey, or half of it.
    Delay(Time),
    /// The processor of a node: each packet takes the same time, whatever its size.
    Processor {
        /// Packets per second.
        packet_rate: u64,
        /// Packets that may wait.
        backlog: u64,
    },
}

/// What travels over the network: a flow, a source of cross traffic or a probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Journey {
    /// Its name.
    pub name: String,
    /// The node that its data leave.
    pub sender: NodeId,
    /// The node that they reach.
    pub receiver: NodeId,
    /// Whether data go with the bottleneck or against it.
    pub direction: Direction,
    /// The links that data cross, in order.
    pub data: Vec<LinkId>,
    /// The links that acknowledgements cross, in order.
    pub acks: Vec<LinkId>,
    /// The same after each change of routes, in the order of time.
    pub detours: Vec<Detour>,
    /// The access links at the sender and at the receiver, each as the link that carries data and
    /// its way back; none in a graph.
    pub access: Option<[[LinkId; 2]; 2]>,
    /// The propagation that was added each way, so that its base RTT is as asked for: on the way of
    /// the data twice as much where their host adds it.
    pub extra: Time,
}

/// The ways of a journey from a change of routes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Detour {
    /// When.
    pub at: Time,
    /// The links that data cross, in order; the first is that of the journey.
    pub data: Vec<LinkId>,
    /// The links that acknowledgements cross, in order; the first is that of the journey.
    pub acks: Vec<LinkId>,
}

impl Journey {
    /// Its ways from left to right and back.
    pub fn sides(&self) -> [&[LinkId]; 2] {
        match self.direction {
            Direction::Forward => [&self.data, &self.acks],
            Direction::Reverse => [&self.acks, &self.data],
        }
    }
}

/// Something that a line does to packets on a link, beside queueing, transmission and propagation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Impairment {
    /// The link.
    pub link: LinkId,
    /// What is written.
    pub line: LineId,
    /// Which part of it: at the router all that is said of the link itself, before its queue and
    /// on its wire; at the sender the losses of packets that leave a host over this link, its
    /// first; at the receiver the losses of those that reach one over it, its last.
    pub place: Place,
    /// What the names of its streams of random numbers begin with, so that two lines that lose
    /// packets at one host have dice of their own.
    pub prefix: &'static str,
}

impl Layout {
    /// The link `id`.
    pub fn link(&self, id: LinkId) -> &Link {
        &self.links[id.index()]
    }

    /// The node `id`.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    /// Every link with its id.
    pub fn ids(&self) -> impl Iterator<Item = (LinkId, &Link)> {
        (0..).map(LinkId).zip(&self.links)
    }

    /// The flows, the sources of cross traffic behind them, and then the probes.
    pub fn journeys(&self) -> impl Iterator<Item = &Journey> {
        self.flows.iter().chain(&self.traffic).chain(&self.probes)
    }

    /// What the study writes of the link `id`, in its direction; `None` if nothing.
    pub fn line(&self, id: LinkId) -> Option<&Line> {
        match self.link(id).kind {
            LinkKind::Line { line, .. } => Some(&self.lines[line.index()]),
            LinkKind::Delay(_) | LinkKind::Processor { .. } => None,
        }
    }

    /// The rate of the link `id` at the beginning; `None`: infinitely fast.
    pub fn rate(&self, id: LinkId) -> Option<Rate> {
        self.line(id)?.rate
    }

    /// One-way propagation over the link `id` at the beginning.
    pub fn delay(&self, id: LinkId) -> Time {
        match self.link(id).kind {
            LinkKind::Line { line, extra } => self.lines[line.index()].delay + extra,
            LinkKind::Delay(delay) => delay,
            LinkKind::Processor { .. } => Time::ZERO,
        }
    }

    /// Propagation along `way`.
    pub fn propagation(&self, way: &[LinkId]) -> Time {
        way.iter().map(|&link| self.delay(link)).sum()
    }

    /// Propagation over the whole path of `journey` and back.
    pub fn base_rtt(&self, journey: &Journey) -> Time {
        self.propagation(&journey.data) + self.propagation(&journey.acks)
    }

    /// As [`Layout::base_rtt`] in seconds, the delays of links added up as such.
    pub fn base_rtt_s(&self, journey: &Journey) -> f64 {
        let seconds = |way: &[LinkId]| -> f64 {
            let delays = way.iter().map(|&link| self.delay(link));
            delays.map(Time::as_secs_f64).sum()
        };
        seconds(&journey.data) + seconds(&journey.acks)
    }

    /// Whether a node has that role.
    pub fn has(&self, role: Role) -> bool {
        self.nodes.iter().any(|node| node.role == role)
    }

    /// Whether the link `id` is one under study, or its way back.
    pub fn is_bottleneck(&self, id: LinkId) -> bool {
        id.index() < 2 * self.bottlenecks.len()
    }
}
