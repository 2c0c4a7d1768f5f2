//! CoDel's state machine and control law (RFC 8289, sections 5.2 to 5.8), for one queue.

use cclab_units::Time;

use crate::discipline::Config;
use crate::{Departure, Descriptor, Dropped, MTU, ecn};

/// RFC 8289, section 5.6: within 16 intervals of the last drop, the pace of drops is taken up again.
const MEMORY: u64 = 16;

/// What is the same for all queues under one CoDel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Law {
    target: Time,
    interval: Time,
    ce_threshold: Option<Time>,
    ecn: bool,
    /// The largest packet: a queue of no more than one is never too long (section 5.2).
    largest: u64,
}

impl Law {
    /// The law that `config` asks for.
    pub fn new(config: &Config) -> Law {
        Law {
            target: config.time("target"),
            interval: config.time("interval"),
            ce_threshold: config.time_given("ce_threshold"),
            ecn: config.flag("ecn"),
            largest: MTU,
        }
    }

    /// Takes notice of a packet's size.
    #[inline]
    pub fn see(&mut self, packet: &Descriptor) {
        self.largest = self.largest.max(u64::from(packet.wire_len));
    }

    /// Whether a queue is not too long from which `next` was taken, behind which so many `bytes` wait.
    #[inline(always)]
    fn is_short(&self, next: Option<&Departure>, bytes: u64, now: Time) -> bool {
        next.is_none_or(|departure| now - departure.enqueued < self.target || bytes <= self.largest)
    }

    /// The next packet to leave `source`; those that CoDel drops before it go to `dropped`.
    #[inline(always)]
    pub fn dequeue(
        &self,
        source: &mut impl Source,
        now: Time,
        dropped: &mut Vec<Dropped>,
        marks: &mut u64,
    ) -> Option<Departure> {
        let first = source.pop();
        if self.is_short(first.as_ref(), source.bytes(), now) {
            source.codel().rest();
            return Some(self.sent(first?, now, marks));
        }
        let mut codel = *source.codel();
        let next = codel.control(self, source, (first, now), dropped, marks);
        *source.codel() = codel;
        next
    }

    /// `departure` leaves at `now`, marked if it has waited for longer than is allowed.
    #[inline(always)]
    fn sent(&self, mut departure: Departure, now: Time, marks: &mut u64) -> Departure {
        let sojourn = now - departure.enqueued;
        let marked = self.ce_threshold.is_some_and(|most| sojourn > most);
        if marked && ecn::mark(&mut departure.packet) {
            *marks += 1;
        }
        departure
    }

    /// The time of the next drop after one at `from`, the `count`th of this dropping state
    /// (section 5.3).
    fn next(&self, from: Time, count: u32) -> Time {
        let interval = self.interval.as_nanos() as f64;
        from + Time::from_nanos((interval / f64::from(count.max(1)).sqrt()).round() as u64)
    }
}

/// What CoDel takes packets from.
pub(crate) trait Source {
    /// Takes the first packet out.
    fn pop(&mut self) -> Option<Departure>;
    /// Bytes that wait.
    fn bytes(&self) -> u64;
    /// What CoDel knows of it.
    fn codel(&mut self) -> &mut Codel;
}

/// What CoDel knows of one queue.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Codel {
    /// When the sojourn time will have been above the target for an interval.
    above_since: Option<Time>,
    /// When the next packet is dropped, or the last was, while not dropping.
    drop_next: Time,
    /// Drops since the dropping state was entered, or more where its pace was taken up again.
    count: u32,
    /// What `count` was on entering it.
    last_count: u32,
    dropping: bool,
}

impl Codel {
    /// Counts packets dropped by another hand, so that CoDel's own signal grows stronger
    /// (RFC 8290, section 5.2.2, in Linux).
    pub fn count_others(&mut self, packets: u32) {
        self.count = self.count.saturating_add(packets);
    }

    /// The queue is empty, or what leaves it has not waited for long.
    #[inline]
    pub fn rest(&mut self) {
        self.above_since = None;
        self.dropping = false;
    }

    /// The next packet to leave a queue that may be too long, from which `first` was taken; those that
    /// are dropped before it go to `dropped`.
    fn control(
        &mut self,
        law: &Law,
        source: &mut impl Source,
        (first, now): (Option<Departure>, Time),
        dropped: &mut Vec<Dropped>,
        marks: &mut u64,
    ) -> Option<Departure> {
        let mut too_long = self.notice(law, first.as_ref(), source.bytes(), now);
        let mut next = first;
        if self.dropping {
            if !too_long {
                self.dropping = false;
            }
            // A long queue may be due for several drops at once.
            while self.dropping && now >= self.drop_next {
                self.count = self.count.saturating_add(1);
                if law.ecn && next.as_mut().is_some_and(|d| ecn::mark(&mut d.packet)) {
                    *marks += 1;
                    self.drop_next = law.next(self.drop_next, self.count);
                    break;
                }
                dropped.extend(next.map(|departure| Dropped(departure.packet)));
                (next, too_long) = self.look(law, source, now);
                if too_long {
                    self.drop_next = law.next(self.drop_next, self.count);
                } else {
                    self.dropping = false;
                }
            }
        } else if too_long {
            if law.ecn && next.as_mut().is_some_and(|d| ecn::mark(&mut d.packet)) {
                *marks += 1;
            } else {
                dropped.extend(next.map(|departure| Dropped(departure.packet)));
                (next, _) = self.look(law, source, now);
            }
            self.enter(law, now);
        }
        Some(law.sent(next?, now, marks))
    }

    /// Enters the dropping state. If it was left not long ago, the pace that controlled the queue
    /// then is a good one to begin with (section 5.6).
    fn enter(&mut self, law: &Law, now: Time) {
        let drops = self.count - self.last_count;
        let recent = now - self.drop_next < law.interval * MEMORY;
        self.count = if drops > 1 && recent { drops } else { 1 };
        self.last_count = self.count;
        self.dropping = true;
        self.drop_next = law.next(now, self.count);
    }

    /// Takes the first packet, and says whether the sojourn time has been above the target for an
    /// interval.
    fn look(
        &mut self,
        law: &Law,
        source: &mut impl Source,
        now: Time,
    ) -> (Option<Departure>, bool) {
        let next = source.pop();
        let too_long = self.notice(law, next.as_ref(), source.bytes(), now);
        (next, too_long)
    }

    /// Takes notice of how long `next` has waited, behind which so many `bytes` wait; returns whether
    /// the sojourn time has been above the target for an interval.
    fn notice(&mut self, law: &Law, next: Option<&Departure>, bytes: u64, now: Time) -> bool {
        if law.is_short(next, bytes, now) {
            self.above_since = None;
            return false;
        }
        match self.above_since {
            None => {
                self.above_since = Some(now + law.interval);
                false
            }
            Some(since) => now >= since,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codel::Single;
    use crate::discipline::Limit;
    use crate::testing::{config, packet};

    fn law() -> Law {
        Law::new(&config("codel", Limit::Packets(100), &[]))
    }

    /// Interval over the square root of the count, as RFC 8289 tabulates it for 100 ms.
    #[test]
    fn the_pace_of_drops_grows_with_the_square_root_of_their_number() {
        let gaps: Vec<f64> = (1..=5)
            .map(|count| law().next(Time::ZERO, count).as_secs_f64() * 1e3)
            .collect();
        for (gap, expected) in gaps.iter().zip([100.0, 70.711, 57.735, 50.0, 44.721]) {
            assert!((gap - expected).abs() < 0.001, "{gaps:?}");
        }
    }

    #[test]
    fn a_pace_that_worked_is_taken_up_again_within_sixteen_intervals() {
        let mut codel = Codel {
            count: 12,
            last_count: 3,
            drop_next: Time::from_secs(1),
            ..Codel::default()
        };
        codel.enter(&law(), Time::from_millis(2_599));
        assert_eq!((codel.count, codel.last_count), (9, 9));
        let mut late = Codel {
            count: 12,
            last_count: 3,
            drop_next: Time::from_secs(1),
            ..Codel::default()
        };
        late.enter(&law(), Time::from_millis(2_600));
        assert_eq!((late.count, late.last_count), (1, 1));
    }

    /// RFC 8289, section 5.2: a queue of no more than the largest packet seen is never too long, nor
    /// one whose delay is below the target.
    #[test]
    fn a_queue_of_one_packet_is_short_however_large_that_is() {
        let mut law = law();
        law.see(&packet(0, 9_000));
        law.see(&packet(0, 40));
        let notices = |waiting: u16, millis: u64| {
            let mut queue = Single::default();
            queue.packets.push(packet(0, 40), Time::ZERO);
            queue.packets.push(packet(0, waiting), Time::ZERO);
            let mut codel = Codel::default();
            let now = Time::from_millis(millis);
            let (next, too_long) = codel.look(&law, &mut queue, now);
            assert!(next.is_some() && !too_long, "not before an interval");
            codel.above_since.map(|since| (since - now).as_millis())
        };
        assert_eq!(notices(9_000, 20), None);
        assert_eq!(notices(9_001, 20), Some(100));
        assert_eq!(notices(9_001, 5), Some(100));
        assert_eq!(notices(9_001, 4), None);
    }

    #[test]
    fn the_sojourn_time_is_above_the_target_for_an_interval() {
        let law = law();
        let mut queue = Single::default();
        for _ in 0..10 {
            queue.packets.push(packet(0, 1_500), Time::ZERO);
        }
        let mut codel = Codel::default();
        let mut look = |millis| codel.look(&law, &mut queue, Time::from_millis(millis)).1;
        assert!(!look(10));
        assert!(!look(109));
        assert!(look(110));
    }
}
