//! Ways in which slow start ends before a loss.

mod linux;
mod plus_plus;

pub(crate) use linux::LinuxHyStart;
pub(crate) use plus_plus::{HyStartPlusPlus, Verdict};

use cclab_units::Time;

/// How much longer than `base` a round trip must be for slow start to end: an eighth, between
/// `low` and `high`. Both algorithms use the same bounds' form.
fn eighth_of(base: Time, low: Time, high: Time) -> Time {
    Time::from_nanos(base.as_nanos() >> 3).clamp(low, high)
}
