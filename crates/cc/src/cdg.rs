//! CDG, the CAIA delay gradient. Only kernels have it.

use cclab_units::InKernel;

use crate::variant::{EcnFeedback, Signal, Variant, WindowInRecovery};

/// The entry of the registry.
pub(crate) const VARIANT: Variant = Variant {
    name: "cdg",
    version: 1,
    summary: "Backs off by the gradient of delay, at random",
    reference: "D. Hayes, G. Armitage, CAIA Delay-Gradient, NETWORKING 2011",
    near: &[],
    kernel: Some(InKernel::Module {
        name: "tcp_cdg",
        symbol: "CONFIG_TCP_CONG_CDG",
    }),
    recovery: None,
    window: WindowInRecovery::Stack,
    paces: false,
    ecn: EcnFeedback::Classic,
    signal: Signal::Delay,
    departures: &[],
    params: &[],
    relations: &[],
    ops: None,
    build: None,
};
