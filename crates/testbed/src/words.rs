//! Quantities as `tc` and `iptables` read them.

use cclab_units::{Rate, Time};

/// A delay of netem, which knows nanoseconds.
pub(crate) fn nanoseconds(time: Time) -> String {
    format!("{}ns", time.as_nanos())
}

/// A time of the other disciplines, which know microseconds; `seconds` is not negative.
pub(crate) fn microseconds(seconds: f64) -> String {
    format!("{}us", (seconds * 1e6).round() as u64)
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
        assert_eq!(microseconds(0.005), "5000us");
        assert_eq!(nanoseconds(Time::from_millis(25)), "25000000ns");
    }
}
