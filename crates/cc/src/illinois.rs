//! Illinois: AIMD whose step and cut depend on the queue: `alpha` up to ten segments a round trip
//! and a cut of an eighth while it is empty, 0.3 segments and half when it is full (Liu, Basar
//! and Srikant 2008).
//!
//! Reacts to loss, timeouts and ECN; delay says by how much. One form, that of Linux 6.12
//! (`tcp_illinois.c`) in fixed point, on every stack.

use cclab_units::parameter::Parameter;
use cclab_units::{InKernel, Measure};

use crate::old;
use crate::variant::{EcnFeedback, Near, Signal, Variant, WindowInRecovery};

const PARAMS: &[Parameter] = &[
    Parameter {
        name: "win_thresh",
        measure: Measure::Segments,
        meaning: "window in segments below which it is Reno",
        default: 15.0,
        least: 0.0,
        most: 1e6,
    },
    Parameter {
        name: "theta",
        measure: Measure::Whole,
        meaning: "round trips without a queue before alpha is largest again",
        default: 5.0,
        least: 0.0,
        most: 255.0,
    },
];

/// The entry of the registry.
pub(crate) const VARIANT: Variant = Variant {
    name: "illinois",
    version: 1,
    summary: "AIMD whose step shrinks and whose cut grows with the queueing delay",
    reference: "S. Liu, T. Basar and R. Srikant, TCP-Illinois, Perf. Eval. 65, 2008; Linux 6.12",
    near: &[Near::of("compound"), Near::of("ctcp")],
    kernel: Some(InKernel::Module {
        name: "tcp_illinois",
        symbol: "CONFIG_TCP_CONG_ILLINOIS",
    }),
    recovery: None,
    window: WindowInRecovery::Stack,
    paces: false,
    ecn: EcnFeedback::Classic,
    signal: Signal::Losses,
    departures: &[],
    params: PARAMS,
    relations: &[],
    ops: None,
    build: Some(|config| Box::new(old::illinois::Illinois::new(config))),
};
