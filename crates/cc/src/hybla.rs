//! Hybla: every flow grows as one with a round trip of `rtt0` would, so that long paths (by
//! satellite) are not at a disadvantage (Caini and Firrincieli 2004).
//!
//! Reacts to loss, timeouts and ECN as Reno does. One form, that of Linux 6.12 (`tcp_hybla.c`)
//! in fixed point, on every stack.

use cclab_units::parameter::Parameter;
use cclab_units::{InKernel, Measure};

use crate::old;
use crate::variant::{EcnFeedback, Signal, Variant, WindowInRecovery};

const PARAMS: &[Parameter] = &[Parameter {
    name: "rtt0",
    measure: Measure::Time,
    meaning: "round-trip time of the flow that growth is likened to",
    default: 0.025,
    least: 0.001,
    most: 10.0,
}];

/// The entry of the registry.
pub(crate) const VARIANT: Variant = Variant {
    name: "hybla",
    version: 1,
    summary: "Grows as a flow with a round trip of 25 ms would, whatever its own",
    reference: "C. Caini and R. Firrincieli, TCP Hybla, IJSCN 22(5), 2004; Linux 6.12",
    near: &[],
    kernel: Some(InKernel::Module {
        name: "tcp_hybla",
        symbol: "CONFIG_TCP_CONG_HYBLA",
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
    build: Some(|config| Box::new(old::hybla::Hybla::new(config))),
};
