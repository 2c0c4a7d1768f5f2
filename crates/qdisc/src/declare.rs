//! Parameters as the disciplines declare and read them.

use cclab_units::parameter::Parameter;
use cclab_units::{Measure, Rate, Time};

use crate::discipline::Config;

/// The default of a parameter that the discipline derives from others, or goes without.
pub(crate) const DERIVED: f64 = f64::NAN;

/// A number of `measure` from `least` to `most`.
pub(crate) const fn number(
    name: &'static str,
    measure: Measure,
    meaning: &'static str,
    default: f64,
    [least, most]: [f64; 2],
) -> Parameter {
    Parameter {
        name,
        measure,
        meaning,
        default,
        least,
        most,
    }
}

/// A time from a microsecond to a minute.
pub(crate) const fn time(name: &'static str, meaning: &'static str, default: f64) -> Parameter {
    number(name, Measure::Time, meaning, default, [1e-6, 60.0])
}

/// The time between updates of a controller; the kernel's clock ticks no faster than 1 ms.
pub(crate) const fn tupdate(default: f64) -> Parameter {
    number(
        "tupdate",
        Measure::Time,
        "time between updates",
        default,
        [0.001, 10.0],
    )
}

/// Yes (1) or no (0).
pub(crate) const fn flag(name: &'static str, meaning: &'static str, default: bool) -> Parameter {
    let default = if default { 1.0 } else { 0.0 };
    number(name, Measure::Switch, meaning, default, [0.0, 1.0])
}

/// Whether ECN-capable packets are marked instead of dropped.
pub(crate) const fn ecn(default: bool) -> Parameter {
    flag(
        "ecn",
        "mark ECN-capable packets instead of dropping them",
        default,
    )
}

impl Config {
    /// The time parameter `name`.
    pub(crate) fn time(&self, name: &str) -> Time {
        Time::from_secs_f64(self.params.get(name))
    }

    /// The time parameter `name`, if it was given.
    pub(crate) fn time_given(&self, name: &str) -> Option<Time> {
        self.params.given(name).map(Time::from_secs_f64)
    }

    /// The whole number `name`.
    pub(crate) fn count(&self, name: &str) -> u64 {
        self.params.get(name) as u64
    }

    /// Whether the flag `name` is set.
    pub(crate) fn flag(&self, name: &str) -> bool {
        self.params.get(name) != 0.0
    }

    /// The rate parameter `name`, if it was given.
    pub(crate) fn rate_given(&self, name: &str) -> Option<Rate> {
        let bps = self.params.given(name)?;
        Rate::from_bps(bps as u64)
    }
}
