//! What a wire adds to the delay of packets: jitter, slots, packets that are held back, and the
//! order that a delay which shrinks must not change.

use cclab_packet::Packet;
use cclab_spec::{Change, Reorder};
use cclab_units::{Stream, Time};

use super::jitter::ExtraDelay;
use super::slots::Slots;

/// When packets arrive that would, by delay alone, arrive at given times.
#[derive(Debug, Default)]
pub struct Course {
    jitter: Option<ExtraDelay>,
    slots: Option<Slots>,
    reorder: Option<(Reorder, Stream)>,
    /// No packet that is not to overtake arrives before.
    last: Time,
}

impl Course {
    /// A course that keeps the order and adds nothing.
    pub fn in_order() -> Course {
        Course::default()
    }

    /// Adds jitter.
    pub fn jitter(&mut self, jitter: ExtraDelay) {
        self.jitter = Some(jitter);
    }

    /// Lets packets wait for slots at the end of the wire.
    pub fn slots(&mut self, slots: Slots) {
        self.slots = Some(slots);
    }

    /// Adds a change of what it has.
    pub fn change(&mut self, change: &Change) {
        if let (Some(jitter), Some(size)) = (&mut self.jitter, change.jitter) {
            jitter.change(change.at, size);
        }
        if let (Some(slots), Some(new)) = (&mut self.slots, change.slots) {
            slots.change(change.at, new);
        }
    }

    /// Holds packets back.
    pub fn reorder(&mut self, reorder: Reorder, dice: Stream) {
        self.reorder = Some((reorder, dice));
    }

    /// When `packet`, whose transmission begins at `departs` after that of all before, arrives, if
    /// it were `expected` without all this. A packet that is held back holds up none behind it.
    pub fn arrival(&mut self, departs: Time, expected: Time, packet: &Packet) -> Time {
        let mut arrives = expected;
        let mut overtakes = false;
        if let Some(jitter) = &mut self.jitter {
            let extra = jitter.next(departs);
            if jitter.reorders() {
                // What keeps its order is the packets without their jitter.
                self.last = self.last.max(expected);
                arrives = self.last + extra;
                overtakes = true;
            } else {
                arrives = expected + extra;
            }
        }
        if !overtakes {
            self.last = self.last.max(arrives);
            arrives = self.last;
        }
        if let Some(slots) = &mut self.slots {
            arrives = slots.departure(departs, arrives, packet.wire_len.into());
        }
        if let Some((reorder, dice)) = &mut self.reorder
            && dice.chance(reorder.probability)
        {
            arrives += reorder.delay;
        }
        arrives
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZero;

    use cclab_spec::{Jitter, Slots as Spec};

    use super::*;

    const MAX: Time = Time::from_millis(2);
    const BEGIN: Time = Time::ZERO;

    fn jittery(jitter: Jitter) -> Course {
        let mut course = Course::in_order();
        let dice = Stream::new(3, "jitter");
        course.jitter(ExtraDelay::new(jitter, Vec::new(), dice));
        course
    }

    /// When a packet of no interest arrives that would arrive at `expected`.
    fn arrival(course: &mut Course, expected: Time) -> Time {
        course.arrival(BEGIN, expected, &Packet::default())
    }

    #[test]
    fn near_packets_keep_their_order_unless_asked_otherwise() {
        let max = MAX;
        let average = Time::from_millis(7);
        for (reorder, sorted) in [(false, true), (true, false)] {
            for jitter in [
                Jitter::Uniform { max, reorder },
                Jitter::Normal { max, reorder },
                Jitter::Wifi { average, reorder },
            ] {
                let mut course = jittery(jitter);
                let gap = Time::from_micros(100);
                let arrivals = (1..=1000).map(|i| arrival(&mut course, gap * i));
                let arrivals: Vec<Time> = arrivals.collect();
                assert_eq!(arrivals.is_sorted(), sorted, "{jitter:?}");
            }
        }
    }

    /// Slots take packets as they come out of the jitter, and what is held back is held back by
    /// so much behind its slot.
    #[test]
    fn slots_stand_behind_jitter_and_before_what_is_held_back() {
        let average = Time::from_millis(7);
        let wifi = Jitter::Wifi {
            average,
            reorder: false,
        };
        let spec = Spec {
            every: [Time::from_millis(1), Time::from_millis(4)],
            packets: NonZero::new(3),
            bytes: None,
        };
        let new_slots = || Slots::new(Some(spec), Vec::new(), Stream::new(3, "slots"));
        let delay = Time::from_millis(50);
        let mut plain = jittery(wifi);
        let mut alone = new_slots();
        let mut all = jittery(wifi);
        all.slots(new_slots());
        let reorder = Reorder {
            probability: 0.1,
            delay,
        };
        all.reorder(reorder, Stream::new(3, "reorder"));
        let mut held = 0;
        for i in 1..=10_000 {
            let expected = Time::from_micros(700) * i;
            let slot = alone.departure(BEGIN, arrival(&mut plain, expected), 0);
            let arrives = arrival(&mut all, expected);
            assert!(arrives == slot || arrives == slot + delay);
            held += u32::from(arrives != slot);
        }
        assert!(held.abs_diff(1000) < 130, "{held}");
    }

    #[test]
    fn a_packet_held_back_holds_up_none() {
        let mut course = Course::in_order();
        let reorder = Reorder {
            probability: 0.1,
            delay: Time::from_millis(10),
        };
        course.reorder(reorder, Stream::new(1, "reorder"));
        let gap = Time::from_millis(1);
        let held: Vec<bool> = (1..=10_000)
            .map(|i| match arrival(&mut course, gap * i) - gap * i {
                Time::ZERO => false,
                extra => {
                    assert_eq!(extra, reorder.delay);
                    true
                }
            })
            .collect();
        let held = held.iter().filter(|&&held| held).count();
        // The standard error is 30.
        assert!(held.abs_diff(1000) < 130, "{held}");
    }

    #[test]
    fn a_delay_that_shrinks_keeps_the_order() {
        let mut course = Course::in_order();
        let arrivals = [50, 51, 12, 13, 52].map(|ms| arrival(&mut course, Time::from_millis(ms)));
        assert_eq!(arrivals, [50, 51, 51, 51, 52].map(Time::from_millis));
    }
}
