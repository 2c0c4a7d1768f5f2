//! A queue that is first in, first out and decides on arrival alone: when each packet departs
//! is known when it arrives, so that departures need no events.

use cclab_qdisc::{Backlog, FifoLimits};
use cclab_units::hint::unlikely;
use cclab_units::{Ring, Time};

/// What waits for a transmitter whose departures are foreseen.
///
/// A departure and an arrival of one instant come in the order in which they were caused, as in
/// an event loop that has an event for each (and as in ns-2): the departure by the transmission
/// before it, or by its own arrival if later; the arrival by the transmission that brings it.
#[derive(Debug)]
pub struct Fifo {
    /// Packets that may wait; a ring holds fewer than 2^32.
    packets_most: u32,
    /// The largest backlog in bytes that was told, or as much of it as fits: see [`Fifo::record`].
    recorded: u32,
    bytes_most: u64,
    bytes: u64,
    waiting: Ring<Waiting>,
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
            packets_most: u32::try_from(limits.packets).unwrap_or(u32::MAX),
            recorded: 0,
            bytes_most: limits.bytes,
            bytes: 0,
            waiting: Ring::default(),
            last_departure: Time::ZERO,
        }
    }

    /// Whether a packet of `bytes` may wait, or pass at once.
    #[inline]
    pub fn has_room(&self, bytes: u64) -> bool {
        self.waiting.len() < self.packets_most as usize && self.bytes + bytes <= self.bytes_most
    }

    /// The bytes that wait, if they may be more than ever before: what keeps the most of them is far
    /// away.
    #[inline]
    pub fn record(&mut self) -> Option<u64> {
        unlikely(self.bytes > u64::from(self.recorded)).then(|| {
            self.recorded = u32::try_from(self.bytes).unwrap_or(u32::MAX);
            self.bytes
        })
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
        let is_later = unlikely(first.departs == now) && {
            let arrived = first.departs - first.waits;
            arrived.max(self.last_departure) > since
        };
        if first.departs > now || is_later {
            return None;
        }
        self.last_departure = first.departs;
        self.bytes -= first.bytes;
        self.waiting.pop_front();
        Some(first)
    }

    /// All that waited has left, by the clock of whoever transmits. Returns the bytes of what was not yet
    /// reported, without a look at it.
    #[inline]
    pub fn leave_all(&mut self) -> u64 {
        self.waiting.clear();
        std::mem::take(&mut self.bytes)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Time {
        Time::from_millis(ms)
    }

    /// A packet in transmission from 0 to 10 ms, and one that came at 4 ms and waits for it.
    fn one_waits() -> Fifo {
        let mut fifo = Fifo::new(FifoLimits {
            packets: 1,
            bytes: 2_000,
        });
        fifo.pass(ms(0));
        fifo.push(Waiting {
            departs: ms(10),
            waits: ms(6),
            bytes: 1_500,
        });
        fifo
    }

    #[test]
    fn a_departure_and_an_arrival_of_one_instant_come_in_the_order_of_their_causes() {
        // The departure was caused by the arrival at 4 ms, when the transmitter was busy.
        let mut fifo = one_waits();
        assert!(fifo.pop_departed(ms(10), ms(3)).is_none());
        assert!(!fifo.has_room(1_500), "not gone yet for what left at 3 ms");
        assert!(fifo.pop_departed(ms(10), ms(4)).is_some());
        assert!(fifo.has_room(1_500));
        // An instant later it is gone for whatever arrives.
        assert!(one_waits().pop_departed(ms(11), ms(0)).is_some());
        assert!(one_waits().pop_departed(ms(9), ms(9)).is_none());
    }

    #[test]
    fn a_backlog_is_recorded_as_often_as_it_is_more_than_ever() {
        let fifo_of = |packets| {
            Fifo::new(FifoLimits {
                packets,
                bytes: u64::MAX,
            })
        };
        let mut fifo = fifo_of(u64::MAX);
        let mut put = |bytes| {
            fifo.push(Waiting {
                departs: ms(1),
                waits: ms(1),
                bytes,
            });
            let recorded = fifo.record();
            fifo.pop_departed(ms(2), ms(1));
            recorded
        };
        // As many packets as that are never there.
        assert!(fifo_of(1 << 32).has_room(1));
        assert_eq!([put(100), put(90)], [Some(100), None]);
        assert_eq!([put(100), put(101)], [None, Some(101)]);
        // What does not fit the field that remembers it is told again and again.
        let huge = 1 << 40;
        assert_eq!([put(huge), put(huge)], [Some(huge), Some(huge)]);
    }

    #[test]
    fn all_that_left_is_as_much_as_each_together() {
        let (mut together, mut each) = (one_waits(), one_waits());
        let left = std::iter::from_fn(|| each.pop_departed(ms(30), ms(29)));
        assert_eq!(together.leave_all(), left.map(|one| one.bytes).sum::<u64>());
        assert_eq!(
            (together.backlog(), together.leave_all()),
            (each.backlog(), 0)
        );
    }

    #[test]
    fn what_has_departed_is_no_backlog_even_before_it_is_reported() {
        let fifo = one_waits();
        assert_eq!((fifo.backlog().packets, fifo.backlog().bytes), (1, 1_500));
        assert_eq!(fifo.departed(ms(9)).count(), 0);
        assert_eq!(fifo.departed(ms(10)).count(), 1);
        assert_eq!(fifo.next_departure(ms(9)), Some(ms(10)));
        assert_eq!(fifo.next_departure(ms(10)), None);
    }
}
