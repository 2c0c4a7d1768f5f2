//! Vegas: compares the window with what the path would carry without a queue, and keeps a few
//! segments in the queue instead of filling it (Brakmo and Peterson 1995).
//!
//! Reacts to delay once a round trip, and to loss, timeouts and ECN as Reno does. Response to
//! random loss: Reno's or less, because it rarely grows past its few segments in the queue.
//!
//! Two forms: Linux's in integers, and that of ns-2's agent in fractions of a segment, which
//! doubles every other round trip only, moves fractions of a segment with each
//! acknowledgement, and keeps three quarters of the window after a loss.

mod linux;
mod ns2;
mod round;

use cclab_units::parameter::{Parameter, Relation};
use cclab_units::{InKernel, Measure};

use crate::lent::lent;
use crate::variant::{
    Departure, EcnFeedback, Near, RecoveryName, Signal, Variant, WindowInRecovery,
};
use crate::{Arithmetic, Config, CongestionControl};

pub(crate) use round::Round;

const PARAMS: &[Parameter] = &[
    Parameter {
        name: "alpha",
        measure: Measure::Segments,
        meaning: "segments in the queue below which the window grows; \
                  by default 2 as in Linux, and 1 under the profile ns2",
        default: f64::NAN,
        least: 0.0,
        most: 1e6,
    },
    Parameter {
        name: "beta",
        measure: Measure::Segments,
        meaning: "segments in the queue above which the window shrinks; \
                  by default 4 as in Linux, and 3 under the profile ns2",
        default: f64::NAN,
        least: 0.0,
        most: 1e6,
    },
    Parameter {
        name: "gamma",
        measure: Measure::Segments,
        meaning: "segments in the queue above which slow start ends",
        default: 1.0,
        least: 0.0,
        most: 1e6,
    },
];

/// The entry of the registry.
pub(crate) const VARIANT: Variant = Variant {
    name: "vegas",
    version: 2,
    summary: "Keeps two to four segments in the queue, measured by the round-trip time",
    reference: "L. Brakmo and L. Peterson, TCP Vegas, IEEE JSAC 13(8), 1995; Linux 6.12",
    near: &[Near::of("fast")],
    kernel: Some(InKernel::Module {
        name: "tcp_vegas",
        symbol: "CONFIG_TCP_CONG_VEGAS",
    }),
    recovery: Some(RecoveryName::Vegas),
    window: WindowInRecovery::Stack,
    paces: false,
    ecn: EcnFeedback::Classic,
    signal: Signal::Delay,
    departures: &[
        Departure::NarrowedByDelay,
        Departure::GrowsUnused,
        Departure::RestartsByTwo,
    ],
    params: PARAMS,
    relations: &[Relation::AtMost("alpha", "beta")],
    ops: Some(|config| Box::new(linux::Vegas::new(config))),
    build: Some(build),
};

fn build(config: &Config) -> Box<dyn CongestionControl> {
    match config.arithmetic {
        Arithmetic::Bytes | Arithmetic::Segments | Arithmetic::PerAckBytes => {
            lent(config, linux::Vegas::new(config))
        }
        Arithmetic::PerAckSegments => Box::new(ns2::Vegas::new(config)),
    }
}
