//! A token bucket, exact to the bit: shapers wait for tokens, policers do not.
//!
//! Tokens are counted in billionths of a bit, so that an integer number of them comes in every
//! nanosecond and no rounding ever adds up.

use cclab_units::{Rate, Time};

/// Tokens per bit.
const PER_BIT: u64 = 1_000_000_000;

/// A bucket of tokens that fills at a rate and holds so much.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TokenBucket {
    rate: Rate,
    depth: u64,
    tokens: u64,
    filled_at: Time,
}

impl TokenBucket {
    /// A full bucket that fills at `rate` and holds tokens for `burst` bytes.
    pub fn new(rate: Rate, burst: u64) -> TokenBucket {
        let depth = burst.saturating_mul(8 * PER_BIT);
        TokenBucket {
            rate,
            depth,
            tokens: depth,
            filled_at: Time::ZERO,
        }
    }

    /// Takes the tokens of `bytes` at `now` if there are enough of them.
    pub fn take(&mut self, bytes: u64, now: Time) -> bool {
        self.fill(now);
        let needed = tokens_of(bytes);
        let enough = needed <= self.tokens;
        if enough {
            self.tokens -= needed;
        }
        enough
    }

    /// The first nanosecond at which there are tokens for `bytes`; never, if the bucket does not
    /// hold as many.
    pub fn ready_at(&self, bytes: u64) -> Time {
        let needed = tokens_of(bytes);
        if needed > self.depth {
            return Time::NEVER;
        }
        let lacking = needed.saturating_sub(self.tokens);
        self.filled_at + Time::from_nanos(lacking.div_ceil(self.rate.bps()))
    }

    /// Whether the bucket holds tokens for `bytes` when it is full.
    pub fn holds(&self, bytes: u64) -> bool {
        tokens_of(bytes) <= self.depth
    }

    fn fill(&mut self, now: Time) {
        let span = now - self.filled_at;
        let come = u128::from(self.rate.bps()) * u128::from(span.as_nanos());
        let filled = (u128::from(self.tokens) + come).min(u128::from(self.depth));
        self.tokens = filled as u64;
        self.filled_at = self.filled_at.max(now);
    }
}

fn tokens_of(bytes: u64) -> u64 {
    bytes.saturating_mul(8 * PER_BIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(bps: u64) -> Rate {
        Rate::from_bps(bps).expect("a positive rate")
    }

    #[test]
    fn a_burst_passes_and_then_the_rate() {
        // 3000 bytes at once; the next 1500 take 12 ms at 1 Mbit/s, to the nanosecond.
        let mut bucket = TokenBucket::new(rate(1_000_000), 3000);
        assert!(bucket.take(1500, Time::ZERO));
        assert!(bucket.take(1500, Time::ZERO));
        assert_eq!(bucket.ready_at(1500), Time::from_millis(12));
        assert!(!bucket.take(1500, Time::from_nanos(11_999_999)));
        assert!(bucket.take(1500, Time::from_millis(12)));
    }

    #[test]
    fn rates_that_divide_nothing_evenly_add_up_to_the_bit() {
        // 7 bit/s: 1000 bits take 142 857 142 857.14... ns. Seven packets of them after the first
        // take 1000 s, less the 8/7 s of the byte that the burst has left over.
        let mut bucket = TokenBucket::new(rate(7), 126);
        let mut now = Time::ZERO;
        assert!(bucket.take(125, now));
        for _ in 0..7 {
            now = bucket.ready_at(125);
            assert!(bucket.take(125, now));
        }
        assert_eq!(now, Time::from_nanos(998_857_142_858));
    }

    #[test]
    fn no_more_than_the_burst_is_saved() {
        let mut bucket = TokenBucket::new(rate(400_000_000_000), 1500);
        assert!(bucket.take(1500, Time::from_secs(3600)));
        assert!(!bucket.take(1, Time::from_secs(3600)));
        assert_eq!(bucket.ready_at(1501), Time::NEVER);
        assert!(!bucket.holds(1501));
    }
}
