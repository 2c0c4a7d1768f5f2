//! BIC with a window of its own.

use cclab_units::{Stream, Time};

use crate::Config;
use crate::module::{CaState, HZ, Measured, Module, past_slow_start};
use crate::window::SegmentWindow;

/// `BICTCP_BETA_SCALE`, the one in which `beta` is expressed.
const BETA_SCALE: u64 = 1_024;
/// `BICTCP_B`: the search goes a quarter of the way.
const B: u64 = 4;
/// `ACK_RATIO_SHIFT`: segments per acknowledgement are kept in sixteenths.
const RATIO_SHIFT: u32 = 4;
/// Before the first loss: at least 5% per round trip.
const MOST_PER_STEP_BEFORE_LOSS: u64 = 20;

/// The module's state (`struct bictcp`).
pub(crate) struct Bic {
    fast_convergence: bool,
    max_increment: u64,
    low_window: u64,
    beta: u64,
    smooth_part: u64,
    search: Search,
}

/// What a timeout forgets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Search {
    /// Acknowledged segments per segment of growth.
    per_step: u64,
    last_max_cwnd: u64,
    last_cwnd: u64,
    /// When the step was last computed, in ticks.
    last_time: u64,
    /// Segments per acknowledgement, in sixteenths.
    delayed_ack: u64,
}

impl Search {
    const NEW: Search = Search {
        per_step: 0,
        last_max_cwnd: 0,
        last_cwnd: 0,
        last_time: 0,
        delayed_ack: 2 << RATIO_SHIFT,
    };
}

impl Bic {
    pub(crate) fn new(config: &Config) -> Bic {
        let whole = |name| config.params.get(name) as u64;
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
    fn update(&mut self, now: u64, cwnd: u64) {
        let Search {
            last_cwnd,
            last_time,
            ..
        } = self.search;
        if last_cwnd == cwnd && now.saturating_sub(last_time) <= HZ / 32 {
            return;
        }
        self.search.last_cwnd = cwnd;
        self.search.last_time = now;
        self.search.per_step = self.step(cwnd);
    }

    fn step(&self, cwnd: u64) -> u64 {
        if cwnd <= self.low_window {
            return cwnd;
        }
        let max = self.search.last_max_cwnd;
        let smooth = cwnd * self.smooth_part / B;
        let fastest = cwnd / self.max_increment;
        let mut per_step = if cwnd < max {
            match (max - cwnd) / B {
                distance if distance > self.max_increment => fastest,
                0 | 1 => smooth,
                distance => cwnd / distance,
            }
        } else if cwnd < max + B {
            smooth
        } else if cwnd < max + self.max_increment * (B - 1) {
            cwnd * (B - 1) / (cwnd - max)
        } else {
            fastest
        };
        if max == 0 {
            per_step = per_step.min(MOST_PER_STEP_BEFORE_LOSS);
        }
        // An acknowledgement covers several segments, and the step was made for one each.
        ((per_step << RATIO_SHIFT) / self.search.delayed_ack).max(1)
    }
}

impl Module for Bic {
    /// A moving mean over 16 acknowledgements.
    fn on_measured(&mut self, measured: &Measured, _: &mut SegmentWindow, _: &mut Stream) {
        if measured.state == CaState::Open {
            let ratio = &mut self.search.delayed_ack;
            *ratio = *ratio - (*ratio >> RATIO_SHIFT) + measured.acked;
        }
    }

    fn grow(&mut self, window: &mut SegmentWindow, acked: u64, now: Time) {
        let left = past_slow_start(window, acked);
        if left > 0 {
            self.update(now.as_millis(), window.cwnd);
            window.avoid(self.search.per_step, left);
        }
    }

    fn ssthresh(&mut self, window: &SegmentWindow, _now: Time) -> u64 {
        let cwnd = window.cwnd;
        let made_room = self.fast_convergence && cwnd < self.search.last_max_cwnd;
        self.search.last_max_cwnd = match made_room {
            true => cwnd * (BETA_SCALE + self.beta) / (2 * BETA_SCALE),
            false => cwnd,
        };
        match cwnd <= self.low_window {
            true => window.half(),
            false => (cwnd * self.beta / BETA_SCALE).max(2),
        }
    }

    fn on_reduced(&mut self, timeout: bool, _now: Time) {
        if timeout {
            self.search = Search::NEW;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bic::VARIANT;
    use crate::module::Modular;
    use crate::tests::{Bench, ack, config_of, congestion};
    use crate::{AckSample, Arithmetic, Congestion, CongestionControl, SlowStart};

    fn module() -> Bic {
        Bic::new(&config_of(&VARIANT, Arithmetic::Segments, SlowStart::Plain))
    }

    /// Steps for acknowledgements of one segment each: twice those of two.
    fn steps(max: u64, windows: &[u64]) -> Vec<u64> {
        let mut bic = module();
        bic.search.last_max_cwnd = max;
        bic.search.delayed_ack = 1 << RATIO_SHIFT;
        windows.iter().map(|&cwnd| bic.step(cwnd)).collect()
    }

    #[test]
    fn the_search_by_hand() {
        // A loss at 1000 segments left 799. Distances to 1000, quartered: 50 (more than 16: a
        // segment per 799 / 16), 15 (940 / 15), 2 (992 / 2), 1 and 0 (20 / 4 round trips each).
        assert_eq!(
            steps(1_000, &[799, 940, 992, 996, 999]),
            [49, 62, 496, 4_980, 4_995]
        );
        // Beyond: 5 round trips a segment up to 1003, then 3 / (w - 1000), then 1 / 16.
        assert_eq!(
            steps(1_000, &[1_003, 1_004, 1_030, 1_048, 1_060]),
            [5_015, 753, 103, 65, 66]
        );
        // Reno up to 14; nothing lost yet: a segment for 20 at most.
        assert_eq!(steps(1_000, &[14]), [14]);
        assert_eq!(steps(0, &[15, 200, 400]), [15 * 3 / 15, 12, 20]);
    }

    #[test]
    fn delayed_acknowledgements_halve_the_step() {
        let mut bic = module();
        bic.search.last_max_cwnd = 1_000;
        assert_eq!(bic.step(799), 24); // 49 * 16 / 32
    }

    #[test]
    fn the_mean_of_segments_per_acknowledgement_moves_by_a_sixteenth() {
        let config = config_of(&VARIANT, Arithmetic::Segments, SlowStart::Plain);
        let mut flow = Bench::new(Modular::new(&config, module()));
        flow.ack(&ack(1_000));
        assert_eq!(flow.cc.module.search.delayed_ack, 32 - 2 + 1);
        flow.ack(&AckSample {
            in_recovery: true,
            ..ack(9_000)
        });
        assert_eq!(flow.cc.module.search.delayed_ack, 31);
    }

    #[test]
    fn a_loss_keeps_four_fifths_and_a_timeout_forgets() {
        let config = config_of(&VARIANT, Arithmetic::Segments, SlowStart::Plain);
        let mut flow = Bench::new(Modular::new(&config, module()));
        flow.cc.stack.window.cwnd = 1_000;
        flow.congestion(Congestion::Loss, &congestion(0));
        // 1000 * 819 / 1024 = 799.
        assert_eq!((flow.cc.cwnd(), flow.cc.ssthresh()), (799_000, 799_000));
        assert_eq!(flow.cc.module.search.last_max_cwnd, 1_000);
        // Step 49 * 16 / 32 = 24.
        for _ in 0..23 {
            flow.ack(&ack(1_000));
        }
        assert_eq!(flow.cc.cwnd(), 799_000);
        flow.ack(&ack(1_000));
        assert_eq!(flow.cc.cwnd(), 800_000);
        // Below the maximum: 800 * 1843 / 2048 = 719; 800 * 819 / 1024 = 639.
        flow.congestion(Congestion::Loss, &congestion(0));
        assert_eq!(flow.cc.module.search.last_max_cwnd, 719);
        assert_eq!(flow.cc.cwnd(), 639_000);
        flow.congestion(Congestion::Rto, &congestion(0));
        assert_eq!((flow.cc.cwnd(), flow.cc.ssthresh()), (1_000, 511_000));
        assert_eq!(flow.cc.module.search, Search::NEW);
        // A small window is Reno's.
        flow.cc.stack.window.cwnd = 14;
        flow.congestion(Congestion::Loss, &congestion(0));
        assert_eq!(flow.cc.cwnd(), 7_000);
    }

    /// `bictcp_update`: for the same window the step is computed anew after a 32nd of a second.
    #[test]
    fn the_step_of_a_window_holds_for_31_ticks() {
        let mut bic = module();
        bic.search.last_max_cwnd = 1_000;
        let mut after = |now, cwnd, delayed_ack| {
            bic.search.delayed_ack = delayed_ack;
            bic.update(now, cwnd);
            bic.search.per_step
        };
        assert_eq!(after(100, 799, 32), 24);
        assert_eq!(after(131, 799, 16), 24);
        assert_eq!(after(132, 799, 16), 49);
        assert_eq!(after(133, 800, 32), 25); // another window: 800 / 16 * 16 / 32
    }
}
