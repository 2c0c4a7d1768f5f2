//! A queue that is first in, first out and decides on arrival alone: when each packet departs
//! is known when it arrives, so that departures need no events.

use std::collections::VecDeque;

use cclab_qdisc::{Backlog, FifoLimits};
use cclab_units::Time;

/// What waits for a transmitter whose departures are foreseen.
///
/// A departure and an arrival of one instant come in the order in which they were caused, as in
/// an event loop that has an event for each (and as in ns-2): the departure by the transmission
/// before it, or by its own arrival if later; the arrival by the transmission that brings it.
#[derive(Debug)]
pub struct Fifo {
    limits: FifoLimits,
    bytes: u64,
    waiting: VecDeque<Waiting>,
    /// When the last transmission began that was reported.
    last_departure: Time,
}

/// A packet that waits; the packet itself is on the wire already.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    /// When its transmission begins.
    pub departs: Time,
    /// How long it will have waited.
    pub waits: Time,
    /// What it takes on the link.
    pub bytes: u64,
}

impl Fifo {
    /// An empty queue.
    pub fn new(limits: FifoLimits) -> Fifo {
        Fifo {
            limits,
            bytes: 0,
            waiting: VecDeque::new(),
            last_departure: Time::ZERO,
        }
    }

    /// Whether a packet of `bytes` may wait, or pass at once.
    #[inline]
    pub fn has_room(&self, bytes: u64) -> bool {
        (self.waiting.len() as u64) < self.limits.packets && self.bytes + bytes <= self.limits.bytes
    }

    /// A packet will wait.
    #[inline]
    pub fn push(&mut self, waiting: Waiting) {
        self.bytes += waiting.bytes;
        self.waiting.push_back(waiting);
    }

    /// A packet passes at once.
    #[inline]
    pub fn pass(&mut self, now: Time) {
        self.last_departure = now;
    }

    /// The first packet that has begun to leave before an arrival at `now` that was caused at
    /// `since`, and was not yet reported.
    #[inline]
    pub fn pop_departed(&mut self, now: Time, since: Time) -> Option<Waiting> {
        let first = *self.waiting.front()?;
        let is_later = first.departs == now && {
            let arrived = first.departs - first.waits;
            arrived.max(self.last_departure) > since
        };
        if first.departs > now || is_later {
            return None;
        }
        self.last_departure = first.departs;
        self.bytes -= first.bytes;
        self.waiting.pop_front()
    }

    /// What waits, of what was not yet reported as departed.
    #[inline]
    pub fn backlog(&self) -> Backlog {
        Backlog {
            packets: self.waiting.len() as u64,
            bytes: self.bytes,
        }
    }

    /// Packets that have begun to leave by `now` and were not yet reported.
    pub fn departed(&self, now: Time) -> impl Iterator<Item = &Waiting> {
        self.waiting
            .iter()
            .take_while(move |waiting| waiting.departs <= now)
    }

    /// When the transmission in progress at `now` ends, if packets wait for that.
    pub fn next_departure(&self, now: Time) -> Option<Time> {
        let next = self.waiting.iter().find(|waiting| waiting.departs > now)?;
        Some(next.departs)
    }
}
