//! Scalable TCP: a fixed number of segments for each hundred acknowledged, and an eighth given up
//! at a loss, so that the time between losses does not depend on the window (Kelly 2003).
//!
//! Reacts to loss, timeouts and ECN. Response to random loss at rate p: about `a / (b p)` =
//! `0.08 / p` segments per round trip.
//!
//! Two forms: the paper's in real numbers, which is Reno up to 16 segments, and Linux's
//! (`tcp_scalable.c`), which grows as Reno up to 100 and never gives up more than an eighth.

use cclab_units::parameter::Parameter;
use cclab_units::{InKernel, Measure, Time};

use crate::gaimd::{GeneralAimd, Rule};
use crate::module::{Modular, Module, past_slow_start};
use crate::variant::{EcnFeedback, Near, Signal, Variant, WindowInRecovery};
use crate::window::SegmentWindow;
use crate::{Arithmetic, Config, CongestionControl};

const PARAMS: &[Parameter] = &[
    Parameter {
        name: "a",
        measure: Measure::Number,
        meaning: "segments added for each acknowledged one; Linux counts 1/a to a segment",
        default: 0.01,
        least: 1e-6,
        most: 1.0,
    },
    Parameter {
        name: "b",
        measure: Measure::Share,
        meaning: "share of the window given up at a loss",
        default: 0.125,
        least: 1e-3,
        most: 0.9,
    },
    Parameter {
        name: "lwnd",
        measure: Measure::Segments,
        meaning: "segments up to which the paper's form is Reno; Linux's has no such window",
        default: 16.0,
        least: 1.0,
        most: 1e6,
    },
];

/// The entry of the registry.
pub(crate) const VARIANT: Variant = Variant {
    name: "scalable",
    version: 1,
    summary: "Grows by a hundredth of what is acknowledged, gives up an eighth",
    reference: "T. Kelly, Scalable TCP, SIGCOMM CCR 33(2), 2003; Linux 6.12",
    near: &[Near::of("stcp")],
    kernel: Some(InKernel::Module {
        name: "tcp_scalable",
        symbol: "CONFIG_TCP_CONG_SCALABLE",
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
    build: Some(build),
};

fn build(config: &Config) -> Box<dyn CongestionControl> {
    let a = config.params.get("a");
    let b = config.params.get("b");
    match config.arithmetic {
        Arithmetic::Segments => Box::new(Modular::new(
            config,
            LinuxScalable {
                per_segment: (1.0 / a).round() as u64, // TCP_SCALABLE_AI_CNT
                b,
            },
        )),
        _ => Box::new(GeneralAimd::new(
            config,
            Scalable {
                a,
                b,
                lwnd: config.params.get("lwnd"),
            },
        )),
    }
}

/// The rule of the paper.
struct Scalable {
    a: f64,
    b: f64,
    lwnd: f64,
}

impl Rule for Scalable {
    fn increase(&mut self, w: f64) -> f64 {
        match w <= self.lwnd {
            true => 1.0,
            false => self.a * w,
        }
    }

    fn decrease(&mut self, w: f64) -> f64 {
        match w <= self.lwnd {
            true => 0.5,
            false => self.b,
        }
    }
}

/// The module of Linux.
struct LinuxScalable {
    per_segment: u64,
    b: f64,
}

impl Module for LinuxScalable {
    fn grow(&mut self, window: &mut SegmentWindow, acked: u64, _now: Time) {
        let left = past_slow_start(window, acked);
        if left > 0 {
            window.avoid(window.cwnd.min(self.per_segment), left);
        }
    }

    fn ssthresh(&mut self, window: &SegmentWindow, _now: Time) -> u64 {
        let given_up = (window.cwnd as f64 * self.b) as u64; // cwnd >> 3 for an eighth
        (window.cwnd - given_up).max(2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{Bench, ack, config_of, congestion};
    use crate::{Congestion, SlowStart};

    fn flow(arithmetic: Arithmetic, cwnd: u64) -> Bench<Box<dyn CongestionControl>> {
        let config = Config {
            initial_window: cwnd,
            initial_ssthresh: 2_000,
            ..config_of(&VARIANT, arithmetic, SlowStart::Plain)
        };
        Bench::new(build(&config))
    }

    #[test]
    fn linux_counts_a_hundred_to_a_segment() {
        let mut flow = flow(Arithmetic::Segments, 200_000);
        for _ in 0..49 {
            flow.ack(&ack(2_000));
        }
        assert_eq!(flow.cc.cwnd(), 200_000);
        flow.ack(&ack(2_000));
        assert_eq!(flow.cc.cwnd(), 201_000);
        // 201 >> 3 = 25.
        flow.congestion(Congestion::Loss, &congestion(150_000));
        assert_eq!((flow.cc.cwnd(), flow.cc.ssthresh()), (176_000, 176_000));
    }

    #[test]
    fn linux_is_no_slower_than_reno_in_a_small_window() {
        let mut flow = flow(Arithmetic::Segments, 10_000);
        for _ in 0..10 {
            flow.ack(&ack(1_000));
        }
        assert_eq!(flow.cc.cwnd(), 11_000);
        flow.congestion(Congestion::Ecn, &congestion(11_000));
        assert_eq!(flow.cc.cwnd(), 10_000); // 11 >> 3 = 1
        flow.congestion(Congestion::Rto, &congestion(10_000));
        assert_eq!((flow.cc.cwnd(), flow.cc.ssthresh()), (1_000, 9_000));
    }

    #[test]
    fn the_paper_grows_by_a_hundredth_of_a_segment_for_each() {
        let mut flow = flow(Arithmetic::Bytes, 200_000);
        for _ in 0..50 {
            flow.ack(&ack(2_000));
        }
        assert_eq!(flow.cc.cwnd().div_ceil(10), 20_100); // 100 segments: one more
        flow.congestion(Congestion::Loss, &congestion(201_000));
        assert_eq!(flow.cc.cwnd().div_ceil(10), 17_588); // 201 * 0.875 = 175.875
    }

    #[test]
    fn the_paper_is_reno_in_a_small_window() {
        let mut flow = flow(Arithmetic::Bytes, 16_000);
        flow.ack(&ack(1_000));
        assert_eq!(flow.cc.cwnd(), 16_062); // a sixteenth
        flow.congestion(Congestion::Loss, &congestion(16_000));
        assert_eq!(flow.cc.cwnd(), 14_054); // above 16: an eighth
        flow.congestion(Congestion::Loss, &congestion(14_000));
        assert_eq!(flow.cc.cwnd(), 7_027);
    }
}
