//! Adaptive constant rate (algorithm A): constant-rate with a divisor that rises when the round
//! trip rose and falls otherwise (a dissertation at the Hong Kong Polytechnic University, 1999).
//!
//! Reacts to loss, timeouts and ECN as Reno does, and to the trend of the round trip. Response to
//! random loss at rate p: that of constant-rate at a divisor between floor and ceiling.

use cclab_units::parameter::Parameter;

use crate::constant_rate::constant_rate_step;
use crate::step_rule::{Counted, MOVING_RELATIONS, MovingDivisor, StepRule, moving_params};
use crate::variant::{EcnFeedback, RecoveryName, Signal, Variant, WindowInRecovery};

const PARAMS: &[Parameter] = &moving_params([1_500.0, 150.0, 700.0, 2_300.0]);

/// The entry of the registry.
pub(crate) const VARIANT: Variant = Variant {
    name: "adaptive-a",
    version: 1,
    summary: "Constant-rate whose c follows the round trip",
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
        Box::new(Counted::new(config, AdaptiveA { divisor }))
    }),
};

struct AdaptiveA {
    divisor: MovingDivisor,
}

impl StepRule for AdaptiveA {
    fn step(&mut self, rtt: u64, before: [Option<u64>; 2]) -> u64 {
        self.divisor.follow(rtt, before[0]);
        constant_rate_step(rtt, self.divisor.c)
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
        let mut rule = AdaptiveA {
            divisor: MovingDivisor::new(&config),
        };
        let mut step = |rtt, before| (rule.step(rtt, [before, None]), rule.divisor.c);
        assert_eq!(step(60, None), (2, 1_500)); // 3600 / 1500
        assert_eq!(step(61, Some(60)), (2, 1_650)); // 3721 / 1650
        assert_eq!(step(61, Some(61)), (2, 1_500)); // not above: down
        assert_eq!(step(60, Some(61)), (2, 1_350)); // 3600 / 1350
        for _ in 0..4 {
            step(60, Some(60));
        }
        assert_eq!(step(60, Some(60)), (5, 700)); // 1350 - 5 * 150 = 600: the floor; 3600 / 700
        for _ in 0..10 {
            step(61, Some(60));
        }
        assert_eq!(step(61, Some(60)), (1, 2_300)); // 700 + 11 * 150 = 2350: the ceiling
    }

    #[test]
    fn the_counter_by_hand() {
        // 80, 80, 80 ms: c' 1500 (nothing before), 1350, 1200: 4, 4, 5: 13 passes 10.
        let mut flow = avoiding(&VARIANT, &[]);
        assert_eq!(windows(&mut flow, [80, 80, 80]), [10, 10, 11]);
    }
}
