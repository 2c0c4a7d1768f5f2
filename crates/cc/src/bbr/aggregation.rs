//! Acknowledgements that come in bursts: what is delivered above the model's rate is added to the
//! window, so that sending goes on through the silence after a burst.

use super::{BW_UNIT, Bbr, Sample};

/// Rounds after which the older of two maxima goes (`bbr_extra_acked_win_rtts`).
const WINDOW: u64 = 5;
/// Segments after which an epoch is too old (`bbr_ack_epoch_acked_reset_thresh`).
const LONG_EPOCH: u64 = 1 << 20;
/// The most that is added, in microseconds of bandwidth (`bbr_extra_acked_max_us`).
const MOST_MICROS: u64 = 100_000;

/// The estimator.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Aggregation {
    /// When the epoch began, in microseconds, and segments delivered since.
    began: u64,
    acked: u64,
    /// The largest excess of the last five rounds and of the five before.
    extra: [u64; 2],
    index: usize,
    rounds: u64,
}

impl Aggregation {
    /// An epoch begins.
    pub(super) fn restart(&mut self, now: u64) {
        self.began = now;
        self.acked = 0;
    }

    fn on_round(&mut self) {
        self.rounds += 1;
        if self.rounds >= WINDOW {
            self.rounds = 0;
            self.index = 1 - self.index;
            self.extra[self.index] = 0;
        }
    }
}

impl Bbr {
    /// `bbr_update_ack_aggregation`.
    pub(super) fn update_aggregation(&mut self, sample: &Sample) {
        if sample.acked == 0 || sample.rate.is_none() {
            return;
        }
        let bw = self.bw();
        let aggregation = &mut self.aggregation;
        if self.bandwidth.round_start {
            aggregation.on_round();
        }
        let passed = sample.now - aggregation.began;
        let mut expected = bw.saturating_mul(passed) / BW_UNIT;
        if aggregation.acked <= expected || aggregation.acked + sample.acked >= LONG_EPOCH {
            aggregation.restart(sample.now);
            expected = 0;
        }
        aggregation.acked = (aggregation.acked + sample.acked).min(LONG_EPOCH - 1);
        let extra = (aggregation.acked - expected).min(self.cwnd);
        let slot = &mut aggregation.extra[aggregation.index];
        *slot = (*slot).max(extra);
    }

    /// `bbr_ack_aggregation_cwnd`: segments that the window grows by.
    pub(super) fn extra_window(&self) -> u64 {
        if !self.pipe.is_full() {
            return 0;
        }
        let [first, second] = self.aggregation.extra;
        let most = self.bw().saturating_mul(MOST_MICROS) / BW_UNIT;
        first.max(second).min(most)
    }
}
