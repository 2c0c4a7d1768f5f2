//! HighSpeed TCP: AIMD whose increase and decrease depend on the window, so that a window of
//! thousands of segments is reached at loss rates that occur (RFC 3649).
//!
//! Reacts to loss, timeouts and ECN. Response to random loss at rate p: that of Reno up to 38
//! segments (p of 1/1000 and more), above `0.12 / p^0.835` segments per round trip (section 5).
//!
//! Two forms: the standard's functions in real numbers, and Linux's table of them.

mod linux;
mod standard;

use cclab_units::parameter::{Parameter, Relation};
use cclab_units::{InKernel, Measure};

use crate::gaimd::GeneralAimd;
use crate::module::Modular;
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
    version: 1,
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
    ops: None,
    build: Some(build),
};

fn build(config: &Config) -> Box<dyn CongestionControl> {
    let of_the_table = PARAMS
        .iter()
        .all(|p| config.params.get(p.name) == p.default);
    if config.arithmetic == Arithmetic::Segments && of_the_table {
        return Box::new(Modular::new(config, linux::HighSpeed::new()));
    }
    let functions = standard::HighSpeed::new(
        config.params.get(LOW_WINDOW),
        config.params.get(HIGH_WINDOW),
        config.params.get(HIGH_DECREASE),
    );
    Box::new(GeneralAimd::new(config, functions))
}
