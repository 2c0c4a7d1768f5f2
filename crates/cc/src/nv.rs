//! NV: Vegas for data centres. Only kernels have it.

use cclab_units::InKernel;

use crate::variant::{EcnFeedback, Near, Signal, Variant, WindowInRecovery};

/// The entry of the registry.
pub(crate) const VARIANT: Variant = Variant {
    name: "nv",
    version: 1,
    summary: "Vegas for data centres, by the delivery rate instead of the window",
    reference: "L. Brakmo, TCP-NV, 2010; net/ipv4/tcp_nv.c",
    near: &[Near::of("newvegas")],
    kernel: Some(InKernel::Module {
        name: "tcp_nv",
        symbol: "CONFIG_TCP_CONG_NV",
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
