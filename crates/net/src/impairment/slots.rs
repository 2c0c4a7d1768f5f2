//! Slots: instants at which packets that wait may pass, in order, as behind a link that aggregates
//! packets.
//!
//! The rule is that of netem's `slot` (`get_slot_next` and `netem_dequeue` of Linux'
//! `net/sched/sch_netem.c`). The next slot is drawn when the one before is used up, and counted from
//! its opening. If a slot opens and is not used up, the next is drawn when a packet comes, and counted
//! from there. A slot takes all packets that are there when it opens, up to so many, or until so many
//! bytes have passed: the packet that comes to the limit or beyond still does. All leave at its
//! instant. Beyond netem, the first packet waits for a slot too if it comes at the very beginning.
//!
//! Slots may change, begin and end: those in force as a packet's transmission begins are its slots. What
//! waits for a slot of before keeps it, and nothing overtakes it.

use std::num::NonZero;

use cclab_spec::Slots as Spec;
use cclab_units::{Stream, Time};

use super::schedule::Steps;

/// The next slot, and its dice.
#[derive(Debug)]
pub struct Slots {
    /// `None`: packets wait for none.
    spec: Option<Spec>,
    steps: Steps<Spec>,
    dice: Stream,
    /// When the last packet passed, or will.
    passed: Time,
    /// When it opens, or has opened; `None`: no packet has come.
    opens: Option<Time>,
    /// Packets that may still pass in it.
    packets_left: u64,
    /// Bytes that may.
    bytes_left: u64,
}

impl Slots {
    /// Slots of which none has opened, until `steps` change them.
    pub fn new(spec: Option<Spec>, steps: Vec<(Time, Spec)>, dice: Stream) -> Slots {
        Slots {
            spec,
            steps: Steps::new(steps),
            dice,
            passed: Time::ZERO,
            opens: None,
            packets_left: 0,
            bytes_left: 0,
        }
    }

    /// They become `spec` at `at`.
    pub fn change(&mut self, at: Time, spec: Spec) {
        self.steps.insert(at, spec);
    }

    /// When a packet of `bytes` bytes passes, whose transmission begins at `begins`, and that comes at
    /// `arrives`, behind all before it.
    pub fn departure(&mut self, begins: Time, arrives: Time, bytes: u64) -> Time {
        while let Some(spec) = self.steps.next_until(begins) {
            self.spec = Some(spec).filter(|spec| !spec.is_none());
            self.opens = None;
        }
        let arrives = arrives.max(self.passed);
        self.passed = match self.spec {
            None => arrives,
            Some(spec) => self.slot(spec, arrives, bytes),
        };
        self.passed
    }

    /// The slot that a packet passes in.
    fn slot(&mut self, spec: Spec, arrives: Time, bytes: u64) -> Time {
        let departs = match self.opens {
            Some(opens) if opens >= arrives => opens,
            _ => self.open_after(spec, arrives),
        };
        self.packets_left -= 1;
        self.bytes_left = self.bytes_left.saturating_sub(bytes);
        if self.packets_left == 0 || self.bytes_left == 0 {
            self.open_after(spec, departs);
        }
        departs
    }

    /// Draws the next slot, counted from `from`; returns when it opens.
    fn open_after(&mut self, spec: Spec, from: Time) -> Time {
        let [shortest, longest] = spec.every;
        let range = (longest - shortest).as_nanos();
        let beyond = (range as f64 * self.dice.uniform()) as u64;
        let opens = from + shortest + Time::from_nanos(beyond);
        self.opens = Some(opens);
        self.packets_left = spec.packets.map_or(u64::MAX, NonZero::get);
        self.bytes_left = spec.bytes.map_or(u64::MAX, NonZero::get);
        opens
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    fn spec(every: [Time; 2], packets: Option<u64>, bytes: Option<u64>) -> Spec {
        Spec {
            every,
            packets: packets.and_then(NonZero::new),
            bytes: bytes.and_then(NonZero::new),
        }
    }

    /// When packets pass that come at the given milliseconds with the given bytes.
    fn passes(spec: Spec, packets: &[(u64, u64)]) -> Vec<u64> {
        let mut slots = Slots::new(Some(spec), Vec::new(), Stream::new(1, "slots"));
        let departures = packets.iter().map(|&(ms, bytes)| {
            let arrives = Time::from_millis(ms);
            let departs = slots.departure(arrives, arrives, bytes);
            departs.as_nanos() / 1_000_000
        });
        departures.collect()
    }

    /// By hand: a slot every 4 ms, of 2 packets. The first packet draws that at 4; the one at 4 is in
    /// time and uses it up, so that the next is at 8. Of the four that come until then two pass, and
    /// the others at 12, which is used up and draws 16. Nothing comes until 30: from there 34, which
    /// has room for the packet at 33 as well.
    #[test]
    fn slots_of_so_many_packets_are_those_worked_by_hand() {
        let every = [Time::from_millis(4); 2];
        let packets = [0, 4, 5, 5, 6, 8, 30, 33, 34].map(|ms| (ms, 100));
        assert_eq!(
            passes(spec(every, Some(2), None), &packets),
            [4, 4, 8, 8, 12, 12, 34, 34, 38]
        );
    }

    /// By hand: one packet is short of 1000 bytes; the second, which goes beyond, still passes.
    #[test]
    fn the_packet_that_uses_up_the_bytes_passes() {
        let every = [Time::from_millis(4); 2];
        let packets = [
            (0, 600),
            (1, 600),
            (1, 600),
            (2, 400),
            (2, 1),
            (2, 5000),
            (2, 1),
        ];
        assert_eq!(
            passes(spec(every, None, Some(1000)), &packets),
            [4, 4, 8, 8, 12, 12, 16]
        );
        let both = spec(every, Some(3), Some(1000));
        let small = [(0, 1), (0, 1), (0, 1), (0, 999), (0, 1), (0, 1)];
        assert_eq!(passes(both, &small), [4, 4, 4, 8, 8, 12]);
    }

    /// A slot that is not used up is not kept: a packet after its opening waits anew.
    #[test]
    fn a_lone_packet_waits_its_own_time() {
        let every = [Time::from_millis(4); 2];
        let packets = [(0, 1), (5, 1), (6, 1), (9, 1), (10, 1), (100, 1)];
        let unlimited = spec(every, None, None);
        assert_eq!(passes(unlimited, &packets), [4, 9, 9, 9, 14, 104]);
    }

    /// By hand: none until 10 ms, then one every 20 ms, then one every 4 ms from 40 ms on, and none from
    /// 45 ms on. What was transmitted before a change keeps its slot, and holds up what comes behind it.
    #[test]
    fn slots_begin_change_and_end_with_the_transmissions_from_their_instants_on() {
        let ms = Time::from_millis;
        let every = |time| spec([ms(time); 2], None, None);
        let steps = vec![(ms(10), every(20)), (ms(40), every(4))];
        let mut slots = Slots::new(None, steps, Stream::new(1, "slots"));
        slots.change(ms(45), every(0));
        // Transmission begins, and ends at the far end 2 ms later.
        let begins = [1, 8, 10, 15, 29, 39, 40, 44, 45, 46, 60];
        let passes = begins.map(|at| slots.departure(ms(at), ms(at + 2), 100));
        let expected = [3, 10, 32, 32, 32, 61, 65, 65, 65, 65, 65];
        assert_eq!(passes, expected.map(ms));
        assert_eq!(slots.departure(ms(70), ms(72), 100), ms(72));
    }

    /// netem as a queue whose packets are taken by its timer, event by event.
    struct Netem {
        spec: Spec,
        dice: Stream,
        queue: VecDeque<(Time, i64)>,
        slot_next: Option<Time>,
        packets_left: i64,
        bytes_left: i64,
    }

    impl Netem {
        fn draw(&mut self, now: Time) {
            let [min, max] = self.spec.every.map(|time| time.as_nanos());
            let next = min + ((max - min) as f64 * self.dice.uniform()) as u64;
            self.slot_next = Some(now + Time::from_nanos(next));
            let limit = |limit: Option<NonZero<u64>>| limit.map_or(i64::MAX, |n| n.get() as i64);
            self.packets_left = limit(self.spec.packets);
            self.bytes_left = limit(self.spec.bytes);
        }

        /// One packet that may leave now.
        fn dequeue(&mut self, now: Time) -> Option<Time> {
            let &(came, bytes) = self.queue.front()?;
            if self.slot_next.is_none_or(|next| next < came) {
                self.draw(now);
            }
            if self.slot_next > Some(now) {
                return None;
            }
            self.queue.pop_front();
            self.packets_left -= 1;
            self.bytes_left -= bytes;
            if self.packets_left <= 0 || self.bytes_left <= 0 {
                self.draw(now);
            }
            Some(now)
        }

        /// All that leaves by its timer before `end`.
        fn run(&mut self, end: Time, left: &mut Vec<Time>) {
            while !self.queue.is_empty()
                && let Some(next) = self.slot_next.filter(|&next| next < end)
            {
                let before = left.len();
                left.extend(std::iter::from_fn(|| self.dequeue(next)));
                assert!(left.len() > before, "a timer for nothing");
            }
        }
    }

    /// What is known when a packet comes is what happens event by event.
    #[test]
    fn slots_are_those_of_a_queue_with_a_timer() {
        let mut dice = Stream::new(7, "cases");
        let mut between = |least: u64, most: u64| least + dice.bits() % (most - least + 1);
        for case in 0..300 {
            let shortest = Time::from_micros(between(0, 800));
            let longest = shortest + Time::from_micros(between(0, 1) * between(1, 4000));
            let packets = [None, Some(between(1, 20))][between(0, 1) as usize];
            let bytes = [None, Some(between(1, 30_000))][between(0, 1) as usize];
            let spec = spec([shortest, longest], packets, bytes);
            let seed = Stream::new(case, "slots");
            let mut slots = Slots::new(Some(spec), Vec::new(), Stream::new(case, "slots"));
            let mut netem = Netem {
                spec,
                dice: seed,
                queue: VecDeque::new(),
                slot_next: None,
                packets_left: 0,
                bytes_left: 0,
            };
            let (mut foreseen, mut left) = (Vec::new(), Vec::new());
            let mut now = Time::from_micros(between(1, 9));
            let longest_gap = between(1, 1500);
            for _ in 0..400 {
                now += Time::from_micros(between(0, longest_gap) * between(0, 1));
                let bytes = between(60, 1514);
                netem.run(now, &mut left);
                netem.queue.push_back((now, bytes as i64));
                left.extend(std::iter::from_fn(|| netem.dequeue(now)));
                foreseen.push(slots.departure(now, now, bytes));
            }
            netem.run(Time::NEVER, &mut left);
            assert_eq!(foreseen, left, "case {case}: {spec:?}");
            assert!(foreseen.is_sorted());
        }
    }
}
