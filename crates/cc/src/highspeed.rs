//! HighSpeed TCP: AIMD whose increase and decrease depend on the window, so that a window of
//! thousands of segments is reached at loss rates that occur (RFC 3649).
//!
//! Reacts to loss, timeouts and ECN. Response to random loss at rate p: that of Reno up to 38
//! segments (p of 1/1000 and more), above `0.12 / p^0.835` segments per round trip (section 5).
//!
//! Two forms: the standard's functions in real numbers, and Linux's table of them.

mod linux;
mod standard;

use cclab_interface::CongestionOps;
use cclab_units::parameter::{Parameter, Relation};
use cclab_units::{InKernel, Measure};

use crate::gaimd::{GeneralAimd, StackAimd};
use crate::lent::lent;
use crate::variant::{EcnFeedback, Near, Signal, Variant, WindowInRecovery};
use crate::{Arithmetic, Config, CongestionControl};

const LOW_WINDOW: &str = "low_window";
const HIGH_WINDOW: &str = "high_window";
const HIGH_DECREASE: &str = "high_decrease";

/// The three are of the functions; Linux's table was computed from their defaults.
const PARAMS: &[Parameter] = &[
    Parameter {
        name: LOW_WINDOW,
        measure: Measure::Segments,
        meaning: "segments up to which it is Reno; setting it replaces Linux's table",
        default: 38.0,
        least: 2.0,
        most: 1e6,
    },
    Parameter {
        name: HIGH_WINDOW,
        measure: Measure::Segments,
        meaning: "segments at which high_decrease is given up; setting it replaces Linux's table",
        default: 83_000.0,
        least: 3.0,
        most: 1e9,
    },
    Parameter {
        name: HIGH_DECREASE,
        measure: Measure::Share,
        meaning: "share given up at high_window; setting it replaces Linux's table",
        default: 0.1,
        least: 0.01,
        most: 0.5,
    },
];

/// The entry of the registry.
pub(crate) const VARIANT: Variant = Variant {
    name: "highspeed",
    version: 2,
    summary: "AIMD that is faster and gives up less the larger its window",
    reference: "RFC 3649",
    near: &[Near::of("hstcp")],
    kernel: Some(InKernel::Module {
        name: "tcp_highspeed",
        symbol: "CONFIG_TCP_CONG_HSTCP",
    }),
    recovery: None,
    params: PARAMS,
    window: WindowInRecovery::Stack,
    paces: false,
    ecn: EcnFeedback::Classic,
    signal: Signal::Losses,
    departures: &[],
    relations: &[Relation::Below(LOW_WINDOW, HIGH_WINDOW)],
    ops: Some(ops),
    build: Some(build),
};

fn is_of_the_table(config: &Config) -> bool {
    PARAMS
        .iter()
        .all(|p| config.params.get(p.name) == p.default)
}

fn functions(config: &Config) -> standard::HighSpeed {
    standard::HighSpeed::new(
        config.params.get(LOW_WINDOW),
        config.params.get(HIGH_WINDOW),
        config.params.get(HIGH_DECREASE),
    )
}

fn ops(config: &Config) -> Box<dyn CongestionOps> {
    match is_of_the_table(config) {
        true => Box::new(linux::HighSpeed::new()),
        false => Box::new(StackAimd::new(functions(config))),
    }
}

fn build(config: &Config) -> Box<dyn CongestionControl> {
    if config.arithmetic == Arithmetic::Segments && is_of_the_table(config) {
        return lent(config, linux::HighSpeed::new());
    }
    Box::new(GeneralAimd::new(config, functions(config)))
}

#[cfg(test)]
mod tests {
    use cclab_units::parameter::Params;

    use super::*;
    use crate::SlowStart;
    use crate::tests::{config_of, lent};

    /// The table gives up half at 100 segments only by its first row; the functions, with
    /// `high_window` at 100 segments, `high_decrease`.
    #[test]
    fn a_parameter_replaces_the_table() {
        let table = config_of(&VARIANT, Arithmetic::Segments, SlowStart::Plain);
        assert_eq!(ops(&table).ssthresh(&mut lent(100, 2)), 50);
        let given = [(HIGH_WINDOW, 100.0), (HIGH_DECREASE, 0.2)];
        let given = given.map(|(n, v)| (n.to_owned(), v)).into();
        let set = Config {
            params: Params::new(PARAMS, &given).expect("in range"),
            ..table
        };
        let left = ops(&set).ssthresh(&mut lent(100, 2));
        assert!((79..=80).contains(&left), "{left}");
    }
}
