//! From a layout to a network.

use cclab_layout::{Journey, Layout, LinkId, LinkKind};
use cclab_qdisc::{Config as QueueConfig, Limit, find};
use cclab_spec::{Place, Queue, Triggered};
use cclab_trace::Histogram;
use cclab_units::memory::with_room_on_large_pages;
use cclab_units::parameter::Params;
use cclab_units::{Rate, Stream};

use crate::forwarding::{Change, Forwarding};
use crate::fusion::fuse;
use crate::host::Port;
use crate::impairment::Installer;
use crate::link::Link;
use crate::network::Network;

/// Flow numbers of a source of cross traffic: data one way, and the other.
pub const ROUTES: usize = 2;

/// What a stack counts of packets and queues.
#[derive(Clone, Copy, Debug)]
pub struct Counting {
    /// Bytes of link framing that packets have.
    pub framing: u16,
    /// Whether a queue must stay below its limit instead of reaching it.
    pub limit_is_exclusive: bool,
}

/// Where the packets of the sender and of the receiver of `journey` enter the network.
pub fn ports(journey: &Journey) -> [Port; 2] {
    [&journey.data, &journey.acks].map(|way| Port(way[0].0))
}

impl Network {
    /// The network of `layout`, with as many timers as [`Network::new`] says. The caller has made
    /// sure that every discipline in it is known.
    pub fn of(
        layout: &Layout,
        counting: Counting,
        seed: u64,
        timers: usize,
        fetches: bool,
    ) -> Network {
        let mut links = with_room_on_large_pages(layout.links.len());
        for id in layout.ids().map(|(id, _)| id) {
            links.push(link(layout, id, counting, seed));
        }
        let forwarding = forwarding(layout);
        let mut installer = Installer {
            layout,
            seed,
            framing: counting.framing,
            links: &mut links,
        };
        installer.install();
        for (index, link) in links.iter_mut().enumerate() {
            link.foresee_departures();
            link.leads_to = forwarding.leads_to(index);
        }
        // What is fed ahead has a way that is known before its time: routes that change take that.
        if !forwarding.changes() {
            let entries = layout.journeys().flat_map(ports).map(|port| port.0);
            fuse(&mut links, &forwarding, &entries.collect());
        }
        let mut network = Network::new(links, forwarding, timers, fetches);
        network.names = layout.ids().map(|(_, link)| link.name.as_str()).collect();
        network.waiting = waiting(layout);
        network
    }
}

/// The changes of `layout` that wait for a state, with the index of the link that each is of.
fn waiting(layout: &Layout) -> Vec<(usize, Triggered)> {
    let impairments = layout.impairments.iter();
    let links = impairments.filter(|impairment| impairment.place == Place::Router);
    let all = links.flat_map(|impairment| {
        let line = &layout.lines[impairment.line.index()];
        let triggered = line.triggered.iter().cloned();
        triggered.map(|triggered| (impairment.link.index(), triggered))
    });
    all.collect()
}

/// Where packets go: those of the flows first, then those of traffic, each both ways, then those of
/// probes.
fn forwarding(layout: &Layout) -> Forwarding {
    let flows = layout.flows.len();
    let behind = flows + ROUTES * layout.traffic.len();
    let mut forwarding = Forwarding::new(behind + layout.probes.len());
    let numbers = |way: &[LinkId]| -> Vec<u32> { way.iter().map(|link| link.0).collect() };
    let probes = (behind..).zip(&layout.probes);
    for (number, journey) in layout.flows.iter().enumerate().chain(probes) {
        forwarding.add_routes(number, &numbers(&journey.data), &numbers(&journey.acks));
    }
    for (index, journey) in layout.traffic.iter().enumerate() {
        let (data, acks) = (numbers(&journey.data), numbers(&journey.acks));
        let number = flows + ROUTES * index;
        forwarding.add_routes(number, &data, &acks);
        forwarding.add_routes(number + 1, &acks, &data);
    }
    let probes = (behind..).zip(&layout.probes);
    let single = layout.flows.iter().enumerate().chain(probes);
    let sources = layout.traffic.iter().enumerate();
    let both = sources.flat_map(|(index, journey)| {
        let number = flows + ROUTES * index;
        [(number, journey, false), (number + 1, journey, true)]
    });
    let all = single
        .map(|(number, journey)| (number, journey, false))
        .chain(both);
    let changes = all.flat_map(|(flow, journey, turned)| {
        journey.detours.iter().map(move |detour| {
            let [mut data, mut acks] = [numbers(&detour.data), numbers(&detour.acks)];
            if turned {
                std::mem::swap(&mut data, &mut acks);
            }
            Change {
                at: detour.at,
                flow,
                data,
                acks,
            }
        })
    });
    forwarding.will_change(changes.collect());
    forwarding
}

/// The link `id` of `layout`, undisturbed.
fn link(layout: &Layout, id: LinkId, counting: Counting, seed: u64) -> Link {
    let new = |rate: Option<Rate>, queue| {
        let dice = Stream::new(seed, &format!("queue {}", layout.link(id).name));
        Link::new(rate, layout.delay(id), queue, dice)
    };
    match layout.link(id).kind {
        LinkKind::Line { line, .. } => {
            let line = &layout.lines[line.index()];
            let mut link = new(line.rate, queue(&line.queue, line.rate, counting));
            if line.is_plain() {
                // At once: a queue that is not needed leaves no hole in memory.
                link.foresee_departures();
            }
            if layout.is_bottleneck(id) {
                let discipline = find(&line.queue.kind);
                let bands = discipline.map_or(&[][..], |discipline| discipline.bands);
                let kept = |&name: &&'static str| (name, Histogram::new());
                let fittings = link.fit();
                fittings.sojourn = Some(Box::default());
                fittings.bands = bands.iter().map(kept).collect();
            }
            link
        }
        LinkKind::Delay(_) => new(None, room_for(1)),
        LinkKind::Processor {
            packet_rate,
            backlog,
        } => {
            let mut link = new(None, room_for(backlog));
            link.pace_packets(packet_rate);
            link
        }
    }
}

fn queue(queue: &Queue, rate: Option<Rate>, counting: Counting) -> Box<dyn cclab_qdisc::Qdisc> {
    let limit = match queue.limit {
        cclab_spec::Limit::Bytes(bytes) => Limit::Bytes(bytes),
        cclab_spec::Limit::Packets(packets) => Limit::Packets(packets),
    };
    let discipline = cclab_qdisc::find_simulated(&queue.kind)
        .expect("unknown disciplines are refused before a run");
    let config = QueueConfig {
        limit,
        limit_is_exclusive: counting.limit_is_exclusive,
        rate,
        params: Params::new(discipline.params, &queue.params)
            .expect("bad parameters are refused before a run"),
    };
    cclab_qdisc::build(&queue.kind, &config).expect("the discipline was found")
}

/// A queue for so many packets, which leave in the order in which they came.
fn room_for(packets: u64) -> Box<dyn cclab_qdisc::Qdisc> {
    let config = QueueConfig {
        limit: Limit::Packets(packets),
        limit_is_exclusive: false,
        rate: None,
        params: Params::defaults(&[]),
    };
    cclab_qdisc::build("droptail", &config).expect("droptail is registered")
}
