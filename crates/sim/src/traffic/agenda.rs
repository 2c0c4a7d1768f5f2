//! When cross traffic acts next: one entry of the calendar for all of it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use cclab_units::Time;

/// Who acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Duty {
    /// A source, or one client of it.
    Source { source: u32, client: u32 },
    /// The sending host of the connection that was in the slot when its generation was this.
    Sender { slot: u32, generation: u32 },
    /// The receiving host of the same.
    Receiver { slot: u32, generation: u32 },
}

/// What is to be done, in the order of time, and at one instant in the order of asking.
#[derive(Debug, Default)]
pub struct Agenda {
    heap: BinaryHeap<Reverse<(Time, u64, Duty)>>,
    asked: u64,
}

impl Agenda {
    /// Lets `duty` be done at `time`.
    pub fn add(&mut self, time: Time, duty: Duty) {
        if time < Time::NEVER {
            self.asked += 1;
            self.heap.push(Reverse((time, self.asked, duty)));
        }
    }

    /// When the next thing is to be done.
    pub fn deadline(&self) -> Time {
        self.heap.peek().map_or(Time::NEVER, |Reverse(next)| next.0)
    }

    /// What is due at `now`, one at a time.
    pub fn due(&mut self, now: Time) -> Option<Duty> {
        if self.deadline() > now {
            return None;
        }
        self.heap.pop().map(|Reverse((_, _, duty))| duty)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duties_come_by_time_then_in_the_order_of_asking() {
        let of = |source| Duty::Source { source, client: 0 };
        let mut agenda = Agenda::default();
        agenda.add(Time::from_secs(2), of(7));
        agenda.add(Time::from_secs(1), of(9));
        agenda.add(Time::from_secs(1), of(3));
        agenda.add(Time::NEVER, of(1));
        assert_eq!(agenda.due(Time::ZERO), None);
        let done: Vec<Duty> = std::iter::from_fn(|| agenda.due(Time::from_secs(5))).collect();
        assert_eq!(done, [of(9), of(3), of(7)]);
        assert_eq!(agenda.deadline(), Time::NEVER);
    }
}
