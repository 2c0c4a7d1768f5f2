//! H-TCP: the increase grows with the time since the last loss, the decrease follows the queue
//! that the round trips show (Leith and Shorten 2004).
//!
//! Reacts to loss, timeouts and ECN, and scales by delay. One form on every stack: Linux 6.12's
//! (`tcp_htcp.c`), in ticks of a millisecond and fixed point with 7 binary digits.

use cclab_units::parameter::Parameter;
use cclab_units::{InKernel, Measure};

use crate::module::Modular;
use crate::old;
use crate::variant::{EcnFeedback, Signal, Variant, WindowInRecovery};

const PARAMS: &[Parameter] = &[
    Parameter {
        name: "use_rtt_scaling",
        measure: Measure::Switch,
        meaning: "whether the increase is scaled by the round trip",
        default: 1.0,
        least: 0.0,
        most: 1.0,
    },
    Parameter {
        name: "use_bandwidth_switch",
        measure: Measure::Switch,
        meaning: "whether half is given up when throughput changed by over a fifth",
        default: 1.0,
        least: 0.0,
        most: 1.0,
    },
];

/// The entry of the registry.
pub(crate) const VARIANT: Variant = Variant {
    name: "htcp",
    version: 1,
    summary: "Grows faster the longer the last loss is past, gives up what the queue holds",
    reference: "D. Leith, R. Shorten, PFLDnet 2004; Linux 6.12",
    near: &[],
    kernel: Some(InKernel::Module {
        name: "tcp_htcp",
        symbol: "CONFIG_TCP_CONG_HTCP",
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
    build: Some(|config| Box::new(Modular::new(config, old::htcp::HTcp::new(config)))),
};
