//! Linear-rate: each acknowledgement counts `rtt / c'`, so that windows grow by as much in a second
//! whatever their round trip (a dissertation at the Hong Kong Polytechnic University, 1999).
//!
//! Reacts to loss, timeouts and ECN as Reno does, and measures the round trip. Response to random
//! loss at rate p: `sqrt(3 rtt / (2 c' p))` segments for an acknowledgement of each, so that the
//! rate falls with the root of the round trip; nothing grows while `rtt < c'`.

use cclab_units::Measure;
use cclab_units::parameter::Parameter;

use crate::step_rule::{Counted, StepRule, TICK};
use crate::variant::{EcnFeedback, RecoveryName, Signal, Variant, WindowInRecovery};

const PARAMS: &[Parameter] = &[
    Parameter {
        name: "c",
        measure: Measure::Whole,
        meaning: "the divisor c': ticks of round trip for each step of the counter",
        default: 30.0,
        least: 1.0,
        most: 1e9,
    },
    TICK,
];

/// The entry of the registry.
pub(crate) const VARIANT: Variant = Variant {
    name: "linear-rate",
    version: 1,
    summary: "AIMD whose increase is the round trip divided by c",
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
        Box::new(Counted::new(config, LinearRate { c }))
    }),
};

struct LinearRate {
    c: u64,
}

impl StepRule for LinearRate {
    fn step(&mut self, rtt: u64, _before: [Option<u64>; 2]) -> u64 {
        rtt / self.c
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step_rule::tests::{avoiding, windows};

    #[test]
    fn the_counter_by_hand() {
        // c' = 10 at 35 ms: 3 per ACK. 3, 6, 9, 12 passes 10; then 3, 6, 9, 12 passes 11.
        let mut flow = avoiding(&VARIANT, &[("c", 10.0)]);
        assert_eq!(
            windows(&mut flow, [35; 8]),
            [10, 10, 10, 11, 11, 11, 11, 12]
        );
    }

    #[test]
    fn nothing_grows_below_the_divisor() {
        let mut flow = avoiding(&VARIANT, &[]);
        assert_eq!(windows(&mut flow, [29; 1_000]).last(), Some(&10));
        assert_eq!(windows(&mut flow, [30; 11]).last(), Some(&11));
    }

    #[test]
    fn a_coarse_clock_counts_its_own_ticks() {
        // 35 ms are 3 or 4 ticks of 10 ms; at a second sharp sent 35 ms before, 4: 4 / 2 = 2.
        let mut flow = avoiding(&VARIANT, &[("c", 2.0), ("tick", 0.01)]);
        assert_eq!(windows(&mut flow, [35; 6]), [10, 10, 10, 10, 10, 11]);
    }
}
