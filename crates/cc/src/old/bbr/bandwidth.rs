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

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(delivered: u64, prior_delivered: u64, app_limited: bool) -> RateOfAck {
        RateOfAck {
            delivered,
            interval: 100_000,
            prior_delivered,
            app_limited,
        }
    }

    #[test]
    fn a_round_ends_with_the_first_segment_sent_after_it_began() {
        let mut bandwidth = Bandwidth::default();
        bandwidth.begin_round(5_000);
        assert!(!bandwidth.count_round(&rate(1, 4_999, false), 9_000));
        assert_eq!((bandwidth.next_round, bandwidth.rounds), (5_000, 0));
        assert!(bandwidth.count_round(&rate(1, 5_000, false), 9_000));
        assert_eq!((bandwidth.next_round, bandwidth.rounds), (9_000, 1));
        assert!(!bandwidth.count_round(&rate(1, 8_999, false), 9_500));
    }

    /// 100 segments in 100 ms are floor(2^24 / 1000) = 16777.
    #[test]
    fn what_the_application_limited_counts_if_it_is_no_less() {
        let mut bandwidth = Bandwidth::default();
        let mut after = |segments, app_limited| {
            bandwidth.take(10, &rate(segments, 0, app_limited));
            bandwidth.rounds += 1;
            bandwidth.max()
        };
        assert_eq!(after(100, false), 16_777);
        for _ in 0..8 {
            assert_eq!(after(99, true), 16_777);
        }
        assert_eq!(after(100, true), 16_777); // seen again in round 9
        for _ in 10..=19 {
            assert_eq!(after(50, true), 16_777);
        }
        assert_eq!(after(200, true), 33_554);
        for _ in 0..10 {
            assert_eq!(after(50, false), 33_554);
        }
        assert_eq!(after(50, false), 8_388);
    }
}
