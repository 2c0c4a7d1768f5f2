//! What is known before it happens, kept until it does: a watch sees events in the order of time.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use cclab_packet::Packet;
use cclab_units::Time;

/// Something that is to be seen at its time.
#[derive(Clone, Copy, Debug)]
pub enum Sight {
    /// A packet leaves the queue of a link after having waited.
    Departure {
        /// The link.
        link: u32,
        /// How long it waited.
        waited: Time,
        /// The packet.
        packet: Packet,
    },
    /// A packet reaches the far end of a link.
    Arrival {
        /// The link.
        link: u32,
        /// The packet.
        packet: Packet,
    },
}

/// Sights to come, the next first.
#[derive(Debug, Default)]
pub struct Foreseen {
    heap: BinaryHeap<Entry>,
    pushed: u64,
}

#[derive(Debug)]
struct Entry {
    at: (Time, u64),
    sight: Sight,
}

impl Ord for Entry {
    /// The heap has its greatest entry first: that is to be the earliest.
    fn cmp(&self, other: &Entry) -> Ordering {
        other.at.cmp(&self.at)
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Entry) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Entry) -> bool {
        self.at == other.at
    }
}

impl Eq for Entry {}

impl Foreseen {
    /// `sight` will happen at `time`.
    pub fn push(&mut self, time: Time, sight: Sight) {
        self.pushed += 1;
        let at = (time, self.pushed);
        self.heap.push(Entry { at, sight });
    }

    /// When the next one happens; [`Time::NEVER`] if none is known.
    pub fn next(&self) -> Time {
        self.heap.peek().map_or(Time::NEVER, |entry| entry.at.0)
    }

    /// The next one that has happened by `now`.
    pub fn pop(&mut self, now: Time) -> Option<Sight> {
        if self.next() > now {
            return None;
        }
        self.heap.pop().map(|entry| entry.sight)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sights_come_by_time_and_those_of_one_instant_in_the_order_of_foresight() {
        let mut foreseen = Foreseen::default();
        for (ms, seq) in [(5, 0), (2, 1), (5, 2), (2, 3), (9, 4)] {
            let packet = Packet {
                seq,
                ..Packet::default()
            };
            foreseen.push(Time::from_millis(ms), Sight::Arrival { link: 0, packet });
        }
        let mut order = Vec::new();
        while let Some(sight) = foreseen.pop(Time::from_millis(5)) {
            match sight {
                Sight::Arrival { packet, .. } | Sight::Departure { packet, .. } => {
                    order.push(packet.seq)
                }
            }
        }
        assert_eq!(order, [1, 3, 0, 2]);
        assert_eq!(foreseen.next(), Time::from_millis(9));
    }
}
