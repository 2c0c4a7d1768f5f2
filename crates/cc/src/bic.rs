//! BIC: after a loss the window searches, by halves, for the one between what was lost at and
//! what it fell to, and probes beyond ever faster (Xu, Harfoush and Rhee 2004).
//!
//! Reacts to loss, timeouts and ECN. One form on every stack: Linux 6.12's (`tcp_bic.c`).

use cclab_interface::{AckSample, CaState, CongestionOps, HZ, Tcp};
use cclab_units::parameter::Parameter;
use cclab_units::{InKernel, Measure};

use crate::Config;
use crate::lent::lent;
use crate::variant::{EcnFeedback, Signal, Variant, WindowInRecovery};

/// `BICTCP_BETA_SCALE`, the one in which `beta` is expressed.
const BETA_SCALE: u32 = 1_024;
/// `BICTCP_B`: the search goes a quarter of the way.
const B: u32 = 4;
/// `ACK_RATIO_SHIFT`: segments per acknowledgement are kept in sixteenths.
const ACK_RATIO_SHIFT: u32 = 4;
/// Before the first loss: at least 5% per round trip.
const MOST_PER_STEP_BEFORE_LOSS: u32 = 20;

const PARAMS: &[Parameter] = &[
    Parameter {
        name: "fast_convergence",
        measure: Measure::Switch,
        meaning: "whether a loss below the last maximum lowers that",
        default: 1.0,
        least: 0.0,
        most: 1.0,
    },
    Parameter {
        name: "max_increment",
        measure: Measure::Segments,
        meaning: "segments added per round trip at most",
        default: 16.0,
        least: 1.0,
        most: 1e6,
    },
    Parameter {
        name: "low_window",
        measure: Measure::Segments,
        meaning: "segments up to which it is Reno",
        default: 14.0,
        least: 0.0,
        most: 1e6,
    },
    Parameter {
        name: "beta",
        measure: Measure::Whole,
        meaning: "what remains of the window at a loss, in 1024ths",
        default: 819.0,
        least: 1.0,
        most: 1_023.0,
    },
    Parameter {
        name: "smooth_part",
        measure: Measure::Whole,
        meaning: "round trips for four segments near the maximum",
        default: 20.0,
        least: 1.0,
        most: 1e6,
    },
];

/// The entry of the registry.
pub(crate) const VARIANT: Variant = Variant {
    name: "bic",
    version: 2,
    summary: "A binary search for the window that lost, then an ever faster probe beyond",
    reference: "L. Xu, K. Harfoush, I. Rhee, INFOCOM 2004; Linux 6.12",
    near: &[],
    kernel: Some(InKernel::Module {
        name: "tcp_bic",
        symbol: "CONFIG_TCP_CONG_BIC",
    }),
    recovery: None,
    params: PARAMS,
    window: WindowInRecovery::Stack,
    paces: false,
    ecn: EcnFeedback::Classic,
    signal: Signal::Losses,
    departures: &[],
    relations: &[],
    ops: Some(|config| Box::new(Bic::new(config))),
    build: Some(|config| lent(config, Bic::new(config))),
};

/// The module at one flow, in the kernel's widths: what wraps there wraps here.
struct Bic {
    fast_convergence: bool,
    max_increment: u32,
    low_window: u32,
    beta: u32,
    smooth_part: u32,
    search: Search,
}

/// `struct bictcp`: what a timeout forgets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Search {
    /// Acknowledged segments per segment of growth.
    cnt: u32,
    last_max_cwnd: u32,
    last_cwnd: u32,
    /// When the step was last computed, in ticks.
    last_time: u32,
    /// Segments per acknowledgement, in sixteenths.
    delayed_ack: u32,
}

impl Search {
    /// `bictcp_reset`.
    const NEW: Search = Search {
        cnt: 0,
        last_max_cwnd: 0,
        last_cwnd: 0,
        last_time: 0,
        delayed_ack: 2 << ACK_RATIO_SHIFT,
    };
}

impl Bic {
    fn new(config: &Config) -> Bic {
        let whole = |name| config.params.get(name) as u32;
        Bic {
            fast_convergence: whole("fast_convergence") != 0,
            max_increment: whole("max_increment"),
            low_window: whole("low_window"),
            beta: whole("beta"),
            smooth_part: whole("smooth_part"),
            search: Search::NEW,
        }
    }

    /// `bictcp_update`: how many acknowledged segments are worth one of growth.
    fn update(&mut self, now: u32, cwnd: u32) {
        let since = now.wrapping_sub(self.search.last_time) as i32;
        if self.search.last_cwnd == cwnd && since <= (HZ / 32) as i32 {
            return;
        }
        self.search.last_cwnd = cwnd;
        self.search.last_time = now;
        self.search.cnt = self.step(cwnd);
    }

    fn step(&self, cwnd: u32) -> u32 {
        if cwnd <= self.low_window {
            return cwnd;
        }
        let max = self.search.last_max_cwnd;
        let smooth = cwnd.wrapping_mul(self.smooth_part) / B;
        let fastest = cwnd / self.max_increment;
        let mut cnt = if cwnd < max {
            match (max - cwnd) / B {
                distance if distance > self.max_increment => fastest,
                0 | 1 => smooth,
                distance => cwnd / distance,
            }
        } else if cwnd < max.wrapping_add(B) {
            smooth
        } else if cwnd < max.wrapping_add(self.max_increment * (B - 1)) {
            cwnd.wrapping_mul(B - 1) / (cwnd - max)
        } else {
            fastest
        };
        if max == 0 {
            cnt = cnt.min(MOST_PER_STEP_BEFORE_LOSS);
        }
        // An acknowledgement covers several segments, and the step was made for one each.
        ((cnt << ACK_RATIO_SHIFT) / self.search.delayed_ack).max(1)
    }
}

impl CongestionOps for Bic {
    fn init(&mut self, _tcp: &mut Tcp) {
        self.search = Search::NEW;
    }

    fn ssthresh(&mut self, tcp: &mut Tcp) -> u32 {
        let cwnd = tcp.snd_cwnd;
        let gives_room = self.fast_convergence && cwnd < self.search.last_max_cwnd;
        self.search.last_max_cwnd = match gives_room {
            true => cwnd.wrapping_mul(BETA_SCALE + self.beta) / (2 * BETA_SCALE),
            false => cwnd,
        };
        match cwnd <= self.low_window {
            true => tcp.reno_ssthresh(),
            false => (cwnd.wrapping_mul(self.beta) / BETA_SCALE).max(2),
        }
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
        self.update(tcp.jiffies32(), tcp.snd_cwnd);
        tcp.cong_avoid_ai(self.search.cnt, acked);
    }

    fn set_state(&mut self, _tcp: &mut Tcp, new: CaState) {
        if new == CaState::Loss {
            self.search = Search::NEW;
        }
    }

    /// A moving mean over 16 acknowledgements.
    fn pkts_acked(&mut self, tcp: &mut Tcp, sample: &AckSample) {
        if tcp.ca() == CaState::Open {
            let ratio = &mut self.search.delayed_ack;
            *ratio = (*ratio - (*ratio >> ACK_RATIO_SHIFT)).wrapping_add(sample.pkts_acked);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{config_with, lent};

    fn bic() -> Bic {
        Bic::new(&config_with(&VARIANT, &[]))
    }

    /// A full window past slow start.
    fn full(cwnd: u32) -> Tcp {
        Tcp {
            jiffies: 1_000,
            ..lent(cwnd, 2)
        }
    }

    /// Steps for acknowledgements of one segment each: twice those of two.
    fn steps(mut bic: Bic, max: u32, windows: &[u32]) -> Vec<u32> {
        bic.search.last_max_cwnd = max;
        bic.search.delayed_ack = 1 << ACK_RATIO_SHIFT;
        windows.iter().map(|&cwnd| bic.step(cwnd)).collect()
    }

    #[test]
    fn the_search_by_hand() {
        // A loss at 1000 segments left 799. Distances to 1000, quartered: 50 (more than 16: a
        // segment per 799 / 16), 15 (940 / 15), 2 (992 / 2), 1 and 0 (20 / 4 round trips each).
        assert_eq!(
            steps(bic(), 1_000, &[799, 940, 992, 996, 999]),
            [49, 62, 496, 4_980, 4_995]
        );
        // Beyond: 5 round trips a segment up to 1003, then 3 / (w - 1000), then 1 / 16.
        assert_eq!(
            steps(bic(), 1_000, &[1_003, 1_004, 1_030, 1_048, 1_060]),
            [5_015, 753, 103, 65, 66]
        );
        // Reno up to 14; nothing lost yet: a segment for 20 at most.
        assert_eq!(steps(bic(), 1_000, &[14]), [14]);
        assert_eq!(steps(bic(), 0, &[15, 200, 400]), [15 * 3 / 15, 12, 20]);
    }

    /// `max_increment=4 low_window=50 smooth_part=8`, at 1000: 799 / 4; Reno's 50; 999 * 8 / 4.
    #[test]
    fn the_search_obeys_its_parameters() {
        let given = [
            ("max_increment", 4.0),
            ("low_window", 50.0),
            ("smooth_part", 8.0),
        ];
        let bic = Bic::new(&config_with(&VARIANT, &given));
        assert_eq!(steps(bic, 1_000, &[799, 50, 999]), [199, 50, 1_998]);
    }

    #[test]
    fn delayed_acknowledgements_halve_the_step() {
        let mut bic = bic();
        bic.search.last_max_cwnd = 1_000;
        assert_eq!(bic.step(799), 24); // 49 * 16 / 32
        assert_eq!(bic.step(14), 14); // Reno's stays
    }

    /// 32 - 2 + 1, then 31 - 1 + 3; other states than Open tell nothing.
    #[test]
    fn the_mean_of_segments_per_acknowledgement_moves_by_a_sixteenth() {
        let (mut bic, mut tcp) = (bic(), full(10));
        let mut after = |state: CaState, pkts_acked| {
            tcp.ca_state = state as u8;
            let sample = AckSample {
                pkts_acked,
                rtt_us: -1,
                in_flight: 0,
            };
            bic.pkts_acked(&mut tcp, &sample);
            bic.search.delayed_ack
        };
        assert_eq!(after(CaState::Open, 1), 31);
        assert_eq!(after(CaState::Open, 3), 33);
        for state in [
            CaState::Disorder,
            CaState::Cwr,
            CaState::Recovery,
            CaState::Loss,
        ] {
            assert_eq!(after(state, 9), 33);
        }
    }

    #[test]
    fn growth_is_a_segment_a_step() {
        let (mut bic, mut tcp) = (bic(), full(799));
        bic.search.last_max_cwnd = 1_000;
        bic.cong_avoid(&mut tcp, 0, 23); // of 49 * 16 / 32 = 24
        assert_eq!((tcp.snd_cwnd, tcp.snd_cwnd_cnt), (799, 23));
        bic.cong_avoid(&mut tcp, 0, 1);
        assert_eq!((tcp.snd_cwnd, tcp.snd_cwnd_cnt), (800, 0));
        // Slow start hands on what passes the threshold.
        tcp.snd_ssthresh = 802;
        bic.cong_avoid(&mut tcp, 0, 5);
        assert_eq!((tcp.snd_cwnd, tcp.snd_cwnd_cnt), (802, 3));
        tcp.is_cwnd_limited = 0;
        bic.cong_avoid(&mut tcp, 0, 100);
        assert_eq!(tcp.snd_cwnd, 802);
    }

    #[test]
    fn a_loss_keeps_four_fifths_and_a_timeout_forgets() {
        let (mut bic, mut tcp) = (bic(), full(1_000));
        // 1000 * 819 / 1024 = 799.
        assert_eq!(bic.ssthresh(&mut tcp), 799);
        assert_eq!(bic.search.last_max_cwnd, 1_000);
        // Below the maximum: 800 * 1843 / 2048 = 719; 800 * 819 / 1024 = 639.
        tcp.snd_cwnd = 800;
        assert_eq!(
            (bic.ssthresh(&mut tcp), bic.search.last_max_cwnd),
            (639, 719)
        );
        bic.set_state(&mut tcp, CaState::Recovery);
        assert_eq!(bic.search.last_max_cwnd, 719);
        bic.set_state(&mut tcp, CaState::Loss);
        assert_eq!(bic.search, Search::NEW);
        // A small window is Reno's.
        let small = [15, 14, 3].map(|cwnd| {
            tcp.snd_cwnd = cwnd;
            bic.ssthresh(&mut tcp)
        });
        assert_eq!(small, [11, 7, 2]);
    }

    /// `beta=512 fast_convergence=0`: half remains, and nothing is given up.
    #[test]
    fn the_reduction_obeys_its_parameters() {
        let given = [("beta", 512.0), ("fast_convergence", 0.0)];
        let mut bic = Bic::new(&config_with(&VARIANT, &given));
        assert_eq!(bic.ssthresh(&mut full(1_000)), 500);
        assert_eq!(bic.ssthresh(&mut full(500)), 250);
        assert_eq!(bic.search.last_max_cwnd, 500);
    }

    #[test]
    fn undo_gives_the_window_back() {
        let (mut bic, mut tcp) = (bic(), full(799));
        tcp.prior_cwnd = 1_000;
        assert_eq!(bic.undo_cwnd(&mut tcp), 1_000);
    }

    /// For the same window the step is computed anew after a 32nd of a second.
    #[test]
    fn the_step_of_a_window_holds_for_31_ticks() {
        let mut bic = bic();
        bic.search.last_max_cwnd = 1_000;
        let mut after = |now: u32, cwnd, delayed_ack| {
            bic.search.delayed_ack = delayed_ack;
            bic.update(now, cwnd);
            bic.search.cnt
        };
        let start = u32::MAX - 9; // the clock's 32 bits end on the way
        assert_eq!(after(start, 799, 32), 24);
        assert_eq!(after(start.wrapping_add(31), 799, 16), 24);
        assert_eq!(after(start.wrapping_add(32), 799, 16), 49);
        assert_eq!(after(start.wrapping_add(33), 800, 32), 25); // another window: 800 / 16 * 16 / 32
    }
}
