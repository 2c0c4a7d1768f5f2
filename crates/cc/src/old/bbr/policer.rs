//! A policer lets bursts through and then drops all that is above its rate. Two intervals in a row
//! with many losses and about the same rate show one; for 48 rounds that rate is then the
//! bandwidth ("long-term", `lt_`, in the kernel).

use super::{BW_UNIT, Bbr, GAIN_SHIFT, Mode, Sample, UNIT};
use crate::Cx;
use crate::old::bbr::control::bytes_per_second;

/// Least rounds of an interval (`bbr_lt_intvl_min_rtts`); four times as many are too long.
const LEAST_ROUNDS: u64 = 4;
/// Lost of what was delivered, in 1/256, that make an interval lossy (`bbr_lt_loss_thresh`).
const LOSSY: u64 = 50;
/// Rates that differ by an eighth are the same (`bbr_lt_bw_ratio`).
const SAME_RATIO: u64 = UNIT / 8;
/// And so are those that differ by 4 kbit/s (`bbr_lt_bw_diff`), in bytes per second.
const SAME_DIFFERENCE: u64 = 4_000 / 8;
/// Rounds for which the rate is used (`bbr_lt_bw_max_rtts`).
const MOST_ROUNDS: u64 = 48;

/// The estimator.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Policer {
    bw: u64,
    used: bool,
    sampling: bool,
    rounds: u64,
    /// At the beginning of the interval: milliseconds, bytes delivered, segments lost.
    since: (u64, u64, u64),
    /// The latest counts, which a timeout goes by.
    seen: (u64, u64),
}

impl Policer {
    /// The rate to send at, if the path seems to police.
    pub(super) fn in_use(&self) -> Option<u64> {
        self.used.then_some(self.bw)
    }

    /// An interval begins (`bbr_reset_lt_bw_sampling_interval`).
    pub(super) fn restart(&mut self, now: u64, delivered: u64, lost: u64) {
        self.since = (now / 1_000, delivered, lost);
        self.rounds = 0;
    }

    /// Everything is forgotten (`bbr_reset_lt_bw_sampling`).
    pub(super) fn forget(&mut self, now: u64) {
        self.bw = 0;
        self.used = false;
        self.sampling = false;
        self.restart(now, self.seen.0, self.seen.1);
    }
}

impl Bbr {
    /// `bbr_set_state`: a timeout counts as a loss at the end of a round.
    pub(super) fn on_timeout(&mut self, cx: &mut Cx<'_>) {
        self.bandwidth.round_start = true;
        let (delivered, lost) = self.policer.seen;
        let sample = Sample {
            now: cx.now.as_micros(),
            losses: 1,
            delivered,
            lost,
            ..Sample::default()
        };
        self.sample_policer(&sample, false, cx);
    }

    /// `bbr_lt_bw_sampling`.
    pub(super) fn sample_policer(&mut self, sample: &Sample, app_limited: bool, cx: &mut Cx<'_>) {
        let round_start = self.bandwidth.round_start;
        let policer = &mut self.policer;
        policer.seen = (sample.delivered, sample.lost);
        if policer.used {
            if self.mode == Mode::ProbeBw && round_start {
                policer.rounds += 1;
                if policer.rounds >= MOST_ROUNDS {
                    policer.forget(sample.now);
                    self.enter_probe_bw(sample.now, cx);
                }
            }
            return;
        }
        // From the first loss on: then the policer's tokens are used up.
        if !policer.sampling {
            if sample.losses == 0 {
                return;
            }
            policer.restart(sample.now, sample.delivered, sample.lost);
            policer.sampling = true;
        }
        if app_limited {
            return policer.forget(sample.now);
        }
        policer.rounds += u64::from(round_start);
        if policer.rounds < LEAST_ROUNDS {
            return;
        }
        if policer.rounds > 4 * LEAST_ROUNDS {
            return policer.forget(sample.now);
        }
        // An interval ends with a loss, too.
        if sample.losses > 0 {
            self.end_interval(sample);
        }
    }

    pub(super) fn end_interval(&mut self, sample: &Sample) {
        let (began, delivered, lost) = self.policer.since;
        let delivered = (sample.delivered - delivered) / self.mss;
        let lost = sample.lost - lost;
        if delivered == 0 || (lost << GAIN_SHIFT) < LOSSY * delivered {
            return;
        }
        let millis = sample.now / 1_000 - began;
        if millis < 1 {
            return;
        }
        if millis >= u64::from(u32::MAX) / 1_000 {
            return self.policer.forget(sample.now);
        }
        self.compare_intervals(delivered * BW_UNIT / (millis * 1_000), sample);
    }

    /// `bbr_lt_bw_interval_done`.
    pub(super) fn compare_intervals(&mut self, bw: u64, sample: &Sample) {
        let policer = &mut self.policer;
        if policer.bw > 0 {
            let difference = bw.abs_diff(policer.bw);
            if difference * UNIT <= SAME_RATIO * policer.bw
                || bytes_per_second(difference, self.mss, UNIT, self.constants.margin)
                    <= SAME_DIFFERENCE
            {
                policer.bw = (bw + policer.bw) >> 1;
                policer.used = true;
                policer.rounds = 0;
                self.gains.pacing = UNIT;
                return;
            }
        }
        policer.bw = bw;
        policer.restart(sample.now, sample.delivered, sample.lost);
    }
}
