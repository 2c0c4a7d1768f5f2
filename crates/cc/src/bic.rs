//! BIC: after a loss the window searches, by halves, for the one between what was lost at and
//! what it fell to, and probes beyond ever faster (Xu, Harfoush and Rhee 2004).
//!
//! Reacts to loss, timeouts and ECN. One form on every stack: Linux 6.12's (`tcp_bic.c`).

use cclab_units::parameter::Parameter;
use cclab_units::{InKernel, Measure};

use crate::module::Modular;
use crate::old;
use crate::variant::{EcnFeedback, Signal, Variant, WindowInRecovery};

const PARAMS: &[Parameter] = &[
    Parameter {
        name: "fast_convergence",
        measure: Measure::Switch,
        meaning: "whether a loss below the last maximum lowers that",
        default: 1.0,
        least: 0.0,
        most: 1.0,
    },
    Parameter {
        name: "max_increment",
        measure: Measure::Segments,
        meaning: "segments added per round trip at most",
        default: 16.0,
        least: 1.0,
        most: 1e6,
    },
    Parameter {
        name: "low_window",
        measure: Measure::Segments,
        meaning: "segments up to which it is Reno",
        default: 14.0,
        least: 0.0,
        most: 1e6,
    },
    Parameter {
        name: "beta",
        measure: Measure::Whole,
        meaning: "what remains of the window at a loss, in 1024ths",
        default: 819.0,
        least: 1.0,
        most: 1_023.0,
    },
    Parameter {
        name: "smooth_part",
        measure: Measure::Whole,
        meaning: "round trips for four segments near the maximum",
        default: 20.0,
        least: 1.0,
        most: 1e6,
    },
];

/// The entry of the registry.
pub(crate) const VARIANT: Variant = Variant {
    name: "bic",
    version: 1,
    summary: "A binary search for the window that lost, then an ever faster probe beyond",
    reference: "L. Xu, K. Harfoush, I. Rhee, INFOCOM 2004; Linux 6.12",
    near: &[],
    kernel: Some(InKernel::Module {
        name: "tcp_bic",
        symbol: "CONFIG_TCP_CONG_BIC",
    }),
    recovery: None,
    params: PARAMS,
    window: WindowInRecovery::Stack,
    paces: false,
    ecn: EcnFeedback::Classic,
    signal: Signal::Losses,
    departures: &[],
    relations: &[],
    ops: None,
    build: Some(|config| Box::new(Modular::new(config, old::bic::Bic::new(config)))),
};
