//! DCTCP: the window falls by half of the share of data that was marked, so that a queue held by
//! a low marking threshold costs no throughput (RFC 8257).
//!
//! Reacts to marks in proportion, to loss as Reno. Needs a receiver that tells each mark
//! ([`EcnFeedback::PerPacket`]); without ECN it is Reno. One form, that of Linux 6.12
//! (`tcp_dctcp.c`) in integers, on every stack; shares are counted in bytes.

use cclab_units::parameter::Parameter;
use cclab_units::{InKernel, Measure};

use crate::old;
use crate::variant::{ECT1, EcnFeedback, Near, Signal, Variant, WindowInRecovery};

/// The entry of the registry.
pub(crate) const VARIANT: Variant = Variant {
    name: "dctcp",
    version: 1,
    summary: "Reduces by the share of marked data; for networks that mark at a low threshold",
    reference: "RFC 8257; Linux 6.12",
    near: &[
        Near::with(
            "prague",
            "`ecn = true`, `cc_params = { ect1 = true }` and a queue `dualpi2`",
        ),
        Near::with(
            "l4s",
            "`ecn = true`, `cc_params = { ect1 = true }` and a queue `dualpi2`",
        ),
        Near::with("dcqcn", "`ecn = true`"),
    ],
    kernel: Some(InKernel::Module {
        name: "tcp_dctcp",
        symbol: "CONFIG_TCP_CONG_DCTCP",
    }),
    recovery: None,
    window: WindowInRecovery::Stack,
    paces: false,
    ecn: EcnFeedback::PerPacket,
    signal: Signal::Losses,
    departures: &[],
    params: &[
        Parameter {
            name: "dctcp_shift_g",
            measure: Measure::Whole,
            meaning: "the share's estimate moves by 2^-shift of the way each round (g)",
            default: 4.0,
            least: 0.0,
            most: 10.0,
        },
        Parameter {
            name: "dctcp_alpha_on_init",
            measure: Measure::Whole,
            meaning: "the estimate at the start, in 1/1024",
            default: 1024.0,
            least: 0.0,
            most: 1024.0,
        },
        Parameter {
            name: ECT1,
            measure: Measure::Switch,
            meaning: "packets are ECT(1), for the L4S queue of dualpi2, instead of ECT(0) as the kernel has it",
            default: 0.0,
            least: 0.0,
            most: 1.0,
        },
    ],
    relations: &[],
    ops: None,
    build: Some(|config| Box::new(old::dctcp::Dctcp::new(config))),
};
