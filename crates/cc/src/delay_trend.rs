//! Delay trend (algorithm C): linear-rate that grows only while the round trip falls, with a
//! divisor that falls then and rises otherwise (a dissertation at the Hong Kong Polytechnic
//! University, 1999).
//!
//! Reacts to loss, timeouts and ECN as Reno does, and to the trend of the round trip: the window
//! of a queue that does not shrink stays.

use cclab_units::parameter::Parameter;

use crate::step_rule::{Counted, MOVING_RELATIONS, MovingDivisor, StepRule, moving_params};
use crate::variant::{EcnFeedback, RecoveryName, Signal, Variant, WindowInRecovery};

const PARAMS: &[Parameter] = &moving_params([40.0, 2.0, 25.0, 55.0]);

/// The entry of the registry.
pub(crate) const VARIANT: Variant = Variant {
    name: "delay-trend",
    version: 1,
    summary: "Linear-rate that grows only while the round trip falls",
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
    relations: MOVING_RELATIONS,
    ops: None,
    build: Some(|config| {
        let divisor = MovingDivisor::new(config);
        Box::new(Counted::new(config, DelayTrend { divisor }))
    }),
};

struct DelayTrend {
    divisor: MovingDivisor,
}

impl StepRule for DelayTrend {
    fn step(&mut self, rtt: u64, before: [Option<u64>; 2]) -> u64 {
        let [Some(last), Some(last_but_one)] = before else {
            return 0; // no trend yet
        };
        if rtt < last && rtt < last_but_one {
            self.divisor.fall();
            rtt / self.divisor.c
        } else {
            self.divisor.rise();
            0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step_rule::tests::{avoiding, windows};
    use crate::tests::config_of;
    use crate::{Arithmetic, SlowStart};

    #[test]
    fn the_divisor_by_hand() {
        let config = config_of(&VARIANT, Arithmetic::Segments, SlowStart::Plain);
        let mut rule = DelayTrend {
            divisor: MovingDivisor::new(&config),
        };
        let mut step = |rtt, last, last_but_one| {
            let step = rule.step(rtt, [last, last_but_one]);
            (step, rule.divisor.c)
        };
        assert_eq!(step(90, None, None), (0, 40));
        assert_eq!(step(90, Some(91), None), (0, 40));
        assert_eq!(step(90, Some(91), Some(92)), (2, 38)); // 90 / 38
        assert_eq!(step(90, Some(91), Some(90)), (0, 40)); // below one of them only
        assert_eq!(step(90, Some(90), Some(95)), (0, 42));
        for _ in 0..8 {
            step(90, Some(95), Some(96));
        }
        assert_eq!(step(90, Some(95), Some(96)), (3, 25)); // 42 - 18 = 24: the floor
        for _ in 0..15 {
            step(90, Some(90), Some(90));
        }
        assert_eq!(step(90, Some(90), Some(90)), (0, 55));
    }

    #[test]
    fn the_counter_by_hand() {
        // Two to compare with; then c' 38, 36, 34, 32: 3, 3, 3, 3 makes 12, past 10.
        let mut flow = avoiding(&VARIANT, &[]);
        assert_eq!(
            windows(&mut flow, [130, 129, 128, 127, 126, 125]),
            [10, 10, 10, 10, 10, 11]
        );
        // A round trip that stays is no growth, ever.
        assert_eq!(windows(&mut flow, [125; 1_000]).last(), Some(&11));
    }
}
