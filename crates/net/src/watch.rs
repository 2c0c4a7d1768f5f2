//! What can be seen of packets on their way.

use cclab_packet::Packet;
use cclab_trace::schema::DropReason;
use cclab_units::Time;

/// Something that happened to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sight {
    /// It entered the queue of `link`, which then held `backlog` bytes.
    Enqueued {
        /// The link.
        link: u32,
        /// Bytes that wait.
        backlog: u64,
        /// The packet.
        packet: Packet,
    },
    /// It left the queue of `link`, where it had `waited`.
    Departed {
        /// The link.
        link: u32,
        /// How long it waited.
        waited: Time,
        /// Bytes that wait now.
        backlog: u64,
        /// The packet.
        packet: Packet,
    },
    /// It reached the far end of `link`.
    Arrived {
        /// The link.
        link: u32,
        /// The packet.
        packet: Packet,
    },
    /// A link has made a copy of it, which is a packet of its own from here on.
    Copied {
        /// The packet.
        packet: Packet,
    },
    /// It was lost.
    Lost {
        /// On this link.
        link: u32,
        /// Why.
        reason: DropReason,
        /// The packet.
        packet: Packet,
    },
}

/// Looks on at a network. `()` is the one that is off: nothing is even computed for it.
pub trait Watch {
    /// False only for what is always off.
    const ON: bool = true;

    /// Whether it wants [`Sight::Enqueued`] and [`Sight::Departed`] of `link`.
    fn wants_queue(&self, link: usize) -> bool;
    /// Whether it wants [`Sight::Arrived`] of `link`.
    fn wants_arrivals(&self, link: usize) -> bool;
    /// Sees what happens now. Losses and copies are seen on all links.
    fn see(&mut self, sight: Sight);
}

impl Watch for () {
    const ON: bool = false;

    fn wants_queue(&self, _: usize) -> bool {
        false
    }
    fn wants_arrivals(&self, _: usize) -> bool {
        false
    }
    fn see(&mut self, _: Sight) {}
}
