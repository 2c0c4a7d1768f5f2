//! Adaptive linear rate (algorithm B): linear-rate with a divisor that rises when the round trip
//! rose and falls otherwise (a dissertation at the Hong Kong Polytechnic University, 1999).
//!
//! Reacts to loss, timeouts and ECN as Reno does, and to the trend of the round trip. Response to
//! random loss at rate p: that of linear-rate at a divisor between floor and ceiling.

use cclab_units::parameter::Parameter;

use crate::step_rule::{Counted, MOVING_RELATIONS, MovingDivisor, StepRule, moving_params};
use crate::variant::{EcnFeedback, RecoveryName, Signal, Variant, WindowInRecovery};

const PARAMS: &[Parameter] = &moving_params([40.0, 2.0, 25.0, 55.0]);

/// The entry of the registry.
pub(crate) const VARIANT: Variant = Variant {
    name: "adaptive-b",
    version: 1,
    summary: "Linear-rate whose c follows the round trip",
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
        Box::new(Counted::new(config, AdaptiveB { divisor }))
    }),
};

struct AdaptiveB {
    divisor: MovingDivisor,
}

impl StepRule for AdaptiveB {
    fn step(&mut self, rtt: u64, before: [Option<u64>; 2]) -> u64 {
        self.divisor.follow(rtt, before[0]);
        rtt / self.divisor.c
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
        let mut rule = AdaptiveB {
            divisor: MovingDivisor::new(&config),
        };
        let mut step = |rtt, before| (rule.step(rtt, [before, None]), rule.divisor.c);
        assert_eq!(step(84, Some(83)), (2, 42));
        assert_eq!(step(83, Some(84)), (2, 40));
        for _ in 0..7 {
            step(83, Some(83));
        }
        assert_eq!(step(83, Some(83)), (3, 25)); // 40 - 16 = 24: the floor
        for _ in 0..14 {
            step(84, Some(83));
        }
        assert_eq!(step(84, Some(83)), (1, 55)); // 25 + 30: the ceiling
        assert_eq!(step(85, Some(84)), (1, 55));
    }

    #[test]
    fn the_counter_by_hand() {
        // c' 40, 38, 36, 34: 2, 2, 2, 2; 32: 2, 30: 2 makes 12, past 10. 28: 3.
        let mut flow = avoiding(&VARIANT, &[]);
        assert_eq!(windows(&mut flow, [84; 7]), [10, 10, 10, 10, 10, 11, 11]);
    }
}
