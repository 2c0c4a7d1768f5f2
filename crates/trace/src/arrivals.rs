//! What a host makes of the datagrams that reach it, the same on every backend.

use cclab_units::Time;

use crate::schema::Datagrams;

/// Datagrams of one way, numbered in the order in which they left, as they arrive.
#[derive(Clone, Debug, Default)]
pub struct Arrivals {
    /// A bit for each number: whether it has arrived.
    seen: Vec<u64>,
    whole: Counted,
    /// When the warm-up ends, and those that left since; absent without one.
    warm: Option<(Time, Counted)>,
}

/// What the datagrams of a span of time did.
#[derive(Clone, Debug, Default)]
struct Counted {
    /// The largest number that has arrived, plus one.
    beyond: u64,
    /// The one-way delay of the last arrival, in nanoseconds.
    last_delay: Option<u64>,
    /// In nanoseconds.
    jitter: f64,
    found: Datagrams,
}

/// What left of a way's datagrams in a span of time, and never arrives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Departures {
    /// Datagrams that left.
    pub sent: u64,
    /// Bytes of payload of them.
    pub sent_bytes: u64,
    /// Those that never arrive.
    pub lost: u64,
}

/// RFC 3550, section 6.4.1: "the gain parameter 1/16".
const GAIN: f64 = 1.0 / 16.0;

impl Arrivals {
    /// Nothing yet; those that leave after the `warmup`, if it takes any time, are counted apart,
    /// too.
    pub fn new(warmup: Time) -> Arrivals {
        Arrivals {
            warm: (warmup > Time::ZERO).then(|| (warmup, Counted::default())),
            ..Arrivals::default()
        }
    }

    /// Datagram `number`, which left at `left` with `bytes` of payload, has arrived at `now`. False
    /// if it had arrived before.
    pub fn take(&mut self, now: Time, number: u64, bytes: u64, left: Time) -> bool {
        let is_new = !self.has(number);
        if is_new {
            let word = (number / 64) as usize;
            if word >= self.seen.len() {
                self.seen.resize(word + 1, 0);
            }
            self.seen[word] |= 1 << (number % 64);
        }
        let warm = self.warm.as_mut();
        let warm = warm.filter(|(warmup, _)| left >= *warmup);
        let spans = [Some(&mut self.whole), warm.map(|(_, counted)| counted)];
        for counted in spans.into_iter().flatten() {
            match is_new {
                true => counted.take(now, number, bytes, now - left),
                false => counted.found.duplicates += 1,
            }
        }
        is_new
    }

    /// Something arrived at `now` that had arrived before, or that never left.
    pub fn take_copy(&mut self, now: Time) {
        self.whole.found.duplicates += 1;
        if let Some((_, warm)) = self.warm.as_mut().filter(|(warmup, _)| now >= *warmup) {
            warm.found.duplicates += 1;
        }
    }

    /// Whether datagram `number` has arrived.
    pub fn has(&self, number: u64) -> bool {
        let word = self.seen.get((number / 64) as usize);
        word.is_some_and(|word| word >> (number % 64) & 1 == 1)
    }

    /// Datagrams that have arrived, each counted once.
    pub fn count(&self) -> u64 {
        self.whole.found.received
    }

    /// Bytes of payload of them.
    pub fn bytes(&self) -> u64 {
        self.whole.found.received_bytes
    }

    /// What became of the datagrams that left in the `whole` run, and of those that left after the
    /// warm-up, of which there is nothing to say without one: what is neither here nor lost is on
    /// its way.
    pub fn finish(self, whole: Departures, warm: Departures) -> [Datagrams; 2] {
        let after = self.warm.map(|(_, counted)| counted.finish(warm));
        [self.whole.finish(whole), after.unwrap_or_default()]
    }
}

impl Counted {
    fn take(&mut self, now: Time, number: u64, bytes: u64, delay: Time) {
        let found = &mut self.found;
        found.received += 1;
        found.received_bytes += bytes;
        found.first.get_or_insert(now);
        found.last = Some(now);
        // RFC 4737, section 3: later than one that left after it.
        found.reordered += u64::from(number < self.beyond);
        self.beyond = self.beyond.max(number + 1);
        let delay = delay.as_nanos();
        found.delay.record(delay);
        if let Some(last) = self.last_delay.replace(delay) {
            // D(i, j) = (R_j - R_i) - (S_j - S_i), the difference of the delays.
            self.jitter += (delay.abs_diff(last) as f64 - self.jitter) * GAIN;
        }
    }

    fn finish(self, departures: Departures) -> Datagrams {
        let Departures {
            sent,
            sent_bytes,
            lost,
        } = departures;
        let jitter =
            (self.found.received > 1).then(|| Time::from_nanos(self.jitter.round() as u64));
        Datagrams {
            sent,
            sent_bytes,
            in_flight: sent.saturating_sub(self.found.received + lost),
            jitter,
            ..self.found
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Time {
        Time::from_millis(ms)
    }

    /// So many of 100 bytes left, of which so many are lost.
    fn left(sent: u64, lost: u64) -> Departures {
        Departures {
            sent,
            sent_bytes: sent * 100,
            lost,
        }
    }

    #[test]
    fn what_left_after_the_warm_up_is_counted_apart() {
        let mut arrivals = Arrivals::new(ms(3));
        // One a millisecond leaves; those of the warm-up take some 50 ms, and are overtaken by the others,
        // which take 10 and 26; 4 comes twice; 5 is lost.
        for (number, at) in [
            (3, 13),
            (4, 30),
            (4, 31),
            (6, 32),
            (0, 50),
            (2, 52),
            (1, 54),
        ] {
            arrivals.take(ms(at), number, 100, ms(number));
        }
        let [whole, warm] = arrivals.finish(left(7, 1), left(4, 1));
        assert_eq!((whole.received, whole.lost(), whole.duplicates), (6, 1, 1));
        assert_eq!((warm.sent, warm.received, warm.lost()), (4, 3, 1));
        assert_eq!(whole.reordered, 3);
        assert_eq!((warm.duplicates, warm.reordered, warm.in_flight), (1, 0, 0));
        assert_eq!(warm.received_bytes, 300);
        // 10, 26 and 26 ms: 16/16, then (1 + (0 - 1)/16) ms.
        assert_eq!(warm.delay.mean(), Some(62e6 / 3.0));
        assert_eq!(warm.jitter, Some(Time::from_nanos(937_500)));
        assert_eq!(warm.first, Some(ms(13)));
        assert!(whole.delay.mean() > warm.delay.mean());
    }

    #[test]
    fn counts_what_arrives_late_twice_or_never() {
        let mut arrivals = Arrivals::default();
        // One a millisecond leaves; 2 is overtaken by 3 and 4, 1 comes twice, 5 is lost, 6 not yet there.
        let came = [(0, 10), (1, 11), (1, 12), (3, 13), (4, 14), (2, 15)];
        let new: Vec<bool> = came
            .iter()
            .map(|&(number, at)| arrivals.take(ms(at), number, 100, ms(number)))
            .collect();
        assert_eq!(new, [true, true, false, true, true, true]);
        assert!(arrivals.has(4) && !arrivals.has(5) && !arrivals.has(1000));
        let [found, warm] = arrivals.finish(left(7, 1), Departures::default());
        assert_eq!(warm, Datagrams::default());
        assert_eq!((found.received, found.received_bytes), (5, 500));
        assert_eq!((found.duplicates, found.reordered), (1, 1));
        assert_eq!((found.lost(), found.in_flight), (1, 1));
        assert_eq!((found.first, found.last), (Some(ms(10)), Some(ms(15))));
        // Delays of 10, 10, 10, 10 and 13 ms.
        assert_eq!(found.delay.mean(), Some(10.6e6));
    }

    #[test]
    fn jitter_is_that_of_the_rfc() {
        let mut arrivals = Arrivals::default();
        for (number, delay) in [(0, 10), (1, 26), (2, 10), (3, 10)] {
            arrivals.take(ms(number * 20 + delay), number, 1, ms(number * 20));
        }
        // J: 0 + (16 - 0) / 16 = 1; 1 + (16 - 1) / 16 = 1.9375; 1.9375 + (0 - 1.9375) / 16.
        let jitter = arrivals.finish(left(4, 0), left(0, 0))[0]
            .jitter
            .expect("four arrivals");
        assert_eq!(jitter, Time::from_nanos(1_816_406));
        let mut one = Arrivals::default();
        one.take(ms(1), 0, 1, ms(0));
        assert_eq!(one.finish(left(1, 0), left(0, 0))[0].jitter, None);
    }
}
