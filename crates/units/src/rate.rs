//! Rates, and the time a packet takes at a rate.

use std::fmt;
use std::num::NonZeroU64;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Time;

/// A positive rate in bits per second.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Rate(NonZeroU64);

impl Rate {
    /// A rate of `bps` bits per second; `None` for zero.
    pub const fn from_bps(bps: u64) -> Option<Rate> {
        match NonZeroU64::new(bps) {
            Some(bps) => Some(Rate(bps)),
            None => None,
        }
    }

    /// The rate that carries `bytes` in `span`, rounded to bits per second and at least 1;
    /// `None` for an empty span.
    pub fn from_bytes_per(bytes: u64, span: Time) -> Option<Rate> {
        if span == Time::ZERO {
            return None;
        }
        let bps = u128::from(bytes) * 8_000_000_000 / u128::from(span.as_nanos());
        Rate::from_bps(u64::try_from(bps).unwrap_or(u64::MAX).max(1))
    }

    /// Bits per second.
    pub const fn bps(self) -> u64 {
        self.0.get()
    }

    /// Bytes that this rate carries in `span`, rounded down: a bandwidth-delay product.
    pub fn bytes_in(self, span: Time) -> u64 {
        let bytes = u128::from(self.bps()) * u128::from(span.as_nanos()) / 8_000_000_000;
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }

    /// The time `bytes` take at this rate, rounded to the nearest nanosecond.
    pub fn time_of(self, bytes: u64) -> Time {
        TxClock::new(self).time_of(bytes)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bps = self.bps();
        for (unit, scale) in [
            ("Gbit", 1_000_000_000),
            ("Mbit", 1_000_000),
            ("kbit", 1_000),
        ] {
            if bps >= scale {
                return write!(f, "{}{unit}", bps as f64 / scale as f64);
            }
        }
        write!(f, "{bps}bit")
    }
}

/// A rate prepared for the packet path: time per byte in fixed point, so that the time of a
/// packet costs one multiplication and no division.
#[derive(Clone, Copy, Debug)]
pub struct TxClock {
    /// Nanoseconds per byte, times 2^30.
    scaled_ns_per_byte: NonZeroU64,
}

impl TxClock {
    const SHIFT: u32 = 30;

    /// Prepares `rate`; the error against exact division is below 2^-30 ns per byte, and never
    /// makes a link faster than its rate.
    pub fn new(rate: Rate) -> TxClock {
        let numerator = 8_000_000_000_u128 << Self::SHIFT;
        let bps = u128::from(rate.bps());
        TxClock {
            // Rounded up, it is one at least.
            scaled_ns_per_byte: NonZeroU64::new(numerator.div_ceil(bps) as u64)
                .unwrap_or(NonZeroU64::MIN),
        }
    }

    /// The time `bytes` take behind others without a gap: what is less than a nanosecond is
    /// carried over to the next packet, so that a busy link keeps its rate exactly.
    #[inline]
    pub fn time_of_next(self, bytes: u64, carry: &mut u32) -> Time {
        let scaled =
            u128::from(bytes) * u128::from(self.scaled_ns_per_byte.get()) + u128::from(*carry);
        *carry = scaled as u32 & ((1 << Self::SHIFT) - 1);
        Time::from_nanos((scaled >> Self::SHIFT) as u64)
    }

    /// The time `bytes` take, rounded to the nearest nanosecond.
    pub fn time_of(self, bytes: u64) -> Time {
        let scaled = u128::from(bytes) * u128::from(self.scaled_ns_per_byte.get());
        Time::from_nanos(((scaled + (1 << (Self::SHIFT - 1))) >> Self::SHIFT) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(bps: u64) -> Rate {
        Rate::from_bps(bps).expect("a positive rate")
    }

    #[test]
    fn a_full_packet_takes_what_division_says() {
        assert_eq!(rate(100_000_000).time_of(1500), Time::from_micros(120));
        assert_eq!(rate(1_000_000_000).time_of(66), Time::from_nanos(528));
        assert_eq!(rate(1_700_000).time_of(1040).as_nanos(), 4_894_118);
        assert_eq!(rate(1).time_of(1), Time::from_secs(8));
        assert_eq!(rate(400_000_000_000).time_of(1500), Time::from_nanos(30));
    }

    #[test]
    fn packets_without_a_gap_keep_the_rate() {
        // 66 bytes at 10 Gbit/s take 52.8 ns.
        let clock = TxClock::new(rate(10_000_000_000));
        let mut carry = 0;
        let times: Vec<u64> = (0..5)
            .map(|_| clock.time_of_next(66, &mut carry).as_nanos())
            .collect();
        assert_eq!(times, [52, 53, 53, 53, 53]);
    }

    #[test]
    fn bdp_and_back() {
        let bdp = rate(100_000_000).bytes_in(Time::from_millis(50));
        assert_eq!(bdp, 625_000);
        assert_eq!(
            Rate::from_bytes_per(bdp, Time::from_millis(50)),
            Some(rate(100_000_000))
        );
        assert_eq!(Rate::from_bytes_per(1, Time::ZERO), None);
    }
}
