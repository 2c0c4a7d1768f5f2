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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::old::bbr::RateOfAck;
    use crate::old::bbr::tests::Path;

    /// A flow at a segment a millisecond, whose epoch begins at a second.
    fn aggregating() -> Bbr {
        let mut bbr = Path::in_probe_bw().flow.cc;
        bbr.aggregation = Aggregation::default();
        bbr.aggregation.restart(1_000_000);
        bbr.bandwidth.round_start = false;
        bbr
    }

    fn delivered(bbr: &mut Bbr, millis: u64, acked: u64) -> (u64, [u64; 2]) {
        bbr.update_aggregation(&Sample {
            now: 1_000_000 + 1_000 * millis,
            acked,
            rate: Some(RateOfAck {
                delivered: 100,
                interval: 100_000,
                prior_delivered: 0,
                app_limited: false,
            }),
            ..Sample::default()
        });
        (bbr.aggregation.acked, bbr.aggregation.extra)
    }

    /// `bbr_update_ack_aggregation` by hand: 16777 / 2^24 a microsecond let 4.99 segments come in 5 ms.
    #[test]
    fn what_is_above_the_rate_since_the_epoch_began_is_extra() {
        let mut bbr = aggregating();
        assert_eq!(delivered(&mut bbr, 0, 10), (10, [10, 0]));
        assert_eq!(delivered(&mut bbr, 5, 10), (20, [16, 0]));
        // 29 of 30 ms, more than the 20 that came: an epoch begins.
        assert_eq!(delivered(&mut bbr, 30, 3), (3, [16, 0]));
        assert_eq!(delivered(&mut bbr, 30, 0), (3, [16, 0]));
        assert_eq!(bbr.aggregation.began, 1_030_000);
        assert_eq!(delivered(&mut bbr, 33, 17), (20, [18, 0]));
        bbr.cwnd = 19;
        assert_eq!(delivered(&mut bbr, 33, 80), (100, [19, 0]));
        let without = Sample {
            now: 2_000_000,
            acked: 50,
            ..Sample::default()
        };
        bbr.update_aggregation(&without);
        assert_eq!(bbr.aggregation.acked, 100);
    }

    /// `bbr_ack_epoch_acked_reset_thresh`: 2^20 segments are too many to count.
    #[test]
    fn an_epoch_ends_before_its_count_overflows() {
        let mut bbr = aggregating();
        bbr.aggregation.acked = LONG_EPOCH - 5;
        assert_eq!(delivered(&mut bbr, 1, 4).0, LONG_EPOCH - 1);
        assert_eq!(delivered(&mut bbr, 1, 1).0, 1);
    }

    /// Two maxima, of five rounds each; the window takes the larger, up to 100 ms of the rate.
    #[test]
    fn a_maximum_lasts_five_to_ten_rounds() {
        let mut bbr = aggregating();
        bbr.bandwidth.round_start = true;
        delivered(&mut bbr, 0, 20);
        let mut extra = |round: u64, acked| {
            bbr.bandwidth.round_start = true;
            bbr.aggregation.restart(1_000_000 + 100_000 * round);
            delivered(&mut bbr, 100 * round, acked).1
        };
        for round in 2..=4 {
            assert_eq!(extra(round, 1), [20, 0]);
        }
        for round in 5..=9 {
            assert_eq!(extra(round, 7), [20, 7]);
        }
        assert_eq!(extra(10, 1), [1, 7]);
        assert_eq!(bbr.extra_window(), 7);
        bbr.aggregation.extra = [5, 200];
        assert_eq!(bbr.extra_window(), 99);
        bbr.pipe = crate::old::bbr::startup::Pipe::default();
        assert_eq!(bbr.extra_window(), 0, "not before the pipe was full");
    }
}
