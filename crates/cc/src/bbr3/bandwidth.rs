//! Rounds counted by packets (5.5.1), and the largest delivery rate of this cycle and the one before
//! (5.5.2 to 5.5.6).

use super::{Bbr3, Delivery, Sample};

/// Rounds and the filter over cycles.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bandwidth {
    /// Largest rates of the cycle before and of this one, in bytes per second (`MaxBwFilterLen` 2).
    cycles: [f64; 2],
    /// `BBR.round_count`.
    pub(super) rounds: u64,
    /// Bytes delivered when the round began (`next_round_delivered`).
    next_round: u64,
    /// Whether this acknowledgement began a round.
    pub(super) round_start: bool,
}

impl Bandwidth {
    /// `BBR.max_bw`.
    pub(super) fn max(&self) -> f64 {
        self.cycles[0].max(self.cycles[1])
    }

    pub(super) fn start_round(&mut self, delivered: u64) {
        self.next_round = delivered;
    }

    /// `AdvanceMaxBwFilter`; a cycle without a sample leaves what there is.
    pub(super) fn advance_cycle(&mut self) {
        if self.cycles[1] > 0.0 {
            self.cycles = [self.cycles[1], 0.0];
        }
    }

    pub(super) fn take(&mut self, rate: &Delivery) {
        if rate.rate > 0.0 && (rate.rate >= self.max() || !rate.app_limited) {
            self.cycles[1] = self.cycles[1].max(rate.rate);
        }
    }
}

impl Bbr3 {
    /// `UpdateMaxBw` with `UpdateRound`.
    pub(super) fn update_max_bw(&mut self, sample: &Sample) {
        let bandwidth = &mut self.bandwidth;
        bandwidth.round_start = false;
        let Some(rate) = sample.rate else { return };
        if rate.prior_delivered >= bandwidth.next_round {
            bandwidth.start_round(sample.delivered);
            bandwidth.rounds += 1;
            bandwidth.round_start = true;
            self.cycle.on_round();
        }
        if !self.resuming.is_tainted() {
            self.bandwidth.take(&rate);
        }
    }
}
