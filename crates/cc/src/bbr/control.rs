//! What follows from the model: the pacing rate, and the window, in loss recovery too.

use cclab_units::{Rate, Time};

use super::{BW_SHIFT, BW_UNIT, Bbr, GAIN_SHIFT, LEAST_CWND, Mode, Sample};
use crate::Repair;

/// `TCP_INIT_CWND`: what may be in flight while no round-trip time is known.
const UNMEASURED: u64 = 10;
/// `bbr_min_tso_rate` in bytes per second: below it segments leave one by one.
const LONE_SEGMENTS: u64 = 1_200_000 / 8;
/// A burst lasts about a millisecond at the pacing rate (`sk_pacing_shift`).
const BURST_SHIFT: u32 = 10;
/// Bytes and segments that a burst has at most (`GSO_LEGACY_MAX_SIZE` less the headers; 7 bits).
const BURST_BYTES: u64 = 65_535 - 320;
const BURST_SEGMENTS: u64 = 0x7f;

/// `bbr_rate_bytes_per_sec`.
pub(super) fn bytes_per_second(bw: u64, mss: u64, gain: u64, margin: u64) -> u64 {
    let rate = (u128::from(bw) * u128::from(mss) * u128::from(gain)) >> GAIN_SHIFT;
    let rate = (rate * u128::from(1_000_000 / 100 * (100 - margin))) >> BW_SHIFT;
    u64::try_from(rate).unwrap_or(u64::MAX)
}

/// The pacing rate.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pacing {
    /// Bytes per second.
    bytes: u64,
    rate: Option<Rate>,
    /// Whether a round-trip time has been used for it.
    has_seen_rtt: bool,
}

impl Pacing {
    pub(super) fn rate(&self) -> Option<Rate> {
        self.rate
    }

    pub(super) fn set(&mut self, bytes: u64) {
        self.bytes = bytes;
        self.rate = Rate::from_bps(bytes.saturating_mul(8).max(1));
    }
}

/// The window during and after loss recovery.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Recovery {
    /// What was being repaired at the previous acknowledgement.
    before: Repair,
    /// The first round of recovery: as much leaves as arrives.
    conserves: bool,
    /// The window to return to.
    prior_cwnd: u64,
}

impl Recovery {
    pub(super) fn on_round(&mut self) {
        self.conserves = false;
    }

    pub(super) fn on_timeout(&mut self) {
        self.before = Repair::Timeout;
    }
}

impl Bbr {
    /// `bbr_init_pacing_rate_from_rtt`.
    pub(super) fn init_pacing_rate(&mut self, rtt: Option<Time>) {
        self.pacing.has_seen_rtt = rtt.is_some();
        let micros = rtt.map_or(1_000, |rtt| rtt.as_micros().max(1));
        self.pacing
            .set(self.rate_of(self.cwnd * BW_UNIT / micros, self.constants.high_gain));
    }

    fn rate_of(&self, bw: u64, gain: u64) -> u64 {
        bytes_per_second(bw, self.mss, gain, self.constants.margin)
    }

    /// `bbr_set_pacing_rate`: down only once the pipe is full.
    pub(super) fn set_pacing_rate(&mut self, bw: u64, gain: u64, srtt: Time) {
        let rate = self.rate_of(bw, gain);
        if !self.pacing.has_seen_rtt && srtt > Time::ZERO {
            self.init_pacing_rate(Some(srtt));
        }
        if self.pipe.is_full() || rate > self.pacing.bytes {
            self.pacing.set(rate);
        }
    }

    /// `bbr_min_tso_segs`.
    pub(super) fn least_burst_segments(&self) -> u64 {
        match self.pacing.bytes < LONE_SEGMENTS {
            true => 1,
            false => 2,
        }
    }

    /// `bbr_tso_segs_goal`: segments that leave together.
    pub(super) fn burst(&self) -> u64 {
        let bytes = (self.pacing.bytes >> BURST_SHIFT).min(BURST_BYTES);
        let segments = (bytes / self.mss).max(self.least_burst_segments());
        segments.min(BURST_SEGMENTS)
    }

    /// `bbr_bdp`: `gain` bandwidth-delay products in segments, rounded up.
    fn bdp(&self, bw: u64, gain: u64) -> u64 {
        match self.rtt.micros() {
            u64::MAX => UNMEASURED,
            micros => {
                let product = u128::from(bw) * u128::from(micros) * u128::from(gain);
                let segments = (product >> GAIN_SHIFT).div_ceil(u128::from(BW_UNIT));
                u64::try_from(segments).unwrap_or(u64::MAX).min(self.most)
            }
        }
    }

    /// `bbr_quantization_budget`: room for what waits in both hosts.
    fn with_bursts(&self, cwnd: u64) -> u64 {
        let even = (cwnd + 3 * self.burst()).next_multiple_of(2);
        let up = self.mode == Mode::ProbeBw && self.cycle.is_up();
        even + if up { 2 } else { 0 }
    }

    /// `bbr_inflight`.
    pub(super) fn inflight(&self, bw: u64, gain: u64) -> u64 {
        self.with_bursts(self.bdp(bw, gain))
    }

    /// `bbr_save_cwnd`.
    pub(super) fn save_cwnd(&mut self) {
        let undisturbed = self.recovery.before == Repair::Nothing && self.mode != Mode::ProbeRtt;
        self.recovery.prior_cwnd = match undisturbed {
            true => self.cwnd,
            false => self.recovery.prior_cwnd.max(self.cwnd),
        };
    }

    pub(super) fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.recovery.prior_cwnd);
    }

    /// `bbr_set_cwnd`.
    pub(super) fn set_cwnd(&mut self, sample: &Sample, repair: Repair, bw: u64) {
        if sample.acked > 0 && !self.recovers(sample, repair) {
            let target = self.with_bursts(self.bdp(bw, self.gains.cwnd) + self.extra_window());
            let unknown = sample.delivered < UNMEASURED * self.mss;
            if self.pipe.is_full() {
                self.cwnd = (self.cwnd + sample.acked).min(target);
            } else if self.cwnd < target || unknown {
                self.cwnd += sample.acked;
            }
            self.cwnd = self.cwnd.max(LEAST_CWND);
        }
        self.cwnd = self.cwnd.min(self.most);
        if self.mode == Mode::ProbeRtt {
            self.cwnd = self.cwnd.min(LEAST_CWND);
        }
    }

    /// `bbr_set_cwnd_to_recover_or_restore`: returns whether packets are conserved.
    fn recovers(&mut self, sample: &Sample, repair: Repair) -> bool {
        let before = std::mem::replace(&mut self.recovery.before, repair);
        self.cwnd = self.cwnd.saturating_sub(sample.losses).max(1);
        if repair == Repair::Losses && before != Repair::Losses {
            self.recovery.conserves = true;
            self.bandwidth.begin_round(sample.delivered);
            self.cwnd = sample.in_flight + sample.acked;
        } else if before != Repair::Nothing && repair == Repair::Nothing {
            self.restore_cwnd();
            self.recovery.conserves = false;
        }
        if self.recovery.conserves {
            self.cwnd = self.cwnd.max(sample.in_flight + sample.acked);
        }
        self.recovery.conserves
    }
}
