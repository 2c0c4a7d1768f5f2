//! The bottleneck bandwidth: rounds counted by packets, and the largest delivery rate of ten.

use cclab_interface::{RateSample, Tcp, before};

use super::{BW_UNIT, Bbr};
use crate::windowed_max::WindowedMax;

/// Rounds and the filter over them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bandwidth {
    /// Of rates, 32 bits each, over rounds.
    filter: WindowedMax,
    /// Rounds so far (`rtt_cnt`).
    rounds: u32,
    /// Segments delivered when the round began: it ends with the first segment sent after
    /// (`next_rtt_delivered`).
    next_round: u32,
    /// Whether this acknowledgement began a round.
    pub(super) round_start: bool,
}

impl Bandwidth {
    /// Largest recent delivery rate; zero before the first (`bbr_max_bw`).
    pub(super) fn max(&self) -> u32 {
        self.filter.get() as u32
    }

    /// Rounds so far.
    pub(super) fn rounds(&self) -> u32 {
        self.rounds
    }

    /// A round begins where `delivered` segments are.
    pub(super) fn begin_round(&mut self, delivered: u32) {
        self.next_round = delivered;
    }

    fn count_round(&mut self, prior_delivered: u32, delivered: u32) -> bool {
        self.round_start = !before(prior_delivered, self.next_round);
        if self.round_start {
            self.next_round = delivered;
            self.rounds = self.rounds.wrapping_add(1);
        }
        self.round_start
    }

    /// A sample that the application limited shows less than the path has, unless it is no less
    /// than what is known.
    fn take(&mut self, window: u32, sample: &RateSample) {
        let bw = (sample.delivered as u64 * BW_UNIT) / sample.interval_us as u64;
        if sample.is_app_limited == 0 || bw >= u64::from(self.max()) {
            let (window, rounds) = (u64::from(window), u64::from(self.rounds));
            self.filter.update(window, rounds, u64::from(bw as u32));
        }
    }
}

impl Bbr {
    /// `bbr_update_bw`.
    pub(super) fn update_bandwidth(&mut self, tcp: &mut Tcp, sample: &RateSample) {
        self.bandwidth.round_start = false;
        if sample.delivered < 0 || sample.interval_us <= 0 {
            return;
        }
        if (self.bandwidth).count_round(sample.prior_delivered, tcp.delivered) {
            self.recovery.on_round();
        }
        self.sample_policer(tcp, sample);
        if !self.resuming.is_tainted() {
            self.bandwidth.take(self.constants.bw_rtts, sample);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bbr::tests::Path;

    #[test]
    fn a_round_ends_with_the_first_segment_sent_after_it_began() {
        let mut bandwidth = Bandwidth::default();
        bandwidth.begin_round(5_000);
        assert!(!bandwidth.count_round(4_999, 9_000));
        assert_eq!((bandwidth.next_round, bandwidth.rounds), (5_000, 0));
        assert!(bandwidth.count_round(5_000, 9_000));
        assert_eq!((bandwidth.next_round, bandwidth.rounds), (9_000, 1));
        assert!(!bandwidth.count_round(8_999, 9_500));
        // Counts wrap: 3 comes after 2^32 - 3.
        bandwidth.begin_round(u32::MAX - 2);
        assert!(bandwidth.count_round(3, 10));
    }

    /// 100 segments in 100 ms are floor(2^24 / 1000) = 16777.
    #[test]
    fn what_the_application_limited_counts_if_it_is_no_less() {
        let mut bandwidth = Bandwidth::default();
        let mut after = |segments, app_limited: bool| {
            let sample = RateSample {
                delivered: segments,
                interval_us: 100_000,
                is_app_limited: u8::from(app_limited),
                ..RateSample::default()
            };
            bandwidth.take(10, &sample);
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
        // 256 segments in a microsecond are 2^32, of which 32 bits are nothing.
        let mut fast = Bandwidth::default();
        let sample = RateSample {
            delivered: 257,
            interval_us: 1,
            ..RateSample::default()
        };
        fast.take(10, &sample);
        assert_eq!(fast.max(), 1 << 24);
    }

    #[test]
    fn a_sample_that_is_not_valid_begins_no_round() {
        for (delivered, interval_us) in [(-1, 1), (1, 0), (1, -1)] {
            let mut path = Path::in_probe_bw();
            path.round(100, |_, sample| {
                (sample.delivered, sample.interval_us) = (delivered, interval_us);
            });
            assert!(!path.bbr.bandwidth.round_start);
        }
    }
}
