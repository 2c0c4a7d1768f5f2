//! CUBIC: after a loss the window rises along a cubic of time, flat near the window that
//! lost, and never slower than AIMD would (RFC 9438).
//!
//! Reacts to loss, timeouts and ECN. Response to random loss at rate p over a round trip R in
//! seconds: about `1.054 R^(3/4) / p^(3/4)` segments per round trip on long or fast paths, and
//! that of AIMD on others (RFC 9438 section 5.1).
//!
//! Two forms: the standard's in real numbers, and Linux's in integers, which a study of the
//! kernel's behaviour needs. ns-2 carries Linux's code; ns-3.22 had none and gets the
//! standard's.

mod linux;
mod standard;

use cclab_interface::StateColumn;
use cclab_units::parameter::Parameter;
use cclab_units::{InKernel, Measure};

use crate::lent::lent;
use crate::variant::{EcnFeedback, Near, Signal, Variant, WindowInRecovery};
use crate::{Arithmetic, Config, CongestionControl, SlowStart};

pub(crate) const BETA: &str = "beta";
pub(crate) const C: &str = "c";
pub(crate) const FAST_CONVERGENCE: &str = "fast_convergence";
pub(crate) const TCP_FRIENDLINESS: &str = "tcp_friendliness";
const HYSTART: &str = "hystart";

/// What traces are told of either form.
const STATE: &[StateColumn] = &[
    StateColumn::word(
        "phase",
        &["slow_start", "cubic", "reno_friendly"],
        "Slow start, or whose window is followed: the cubic's or AIMD's.",
    ),
    StateColumn::number(
        "w_max_bytes",
        "Window at the last reduction, or less by fast convergence; null before the first.",
    ),
    StateColumn::number(
        "plateau_bytes",
        "Window about which the cubic turns; null outside of an epoch.",
    ),
    StateColumn::count(
        "k_ns",
        "Time from the epoch's start to the plateau (`K`); null outside of an epoch.",
    ),
    StateColumn::number(
        "w_est_bytes",
        "Window that AIMD would have (`W_est`); null outside of an epoch.",
    ),
];

/// What Linux has as parameters of its module; `beta` and `c` in the RFC's units.
const PARAMS: &[Parameter] = &[
    Parameter {
        name: BETA,
        measure: Measure::Share,
        meaning: "share of the window that remains after a loss (0.7; Linux: 717/1024)",
        default: f64::NAN,
        least: 0.1,
        most: 0.95,
    },
    Parameter {
        name: C,
        measure: Measure::Number,
        meaning: "steepness of the cubic in segments per second cubed (0.4; Linux: 41/1024 * 10)",
        default: f64::NAN,
        least: 0.01,
        most: 100.0,
    },
    Parameter {
        name: FAST_CONVERGENCE,
        measure: Measure::Switch,
        meaning: "a window that lost before it was as large as before gives room to others",
        default: 1.0,
        least: 0.0,
        most: 1.0,
    },
    Parameter {
        name: TCP_FRIENDLINESS,
        measure: Measure::Switch,
        meaning: "never slower than AIMD would be",
        default: 1.0,
        least: 0.0,
        most: 1.0,
    },
    Parameter {
        name: HYSTART,
        measure: Measure::Switch,
        meaning: "slow start may end before a loss, where the stack has that",
        default: 1.0,
        least: 0.0,
        most: 1.0,
    },
];

/// The entry of the registry.
pub(crate) const VARIANT: Variant = Variant {
    name: "cubic",
    version: 2,
    summary: "A cubic of the time since the last loss; the default of most systems",
    reference: "RFC 9438",
    near: &[Near::of("hystart")],
    kernel: Some(InKernel::Module {
        name: "tcp_cubic",
        symbol: "CONFIG_TCP_CONG_CUBIC",
    }),
    recovery: None,
    window: WindowInRecovery::Stack,
    paces: false,
    ecn: EcnFeedback::Classic,
    signal: Signal::Losses,
    departures: &[],
    params: PARAMS,
    relations: &[],
    ops: Some(|config| Box::new(linux::Cubic::new(config))),
    build: Some(build),
};

fn build(config: &Config) -> Box<dyn CongestionControl> {
    let mut config = *config;
    if !is_on(&config, HYSTART) {
        config.slow_start = SlowStart::Plain;
    }
    let config = &config;
    match config.arithmetic {
        Arithmetic::Bytes | Arithmetic::PerAckBytes => Box::new(standard::Cubic::new(config)),
        Arithmetic::Segments | Arithmetic::PerAckSegments => {
            lent(config, linux::Cubic::new(config))
        }
    }
}

/// Whether a parameter that is a switch is on.
pub(crate) fn is_on(config: &Config, switch: &str) -> bool {
    config.params.get(switch) >= 0.5
}
