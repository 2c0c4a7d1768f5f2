//! Namespaces and the links between them, in the scenario's topology.

use cclab_spec::{DelayAt, Direction, Flow, Link, Place, Scenario, Topology};
use cclab_units::{Rate, Time};

use crate::cable::{self, Egress, End, Front, Majors, Shaper, UNSEEN, Wire};
use crate::impairment::{self, Impairment};
use crate::orders::{Change, Namespace, Queue, Setting};
use crate::{Target, processor, settings};

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

/// Major numbers of the qdiscs of the sampled queue `link`.
fn majors(link: u32) -> Majors {
    Majors {
        root: 0x100 + link,
        shaper: 0x1100 + link,
        discipline: 0x2100 + link,
    }
}

/// A network being laid out.
pub(crate) struct Network<'a> {
    scenario: &'a Scenario,
    target: Target,
    mtu: u32,
    packet: u64,
    burst: u64,
    wires: usize,
    cables: usize,
    /// See [`crate::Orders`].
    pub namespaces: Vec<Namespace>,
    /// See [`crate::Orders`].
    pub links: Vec<String>,
    /// See [`crate::Orders`].
    pub queues: Vec<Queue>,
    /// See [`crate::Orders`], not yet in order.
    pub changes: Vec<Change>,
    /// Index of the first router; the others follow.
    pub routers: usize,
    /// Each flow's interfaces.
    pub paths: Vec<Path>,
}

/// The interfaces of a flow's hosts and of the routers they are connected to.
#[derive(Clone, Debug)]
pub(crate) struct Path {
    /// Of the hosts on the left and on the right.
    pub hosts: [End; 2],
    /// Of the routers, towards these hosts.
    pub routers: [End; 2],
}

impl Path {
    /// The interfaces of the sending and of the receiving host.
    pub fn ends(&self, flow: &Flow) -> (&End, &End) {
        let [left, right] = &self.hosts;
        match flow.direction {
            Direction::Forward => (left, right),
            Direction::Reverse => (right, left),
        }
    }
}

/// The interface of a chain's source that a flow uses: flows of one base RTT have one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LeftInterface {
    extra: Time,
    at: DelayAt,
    direction: Direction,
}

impl LeftInterface {
    fn of(flow: &Flow) -> LeftInterface {
        let own = flow.extra_delay > Time::ZERO;
        LeftInterface {
            extra: flow.extra_delay,
            at: if own { flow.delay_at } else { DelayAt::Router },
            direction: if own {
                flow.direction
            } else {
                Direction::Forward
            },
        }
    }
}

/// The interfaces that a chain's source needs.
pub(crate) fn left_interfaces(scenario: &Scenario) -> Vec<LeftInterface> {
    let mut all = Vec::new();
    for interface in scenario.flows.iter().map(LeftInterface::of) {
        if !all.contains(&interface) {
            all.push(interface);
        }
    }
    all
}

/// What a host's own interface does to the packets that leave it.
#[derive(Clone, Copy, Debug, Default)]
struct Own {
    /// How long it delays them.
    delay: Time,
    /// How many packets it holds, delayed or waiting for the link; absent: all that come.
    limit: Option<u32>,
    /// The link's rate, where that limit is.
    rate: Option<Rate>,
}

/// Lays out the network of `scenario`, which is supported, for `target`.
pub(crate) fn build(scenario: &Scenario, target: Target) -> Network<'_> {
    let mut network = Network::new(scenario, target);
    network.bottlenecks();
    if scenario.network.topology == Topology::Chain {
        network.shared_hosts();
    } else {
        for index in 0..scenario.flows.len() {
            network.own_hosts(index);
        }
    }
    network.processors();
    network
}

impl<'a> Network<'a> {
    fn new(scenario: &'a Scenario, target: Target) -> Network<'a> {
        let flows = &scenario.flows;
        let mss = flows
            .iter()
            .map(|flow| flow.mss.unwrap_or(DEFAULT_MSS))
            .max();
        let segment = mss.unwrap_or(DEFAULT_MSS) + HEADERS;
        let mtu = segment.max(MTU);
        // A program also sends packets that are no segments of TCP.
        let programs = flows.iter().any(|flow| flow.command.is_some());
        let largest = if programs { mtu } else { segment };
        let mut network = Network {
            scenario,
            target,
            mtu,
            packet: u64::from(segment + FRAMING),
            burst: u64::from(largest + FRAMING),
            wires: 0,
            cables: 0,
            namespaces: Vec::new(),
            links: Vec::new(),
            queues: Vec::new(),
            changes: Vec::new(),
            routers: 0,
            paths: Vec::new(),
        };
        network.wires = network.namespace("wires", settings::of_wires());
        network
    }

    fn namespace(&mut self, name: &str, sysctl: Vec<Setting>) -> usize {
        self.namespaces.push(Namespace {
            name: name.to_owned(),
            sysctl,
            ..Namespace::default()
        });
        self.namespaces.len() - 1
    }

    /// Whether packets take their time on the wires of links with a rate. The timers of a host
    /// are later than a packet is long, so that its wires would only distort what shapers do.
    fn serialises(&self) -> bool {
        self.target == Target::Guest
    }

    /// The routers and the bottlenecks between them.
    fn bottlenecks(&mut self) {
        let count = self.scenario.network.bottlenecks;
        self.routers = self.namespaces.len();
        for number in 1..=count + 1 {
            self.namespace(&format!("r{number}"), settings::of_router());
        }
        for index in 0..count {
            self.bottleneck(index);
        }
    }

    /// The processors of the routers, whose interfaces are all there.
    fn processors(&mut self) {
        let network = &self.scenario.network;
        let Some(router) = &network.router else {
            return;
        };
        let last = self.routers + network.bottlenecks as usize;
        for namespace in &mut self.namespaces[self.routers..=last] {
            processor::install(router, self.mtu + FRAMING, namespace);
        }
    }

    fn bottleneck(&mut self, index: u32) {
        let link = &self.scenario.network.bottleneck;
        let wire = Wire {
            delay: link.delay,
            rate: link.rate,
            jitter: link.jitter.filter(|jitter| !jitter.reorder).map(|j| j.max),
            overtaking: link.jitter.filter(|jitter| jitter.reorder).map(|j| j.max),
            held: link.reorder,
            changes: link
                .schedule
                .iter()
                .any(|c| c.delay.is_some() || (c.rate.is_some() && self.serialises())),
            serialises: self.serialises(),
        };
        let router = self.routers + index as usize;
        let ends = [(router, "next"), (router + 1, "prev")].map(|(namespace, interface)| End {
            namespace,
            interface: interface.to_owned(),
        });
        let between = self.cable(&ends, &wire);
        let losses = Impairment::of(link, Place::Router);
        let front = Front {
            delay: Time::ZERO,
            limit: None,
            rate: None,
            loss: losses.initial,
            bursts: impairment::bursts(link, Place::Router),
            duplicate: link.duplicate,
        };
        let idle = losses.is_none() && front == Front::default();
        let netems = [(!idle).then(|| front.netem()), None];
        let mut shapers = Vec::new();
        for (direction, (end, netem)) in ends.iter().zip(netems).enumerate() {
            let number = 2 * index + direction as u32;
            let majors = majors(number);
            shapers.push(self.egress(end, link, netem, majors));
            if link.rate.is_some() {
                self.queues.push(Queue {
                    link: number,
                    namespace: end.namespace,
                    interface: end.interface.clone(),
                    handle: majors.root << 16,
                    discipline: majors.discipline << 16,
                });
            }
        }
        self.lose(&ends[0], majors(2 * index).root, Own::default(), &losses);
        self.schedule(&ends, between.as_ref(), &shapers, wire);
    }

    /// The sending side of `link` at `end`.
    fn egress(
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
                Target::Guest => Time::ZERO,
                Target::Host => LATENESS,
            },
            packet: self.packet,
            majors,
        };
        egress.install(&mut self.namespaces[end.namespace], &end.interface)
    }

    /// Joins two interfaces, the left and the right one; gives the interfaces between them, if
    /// there are any.
    fn cable(&mut self, [left, right]: &[End; 2], wire: &Wire) -> Option<[String; 2]> {
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
        let between = ["l", "r"].map(|side| format!("{side}{}", self.cables));
        let wires = name(self.wires);
        let lines = [
            cable::veth(l, (wires, &between[0]), self.mtu),
            cable::veth((wires, &between[1]), r, self.mtu),
        ];
        self.links.extend(lines);
        self.cables += 1;
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

    fn bring_up(&mut self, namespace: usize, interface: &str) {
        let namespace = &mut self.namespaces[namespace];
        namespace.interfaces.push(interface.to_owned());
        namespace.ip.push(format!("link set {interface} up"));
    }

    /// Hosts of the flow's own, one on either side.
    fn own_hosts(&mut self, index: usize) {
        let flow = &self.scenario.flows[index];
        let [first, last] = flow
            .crosses
            .unwrap_or([1, self.scenario.network.bottlenecks]);
        let sends = [
            flow.direction == Direction::Forward,
            flow.direction == Direction::Reverse,
        ];
        let sides = [("left", first as usize - 1), ("right", last as usize)];
        let mut joined = Vec::new();
        for ((side, router), sends) in sides.into_iter().zip(sends) {
            let received: &[&Flow] = if sends { &[] } else { &[flow] };
            let sysctl = settings::of_host(&[flow], received);
            let host = self.namespace(&format!("{}.{side}", flow.name), sysctl);
            let (wire, own) = match (sends, flow.delay_at) {
                (true, DelayAt::Router) => (flow.extra_delay, Time::ZERO),
                // The sender's interface delays data alone: by the whole of the round trip.
                (true, DelayAt::Sender) => (Time::ZERO, flow.extra_delay * 2),
                (false, _) => (Time::ZERO, Time::ZERO),
            };
            let host = End {
                namespace: host,
                interface: "eth0".to_owned(),
            };
            let router = End {
                namespace: self.routers + router,
                interface: format!("{side}{index}"),
            };
            let own = Own {
                delay: own,
                limit: flow.delay_limit.filter(|_| sends),
                rate: self
                    .scenario
                    .network
                    .access
                    .rate
                    .filter(|_| sends && flow.delay_limit.is_some()),
            };
            self.access([&host, &router], wire, own, [sends, !sends]);
            joined.push((host, router));
        }
        let [(left, left_router), (right, right_router)] =
            <[_; 2]>::try_from(joined).expect("two sides");
        self.paths.push(Path {
            hosts: [left, right],
            routers: [left_router, right_router],
        });
    }

    /// A source and a sink for all flows (chain).
    fn shared_hosts(&mut self) {
        let flows: Vec<&Flow> = self.scenario.flows.iter().collect();
        let of = |direction| -> Vec<&Flow> {
            flows
                .iter()
                .copied()
                .filter(|flow| flow.direction == direction)
                .collect()
        };
        let (forward, reverse) = (of(Direction::Forward), of(Direction::Reverse));
        let source = self.namespace("source", settings::of_host(&flows, &reverse));
        let sink = self.namespace("sink", settings::of_host(&flows, &forward));
        let end = |namespace, interface: String| End {
            namespace,
            interface,
        };
        let interfaces = left_interfaces(self.scenario);
        let mut left = Vec::new();
        for (index, interface) in interfaces.iter().enumerate() {
            let host = end(source, format!("eth{index}"));
            let router = end(self.routers, format!("left{index}"));
            let (wire, own) = match interface.at {
                DelayAt::Router => (interface.extra, Time::ZERO),
                DelayAt::Sender => (Time::ZERO, interface.extra * 2),
            };
            let uses = |flow: &&&Flow| LeftInterface::of(flow) == *interface;
            let data = [
                forward.iter().any(|flow| uses(&flow)),
                reverse.iter().any(|flow| uses(&flow)),
            ];
            let own = Own {
                delay: own,
                ..Own::default()
            };
            self.access([&host, &router], wire, own, data);
            left.push((host, router));
        }
        let right = (
            end(sink, "eth0".to_owned()),
            end(self.routers + 1, "right0".to_owned()),
        );
        let data = [!reverse.is_empty(), !forward.is_empty()];
        self.access([&right.0, &right.1], Time::ZERO, Own::default(), data);
        for flow in &flows {
            let own = LeftInterface::of(flow);
            let index = interfaces.iter().position(|known| *known == own);
            let left: &(End, End) = &left[index.expect("an interface for every flow")];
            self.paths.push(Path {
                hosts: [left.0.clone(), right.0.clone()],
                routers: [left.1.clone(), right.1.clone()],
            });
        }
    }

    /// An access link between a host and a router, with `extra` delay on the wire and `own` on
    /// the host's interface. `data` tells whether data leave the host there, and whether they
    /// arrive there.
    fn access(
        &mut self,
        [host, router]: [&End; 2],
        extra: Time,
        own: Own,
        [sends, receives]: [bool; 2],
    ) {
        let link = &self.scenario.network.access;
        let wire = Wire {
            delay: link.delay + extra,
            rate: link.rate,
            jitter: None,
            overtaking: None,
            held: None,
            changes: false,
            serialises: self.serialises(),
        };
        self.cable(&[host.clone(), router.clone()], &wire);
        let bottleneck = &self.scenario.network.bottleneck;
        let losses = match sends {
            true => Impairment::of(bottleneck, Place::Sender),
            false => Impairment::default(),
        };
        let front = Front {
            delay: own.delay,
            limit: own.limit,
            rate: own.rate,
            loss: losses.initial,
            bursts: impairment::bursts(bottleneck, Place::Sender).filter(|_| sends),
            duplicate: None,
        };
        let idle = losses.is_none() && front == Front::default();
        let netem = (!idle).then(|| front.netem());
        if own.limit.is_some() {
            // The limit counts packets, and the kernel's TCP hands over many segments as one.
            let line = format!("link set {} gso_max_segs 1", host.interface);
            self.namespaces[host.namespace].ip.push(line);
        }
        if own.rate.is_none() {
            self.egress(host, link, netem, UNSEEN);
        } else {
            let tc = &mut self.namespaces[host.namespace].tc;
            let netem = front.netem();
            tc.push(format!(
                "qdisc add dev {} root handle {:x}: {netem}",
                host.interface, UNSEEN.root
            ));
        }
        self.lose(host, UNSEEN.root, own, &losses);
        self.egress(router, link, None, UNSEEN);
        if receives {
            self.refuse(host);
        }
    }

    /// Changes the losses of packets that leave `end`, where the netem with the major number
    /// `major` is what the interface has of its `own`.
    fn lose(&mut self, end: &End, major: u32, own: Own, losses: &Impairment) {
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

    /// Losses and outages of packets that arrive at `end`.
    fn refuse(&mut self, end: &End) {
        let link = &self.scenario.network.bottleneck;
        let rule = |verb: &str, matches: &str| -> Vec<String> {
            let rule = format!("{verb} INPUT -i {}{matches} -j DROP", end.interface);
            rule.split(' ').map(str::to_owned).collect()
        };
        let loss = impairment::steady(link, Place::Receiver, Time::ZERO);
        if loss > 0.0 {
            let share = crate::words::share(loss);
            let matches = format!(" -m statistic --mode random --probability {share}");
            self.namespaces[end.namespace]
                .iptables
                .push(rule("-A", &matches));
        }
        for (on, off) in impairment::outages(link, Place::Receiver) {
            if on == Time::ZERO {
                self.namespaces[end.namespace].iptables.push(rule("-I", ""));
            } else {
                self.change(on, end.namespace, vec![], vec![rule("-I", "")]);
            }
            self.change(off, end.namespace, vec![], vec![rule("-D", "")]);
        }
    }

    /// Changes of rate and delay, both ways.
    fn schedule(
        &mut self,
        ends: &[End; 2],
        between: Option<&[String; 2]>,
        shapers: &[Option<Shaper>],
        mut wire: Wire,
    ) {
        let scenario = self.scenario;
        for change in &scenario.network.bottleneck.schedule {
            wire.delay = change.delay.unwrap_or(wire.delay);
            wire.rate = change.rate.or(wire.rate);
            if let (Some(_), Some(rate)) = (change.rate, wire.rate) {
                for (end, shaper) in ends.iter().zip(shapers) {
                    let lines = shaper
                        .iter()
                        .map(|shaper| shaper.line("change", rate))
                        .collect();
                    self.change(change.at, end.namespace, lines, vec![]);
                }
            }
            if let Some([left, right]) = between
                .filter(|_| change.delay.is_some() || (change.rate.is_some() && wire.serialises))
            {
                let line = |interface: &str, netem| {
                    format!("qdisc change dev {interface} root handle 1: {netem}")
                };
                let lines = vec![line(right, wire.rightward()), line(left, wire.leftward())];
                self.change(change.at, self.wires, lines, vec![]);
            }
        }
    }

    /// Notes commands for the instant `at`, unless the run is over by then.
    fn change(&mut self, at: Time, namespace: usize, tc: Vec<String>, iptables: Vec<Vec<String>>) {
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
