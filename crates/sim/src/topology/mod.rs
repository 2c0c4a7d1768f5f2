//! Networks: links, and the routes of flows over them. One file for each topology.

mod chain;
mod dumbbell;
mod graph;
mod parking_lot;
mod processors;

use cclab_qdisc::{Config as QueueConfig, Limit};
use cclab_spec::{Direction, Flow, Scenario, Topology, Traffic};
use cclab_tcp::profile::Profile;
use cclab_units::memory::with_room_on_large_pages;
use cclab_units::parameter::Params;
use cclab_units::{Rate, Stream, Time};

use crate::forwarding::Forwarding;
use crate::fusion;
use crate::impairment::{Ends, Installer};
use crate::link::Link;
use crate::traffic::ROUTES;

/// Index of the bottleneck in the direction under study, and of its way back.
pub const BOTTLENECK: usize = 0;
/// See [`BOTTLENECK`].
pub const BOTTLENECK_REVERSE: usize = 1;

/// Links that a flow has to itself, or a bottleneck is made of, in most networks at most: there
/// and back at either end.
const LINKS: usize = 4;

/// A network ready to carry packets.
pub struct Network {
    /// Every link.
    pub links: Vec<Link>,
    /// Where packets go from each link.
    pub forwarding: Forwarding,
    /// The ends of each flow's routes.
    pub paths: Vec<Path>,
    /// The routes of each source of cross traffic.
    pub ways: Vec<Ways>,
}

/// The links that something crosses, one after the other.
pub struct Ways {
    /// From the sender to the receiver.
    pub data: Vec<u32>,
    /// And back.
    pub acks: Vec<u32>,
}

/// The ends of a flow's routes.
#[derive(Clone, Copy, Debug)]
pub struct Path {
    /// First link from the sender to the receiver.
    pub data: u32,
    /// First link from the receiver to the sender.
    pub acks: u32,
}

/// What travels over the network: where it begins and ends, and what its base RTT lacks.
#[derive(Clone, Copy)]
struct Journey<'a> {
    name: &'a str,
    extra_delay: Time,
    direction: Direction,
    crosses: Option<[u32; 2]>,
    /// In a graph: the nodes that data come from and go to.
    nodes: Option<(&'a str, &'a str)>,
    /// What its hosts handle at most.
    packet_rate: Option<u64>,
}

impl<'a> From<&'a Flow> for Journey<'a> {
    fn from(flow: &'a Flow) -> Journey<'a> {
        Journey {
            name: &flow.name,
            extra_delay: flow.extra_delay,
            direction: flow.direction,
            crosses: flow.crosses,
            nodes: flow.from.as_deref().zip(flow.to.as_deref()),
            packet_rate: flow.packet_rate,
        }
    }
}

impl<'a> From<&'a Traffic> for Journey<'a> {
    fn from(traffic: &'a Traffic) -> Journey<'a> {
        Journey {
            name: &traffic.name,
            extra_delay: traffic.extra_delay,
            direction: traffic.direction,
            crosses: traffic.crosses,
            nodes: traffic.from.as_deref().zip(traffic.to.as_deref()),
            packet_rate: None,
        }
    }
}

/// The links from the left (or a graph's `from`) to the right, and back.
struct Sides {
    rightward: Vec<u32>,
    leftward: Vec<u32>,
    /// The access links at either end, each with its way back, if there are such.
    access: Option<[[u32; 2]; 2]>,
}

/// Builds the network of `scenario`. The caller has made sure that everything in it is known.
pub fn build(scenario: &Scenario, profile: &Profile, seed: u64) -> Network {
    let flows = scenario.flows.iter().map(Journey::from);
    let traffic = scenario.traffic.iter().map(Journey::from);
    let journeys: Vec<Journey<'_>> = flows.chain(traffic).collect();
    let mut builder = Builder::new(scenario, profile, seed);
    match scenario.network.topology {
        Topology::Chain => chain::lay(&mut builder, &journeys),
        Topology::Dumbbell => dumbbell::lay(&mut builder, &journeys),
        Topology::ParkingLot => parking_lot::lay(&mut builder, &journeys),
        Topology::Graph => graph::lay(&mut builder, &journeys),
    }
    builder.impair();
    let Network {
        links,
        forwarding,
        paths,
        ways,
    } = &mut builder.network;
    for (index, link) in links.iter_mut().enumerate() {
        link.foresee_departures();
        link.leads_to = forwarding.only_next(index);
    }
    let entries = paths.iter().flat_map(|path| [path.data, path.acks]);
    let of_traffic = ways.iter().flat_map(|ways| [ways.data[0], ways.acks[0]]);
    fusion::fuse(links, forwarding, &entries.chain(of_traffic).collect());
    builder.network
}

fn queue_params(queue: &cclab_spec::Queue) -> Params {
    let discipline = cclab_qdisc::find_simulated(&queue.kind)
        .expect("unknown disciplines are refused before a run");
    Params::new(discipline.params, &queue.params).expect("bad parameters are refused before a run")
}

struct Builder<'a> {
    scenario: &'a Scenario,
    profile: &'a Profile,
    seed: u64,
    network: Network,
    /// Where each journey's packets enter and leave the network.
    ends: Vec<Ends>,
    /// Processors of the routers, if they limit anything.
    routers: Vec<u32>,
}

impl<'a> Builder<'a> {
    fn new(scenario: &'a Scenario, profile: &'a Profile, seed: u64) -> Builder<'a> {
        let journeys = scenario.flows.len() + scenario.traffic.len();
        let bottlenecks = scenario.network.bottlenecks as usize;
        let network = Network {
            links: with_room_on_large_pages(LINKS * (journeys + bottlenecks)),
            forwarding: Forwarding::new(scenario.flows.len() + ROUTES * scenario.traffic.len()),
            paths: Vec::new(),
            ways: Vec::new(),
        };
        let mut builder = Builder {
            scenario,
            profile,
            seed,
            network,
            ends: Vec::new(),
            routers: Vec::new(),
        };
        let bottleneck = &scenario.network.bottleneck;
        for name in bottleneck_names(scenario) {
            for index in builder.pair(&name, bottleneck, Time::ZERO) {
                let link = &mut builder.network.links[index as usize];
                link.fit().sojourn = Some(Box::default());
            }
        }
        builder.routers = builder.routers();
        builder
    }

    /// A link and its way back, each with `extra_delay` beyond its own.
    fn pair(&mut self, name: &str, link: &cclab_spec::Link, extra_delay: Time) -> [u32; 2] {
        let back = link.way_back();
        [
            self.one(name.to_owned(), link, extra_delay),
            self.one(format!("{name}.reverse"), &back, extra_delay),
        ]
    }

    /// A link in one direction, with `extra_delay` beyond its own.
    fn one(&mut self, name: String, link: &cclab_spec::Link, extra_delay: Time) -> u32 {
        let limit = match link.queue.limit {
            cclab_spec::Limit::Bytes(bytes) => Limit::Bytes(bytes),
            cclab_spec::Limit::Packets(packets) => Limit::Packets(packets),
        };
        let config = QueueConfig {
            limit,
            limit_is_exclusive: self.profile.queue_limit_is_exclusive,
            rate: link.rate,
            params: queue_params(&link.queue),
        };
        let queue = cclab_qdisc::build(&link.queue.kind, &config)
            .expect("unknown disciplines are refused before a run");
        let index = self.add(name, link.rate, link.delay + extra_delay, queue);
        if link.is_plain() {
            // At once: a queue that is not needed leaves no hole in memory.
            self.network.links[index as usize].foresee_departures();
        }
        index
    }

    fn add(
        &mut self,
        name: String,
        rate: Option<Rate>,
        delay: Time,
        queue: Box<dyn cclab_qdisc::Qdisc>,
    ) -> u32 {
        let dice = Stream::new(self.seed, &format!("queue {name}"));
        self.network
            .links
            .push(Link::new(name, rate, delay, queue, dice));
        self.network.links.len() as u32 - 1
    }

    /// A wire of delay alone, for a journey whose access link is shared.
    fn own_delay(&mut self, journey: &Journey<'_>) -> [u32; 2] {
        let mut one = |name: String| {
            let config = QueueConfig {
                limit: Limit::Packets(1),
                limit_is_exclusive: false,
                rate: None,
                params: Params::defaults(&[]),
            };
            let queue = cclab_qdisc::build("droptail", &config).expect("droptail is registered");
            self.add(name, None, journey.extra_delay, queue)
        };
        let forward = one(format!("{}.delay", journey.name));
        [forward, one(format!("{}.delay.reverse", journey.name))]
    }

    /// Lets the packets of `journey` go over the links of `sides`: those of the flows first, then
    /// of traffic, each both ways.
    fn route(&mut self, journey: &Journey<'_>, sides: Sides) {
        let Sides {
            rightward,
            leftward,
            access,
        } = sides;
        let (data, acks) = match journey.direction {
            Direction::Forward => (rightward, leftward),
            Direction::Reverse => (leftward, rightward),
        };
        let [mut data, mut acks] =
            [data, acks].map(|route| processors::through_routers(&route, &self.routers));
        self.ends.push(Ends {
            data: [data[0], data[data.len() - 1]],
            acks: [acks[0], acks[acks.len() - 1]],
            access: match (access, journey.direction) {
                (None, _) => Vec::new(),
                (Some([left, right]), Direction::Forward) => vec![left, right],
                (Some([left, right]), Direction::Reverse) => {
                    vec![[right[1], right[0]], [left[1], left[0]]]
                }
            },
        });
        if let Some(packet_rate) = journey.packet_rate {
            let [sender, receiver] = ["sender", "receiver"].map(|host| {
                let name = format!("{}.{host}", journey.name);
                self.processor(name, packet_rate, processors::HOST_BACKLOG)
            });
            data = [&[sender][..], &data, &[receiver]].concat();
            acks = [&[receiver][..], &acks, &[sender]].concat();
        }
        let Network {
            forwarding,
            paths,
            ways,
            ..
        } = &mut self.network;
        let flows = self.scenario.flows.len();
        if paths.len() == flows {
            let number = flows + ROUTES * ways.len();
            forwarding.add_routes(number, &data, &acks);
            forwarding.add_routes(number + 1, &acks, &data);
            ways.push(Ways { data, acks });
            return;
        }
        forwarding.add_routes(paths.len(), &data, &acks);
        paths.push(Path {
            data: data[0],
            acks: acks[0],
        });
    }

    /// Puts impairments in their places.
    fn impair(&mut self) {
        let scenario = self.scenario;
        let mut installer = Installer {
            scenario,
            seed: self.seed,
            framing: self.profile.wire.framing,
            links: &mut self.network.links,
        };
        let bottlenecks: Vec<[u32; 2]> = (0..scenario.network.bottlenecks)
            .map(|number| [2 * number, 2 * number + 1])
            .collect();
        installer.install(&bottlenecks, &self.ends);
    }
}

/// What the links under study are called in traces.
fn bottleneck_names(scenario: &Scenario) -> Vec<String> {
    if let Some(graph) = &scenario.network.graph {
        return vec![graph.links[graph.bottleneck as usize].name.clone()];
    }
    let name = |number| match number {
        1 => "bottleneck".to_owned(),
        number => format!("bottleneck{number}"),
    };
    (1..=scenario.network.bottlenecks).map(name).collect()
}
