//! Quantities as `tc` and `iptables` read them.

use cclab_units::{Rate, Time};

/// A delay, rounded to the microseconds that tc knows. The kernel's own ticks are 64 ns, which
/// tc rounds down to: delays of a multiple of 8 us are exact, others up to 56 ns short.
pub(crate) fn delay(time: Time) -> String {
    format!("{}us", (time.as_nanos() + 500) / 1000)
}

/// A time that is not negative, likewise.
pub(crate) fn seconds(seconds: f64) -> String {
    format!("{}us", (seconds * 1e6).round() as u64)
}

/// A time of which tc and the kernel keep each nanosecond.
pub(crate) fn nanoseconds(time: Time) -> String {
    format!("{}ns", time.as_nanos())
}

/// A rate in bit/s. The kernel keeps whole bytes per second.
pub(crate) fn rate(rate: Rate) -> String {
    format!("{}bit", rate.bps())
}

/// A probability as a share of one.
pub(crate) fn share(probability: f64) -> String {
    trimmed(format!("{probability:.10}"))
}

/// A probability in per cent.
pub(crate) fn percent(probability: f64) -> String {
    format!("{}%", trimmed(format!("{:.8}", probability * 100.0)))
}

fn trimmed(number: String) -> String {
    number
        .trim_end_matches('0')
        .trim_end_matches('.')
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_as_short_as_they_can_be() {
        assert_eq!(percent(0.07), "7%");
        assert_eq!(percent(1.0), "100%");
        assert_eq!(percent(0.000_25), "0.025%");
        assert_eq!(percent(0.0), "0%");
        assert_eq!(share(0.01), "0.01");
        assert_eq!(share(0.0), "0");
        assert_eq!(seconds(0.005), "5000us");
        assert_eq!(delay(Time::from_millis(25)), "25000us");
        assert_eq!(delay(Time::from_nanos(66_556_500)), "66557us");
    }
}
