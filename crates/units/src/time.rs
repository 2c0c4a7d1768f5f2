//! Instants and spans of virtual time.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Sub};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Virtual time in integer nanoseconds: an instant since the run's beginning, or a span.
///
/// Additions saturate at [`Time::NEVER`] and subtractions at zero, so that "never" stays
/// never and the span between two instants out of order is empty, not a wrap.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(transparent)]
pub struct Time(u64);

impl Time {
    /// The beginning of a run; the empty span.
    pub const ZERO: Time = Time(0);
    /// Later than every instant of every run.
    pub const NEVER: Time = Time(u64::MAX);

    /// A time of `ns` nanoseconds.
    pub const fn from_nanos(ns: u64) -> Time {
        Time(ns)
    }

    /// A time of `us` microseconds.
    pub const fn from_micros(us: u64) -> Time {
        Time(us.saturating_mul(1_000))
    }

    /// A time of `ms` milliseconds.
    pub const fn from_millis(ms: u64) -> Time {
        Time(ms.saturating_mul(1_000_000))
    }

    /// A time of `s` whole seconds.
    pub const fn from_secs(s: u64) -> Time {
        Time(s.saturating_mul(1_000_000_000))
    }

    /// A time of `s` seconds, rounded to the nearest nanosecond; negative and NaN give zero.
    pub fn from_secs_f64(s: f64) -> Time {
        Time((s * 1e9).round() as u64)
    }

    /// Nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Whole microseconds, rounded down.
    pub const fn as_micros(self) -> u64 {
        self.0 / 1_000
    }

    /// This time rounded down to whole microseconds.
    pub const fn whole_micros(self) -> Time {
        Time(self.0 / 1_000 * 1_000)
    }

    /// Whole milliseconds, rounded down.
    pub const fn as_millis(self) -> u64 {
        self.0 / 1_000_000
    }

    /// Seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// This time rounded up to a multiple of `step`; unchanged if `step` is zero.
    pub fn round_up_to(self, step: Time) -> Time {
        match self.0.checked_rem(step.0) {
            None | Some(0) => self,
            Some(rest) => Time(self.0.saturating_add(step.0 - rest)),
        }
    }
}

impl Add for Time {
    type Output = Time;
    fn add(self, other: Time) -> Time {
        Time(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Time {
    fn add_assign(&mut self, other: Time) {
        *self = *self + other;
    }
}

impl Sub for Time {
    type Output = Time;
    fn sub(self, other: Time) -> Time {
        Time(self.0.saturating_sub(other.0))
    }
}

impl Mul<u64> for Time {
    type Output = Time;
    fn mul(self, n: u64) -> Time {
        Time(self.0.saturating_mul(n))
    }
}

impl Div<u64> for Time {
    type Output = Time;
    fn div(self, n: u64) -> Time {
        Time(self.0 / n)
    }
}

impl Sum for Time {
    fn sum<I: Iterator<Item = Time>>(times: I) -> Time {
        times.fold(Time::ZERO, Add::add)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = self.0;
        let (value, unit) = match ns {
            0 => (0.0, "s"),
            1..1_000 => (ns as f64, "ns"),
            1_000..1_000_000 => (ns as f64 / 1e3, "us"),
            1_000_000..1_000_000_000 => (ns as f64 / 1e6, "ms"),
            _ => (ns as f64 / 1e9, "s"),
        };
        write!(f, "{value}{unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn never_stays_never_and_spans_do_not_wrap() {
        assert_eq!(Time::NEVER + Time::from_secs(1), Time::NEVER);
        assert_eq!(Time::from_secs(1) - Time::from_secs(2), Time::ZERO);
    }

    #[test]
    fn seconds_round_to_the_nearest_nanosecond() {
        assert_eq!(Time::from_secs_f64(0.066_556).as_nanos(), 66_556_000);
        assert_eq!(Time::from_secs_f64(-1.0), Time::ZERO);
    }

    #[test]
    fn round_up_reaches_the_next_tick() {
        let tick = Time::from_millis(10);
        assert_eq!(
            Time::from_millis(20).round_up_to(tick),
            Time::from_millis(20)
        );
        assert_eq!(
            Time::from_nanos(20_000_001).round_up_to(tick),
            Time::from_millis(30)
        );
        assert_eq!(
            Time::from_nanos(7).round_up_to(Time::ZERO),
            Time::from_nanos(7)
        );
    }

    #[test]
    fn text_picks_a_readable_unit() {
        assert_eq!(Time::from_millis(66).to_string(), "66ms");
        assert_eq!(Time::from_nanos(1_500_000_000).to_string(), "1.5s");
    }
}
