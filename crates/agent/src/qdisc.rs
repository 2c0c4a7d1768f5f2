//! What queueing disciplines count.

use std::collections::BTreeMap;

use cclab_qdisc::{Marks, of_kernel};
use cclab_testbed::orders::Queue;
use cclab_testbed::records::QueueCounters;
use nix::net::if_::if_nametoindex;
use nix::sys::socket::SockProtocol;

use crate::failure::{During, Step, failure};
use crate::namespaces::Namespaces;
use crate::netlink::{Attributes, Netlink, long, word};

/// `RTM_GETQDISC`.
const GET: u16 = 38;
/// Bytes of `struct tcmsg`.
const MESSAGE: usize = 20;
/// Attributes of a qdisc, and of its statistics.
const KIND: u16 = 1;
const STATS2: u16 = 7;
const BASIC: u16 = 1;
const QUEUE: u16 = 3;
const APP: u16 = 4;
const PACKETS64: u16 = 8;

/// The sampled queues of one namespace.
struct Place {
    netlink: Netlink,
    /// Interface, handles of root and discipline, index of the queue in the orders.
    queues: Vec<(u32, u32, u32, usize)>,
}

/// Reads the counters of the sampled queues.
pub struct QdiscCounters {
    places: Vec<Place>,
    counts: Vec<(QueueCounters, QueueCounters)>,
}

impl QdiscCounters {
    /// Finds `queues` in their namespaces.
    pub fn find(queues: &[Queue], namespaces: &Namespaces) -> Step<QdiscCounters> {
        let mut places: BTreeMap<usize, Place> = BTreeMap::new();
        for (index, queue) in queues.iter().enumerate() {
            namespaces.within(queue.namespace, || {
                let step = format!("queue of {}", queue.interface);
                let interface = if_nametoindex(queue.interface.as_str()).during(&step)?;
                let entry = (interface, queue.handle, queue.discipline, index);
                if let Some(place) = places.get_mut(&queue.namespace) {
                    place.queues.push(entry);
                    return Ok(());
                }
                let netlink = Netlink::open(SockProtocol::NetlinkRoute, 0).during(&step)?;
                let queues = vec![entry];
                places.insert(queue.namespace, Place { netlink, queues });
                Ok(())
            })?;
        }
        Ok(QdiscCounters {
            places: places.into_values().collect(),
            counts: vec![Default::default(); queues.len()],
        })
    }

    /// The counters now: of the root qdisc and of the discipline of each queue, in the order of
    /// the orders.
    pub fn read(&mut self) -> Step<&[(QueueCounters, QueueCounters)]> {
        for Place { netlink, queues } in &mut self.places {
            let mut found = 0;
            let counts = &mut self.counts;
            netlink
                .dump(GET, &[0; MESSAGE], |body| {
                    let (interface, handle) = (word(body, 4), word(body, 8));
                    for &(at, root, discipline, index) in queues.iter() {
                        if at != interface {
                            continue;
                        }
                        let Some(counted) = body.get(MESSAGE..).map(counters) else {
                            continue;
                        };
                        if handle == root {
                            counts[index].0 = counted;
                            found += 1;
                        }
                        if handle == discipline {
                            counts[index].1 = counted;
                            found += 1;
                        }
                    }
                })
                .during("counters of queues")?;
            if found != 2 * queues.len() {
                let problem = format!("{found} of {} qdiscs are there", 2 * queues.len());
                return Err(failure("counters of queues", problem));
            }
        }
        Ok(&self.counts)
    }
}

fn counters(attributes: &[u8]) -> QueueCounters {
    let mut counted = QueueCounters::default();
    let mut kind = "";
    for (name, value) in Attributes(attributes) {
        match name {
            KIND => {
                kind = std::str::from_utf8(value)
                    .unwrap_or("")
                    .trim_end_matches('\0')
            }
            STATS2 => {
                for (name, value) in Attributes(value) {
                    match name {
                        BASIC => {
                            counted.tx_bytes = long(value, 0);
                            counted.tx_packets = u64::from(word(value, 8));
                        }
                        PACKETS64 => counted.tx_packets = long(value, 0),
                        QUEUE => {
                            counted.packets = u64::from(word(value, 0));
                            counted.backlog = u64::from(word(value, 4));
                            counted.drops = u64::from(word(value, 8));
                        }
                        APP => counted.marks = marks(kind, value),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    counted
}

/// ECN marks in the statistics of the discipline `kind`'s own.
fn marks(kind: &str, stats: &[u8]) -> u64 {
    let declared = of_kernel().find(|(_, tc)| tc.kinds.iter().any(|known| known.name == kind));
    match declared.map_or(Marks::None, |(_, tc)| tc.marks) {
        Marks::None => 0,
        Marks::Words(places) => places.iter().map(|at| u64::from(word(stats, 4 * at))).sum(),
        Marks::Long(at) => long(stats, at),
        Marks::Tins => marks_of_tins(stats),
    }
}

/// `TCA_CAKE_STATS_TIN_STATS` holds a list of tins.
fn marks_of_tins(stats: &[u8]) -> u64 {
    const TIN_STATS: u16 = 10;
    const ECN_MARKED_PACKETS: u16 = 8;
    Attributes(stats)
        .filter(|&(name, _)| name == TIN_STATS)
        .flat_map(|(_, tins)| Attributes(tins))
        .flat_map(|(_, tin)| Attributes(tin))
        .filter(|&(name, _)| name == ECN_MARKED_PACKETS)
        .map(|(_, value)| u64::from(word(value, 0)))
        .sum()
}
