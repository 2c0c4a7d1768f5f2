//! Unresponsive: a flow that ignores congestion (RFC 2309 and RFC 7567 section 3 call such flows
//! unresponsive). What another variant of the same place must not be like, and what queues must hold.
//!
//! Segments are paced at a fixed rate, in a fixed window, and nothing reduces either: no loss, no mark,
//! no timeout. TCP still repairs what is lost, and doubles its timer.

use cclab_units::parameter::Parameter;
use cclab_units::{Measure, Rate, Time};

use crate::variant::{Departure, EcnFeedback, RecoveryName, Signal, Variant, WindowInRecovery};
use crate::{AckSample, Config, Congestion, CongestionControl, CongestionSample, Cx};

const PARAMS: &[Parameter] = &[
    Parameter {
        name: "window",
        measure: Measure::Segments,
        meaning: "segments in flight at most",
        default: 4_000.0,
        least: 1.0,
        most: 1e6,
    },
    Parameter {
        name: "rate",
        measure: Measure::Rate,
        meaning: "bits of payload per second at which they leave",
        default: 40e6,
        least: 1_000.0,
        most: 1e12,
    },
];

/// The entry of the registry.
pub(crate) const VARIANT: Variant = Variant {
    name: "unresponsive",
    version: 1,
    summary: "a fixed rate, within a fixed window: ignores congestion",
    reference: "RFC 7567 section 3",
    near: &[],
    kernel: None,
    recovery: Some(RecoveryName::Sack),
    params: PARAMS,
    window: WindowInRecovery::Own,
    paces: true,
    ecn: EcnFeedback::Classic,
    signal: Signal::Model,
    departures: &[Departure::SlowerSlowStart],
    relations: &[],
    ops: None,
    build: Some(|config| Box::new(Unresponsive::new(config))),
};

struct Unresponsive {
    /// The stack's initial window until the connection is there.
    window: u64,
    fixed: u64,
    /// What it began with: it has no slow start to end.
    ssthresh: u64,
    rate: u64,
}

impl Unresponsive {
    fn new(config: &Config) -> Unresponsive {
        Unresponsive {
            window: config.initial_window,
            fixed: config.params.get("window") as u64 * config.mss,
            ssthresh: config.initial_ssthresh,
            rate: config.params.get("rate") as u64,
        }
    }
}

impl CongestionControl for Unresponsive {
    fn on_established(&mut self, _: Option<Time>, _: &mut Cx<'_>) {
        self.window = self.fixed;
    }
    fn on_ack(&mut self, _: &AckSample, _: &mut Cx<'_>) {}
    fn on_congestion(&mut self, _: Congestion, _: &CongestionSample, _: &mut Cx<'_>) {}
    fn on_undo(&mut self, _: &mut Cx<'_>) {}
    fn cwnd(&self) -> u64 {
        self.window
    }
    fn ssthresh(&self) -> u64 {
        self.ssthresh
    }
    fn pacing_rate(&self) -> Option<Rate> {
        Rate::from_bps(self.rate)
    }
}
