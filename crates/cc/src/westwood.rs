//! Westwood+: Reno whose window after a loss is what the path delivered: the estimated bandwidth
//! times the smallest round-trip time, instead of half the window (Grieco and Mascolo 2004).
//!
//! Reacts to loss, timeouts and ECN. One form, that of Linux 6.12 (`tcp_westwood.c`) in integers
//! and milliseconds, on every stack.

use cclab_units::InKernel;

use crate::old;
use crate::variant::{Departure, EcnFeedback, Near, Signal, Variant, WindowInRecovery};

/// The entry of the registry.
pub(crate) const VARIANT: Variant = Variant {
    name: "westwood",
    version: 1,
    summary: "AIMD whose window after a loss is the measured bandwidth times the smallest RTT",
    reference: "L. Grieco and S. Mascolo, Westwood+, ACM CCR 34(2), 2004; Linux 6.12",
    near: &[Near::of("westwood+"), Near::of("tcpw")],
    kernel: Some(InKernel::Module {
        name: "tcp_westwood",
        symbol: "CONFIG_TCP_CONG_WESTWOOD",
    }),
    recovery: None,
    window: WindowInRecovery::Stack,
    paces: false,
    ecn: EcnFeedback::Classic,
    signal: Signal::Losses,
    departures: &[Departure::NarrowedByDelay, Departure::GrowsUnused],
    params: &[],
    relations: &[],
    ops: None,
    build: Some(|config| Box::new(old::westwood::Westwood::new(config))),
};
