//! Scalable TCP: a fixed number of segments for each hundred acknowledged, and an eighth given up
//! at a loss, so that the time between losses does not depend on the window (Kelly 2003).
//!
//! Reacts to loss, timeouts and ECN. Response to random loss at rate p: about `a / (b p)` =
//! `0.08 / p` segments per round trip.
//!
//! Two forms: the paper's in real numbers, which is Reno up to 16 segments, and Linux's
//! (`tcp_scalable.c`), which grows as Reno up to 100 and never gives up more than an eighth.

use cclab_interface::{CongestionOps, Tcp};
use cclab_units::parameter::Parameter;
use cclab_units::{InKernel, Measure};

use crate::gaimd::{GeneralAimd, Rule};
use crate::lent::lent;
use crate::variant::{EcnFeedback, Near, Signal, Variant, WindowInRecovery};
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
    version: 2,
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
    ops: Some(|config| Box::new(LinuxScalable::new(config))),
    build: Some(build),
};

fn build(config: &Config) -> Box<dyn CongestionControl> {
    let a = config.params.get("a");
    let b = config.params.get("b");
    match config.arithmetic {
        Arithmetic::Segments => lent(config, LinuxScalable::new(config)),
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

/// The module of Linux (`tcp_scalable.c`).
struct LinuxScalable {
    /// Acknowledged segments per one of growth (`TCP_SCALABLE_AI_CNT`).
    per_segment: u32,
    /// The share given up; an eighth is `>> TCP_SCALABLE_MD_SCALE`.
    b: f64,
}

impl LinuxScalable {
    fn new(config: &Config) -> LinuxScalable {
        LinuxScalable {
            per_segment: (1.0 / config.params.get("a")).round() as u32,
            b: config.params.get("b"),
        }
    }
}

impl CongestionOps for LinuxScalable {
    fn ssthresh(&mut self, tcp: &mut Tcp) -> u32 {
        let given_up = (f64::from(tcp.snd_cwnd) * self.b) as u32;
        (tcp.snd_cwnd - given_up).max(2)
    }

    fn cong_avoid(&mut self, tcp: &mut Tcp, _ack: u32, mut acked: u32) {
        if !tcp.is_cwnd_limited() {
            return;
        }
        if tcp.in_slow_start() {
            acked = tcp.slow_start(acked);
            if acked == 0 {
                return;
            }
        }
        tcp.cong_avoid_ai(tcp.snd_cwnd.min(self.per_segment), acked);
    }
}

#[cfg(test)]
mod tests {
    use cclab_units::parameter::Params;

    use super::*;
    use crate::tests::{Bench, ack, config_of, congestion, lent};
    use crate::{Congestion, SlowStart};

    fn flow(arithmetic: Arithmetic, cwnd: u64) -> Bench<Box<dyn CongestionControl>> {
        let config = Config {
            initial_window: cwnd,
            initial_ssthresh: 2_000,
            ..config_of(&VARIANT, arithmetic, SlowStart::Plain)
        };
        Bench::new(build(&config))
    }

    fn module(given: &[(&str, f64)]) -> LinuxScalable {
        let given = given.iter().map(|(n, v)| ((*n).to_owned(), *v)).collect();
        LinuxScalable::new(&Config {
            params: Params::new(PARAMS, &given).expect("in range"),
            ..config_of(&VARIANT, Arithmetic::Segments, SlowStart::Plain)
        })
    }

    #[test]
    fn linux_counts_a_hundred_to_a_segment() {
        let mut module = module(&[]);
        let mut tcp = lent(200, 2);
        for _ in 0..49 {
            module.cong_avoid(&mut tcp, 0, 2);
        }
        assert_eq!((tcp.snd_cwnd, tcp.snd_cwnd_cnt), (200, 98));
        module.cong_avoid(&mut tcp, 0, 2);
        assert_eq!((tcp.snd_cwnd, tcp.snd_cwnd_cnt), (201, 0));
        tcp.is_cwnd_limited = 0;
        module.cong_avoid(&mut tcp, 0, 100);
        assert_eq!((tcp.snd_cwnd, tcp.snd_cwnd_cnt), (201, 0));
    }

    /// Below a hundred segments the window itself is counted; slow start leaves 3 of 5.
    #[test]
    fn linux_is_no_slower_than_reno_in_a_small_window() {
        let mut module = module(&[]);
        let mut tcp = lent(8, 10);
        module.cong_avoid(&mut tcp, 0, 5);
        assert_eq!((tcp.snd_cwnd, tcp.snd_cwnd_cnt), (10, 3));
        module.cong_avoid(&mut tcp, 0, 7);
        assert_eq!((tcp.snd_cwnd, tcp.snd_cwnd_cnt), (11, 0));
    }

    /// 201 >> 3 = 25, 15 >> 3 = 1, 7 >> 3 = 0; two remain at least.
    #[test]
    fn linux_gives_up_an_eighth_and_undo_takes_the_larger_window() {
        let mut module = module(&[]);
        for (cwnd, left) in [(201, 176), (15, 14), (7, 7), (1, 2)] {
            assert_eq!(module.ssthresh(&mut lent(cwnd, 2)), left, "{cwnd}");
        }
        let mut tcp = lent(176, 176);
        tcp.prior_cwnd = 201;
        assert_eq!(module.undo_cwnd(&mut tcp), 201);
        tcp.snd_cwnd = 202;
        assert_eq!(module.undo_cwnd(&mut tcp), 202);
    }

    /// An `a` of 0.02 counts 50 to a segment; a `b` of 0.25 leaves 75 of 100.
    #[test]
    fn parameters_set_both_of_linuxs_constants() {
        let mut module = module(&[("a", 0.02), ("b", 0.25)]);
        let mut tcp = lent(100, 2);
        module.cong_avoid(&mut tcp, 0, 50);
        assert_eq!(tcp.snd_cwnd, 101);
        assert_eq!(module.ssthresh(&mut lent(100, 2)), 75);
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
