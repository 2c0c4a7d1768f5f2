//! Acknowledgements that come in bursts: what is delivered above the model's rate is added to the
//! window, so that sending goes on through the silence after a burst.

use cclab_interface::{RateSample, Tcp};
use cclab_units::hint::{rarely, unlikely};

use super::{BW_UNIT, Bbr};

/// Rounds after which the older of two maxima goes (`bbr_extra_acked_win_rtts`).
const WINDOW: u32 = 5;
/// Segments after which an epoch is too old (`bbr_ack_epoch_acked_reset_thresh`).
const LONG_EPOCH: u32 = 1 << 20;
/// The most that is added, in microseconds of bandwidth (`bbr_extra_acked_max_us`).
const MOST_MICROS: u64 = 100_000;

/// The estimator.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Aggregation {
    /// When the epoch began, in microseconds, and segments delivered since.
    began: u64,
    acked: u32,
    /// The largest excess of the last five rounds and of the five before, 16 bits each.
    extra: [u16; 2],
    index: usize,
    rounds: u32,
}

impl Aggregation {
    /// An epoch begins.
    pub(super) fn restart(&mut self, now: u64) {
        self.began = now;
        self.acked = 0;
    }

    /// The largest excess, in segments.
    pub(super) fn extra(&self) -> u16 {
        let [first, second] = self.extra;
        first.max(second)
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

/// Microseconds from `earlier` to `now`, none below zero, of which 32 bits stay
/// (`tcp_stamp_us_delta`).
pub(super) fn micros_between(now: u64, earlier: u64) -> u32 {
    (now.wrapping_sub(earlier) as i64).max(0) as u32
}

impl Bbr {
    /// `bbr_update_ack_aggregation`.
    pub(super) fn update_aggregation(&mut self, tcp: &Tcp, sample: &RateSample) {
        if sample.acked_sacked == 0 || sample.delivered < 0 || sample.interval_us <= 0 {
            rarely();
            return;
        }
        let bw = self.bw();
        let aggregation = &mut self.aggregation;
        if unlikely(self.bandwidth.round_start) {
            aggregation.on_round();
        }
        let passed = micros_between(tcp.delivered_mstamp, aggregation.began);
        let mut expected = (u64::from(bw) * u64::from(passed) / BW_UNIT) as u32;
        let acked = aggregation.acked.wrapping_add(sample.acked_sacked);
        if aggregation.acked <= expected || acked >= LONG_EPOCH {
            aggregation.restart(tcp.delivered_mstamp);
            expected = 0;
        }
        let acked = aggregation.acked.wrapping_add(sample.acked_sacked);
        aggregation.acked = acked.min(LONG_EPOCH - 1);
        let extra = (aggregation.acked.wrapping_sub(expected)).min(tcp.snd_cwnd);
        let slot = &mut aggregation.extra[aggregation.index];
        if extra > u32::from(*slot) {
            *slot = extra as u16;
        }
    }

    /// `bbr_ack_aggregation_cwnd`: segments that the window grows by.
    pub(super) fn extra_window(&self) -> u32 {
        if !self.pipe.is_full() {
            return 0;
        }
        let most = (u64::from(self.bw()) * MOST_MICROS / BW_UNIT) as u32;
        u32::from(self.aggregation.extra()).min(most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bbr::tests::Path;

    /// A flow at a segment a millisecond, whose epoch begins at a second.
    fn aggregating() -> Path {
        let mut path = Path::in_probe_bw();
        path.bbr.aggregation = Aggregation::default();
        path.bbr.aggregation.restart(1_000_000);
        path.bbr.bandwidth.round_start = false;
        path.tcp.snd_cwnd = 300;
        path
    }

    fn delivered(path: &mut Path, millis: u64, acked: u32) -> (u32, [u16; 2]) {
        path.tcp.delivered_mstamp = 1_000_000 + 1_000 * millis;
        let sample = RateSample {
            acked_sacked: acked,
            delivered: 100,
            interval_us: 100_000,
            ..RateSample::default()
        };
        path.bbr.update_aggregation(&path.tcp, &sample);
        (path.bbr.aggregation.acked, path.bbr.aggregation.extra)
    }

    /// 16777 / 2^24 a microsecond let 4.99 segments come in 5 ms.
    #[test]
    fn what_is_above_the_rate_since_the_epoch_began_is_extra() {
        let mut path = aggregating();
        assert_eq!(delivered(&mut path, 0, 10), (10, [10, 0]));
        assert_eq!(delivered(&mut path, 5, 10), (20, [16, 0]));
        // 29 of 30 ms, more than the 20 that came: an epoch begins.
        assert_eq!(delivered(&mut path, 30, 3), (3, [16, 0]));
        assert_eq!(delivered(&mut path, 30, 0), (3, [16, 0]));
        assert_eq!(path.bbr.aggregation.began, 1_030_000);
        assert_eq!(delivered(&mut path, 33, 17), (20, [18, 0]));
        path.tcp.snd_cwnd = 19;
        assert_eq!(delivered(&mut path, 33, 80), (100, [19, 0]));
        for (delivered, interval_us) in [(-1, 1_000), (9, 0), (9, -1)] {
            let invalid = RateSample {
                acked_sacked: 50,
                delivered,
                interval_us,
                ..RateSample::default()
            };
            path.bbr.update_aggregation(&path.tcp, &invalid);
            assert_eq!(path.bbr.aggregation.acked, 100);
        }
        // A window of 2^16 + 20 keeps 20 of 2^16 + 20 extra.
        path.tcp.snd_cwnd = (1 << 16) + 20;
        assert_eq!(delivered(&mut path, 33, 1 << 17).1, [20, 0]);
    }

    /// 2^20 segments are too many to count.
    #[test]
    fn an_epoch_ends_before_its_count_overflows() {
        let mut path = aggregating();
        path.bbr.aggregation.acked = LONG_EPOCH - 5;
        assert_eq!(delivered(&mut path, 1, 4).0, LONG_EPOCH - 1);
        assert_eq!(delivered(&mut path, 1, 1).0, 1);
        assert_eq!(delivered(&mut path, 1, LONG_EPOCH + 7).0, LONG_EPOCH - 1);
    }

    /// Two maxima, of five rounds each; the window takes the larger, up to 100 ms of the rate.
    #[test]
    fn a_maximum_lasts_five_to_ten_rounds() {
        let mut path = aggregating();
        path.bbr.bandwidth.round_start = true;
        delivered(&mut path, 0, 20);
        let mut extra = |round: u64, acked| {
            path.bbr.aggregation.restart(1_000_000 + 100_000 * round);
            delivered(&mut path, 100 * round, acked).1
        };
        for round in 2..=4 {
            assert_eq!(extra(round, 1), [20, 0]);
        }
        for round in 5..=9 {
            assert_eq!(extra(round, 7), [20, 7]);
        }
        assert_eq!(extra(10, 1), [1, 7]);
        assert_eq!(path.bbr.extra_window(), 7);
        path.bbr.aggregation.extra = [5, 200];
        assert_eq!(path.bbr.extra_window(), 99);
        path.bbr.pipe = crate::bbr::startup::Pipe::default();
        assert_eq!(path.bbr.extra_window(), 0, "not before the pipe was full");
    }

    #[test]
    fn time_does_not_run_backwards() {
        assert_eq!(micros_between(7, 5), 2);
        assert_eq!(micros_between(5, 7), 0);
        assert_eq!(micros_between((1 << 32) + 3, 0), 3);
    }
}
