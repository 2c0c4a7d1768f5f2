//! The round-trip time without a queue: the smallest of ten seconds. When nothing smaller came for
//! so long, four segments in flight for 200 ms let every flow see the path without its queue.

use cclab_interface::{RateSample, Tcp, after};
use cclab_units::hint::unlikely;

use super::{Bbr, LEAST_CWND, Mode};

/// The estimate and the dip that renews it. Ticks are 32 bits.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MinRtt {
    /// Microseconds; all ones before the first (`min_rtt_us`).
    micros: u32,
    /// When it was measured, in ticks (`min_rtt_stamp`).
    measured: u32,
    /// When the dip may end, in ticks, once the window is down; zero: it is not
    /// (`probe_rtt_done_stamp`).
    done_at: u32,
    round_done: bool,
}

impl MinRtt {
    pub(super) fn begin(&mut self, tcp: &Tcp) {
        self.micros = tcp.min_rtt();
        self.measured = tcp.jiffies32();
    }

    /// Microseconds; all ones before the first sample.
    pub(super) fn micros(&self) -> u32 {
        self.micros
    }
}

impl Bbr {
    /// `bbr_update_min_rtt`.
    pub(super) fn update_min_rtt(&mut self, tcp: &mut Tcp, sample: &RateSample) {
        let now = tcp.jiffies32();
        let rtt = &mut self.rtt;
        let expires = rtt.measured.wrapping_add(self.constants.min_rtt_window);
        let expired = after(now, expires);
        let smaller = sample.rtt_us < i64::from(rtt.micros);
        if sample.rtt_us >= 0 && (smaller || (expired && sample.is_ack_delayed == 0)) {
            rtt.micros = sample.rtt_us as u32;
            rtt.measured = now;
        }
        let dips = self.constants.dip > 0;
        if unlikely(dips && expired) && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save_cwnd(tcp);
            self.rtt.done_at = 0;
        }
        if unlikely(self.mode == Mode::ProbeRtt) {
            self.dip(tcp);
        }
        if sample.delivered > 0 {
            self.idle_restart = false;
        }
    }

    /// Samples of segments that leave now are of the dip, not of the path.
    fn dip(&mut self, tcp: &mut Tcp) {
        let in_flight = tcp.packets_in_flight();
        tcp.app_limited = tcp.delivered.wrapping_add(in_flight).max(1);
        if self.rtt.done_at == 0 && in_flight <= LEAST_CWND {
            self.rtt.done_at = tcp.jiffies32().wrapping_add(self.constants.dip);
            self.rtt.round_done = false;
            self.bandwidth.begin_round(tcp.delivered);
        } else if self.rtt.done_at != 0 {
            self.rtt.round_done |= self.bandwidth.round_start;
            if self.rtt.round_done {
                self.check_probe_rtt_done(tcp);
            }
        }
    }

    /// `bbr_check_probe_rtt_done`, `bbr_reset_mode`.
    pub(super) fn check_probe_rtt_done(&mut self, tcp: &mut Tcp) {
        let now = tcp.jiffies32();
        if self.rtt.done_at == 0 || !after(now, self.rtt.done_at) {
            return;
        }
        self.rtt.measured = now;
        self.restore_cwnd(tcp);
        if self.pipe.is_full() {
            self.enter_probe_bw(tcp);
        } else {
            self.mode = Mode::Startup;
        }
    }
}

#[cfg(test)]
mod tests {
    use cclab_interface::{CaEvent, CongestionOps};

    use super::*;
    use crate::bbr::UNIT;
    use crate::bbr::tests::Path;

    /// A smaller round trip at once, a larger one when the last is more than ten seconds old, but
    /// not one that the receiver may have stretched.
    #[test]
    fn the_smallest_round_trip_holds_for_ten_seconds() {
        let after = |millis: u64, rtt_us: i64, delayed: bool| {
            let mut path = Path::in_probe_bw();
            path.bbr.rtt.measured = u32::MAX - 999;
            path.tcp.jiffies = (1 << 32) - 1_000 + millis;
            let sample = RateSample {
                rtt_us,
                is_ack_delayed: u8::from(delayed),
                delivered: 1,
                ..RateSample::default()
            };
            path.bbr.update_min_rtt(&mut path.tcp, &sample);
            let rtt = path.bbr.rtt;
            let at = rtt.measured.wrapping_add(1_000);
            (rtt.micros, at, path.bbr.mode == Mode::ProbeRtt)
        };
        assert_eq!(after(5, 99_000, true), (99_000, 5, false));
        assert_eq!(after(5, 0, false), (0, 5, false));
        assert_eq!(after(5, 100_000, false), (100_000, 0, false));
        assert_eq!(after(10_000, 150_000, false), (100_000, 0, false));
        assert_eq!(after(10_001, 150_000, false), (150_000, 10_001, true));
        assert_eq!(after(10_001, 150_000, true), (100_000, 0, true));
        assert_eq!(after(10_001, -1, false), (100_000, 0, true));
    }

    #[test]
    fn a_dip_of_no_time_is_none() {
        let mut path = Path::in_probe_bw();
        path.bbr.constants.dip = 0;
        for _ in 0..200 {
            path.round(100, |_, sample| sample.rtt_us = 150_000);
            assert_eq!(path.bbr.mode, Mode::ProbeBw);
        }
        assert_eq!(path.bbr.rtt.micros(), 150_000);
    }

    /// Later than the clock says, and back to where the pipe was; so does a transmission after an
    /// idle time.
    #[test]
    fn a_dip_ends_after_its_time_where_it_began() {
        let ends = |millis: u32, full: bool, idle: bool| {
            let mut path = if full {
                Path::in_probe_bw()
            } else {
                Path::new()
            };
            path.bbr.mode = Mode::ProbeRtt;
            path.bbr.rtt.done_at = 2_000;
            path.tcp.jiffies = u64::from(millis);
            path.tcp.app_limited = 1;
            match idle {
                true => path.bbr.cwnd_event(&mut path.tcp, CaEvent::TxStart),
                false => path.bbr.check_probe_rtt_done(&mut path.tcp),
            }
            (path.bbr.mode, path.bbr.rtt.measured == millis)
        };
        for idle in [false, true] {
            assert_eq!(ends(2_000, true, idle), (Mode::ProbeRtt, false));
            assert_eq!(ends(2_001, true, idle), (Mode::ProbeBw, true));
            assert_eq!(ends(2_001, false, idle), (Mode::Startup, true));
        }
    }

    /// Ten seconds without a smaller round trip: four segments for 200 ms and a round, then the
    /// window of before. What leaves meanwhile counts as limited by the application.
    #[test]
    fn the_round_trip_is_measured_with_four_segments_in_flight() {
        let mut path = Path::in_probe_bw();
        let before = path.tcp.snd_cwnd;
        let mut rounds = 0;
        while path.bbr.mode == Mode::ProbeBw {
            path.round(100, |_, sample| sample.rtt_us = 150_000);
            rounds += 1;
        }
        // The first sample is of the handshake; eight rounds went by before.
        assert_eq!(rounds + 8, 101);
        assert_eq!(path.tcp.snd_cwnd, LEAST_CWND);
        assert_eq!(path.bbr.gains.pacing, UNIT);
        assert_eq!(path.tcp.app_limited, path.tcp.delivered + 100);
        let limited = |_: &mut Tcp, sample: &mut RateSample| sample.is_app_limited = 1;
        path.round(4, limited); // 200 ms begin
        for _ in 0..2 {
            path.round(4, limited);
            assert_eq!(path.bbr.mode, Mode::ProbeRtt);
        }
        path.round(4, limited);
        assert_eq!(path.bbr.mode, Mode::ProbeBw);
        assert!(path.tcp.snd_cwnd >= before);
        assert_eq!(path.bbr.bw(), 16_777, "the dip's rates are not the path's");
        assert_eq!(path.bbr.rtt.micros(), 100_000);
    }

    /// A restart lasts until something is delivered, and no dip begins in it.
    #[test]
    fn no_dip_begins_with_a_restart() {
        let mut path = Path::in_probe_bw();
        path.pass(20_000);
        path.bbr.cwnd_event(&mut path.tcp, CaEvent::TxStart);
        assert!(!path.bbr.idle_restart, "the application was no limit");
        path.tcp.app_limited = 1;
        path.bbr.cwnd_event(&mut path.tcp, CaEvent::CwndRestart);
        assert!(!path.bbr.idle_restart);
        path.bbr.cwnd_event(&mut path.tcp, CaEvent::TxStart);
        let nothing = RateSample {
            rtt_us: -1,
            ..RateSample::default()
        };
        path.bbr.cong_control(&mut path.tcp, 0, 0, &nothing);
        assert!(path.bbr.idle_restart);
        assert_eq!(path.bbr.mode, Mode::ProbeBw);
        path.round(100, |_, sample| sample.rtt_us = -1);
        assert!(!path.bbr.idle_restart);
        assert_eq!(path.bbr.mode, Mode::ProbeBw);
        path.round(100, |_, sample| sample.rtt_us = -1);
        assert_eq!(path.bbr.mode, Mode::ProbeRtt);
    }
}
