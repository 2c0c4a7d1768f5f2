//! Networks: links, and the routes of flows over them.

mod processors;

use cclab_qdisc::{Config as QueueConfig, Limit};
use cclab_spec::{Direction, Flow, Scenario, Topology};
use cclab_tcp::profile::Profile;
use cclab_units::parameter::Params;
use cclab_units::{Rate, Stream, Time};

use crate::forwarding::Forwarding;
use crate::fusion;
use crate::impairment::{Ends, Installer};
use crate::link::Link;

/// Index of the bottleneck in the direction under study, and of its way back.
pub const BOTTLENECK: usize = 0;
/// See [`BOTTLENECK`].
pub const BOTTLENECK_REVERSE: usize = 1;

/// A network ready to carry packets.
pub struct Network {
    /// Every link.
    pub links: Vec<Link>,
    /// Where packets go from each link.
    pub forwarding: Forwarding,
    /// The ends of each flow's routes.
    pub paths: Vec<Path>,
}

/// The ends of a flow's routes.
#[derive(Clone, Copy, Debug)]
pub struct Path {
    /// First link from the sender to the receiver.
    pub data: u32,
    /// First link from the receiver to the sender.
    pub acks: u32,
}

/// Builds the network of `scenario`. The caller has made sure that everything in it is known.
pub fn build(scenario: &Scenario, profile: &Profile, seed: u64) -> Network {
    let mut builder = Builder::new(scenario, profile, seed);
    let shared = (scenario.network.topology == Topology::Chain).then(|| builder.shared_access());
    for flow in &scenario.flows {
        let access = match shared {
            Some(shared) => shared,
            None => builder.own_access(flow),
        };
        builder.route(flow, access);
    }
    builder.impair();
    let Network {
        links,
        forwarding,
        paths,
    } = &mut builder.network;
    for (index, link) in links.iter_mut().enumerate() {
        link.foresee_departures();
        link.leads_to = forwarding.only_next(index);
    }
    let entries = paths.iter().flat_map(|path| [path.data, path.acks]);
    fusion::fuse(links, forwarding, &entries.collect());
    builder.network
}

fn queue_params(queue: &cclab_spec::Queue) -> Params {
    let discipline =
        cclab_qdisc::find(&queue.kind).expect("unknown disciplines are refused before a run");
    Params::new(discipline.params, &queue.params).expect("bad parameters are refused before a run")
}

/// The access links of a host pair: left (source side) and right (sink side), towards the
/// bottleneck's direction and back.
#[derive(Clone, Copy)]
struct Access {
    left: [u32; 2],
    right: [u32; 2],
}

struct Builder<'a> {
    scenario: &'a Scenario,
    profile: &'a Profile,
    seed: u64,
    network: Network,
    /// Where each flow's packets enter and leave the network.
    ends: Vec<Ends>,
    /// Processors of the routers, if they limit anything.
    routers: Vec<u32>,
}

impl<'a> Builder<'a> {
    fn new(scenario: &'a Scenario, profile: &'a Profile, seed: u64) -> Builder<'a> {
        let network = Network {
            links: Vec::new(),
            forwarding: Forwarding::new(scenario.flows.len()),
            paths: Vec::new(),
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
        let [forward, reverse] = builder
            .pair("bottleneck", bottleneck, Time::ZERO)
            .map(|link| link as usize);
        for link in [forward, reverse] {
            builder.network.links[link].sojourn = Some(Box::default());
        }
        builder.routers = builder.routers();
        builder
    }

    /// A link and its way back, each with `extra_delay` beyond its own.
    fn pair(&mut self, name: &str, link: &cclab_spec::Link, extra_delay: Time) -> [u32; 2] {
        let mut one = |name: String, link: &cclab_spec::Link| {
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
            self.add(name, link.rate, link.delay + extra_delay, queue)
        };
        let forward = one(name.to_string(), link);
        [forward, one(format!("{name}.reverse"), &link.way_back())]
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

    /// Access links that all flows share (chain).
    fn shared_access(&mut self) -> Access {
        let access = &self.scenario.network.access;
        let left = self.pair("source.access", access, Time::ZERO);
        let right = self.pair("sink.access", access, Time::ZERO);
        Access { left, right }
    }

    /// Access links of a flow's own (dumbbell). The delay that makes up its base RTT lies on
    /// the sender's side.
    fn own_access(&mut self, flow: &Flow) -> Access {
        let access = &self.scenario.network.access;
        let (left_extra, right_extra) = match flow.direction {
            Direction::Forward => (flow.extra_delay, Time::ZERO),
            Direction::Reverse => (Time::ZERO, flow.extra_delay),
        };
        let left = format!("{}.left.access", flow.name);
        let right = format!("{}.right.access", flow.name);
        Access {
            left: self.pair(&left, access, left_extra),
            right: self.pair(&right, access, right_extra),
        }
    }

    /// A wire of delay alone, for a flow whose access link is shared.
    fn own_delay(&mut self, flow: &Flow) -> [u32; 2] {
        let mut one = |name: String| {
            let config = QueueConfig {
                limit: Limit::Packets(1),
                limit_is_exclusive: false,
                rate: None,
                params: Params::defaults(&[]),
            };
            let queue = cclab_qdisc::build("droptail", &config).expect("droptail is registered");
            self.add(name, None, flow.extra_delay, queue)
        };
        let forward = one(format!("{}.delay", flow.name));
        [forward, one(format!("{}.delay.reverse", flow.name))]
    }

    fn route(&mut self, flow: &Flow, access: Access) {
        let chain = self.scenario.network.topology == Topology::Chain;
        let extra = (chain && flow.extra_delay > Time::ZERO).then(|| self.own_delay(flow));
        let mut rightward = vec![access.left[0], BOTTLENECK as u32, access.right[0]];
        let mut leftward = vec![access.right[1], BOTTLENECK_REVERSE as u32, access.left[1]];
        if let Some([forward, reverse]) = extra {
            rightward.insert(0, forward);
            leftward.push(reverse);
        }
        let (data, acks) = match flow.direction {
            Direction::Forward => (rightward, leftward),
            Direction::Reverse => (leftward, rightward),
        };
        let [mut data, mut acks] =
            [data, acks].map(|route| processors::through_routers(&route, &self.routers));
        let [left, right] = [access.left, access.right];
        self.ends.push(Ends {
            data: [data[0], data[data.len() - 1]],
            acks: [acks[0], acks[acks.len() - 1]],
            access: match flow.direction {
                Direction::Forward => vec![left, right],
                Direction::Reverse => vec![[right[1], right[0]], [left[1], left[0]]],
            },
        });
        if let Some(packet_rate) = flow.packet_rate {
            let [sender, receiver] = ["sender", "receiver"].map(|host| {
                let name = format!("{}.{host}", flow.name);
                self.processor(name, packet_rate, processors::HOST_BACKLOG)
            });
            data = [&[sender][..], &data, &[receiver]].concat();
            acks = [&[receiver][..], &acks, &[sender]].concat();
        }
        let index = self.network.paths.len();
        self.network.forwarding.add_routes(index, &data, &acks);
        self.network.paths.push(Path {
            data: data[0],
            acks: acks[0],
        });
    }

    /// Puts impairments in their places.
    fn impair(&mut self) {
        let mut installer = Installer {
            scenario: self.scenario,
            seed: self.seed,
            framing: self.profile.wire.framing,
            links: &mut self.network.links,
        };
        installer.install(
            &[[BOTTLENECK as u32, BOTTLENECK_REVERSE as u32]],
            &self.ends,
        );
    }
}
