//! Constant-rate: each acknowledgement counts `rtt * rtt / c'`, so that sending rates grow by as
//! much in a second whatever their round trip (Floyd 1991; a dissertation at the Hong
//! Kong Polytechnic University, 1999).
//!
//! Reacts to loss, timeouts and ECN as Reno does, and measures the round trip. Response to random
//! loss at rate p: `rtt sqrt(3 / (2 c' p))` segments for an acknowledgement of each, so that the
//! rate does not depend on the round trip; nothing grows while `rtt * rtt < c'`.

use cclab_units::Measure;
use cclab_units::parameter::Parameter;

use crate::step_rule::{Counted, StepRule, TICK};
use crate::variant::{EcnFeedback, RecoveryName, Signal, Variant, WindowInRecovery};

const PARAMS: &[Parameter] = &[
    Parameter {
        name: "c",
        measure: Measure::Whole,
        meaning: "the divisor c': square ticks of round trip for each step of the counter",
        default: 1_500.0,
        least: 1.0,
        most: 1e9,
    },
    TICK,
];

/// The entry of the registry.
pub(crate) const VARIANT: Variant = Variant {
    name: "constant-rate",
    version: 1,
    summary: "AIMD whose increase is the square of the round trip divided by c",
    reference: "An Empirical Study of TCP's Fairness, Hong Kong Polytechnic University, 1999",
    near: &[],
    kernel: None,
    recovery: Some(RecoveryName::Reno),
    params: PARAMS,
    window: WindowInRecovery::Stack,
    paces: false,
    ecn: EcnFeedback::Classic,
    signal: Signal::Losses,
    departures: &[],
    relations: &[],
    ops: None,
    build: Some(|config| {
        let c = config.params.get("c") as u64;
        Box::new(Counted::new(config, ConstantRate { c }))
    }),
};

struct ConstantRate {
    c: u64,
}

impl StepRule for ConstantRate {
    fn step(&mut self, rtt: u64, _before: [Option<u64>; 2]) -> u64 {
        constant_rate_step(rtt, self.c)
    }
}

/// `rtt * rtt / c`.
pub(crate) fn constant_rate_step(rtt: u64, c: u64) -> u64 {
    rtt.saturating_mul(rtt) / c
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step_rule::tests::{avoiding, windows};

    #[test]
    fn the_counter_by_hand() {
        // c' = 1000 at 70 ms: 4900 / 1000 = 4. 4, 8, 12 passes 10; 4, 8, 12 passes 11; then 12 is
        // not past 12.
        let mut flow = avoiding(&VARIANT, &[("c", 1_000.0)]);
        assert_eq!(
            windows(&mut flow, [70; 10]),
            [10, 10, 11, 11, 11, 12, 12, 12, 12, 13]
        );
    }

    #[test]
    fn nothing_grows_below_the_root_of_the_divisor() {
        let mut flow = avoiding(&VARIANT, &[]); // 38^2 = 1444, 39^2 = 1521
        assert_eq!(windows(&mut flow, [38; 1_000]).last(), Some(&10));
        assert_eq!(windows(&mut flow, [39; 11]).last(), Some(&11));
    }

    #[test]
    fn one_acknowledgement_is_one_segment_at_most() {
        let mut flow = avoiding(&VARIANT, &[]); // 400^2 / 1500 = 106
        assert_eq!(windows(&mut flow, [400; 3]), [11, 12, 13]);
    }
}
