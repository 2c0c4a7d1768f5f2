//! What cross traffic hands to the network, and what it counted.

use std::collections::VecDeque;

use cclab_net::Port;
use cclab_packet::Packet;
use cclab_trace::Histogram;
use cclab_trace::schema::Transfer;
use cclab_units::Time;

/// What the hosts of a source counted.
#[derive(Clone, Debug, Default)]
pub struct Counters {
    /// Packets that its hosts put into the network, both ways.
    pub sent: u64,
    /// Bytes of them on a link.
    pub sent_bytes: u64,
    /// Packets that reached its hosts.
    pub received: u64,
    /// Bytes of them on a link.
    pub received_bytes: u64,
    /// Transfers that began.
    pub started: u64,
    /// Transfers that ended.
    pub ended: u64,
    /// How long datagrams were on their way.
    pub delay: Histogram,
    /// How long echo requests waited for their replies.
    pub rtt: Histogram,
}

/// Packets that leave hosts now, by source, and transfers that ended, for the trace.
#[derive(Debug, Default)]
pub struct Outbox {
    /// Where each enters the network, in the order of leaving.
    pub packets: VecDeque<(Port, Packet)>,
    /// Transfers that ended, with their beginnings; kept where a trace is.
    pub transfers: Vec<(Time, Transfer)>,
    /// One per source.
    pub counters: Vec<Counters>,
}

impl Outbox {
    /// Nothing yet, of `sources` sources.
    pub fn of(sources: usize) -> Outbox {
        Outbox {
            counters: vec![Counters::default(); sources],
            ..Outbox::default()
        }
    }

    /// A packet of `source` leaves, to enter the network at `port`.
    #[inline]
    pub fn put(&mut self, source: u32, port: Port, packet: Packet) {
        let counters = &mut self.counters[source as usize];
        counters.sent += 1;
        counters.sent_bytes += u64::from(packet.wire_len);
        self.packets.push_back((port, packet));
    }

    /// A packet of `source` has reached its host.
    #[inline]
    pub fn take(&mut self, source: u32, packet: &Packet) {
        let counters = &mut self.counters[source as usize];
        counters.received += 1;
        counters.received_bytes += u64::from(packet.wire_len);
    }
}
