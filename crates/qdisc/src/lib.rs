//! Queueing disciplines: what waits in front of a link, what goes next, what is dropped.

mod cake;
mod choke;
mod codel;
mod declare;
mod discipline;
mod droptail;
mod dualpi2;
mod ecn;
mod fifo;
mod flow_queues;
mod fq;
mod fq_codel;
mod fq_pie;
#[cfg(test)]
mod laws;
mod pie;
mod policer;
mod random_drop;
mod red;
mod registry;
mod sfq;
mod tbf;
mod tc;
#[cfg(test)]
mod testing;
mod ticks;
mod token_bucket;

use cclab_packet::{Ecn, Packet};
use cclab_units::{Stream, Time};

pub use discipline::{Build, Config, Discipline, Limit};
pub use registry::{QDISCS, build, find, find_simulated, of_kernel, simulated};
pub use tc::{Form, Kind, Marks, Tc, Unit};

/// A full packet of Ethernet as Linux's queueing layer counts it: 1500 bytes and the header.
pub(crate) const MTU: u64 = 1514;

/// What surrounds a call: the instant and the queue's own dice.
pub struct Cx<'a> {
    /// Virtual time.
    pub now: Time,
    /// The queue's stream of random numbers.
    pub rng: &'a mut Stream,
}

/// What a queue knows of a packet, which itself stays where it is: a copy of it would wait until all
/// that was written to it is in the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Descriptor {
    /// Where the packet is, for those who offer it; queues do not look at it.
    pub slot: u32,
    /// See [`Packet::flow`].
    pub flow: u32,
    /// See [`Packet::connection`].
    pub connection: u32,
    /// See [`Packet::wire_len`].
    pub wire_len: u16,
    /// See [`Packet::ecn`]: queues mark it here.
    pub ecn: Ecn,
    /// See [`Packet::backward`].
    pub backward: bool,
}

impl Descriptor {
    /// Of `packet`, which is in `slot`.
    #[inline]
    pub fn new(packet: &Packet, slot: u32) -> Descriptor {
        Descriptor {
            slot,
            flow: packet.flow,
            connection: packet.connection(),
            wire_len: packet.wire_len,
            ecn: packet.ecn,
            backward: packet.backward,
        }
    }
}

/// A packet that was refused or thrown out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dropped(pub Descriptor);

/// What waits: packets and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Packets.
    pub packets: u64,
    /// Bytes, headers and framing included.
    pub bytes: u64,
}

/// A packet on its way out of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// The packet, perhaps marked.
    pub packet: Descriptor,
    /// When it entered the queue.
    pub enqueued: Time,
}

/// How much a queue holds that is first in, first out and decides on arrival alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FifoLimits {
    /// Packets, the one in transmission not among them.
    pub packets: u64,
    /// Bytes of them.
    pub bytes: u64,
}

/// What a discipline counted of one of its queues, where it has several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Band {
    /// Packets that it gave out.
    pub packets: u64,
    /// Packets dropped that were in it, or were to go there.
    pub drops: u64,
    /// Packets of it that were ECN-marked.
    pub marks: u64,
}

/// A queueing discipline. The packet in transmission is no longer in the queue.
pub trait Qdisc: Send {
    /// Takes `packet` in. Packets dropped for it, itself perhaps, go to `dropped`.
    fn enqueue(&mut self, packet: Descriptor, cx: &mut Cx<'_>, dropped: &mut Vec<Dropped>);

    /// Lets `packet` go through at once, perhaps marked, as [`Qdisc::enqueue`] and [`Qdisc::dequeue`]
    /// in turn would, when nothing waits; false, and nothing that these two would not do has happened,
    /// where it takes them.
    fn pass(&mut self, _packet: &mut Descriptor, _cx: &mut Cx<'_>) -> bool {
        false
    }

    /// The limits, of a discipline that is first in, first out, refuses at the tail what does
    /// not fit, and does nothing else: a link then foresees its departures and need not ask.
    fn as_fifo(&self) -> Option<FifoLimits> {
        None
    }

    /// The next packet to transmit. Packets dropped on the way out go to `dropped`.
    fn dequeue(&mut self, cx: &mut Cx<'_>, dropped: &mut Vec<Dropped>) -> Option<Departure>;

    /// Whether it may keep a packet although the transmitter is free, until [`Qdisc::deadline`].
    fn holds_back(&self) -> bool {
        false
    }

    /// When a packet that may not leave yet will be ready; only disciplines that
    /// [hold packets back](Qdisc::holds_back) are asked.
    fn deadline(&self) -> Time {
        Time::NEVER
    }

    /// What waits.
    fn backlog(&self) -> Backlog;

    /// Packets ECN-marked so far.
    fn marks(&self) -> u64 {
        0
    }

    /// What it counted so far of each of its [`Discipline::bands`], in their order.
    fn bands(&self) -> &[Band] {
        &[]
    }

    /// The place among [`Qdisc::bands`] of the packet that was given out last.
    fn last_band(&self) -> usize {
        0
    }
}
