//! What a host makes of the datagrams that reach it, the same on every backend.

use cclab_units::Time;

use crate::schema::Datagrams;

/// Datagrams of one way, numbered in the order in which they left, as they arrive.
#[derive(Clone, Debug, Default)]
pub struct Arrivals {
    /// A bit for each number: whether it has arrived.
    seen: Vec<u64>,
    /// The largest number that has arrived, plus one.
    beyond: u64,
    /// The one-way delay of the last arrival, in nanoseconds.
    last_delay: Option<u64>,
    /// In nanoseconds.
    jitter: f64,
    found: Datagrams,
}

/// RFC 3550, section 6.4.1: "the gain parameter 1/16".
const GAIN: f64 = 1.0 / 16.0;

impl Arrivals {
    /// Datagram `number`, which left at `left` with `bytes` of payload, has arrived at `now`. False
    /// if it had arrived before.
    pub fn take(&mut self, now: Time, number: u64, bytes: u64, left: Time) -> bool {
        if self.has(number) {
            self.found.duplicates += 1;
            return false;
        }
        let word = (number / 64) as usize;
        if word >= self.seen.len() {
            self.seen.resize(word + 1, 0);
        }
        self.seen[word] |= 1 << (number % 64);
        self.found.received += 1;
        self.found.received_bytes += bytes;
        self.found.first.get_or_insert(now);
        self.found.last = Some(now);
        // RFC 4737, section 3: later than one that left after it.
        self.found.reordered += u64::from(number < self.beyond);
        self.beyond = self.beyond.max(number + 1);
        let delay = (now - left).as_nanos();
        self.found.delay.record(delay);
        if let Some(last) = self.last_delay.replace(delay) {
            // D(i, j) = (R_j - R_i) - (S_j - S_i), the difference of the delays.
            self.jitter += (delay.abs_diff(last) as f64 - self.jitter) * GAIN;
        }
        true
    }

    /// Whether datagram `number` has arrived.
    pub fn has(&self, number: u64) -> bool {
        let word = self.seen.get((number / 64) as usize);
        word.is_some_and(|word| word >> (number % 64) & 1 == 1)
    }

    /// Datagrams that have arrived, each counted once.
    pub fn count(&self) -> u64 {
        self.found.received
    }

    /// Bytes of payload of them.
    pub fn bytes(&self) -> u64 {
        self.found.received_bytes
    }

    /// What became of the `sent` datagrams with `sent_bytes` of payload that left, of which `lost`
    /// never arrive: the rest is on its way.
    pub fn finish(self, sent: u64, sent_bytes: u64, lost: u64) -> Datagrams {
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
        let found = arrivals.finish(7, 700, 1);
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
        let jitter = arrivals.finish(4, 4, 0).jitter.expect("four arrivals");
        assert_eq!(jitter, Time::from_nanos(1_816_406));
        let mut one = Arrivals::default();
        one.take(ms(1), 0, 1, ms(0));
        assert_eq!(one.finish(1, 1, 0).jitter, None);
    }
}
