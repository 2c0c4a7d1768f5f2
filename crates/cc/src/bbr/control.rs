//! What follows from the model: the pacing rate, and the window, in loss recovery too.

use cclab_interface::{CaState, RateSample, Tcp};
use cclab_units::hint::{likely, rarely, unlikely};

use super::{BW_SHIFT, BW_UNIT, Bbr, GAIN_SHIFT, LEAST_CWND, Mode};

/// `TCP_INIT_CWND`: what may be in flight while no round-trip time is known.
const UNMEASURED: u32 = 10;
/// A round-trip time before there is one, in microseconds.
const NOMINAL_RTT: u32 = 1_000;
/// `bbr_min_tso_rate` in bytes per second: below it segments leave one by one.
const LONE_SEGMENTS: u64 = 1_200_000 / 8;
/// Bytes and segments that a burst has at most: `GSO_LEGACY_MAX_SIZE` less one and the 320 bytes
/// that Debian's kernels keep for headers (`MAX_TCP_HEADER`); 7 bits.
const BURST_BYTES: u64 = 65_535 - 320;
const BURST_SEGMENTS: u32 = 0x7f;

/// States of the stack from this one on repair losses.
const REPAIRS: u8 = CaState::Recovery as u8;

/// `bbr_rate_bytes_per_sec`: 64 bits, which wrap; `margin` is in per cent.
pub(super) fn bytes_per_second(bw: u32, mss: u32, gain: u32, margin: u64) -> u64 {
    let rate = u64::from(bw) * u64::from(mss);
    let rate = rate.wrapping_mul(u64::from(gain)) >> GAIN_SHIFT;
    rate.wrapping_mul(1_000_000 / 100 * (100 - margin)) >> BW_SHIFT
}

/// `bbr_min_tso_segs`.
pub(super) fn least_burst(tcp: &Tcp) -> u32 {
    match tcp.pacing_rate < LONE_SEGMENTS {
        true => 1,
        false => 2,
    }
}

/// The window during and after loss recovery.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Recovery {
    /// The stack's state at the previous acknowledgement (`prev_ca_state`).
    before: u8,
    /// The first round of recovery: as much leaves as arrives (`packet_conservation`).
    conserves: bool,
    /// The window to return to.
    prior_cwnd: u32,
}

impl Recovery {
    pub(super) fn on_round(&mut self) {
        self.conserves = false;
    }

    pub(super) fn on_timeout(&mut self) {
        self.before = CaState::Loss as u8;
    }
}

impl Bbr {
    /// `bbr_bw_to_pacing_rate`.
    pub(super) fn rate_of(&self, tcp: &Tcp, bw: u32, gain: u32) -> u64 {
        bytes_per_second(bw, tcp.mss_cache, gain, self.constants.margin).min(tcp.max_pacing_rate)
    }

    /// `bbr_init_pacing_rate_from_rtt`.
    pub(super) fn init_pacing_rate(&mut self, tcp: &mut Tcp) {
        let micros = match tcp.srtt_us {
            0 => NOMINAL_RTT,
            srtt => {
                self.has_seen_rtt = true;
                (srtt >> 3).max(1)
            }
        };
        let bw = u64::from(tcp.snd_cwnd) * BW_UNIT / u64::from(micros);
        tcp.pacing_rate = self.rate_of(tcp, bw as u32, self.constants.high_gain);
    }

    /// `bbr_set_pacing_rate`: down only once the pipe is full.
    pub(super) fn set_pacing_rate(&mut self, tcp: &mut Tcp, bw: u32, gain: u32) {
        let rate = self.rate_of(tcp, bw, gain);
        if unlikely(!self.has_seen_rtt && tcp.srtt_us != 0) {
            self.init_pacing_rate(tcp);
        }
        if self.pipe.is_full() || rate > tcp.pacing_rate {
            tcp.pacing_rate = rate;
        }
    }

    /// `bbr_tso_segs_goal`: segments that leave together.
    pub(super) fn burst(&self, tcp: &Tcp) -> u32 {
        let bytes = (tcp.pacing_rate >> tcp.pacing_shift).min(BURST_BYTES) as u32;
        let segments = (bytes / tcp.mss_cache).max(least_burst(tcp));
        segments.min(BURST_SEGMENTS)
    }

    /// `bbr_bdp`: `gain` bandwidth-delay products in segments, rounded up.
    fn bdp(&self, bw: u32, gain: u32) -> u32 {
        match self.rtt.micros() {
            u32::MAX => {
                rarely();
                UNMEASURED
            }
            micros => {
                let product = (u64::from(bw) * u64::from(micros)).wrapping_mul(u64::from(gain));
                (product >> GAIN_SHIFT).div_ceil(BW_UNIT) as u32
            }
        }
    }

    /// `bbr_quantization_budget`: room for what waits in both hosts.
    fn with_bursts(&self, tcp: &Tcp, cwnd: u32) -> u32 {
        let cwnd = cwnd.wrapping_add(3 * self.burst(tcp));
        let even = cwnd.wrapping_add(1) & !1;
        let up = self.mode == Mode::ProbeBw && self.cycle.is_up();
        even.wrapping_add(if up { 2 } else { 0 })
    }

    /// `bbr_inflight`.
    pub(super) fn inflight(&self, tcp: &Tcp, bw: u32, gain: u32) -> u32 {
        self.with_bursts(tcp, self.bdp(bw, gain))
    }

    /// `bbr_save_cwnd`.
    pub(super) fn save_cwnd(&mut self, tcp: &Tcp) {
        let undisturbed = self.recovery.before < REPAIRS && self.mode != Mode::ProbeRtt;
        self.recovery.prior_cwnd = match undisturbed {
            true => tcp.snd_cwnd,
            false => self.recovery.prior_cwnd.max(tcp.snd_cwnd),
        };
    }

    pub(super) fn restore_cwnd(&self, tcp: &mut Tcp) {
        tcp.snd_cwnd = tcp.snd_cwnd.max(self.recovery.prior_cwnd);
    }

    /// `bbr_set_cwnd`.
    pub(super) fn set_cwnd(&mut self, tcp: &mut Tcp, sample: &RateSample, bw: u32) {
        let cwnd = match sample.acked_sacked {
            0 => tcp.snd_cwnd,
            _ => self.next_cwnd(tcp, sample, bw),
        };
        tcp.snd_cwnd = cwnd.min(tcp.snd_cwnd_clamp);
        if unlikely(self.mode == Mode::ProbeRtt) {
            tcp.snd_cwnd = tcp.snd_cwnd.min(LEAST_CWND);
        }
    }

    fn next_cwnd(&mut self, tcp: &Tcp, sample: &RateSample, bw: u32) -> u32 {
        let acked = sample.acked_sacked;
        let (cwnd, conserved) = self.recover_or_restore(tcp, sample);
        if conserved {
            return cwnd;
        }
        let target = (self.bdp(bw, self.gains.cwnd)).wrapping_add(self.extra_window());
        let target = self.with_bursts(tcp, target);
        let grown = cwnd.wrapping_add(acked);
        let cwnd = if likely(self.pipe.is_full()) {
            grown.min(target)
        } else if cwnd < target || tcp.delivered < UNMEASURED {
            grown
        } else {
            cwnd
        };
        cwnd.max(LEAST_CWND)
    }

    /// `bbr_set_cwnd_to_recover_or_restore`: the window, and whether packets are conserved.
    fn recover_or_restore(&mut self, tcp: &Tcp, sample: &RateSample) -> (u32, bool) {
        let state = tcp.ca_state;
        let before = std::mem::replace(&mut self.recovery.before, state);
        let conserving = (tcp.packets_in_flight()).wrapping_add(sample.acked_sacked);
        let mut cwnd = tcp.snd_cwnd;
        if sample.losses > 0 {
            cwnd = (cwnd.wrapping_sub(sample.losses as u32) as i32).max(1) as u32;
        }
        if unlikely(state == REPAIRS && before != REPAIRS) {
            self.recovery.conserves = true;
            self.bandwidth.begin_round(tcp.delivered);
            cwnd = conserving;
        } else if unlikely(before >= REPAIRS && state < REPAIRS) {
            cwnd = cwnd.max(self.recovery.prior_cwnd);
            self.recovery.conserves = false;
        }
        match self.recovery.conserves {
            true => (cwnd.max(conserving), true),
            false => (cwnd, false),
        }
    }
}

#[cfg(test)]
mod tests {
    use cclab_interface::CongestionOps;

    use super::*;
    use crate::bbr::tests::Path;

    /// Up at once, down only once the pipe is full. 16777 segments of 1000 bytes a microsecond and
    /// 2^-24, less 1%: 989987 bytes a second.
    #[test]
    fn the_rate_falls_only_after_startup() {
        let paced = |mut path: Path, bw| {
            path.tcp.pacing_rate = 1_000_000;
            path.bbr.set_pacing_rate(&mut path.tcp, bw, 256);
            path.tcp.pacing_rate
        };
        assert_eq!(paced(Path::in_probe_bw(), 16_777), 989_987);
        assert_eq!(paced(Path::new(), 16_777), 1_000_000);
        assert_eq!(paced(Path::new(), 33_554), 1_979_974);
        assert_eq!(paced(Path::in_probe_bw(), 33_554), 1_979_974);
        let mut limited = Path::in_probe_bw();
        limited.tcp.max_pacing_rate = 900_000;
        assert_eq!(paced(limited, 33_554), 900_000);
    }

    /// With the first round trip that is smoothed, if the handshake had none.
    #[test]
    fn the_first_round_trip_replaces_a_guess_once() {
        let mut path = Path::new();
        let srtt = std::mem::take(&mut path.tcp.srtt_us);
        path.bbr.init(&mut path.tcp);
        // 10 2^24 / 1000 = 167772; times 739000 >> 8 is 484310578; times 990000 >> 24 is 28578488.
        assert_eq!(path.tcp.pacing_rate, 28_578_488);
        let mut rate = |srtt_us| {
            path.tcp.srtt_us = srtt_us;
            path.bbr.set_pacing_rate(&mut path.tcp, 0, 256);
            path.tcp.pacing_rate
        };
        assert_eq!(rate(0), 28_578_488);
        assert_eq!(rate(srtt), 285_662);
        assert_eq!(rate(srtt / 2), 285_662);
    }

    /// A millisecond of the pacing rate, from 1.2 Mbit/s on two segments at least, 127 at most and
    /// 65215 bytes.
    #[test]
    fn bursts_are_a_millisecond_of_the_rate() {
        let burst = |bytes, mss| {
            let mut path = Path::new();
            path.tcp.pacing_rate = bytes;
            path.tcp.mss_cache = mss;
            let least = path.bbr.min_tso_segs(&mut path.tcp);
            (least, path.bbr.burst(&path.tcp))
        };
        assert_eq!(burst(149_999, 1_000), (Some(1), 1));
        assert_eq!(burst(150_000, 1_000), (Some(2), 2));
        assert_eq!(burst(10 << 20, 1_000), (Some(2), 10)); // 10240 bytes
        assert_eq!(burst(1 << 40, 1_000), (Some(2), 65));
        assert_eq!(burst(1 << 40, 100), (Some(2), 127));
    }

    /// Rounded up, ten segments while no round trip is known; 32 bits.
    #[test]
    fn a_product_is_rounded_up() {
        let mut path = Path::new();
        assert_eq!(path.bbr.bdp(16_777, 256), 100);
        assert_eq!(path.bbr.bdp(16_778, 256), 101);
        assert_eq!(path.bbr.bdp(16_777, 512), 200);
        path.tcp.rtt_min_us = u32::MAX;
        path.bbr.rtt.begin(&path.tcp);
        assert_eq!(path.bbr.bdp(16_777, 512), 10);
    }

    /// The window, or the larger of it and the one saved before.
    #[test]
    fn a_disturbed_window_does_not_replace_the_one_saved() {
        let saved = |before: CaState, mode, cwnd| {
            let mut path = Path::new();
            path.bbr.recovery.prior_cwnd = 50;
            path.bbr.recovery.before = before as u8;
            path.bbr.mode = mode;
            path.tcp.snd_cwnd = cwnd;
            path.tcp.snd_ssthresh = 77;
            assert_eq!(path.bbr.ssthresh(&mut path.tcp), 77);
            path.bbr.recovery.prior_cwnd
        };
        assert_eq!(saved(CaState::Open, Mode::ProbeBw, 20), 20);
        assert_eq!(saved(CaState::Cwr, Mode::ProbeBw, 20), 20);
        assert_eq!(saved(CaState::Recovery, Mode::ProbeBw, 20), 50);
        assert_eq!(saved(CaState::Loss, Mode::ProbeBw, 70), 70);
        assert_eq!(saved(CaState::Open, Mode::ProbeRtt, 20), 50);
    }

    /// Up to the target once the pipe is full; before, past it while fewer than ten segments were
    /// delivered. The target of a product at the gain of Startup, 739/256 of 100, is 289, with
    /// three bursts of two and even 296; two more in the phase up.
    #[test]
    fn the_window_grows_by_what_is_delivered() {
        let after = |full: bool, cwnd, acked_sacked, delivered| {
            let mut path = if full {
                Path::in_probe_bw()
            } else {
                Path::new()
            };
            path.bbr.gains.cwnd = 739;
            path.bbr.aggregation = Default::default();
            path.bbr.cycle = Default::default();
            path.tcp.pacing_rate = 1_000_000;
            path.tcp.snd_cwnd = cwnd;
            path.tcp.delivered = delivered;
            let sample = RateSample {
                acked_sacked,
                ..RateSample::default()
            };
            path.bbr.set_cwnd(&mut path.tcp, &sample, 16_777);
            path.tcp.snd_cwnd
        };
        assert_eq!(after(false, 100, 7, 500), 107);
        assert_eq!(after(false, 295, 7, 500), 302);
        assert_eq!(after(false, 296, 7, 500), 296);
        assert_eq!(after(false, 296, 7, 9), 303);
        assert_eq!(after(false, 296, 7, 10), 296);
        assert_eq!(after(false, 2, 1, 500), 4);
        assert_eq!(after(false, 2, 0, 500), 2, "nothing was delivered");
        assert_eq!(after(true, 290, 7, 500), 297);
        assert_eq!(after(true, 296, 7, 500), 298);
        assert_eq!(after(true, 400, 7, 500), 298);
    }

    /// What was lost leaves the window, but for a segment.
    #[test]
    fn losses_leave_the_window() {
        let after = |losses| {
            let mut path = Path::new();
            path.tcp.snd_cwnd = 20;
            path.tcp.ca_state = REPAIRS;
            path.bbr.recovery.before = REPAIRS;
            let sample = RateSample {
                acked_sacked: 1,
                losses,
                ..RateSample::default()
            };
            path.bbr.recover_or_restore(&path.tcp, &sample)
        };
        assert_eq!(after(5), (15, false));
        assert_eq!(after(20), (1, false));
        assert_eq!(after(0), (20, false));
    }

    /// In the first round of recovery as much leaves as arrives, whatever was in flight before;
    /// afterwards the window of before is back, once, and the model rules.
    #[test]
    fn recovery_conserves_packets_for_a_round() {
        let mut path = Path::in_probe_bw();
        let before = path.tcp.snd_cwnd;
        path.bbr.ssthresh(&mut path.tcp);
        path.bbr.set_state(&mut path.tcp, CaState::Recovery);
        path.tcp.ca_state = REPAIRS;
        let mut acked = |in_flight, acked_sacked, losses| {
            path.tcp.packets_out = in_flight;
            path.tcp.delivered += acked_sacked;
            let sample = RateSample {
                acked_sacked,
                losses,
                delivered: -1,
                rtt_us: -1,
                ..RateSample::default()
            };
            path.bbr.cong_control(&mut path.tcp, 0, 0, &sample);
            path.tcp.snd_cwnd
        };
        assert_eq!(acked(90, 3, 10), 93);
        assert_eq!(acked(90, 1, 0), 93);
        assert_eq!(acked(95, 2, 0), 97);
        path.round(50, |_, _| {}); // a round: up by what is acknowledged
        assert_eq!(path.tcp.snd_cwnd, 147);
        path.tcp.ca_state = CaState::Open as u8;
        path.round(1, |_, _| {});
        assert_eq!(path.tcp.snd_cwnd, before);
        for _ in 0..12 {
            path.round(20, |_, _| {});
        }
        let small = path.tcp.snd_cwnd;
        assert!(small < 100, "{small}");
        path.round(100, |_, _| {});
        assert_eq!(path.tcp.snd_cwnd, small + 100);
    }

    /// A timeout counts as recovery: the window of before comes back when the stack is Open.
    #[test]
    fn a_timeout_gives_the_window_back_when_it_is_repaired() {
        let mut path = Path::in_probe_bw();
        let before = path.tcp.snd_cwnd;
        path.bbr.ssthresh(&mut path.tcp);
        path.bbr.set_state(&mut path.tcp, CaState::Loss);
        path.tcp.ca_state = CaState::Loss as u8;
        path.tcp.snd_cwnd = 1;
        path.round(1, |_, _| {});
        assert_eq!(
            path.tcp.snd_cwnd, 4,
            "no conservation: two, and four at least"
        );
        path.tcp.ca_state = CaState::Open as u8;
        path.round(1, |_, _| {});
        assert_eq!(path.tcp.snd_cwnd, before);
    }
}
