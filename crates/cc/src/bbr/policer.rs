//! A policer lets bursts through and then drops all that is above its rate. Two intervals in a row
//! with many losses and about the same rate show one; for 48 rounds that rate is then the
//! bandwidth ("long-term", `lt_`, in the kernel).

use cclab_interface::{RateSample, Tcp};

use super::control::bytes_per_second;
use super::{BW_UNIT, Bbr, GAIN_SHIFT, Mode, UNIT};

/// Least rounds of an interval (`bbr_lt_intvl_min_rtts`); four times as many are too long.
const LEAST_ROUNDS: u32 = 4;
/// Lost of what was delivered, in 1/256, that make an interval lossy (`bbr_lt_loss_thresh`).
const LOSSY: u32 = 50;
/// Rates that differ by an eighth are the same (`bbr_lt_bw_ratio`).
const SAME_RATIO: u32 = UNIT / 8;
/// And so are those that differ by 4 kbit/s (`bbr_lt_bw_diff`), in bytes per second.
const SAME_DIFFERENCE: u64 = 4_000 / 8;
/// Rounds for which the rate is used (`bbr_lt_bw_max_rtts`).
const MOST_ROUNDS: u32 = 48;

/// The estimator.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Policer {
    bw: u32,
    used: bool,
    sampling: bool,
    rounds: u32,
    /// At the beginning of the interval: milliseconds, segments delivered, segments lost.
    since: (u32, u32, u32),
}

/// When the last segment was delivered, in milliseconds, which the caller cuts to 32 bits.
fn millis(tcp: &Tcp) -> u64 {
    tcp.delivered_mstamp / 1_000
}

impl Policer {
    /// The rate to send at, if the path seems to police.
    pub(super) fn in_use(&self) -> Option<u32> {
        self.used.then_some(self.bw)
    }

    /// An interval begins (`bbr_reset_lt_bw_sampling_interval`).
    fn restart(&mut self, tcp: &Tcp) {
        self.since = (millis(tcp) as u32, tcp.delivered, tcp.lost);
        self.rounds = 0;
    }

    /// Everything is forgotten (`bbr_reset_lt_bw_sampling`).
    pub(super) fn forget(&mut self, tcp: &Tcp) {
        self.bw = 0;
        self.used = false;
        self.sampling = false;
        self.restart(tcp);
    }
}

impl Bbr {
    /// `bbr_lt_bw_sampling`.
    pub(super) fn sample_policer(&mut self, tcp: &mut Tcp, sample: &RateSample) {
        let round_start = self.bandwidth.round_start;
        let policer = &mut self.policer;
        if policer.used {
            if self.mode == Mode::ProbeBw && round_start {
                policer.rounds += 1;
                if policer.rounds >= MOST_ROUNDS {
                    policer.forget(tcp);
                    self.enter_probe_bw(tcp);
                }
            }
            return;
        }
        // From the first loss on: then the policer's tokens are used up.
        if !policer.sampling {
            if sample.losses == 0 {
                return;
            }
            policer.restart(tcp);
            policer.sampling = true;
        }
        if sample.is_app_limited != 0 {
            return policer.forget(tcp);
        }
        policer.rounds += u32::from(round_start);
        if policer.rounds < LEAST_ROUNDS {
            return;
        }
        if policer.rounds > 4 * LEAST_ROUNDS {
            return policer.forget(tcp);
        }
        // An interval ends with a loss, too.
        if sample.losses != 0 {
            self.end_interval(tcp);
        }
    }

    fn end_interval(&mut self, tcp: &Tcp) {
        let (began, delivered, lost) = self.policer.since;
        let delivered = tcp.delivered.wrapping_sub(delivered);
        let lost = tcp.lost.wrapping_sub(lost);
        if delivered == 0 || (lost << GAIN_SHIFT) < LOSSY.wrapping_mul(delivered) {
            return;
        }
        let passed = millis(tcp).wrapping_sub(u64::from(began)) as u32;
        if (passed as i32) < 1 {
            return;
        }
        if passed >= u32::MAX / 1_000 {
            return self.policer.forget(tcp);
        }
        let bw = u64::from(delivered) * BW_UNIT / u64::from(passed * 1_000);
        self.compare_intervals(tcp, bw as u32);
    }

    /// `bbr_lt_bw_interval_done`.
    fn compare_intervals(&mut self, tcp: &Tcp, bw: u32) {
        let policer = &mut self.policer;
        if policer.bw > 0 {
            let difference = (bw.wrapping_sub(policer.bw) as i32).unsigned_abs();
            let ratio = difference.wrapping_mul(UNIT) <= SAME_RATIO.wrapping_mul(policer.bw);
            let margin = self.constants.margin;
            if ratio || bytes_per_second(difference, tcp.mss_cache, UNIT, margin) <= SAME_DIFFERENCE
            {
                policer.bw = bw.wrapping_add(policer.bw) >> 1;
                policer.used = true;
                policer.rounds = 0;
                self.gains.pacing = UNIT;
                return;
            }
        }
        policer.bw = bw;
        policer.restart(tcp);
    }
}

#[cfg(test)]
mod tests {
    use cclab_interface::{CaState, CongestionOps};

    use super::*;
    use crate::bbr::tests::Path;

    fn lossy(tcp: &mut Tcp, sample: &mut RateSample) {
        sample.losses = 30;
        tcp.lost += 30;
    }

    /// Two intervals of four rounds with a quarter lost and the same rate: a policer, whose rate
    /// is used for 48 rounds.
    #[test]
    fn a_policer_is_found_by_two_intervals_alike() {
        let mut path = Path::in_probe_bw();
        path.round(60, lossy); // the first loss begins an interval
        let mut rounds = 0;
        while path.bbr.policer.in_use().is_none() {
            path.round(60, lossy);
            rounds += 1;
            assert!(rounds < 20);
        }
        // The first interval has its first round, both have four.
        assert_eq!(rounds, 7);
        // 60 segments in 100 ms.
        assert_eq!(u64::from(path.bbr.bw()), 60 * BW_UNIT / 100_000);
        assert_eq!(path.bbr.gains.pacing, UNIT);
        let mut rounds = 0;
        while path.bbr.policer.in_use().is_some() {
            path.round(60, |_, _| {});
            rounds += 1;
            assert!(rounds < 100);
        }
        assert_eq!(rounds, 48);
    }

    /// A timeout is a loss at the end of a round: the seventh round above, which shows the policer.
    /// What the application limits, or 17 rounds, or an undo, forgets the interval.
    #[test]
    fn a_timeout_ends_a_round_and_an_interval() {
        let until_last = || {
            let mut path = Path::in_probe_bw();
            for _ in 0..7 {
                path.round(60, lossy);
            }
            path.tcp.delivered += 60;
            path.tcp.lost += 30;
            path.tcp.delivered_mstamp += 100_000;
            path
        };
        let mut path = until_last();
        path.bbr.set_state(&mut path.tcp, CaState::Recovery);
        assert!(path.bbr.policer.in_use().is_none());
        path.bbr.set_state(&mut path.tcp, CaState::Loss);
        assert!(path.bbr.policer.in_use().is_some() && path.bbr.bandwidth.round_start);
        let mut path = until_last();
        path.round(60, |_, sample| sample.is_app_limited = 1);
        assert!(!path.bbr.policer.sampling && path.bbr.policer.bw == 0);
        let mut path = Path::in_probe_bw();
        path.round(60, lossy);
        for _ in 0..15 {
            path.round(60, |_, _| {});
        }
        assert!(path.bbr.policer.sampling);
        path.round(60, |_, _| {});
        assert!(!path.bbr.policer.sampling);
        let mut path = until_last();
        assert_eq!(path.bbr.undo_cwnd(&mut path.tcp), path.tcp.snd_cwnd);
        assert_eq!(path.bbr.policer.bw, 0);
        let since = (
            path.tcp.delivered_mstamp / 1_000,
            path.tcp.delivered,
            path.tcp.lost,
        );
        assert_eq!(path.bbr.policer.since, (since.0 as u32, since.1, since.2));
    }

    /// Two rates are the same up to an eighth, or up to 4 kbit/s: 500 bytes a second, which
    /// segments of 1000 less 1% reach at 8.5 / 2^24 a microsecond.
    #[test]
    fn intervals_are_alike_within_an_eighth_or_four_kilobits() {
        let alike = |first, second| {
            let mut path = Path::new();
            path.bbr.compare_intervals(&path.tcp, first);
            assert!(path.bbr.policer.in_use().is_none(), "one shows nothing");
            path.bbr.compare_intervals(&path.tcp, second);
            path.bbr.policer.in_use()
        };
        assert_eq!(alike(8_000, 9_000), Some(8_500));
        assert_eq!(alike(8_000, 7_000), Some(7_500));
        assert_eq!(alike(8_000, 9_001), None);
        assert_eq!(alike(8_000, 6_999), None);
        assert_eq!(alike(30, 38), Some(34));
        assert_eq!(alike(30, 39), None);
        // 32 bits: 2^24 times 256 is nothing, and so no difference.
        assert_eq!(alike(8_000, (1 << 24) + 8_000), Some((1 << 23) + 8_000));
    }

    /// 50/256 of what was delivered lost, over a millisecond at least.
    #[test]
    fn an_interval_is_of_a_policer_if_a_fifth_is_lost() {
        let rate_of = |delivered: u32, lost: u32, micros: u64| {
            let mut path = Path::new();
            path.tcp.delivered_mstamp = 5_000_000;
            path.bbr.policer.restart(&path.tcp);
            // A second interval alike brings the rate into use.
            for _ in 0..2 {
                path.tcp.delivered_mstamp += micros;
                path.tcp.delivered += delivered;
                path.tcp.lost += lost;
                path.bbr.end_interval(&path.tcp);
            }
            path.bbr.policer.in_use()
        };
        // 256 segments in 10 ms, 50 of them lost.
        assert_eq!(rate_of(256, 50, 10_000), Some(429_496));
        assert_eq!(rate_of(256, 49, 10_000), None);
        assert_eq!(rate_of(256, 50, 499), None);
        assert_eq!(rate_of(0, 50, 10_000), None, "nothing was delivered");
        // 4,294,967 ms do not fit as microseconds.
        assert_eq!(rate_of(256, 50, 4_294_967_000), None);
    }
}
