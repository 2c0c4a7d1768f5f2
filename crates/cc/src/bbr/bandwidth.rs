//! The bottleneck bandwidth: rounds counted by packets, and the largest delivery rate of ten.

use super::{BW_UNIT, Bbr, RateOfAck, Sample};
use crate::Cx;
use crate::windowed_max::WindowedMax;

/// Rounds and the filter over them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bandwidth {
    filter: WindowedMax,
    /// Rounds so far (`rtt_cnt`).
    rounds: u64,
    /// Bytes delivered when the round began: it ends with the first segment sent after.
    next_round: u64,
    /// Whether this acknowledgement began a round.
    pub(super) round_start: bool,
}

impl Bandwidth {
    /// Largest recent delivery rate; zero before the first.
    pub(super) fn max(&self) -> u64 {
        self.filter.get()
    }

    /// A round begins where `delivered` bytes are.
    pub(super) fn begin_round(&mut self, delivered: u64) {
        self.next_round = delivered;
    }

    fn count_round(&mut self, rate: &RateOfAck, delivered: u64) -> bool {
        self.round_start = rate.prior_delivered >= self.next_round;
        if self.round_start {
            self.next_round = delivered;
            self.rounds += 1;
        }
        self.round_start
    }

    /// A sample that the application limited shows less than the path has, unless it is more
    /// than what is known.
    fn take(&mut self, window: u64, rate: &RateOfAck) {
        let bw = rate.delivered.saturating_mul(BW_UNIT) / rate.interval;
        if !rate.app_limited || bw >= self.max() {
            self.filter.update(window, self.rounds, bw);
        }
    }
}

impl Bbr {
    /// `bbr_update_bw`.
    pub(super) fn update_bandwidth(&mut self, sample: &Sample, cx: &mut Cx<'_>) {
        self.bandwidth.round_start = false;
        let Some(rate) = sample.rate else { return };
        if self.bandwidth.count_round(&rate, sample.delivered) {
            self.recovery.on_round();
        }
        self.sample_policer(sample, rate.app_limited, cx);
        self.bandwidth.take(self.constants.bw_rtts, &rate);
    }
}
