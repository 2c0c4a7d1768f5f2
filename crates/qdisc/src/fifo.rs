//! What most disciplines are built on: packets in the order of their arrival, and the room they
//! have.

use std::collections::VecDeque;

use cclab_units::Time;

use crate::discipline::{Config, Limit};
use crate::{Backlog, Departure, Descriptor};

/// How much a queue may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Room {
    /// Bytes that it may reach.
    pub bytes: u64,
    /// Packets that it may reach.
    pub packets: u64,
}

impl Room {
    /// The room that `config` gives.
    pub fn new(config: &Config) -> Room {
        let slack = u64::from(config.limit_is_exclusive);
        match config.limit {
            Limit::Bytes(bytes) => Room {
                bytes: bytes.saturating_sub(slack),
                packets: u64::MAX,
            },
            Limit::Packets(packets) => Room {
                bytes: u64::MAX,
                packets: packets.saturating_sub(slack),
            },
        }
    }

    /// Whether a queue with `backlog` has room for `packet`.
    #[inline]
    pub fn admits(&self, backlog: Backlog, packet: &Descriptor) -> bool {
        backlog.packets < self.packets && backlog.bytes + u64::from(packet.wire_len) <= self.bytes
    }

    /// Whether `backlog` is more than there is room for.
    pub fn is_exceeded_by(&self, backlog: Backlog) -> bool {
        backlog.packets > self.packets || backlog.bytes > self.bytes
    }

    /// Whether `packet` does not fit even into an empty queue.
    pub fn never_admits(&self, packet: &Descriptor) -> bool {
        !self.admits(Backlog::default(), packet)
    }

    /// The room in bytes; packets count as full packets of Ethernet.
    pub fn in_bytes(&self) -> u64 {
        self.bytes.min(self.packets.saturating_mul(crate::MTU))
    }

    /// The room in packets; bytes count as full packets of Ethernet, and there is at least one.
    pub fn in_packets(&self) -> u64 {
        self.packets.min((self.bytes / crate::MTU).max(1))
    }
}

/// Packets in the order of their arrival.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fifo {
    queue: VecDeque<Departure>,
    bytes: u64,
}

impl Fifo {
    /// Puts `packet` last.
    #[inline]
    pub fn push(&mut self, packet: Descriptor, now: Time) {
        self.bytes += u64::from(packet.wire_len);
        self.queue.push_back(Departure {
            packet,
            enqueued: now,
        });
    }

    /// Takes the first packet out.
    #[inline]
    pub fn pop(&mut self) -> Option<Departure> {
        let departure = self.queue.pop_front()?;
        self.bytes -= u64::from(departure.packet.wire_len);
        Some(departure)
    }

    /// The first packet.
    pub fn front(&self) -> Option<&Departure> {
        self.queue.front()
    }

    /// The packet at `place`, counted from the first.
    pub fn at(&self, place: usize) -> Option<&Departure> {
        self.queue.get(place)
    }

    /// Takes out the packet at `place`, counted from the first; the others keep their order.
    pub fn remove(&mut self, place: usize) -> Option<Departure> {
        let departure = self.queue.remove(place)?;
        self.bytes -= u64::from(departure.packet.wire_len);
        Some(departure)
    }

    /// Packets.
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// Whether nothing waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// How long the first packet has waited at `now`; zero for an empty queue.
    pub fn sojourn(&self, now: Time) -> Time {
        self.front()
            .map_or(Time::ZERO, |departure| now - departure.enqueued)
    }

    /// What waits.
    #[inline]
    pub fn backlog(&self) -> Backlog {
        Backlog {
            packets: self.queue.len() as u64,
            bytes: self.bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{config, packet};

    fn room(limit: Limit) -> Room {
        Room::new(&config("droptail", limit, &[]))
    }

    fn backlog(packets: u64, bytes: u64) -> Backlog {
        Backlog { packets, bytes }
    }

    #[test]
    fn a_limit_in_one_unit_is_one_in_the_other_by_full_packets() {
        assert_eq!(room(Limit::Packets(10)).in_bytes(), 15_140);
        assert_eq!(room(Limit::Packets(10)).in_packets(), 10);
        assert_eq!(room(Limit::Bytes(5_000)).in_bytes(), 5_000);
        assert_eq!(room(Limit::Bytes(5_000)).in_packets(), 3);
        assert_eq!(room(Limit::Bytes(100)).in_packets(), 1);
    }

    #[test]
    fn what_fits_reaches_the_limit_and_no_more() {
        let bytes = room(Limit::Bytes(3_000));
        assert!(bytes.admits(backlog(1, 2_000), &packet(0, 1_000)));
        assert!(!bytes.admits(backlog(1, 2_001), &packet(0, 1_000)));
        assert!(!bytes.is_exceeded_by(backlog(9, 3_000)));
        assert!(bytes.is_exceeded_by(backlog(9, 3_001)));
        assert!(bytes.never_admits(&packet(0, 3_001)));
        assert!(!bytes.never_admits(&packet(0, 3_000)));
        let packets = room(Limit::Packets(2));
        assert!(packets.admits(backlog(1, 9_000), &packet(0, 1_000)));
        assert!(!packets.admits(backlog(2, 100), &packet(0, 40)));
        assert!(!packets.is_exceeded_by(backlog(2, 9_000)));
        assert!(packets.is_exceeded_by(backlog(3, 100)));
    }

    #[test]
    fn the_bytes_of_what_leaves_are_taken_off() {
        let mut queue = Fifo::default();
        for (flow, bytes) in [(0, 100), (1, 200), (2, 400)] {
            queue.push(packet(flow, bytes), Time::from_millis(u64::from(flow)));
        }
        let removed = queue.remove(1).expect("three wait");
        assert_eq!((removed.packet.flow, queue.backlog()), (1, backlog(2, 500)));
        assert_eq!(queue.sojourn(Time::from_millis(5)), Time::from_millis(5));
        assert!(queue.pop().is_some());
        assert_eq!((queue.len(), queue.backlog()), (1, backlog(1, 400)));
        assert_eq!(queue.sojourn(Time::from_millis(5)), Time::from_millis(3));
        assert!(queue.remove(1).is_none());
        assert!(queue.pop().is_some() && queue.is_empty());
        assert_eq!(queue.sojourn(Time::from_millis(5)), Time::ZERO);
    }
}
