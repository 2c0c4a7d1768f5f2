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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::old::bbr::tests::{MSS, Path, flow};

    /// `bbr_set_pacing_rate`: up at once, down only once the pipe is full.
    #[test]
    fn the_rate_falls_only_after_startup() {
        let paced = |mut bbr: Bbr, bw| {
            bbr.pacing.set(1_000_000);
            bbr.set_pacing_rate(bw, 256, Time::from_millis(100));
            bbr.pacing.bytes
        };
        let full = || Path::in_probe_bw().flow.cc;
        // 16777 segments of 1000 bytes a microsecond and 2^-24, less 1%: 989987 bytes a second.
        assert_eq!(paced(full(), 16_777), 989_987);
        assert_eq!(paced(flow().cc, 16_777), 1_000_000);
        assert_eq!(paced(flow().cc, 33_554), 1_979_974);
        assert_eq!(paced(full(), 33_554), 1_979_974);
    }

    /// `bbr_init_pacing_rate_from_rtt` with the first round trip that is smoothed, if the handshake had
    /// none: the rate of [`super::super::tests`].
    #[test]
    fn the_first_round_trip_replaces_a_guess_once() {
        let mut bbr = flow().cc;
        bbr.init_pacing_rate(None);
        let guess = bbr.pacing.bytes;
        bbr.set_pacing_rate(0, 256, Time::ZERO);
        assert_eq!(bbr.pacing.bytes, guess);
        bbr.set_pacing_rate(0, 256, Time::from_millis(100));
        assert_eq!(bbr.pacing.bytes, 285_662);
        bbr.set_pacing_rate(0, 256, Time::from_millis(50));
        assert_eq!(bbr.pacing.bytes, 285_662);
    }

    /// `bbr_bdp`: rounded up, ten segments while no round trip is known.
    #[test]
    fn a_product_is_rounded_up_and_bounded() {
        let mut bbr = flow().cc;
        assert_eq!(bbr.bdp(16_777, 256), 100);
        assert_eq!(bbr.bdp(16_778, 256), 101);
        assert_eq!(bbr.bdp(16_777, 512), 200);
        bbr.most = 150;
        assert_eq!(bbr.bdp(16_777, 512), 150);
        bbr.rtt.begin(None, Time::ZERO);
        assert_eq!(bbr.bdp(16_777, 512), 10);
    }

    /// `bbr_save_cwnd`: the window, or the larger of it and the one saved before.
    #[test]
    fn a_disturbed_window_does_not_replace_the_one_saved() {
        let saved = |before, mode, cwnd| {
            let mut bbr = flow().cc;
            bbr.recovery.prior_cwnd = 50;
            bbr.recovery.before = before;
            bbr.mode = mode;
            bbr.cwnd = cwnd;
            bbr.save_cwnd();
            bbr.recovery.prior_cwnd
        };
        assert_eq!(saved(Repair::Nothing, Mode::ProbeBw, 20), 20);
        assert_eq!(saved(Repair::Losses, Mode::ProbeBw, 20), 50);
        assert_eq!(saved(Repair::Losses, Mode::ProbeBw, 70), 70);
        assert_eq!(saved(Repair::Nothing, Mode::ProbeRtt, 20), 50);
    }

    /// `bbr_set_cwnd`: up to the target once the pipe is full; before, past it while fewer than ten
    /// segments were delivered. The target of a product at the gain of Startup, 739/256 of 100, is 289,
    /// with three bursts of two and even 296.
    #[test]
    fn the_window_grows_by_what_is_delivered() {
        let after = |full: bool, cwnd, acked, delivered| {
            let mut path = if full {
                Path::in_probe_bw()
            } else {
                Path::new()
            };
            let bbr = path.bbr();
            bbr.gains.cwnd = 739;
            bbr.aggregation = Default::default();
            bbr.cycle = Default::default();
            bbr.pacing.set(1_000_000);
            bbr.cwnd = cwnd;
            let sample = Sample {
                acked,
                delivered: delivered * MSS,
                ..Sample::default()
            };
            bbr.set_cwnd(&sample, Repair::Nothing, 16_777);
            bbr.cwnd
        };
        assert_eq!(after(false, 100, 7, 500), 107);
        assert_eq!(after(false, 295, 7, 500), 302);
        assert_eq!(after(false, 296, 7, 500), 296);
        assert_eq!(after(false, 296, 7, 9), 303);
        assert_eq!(after(false, 296, 7, 10), 296);
        assert_eq!(after(false, 2, 1, 500), 4);
        assert_eq!(after(false, 2, 0, 500), 2, "nothing was delivered");
        // Two more in the phase up.
        assert_eq!(after(true, 290, 7, 500), 297);
        assert_eq!(after(true, 296, 7, 500), 298);
        assert_eq!(after(true, 400, 7, 500), 298);
    }

    /// `bbr_set_cwnd_to_recover_or_restore`: what was lost leaves the window, but for a segment.
    #[test]
    fn losses_leave_the_window() {
        let after = |losses| {
            let mut bbr = flow().cc;
            bbr.cwnd = 20;
            bbr.recovery.before = Repair::Losses;
            let sample = Sample {
                acked: 1,
                losses,
                ..Sample::default()
            };
            let conserved = bbr.recovers(&sample, Repair::Losses);
            (bbr.cwnd, conserved)
        };
        assert_eq!(after(5), (15, false));
        assert_eq!(after(20), (1, false));
    }
}
