//! Startup and Drain: double the rate each round until it no longer grows, then let the queue run
//! off.

use cclab_interface::{RateSample, Tcp};
use cclab_units::hint::{likely, unlikely};

use super::{Bbr, GAIN_SHIFT, Mode, UNIT};

/// Growth by a quarter is growth (`bbr_full_bw_thresh`).
const GROWTH: u32 = UNIT * 5 / 4;
/// Rounds without growth that show a full pipe (`bbr_full_bw_cnt`).
const ROUNDS: u32 = 3;

/// Whether the pipe is full.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pipe {
    full: bool,
    bw: u32,
    rounds: u32,
}

impl Pipe {
    /// Whether Startup filled the pipe.
    pub(super) fn is_full(&self) -> bool {
        self.full
    }

    /// Rounds in a row without growth.
    pub(super) fn rounds(&self) -> u32 {
        self.rounds
    }

    /// It is taken for full.
    pub(super) fn fill(&mut self) {
        self.full = true;
    }

    /// A timeout: rates from now on are compared with nothing.
    pub(super) fn forget_rate(&mut self) {
        self.bw = 0;
    }

    /// A mistake: counting begins again.
    pub(super) fn forget_growth(&mut self) {
        self.bw = 0;
        self.rounds = 0;
    }
}

impl Bbr {
    /// `bbr_check_full_bw_reached`.
    pub(super) fn check_full_pipe(&mut self, sample: &RateSample) {
        let pipe = &mut self.pipe;
        if likely(pipe.full || !self.bandwidth.round_start) || sample.is_app_limited != 0 {
            return;
        }
        let bw = self.bandwidth.max();
        if bw >= ((u64::from(pipe.bw) * u64::from(GROWTH)) >> GAIN_SHIFT) as u32 {
            pipe.bw = bw;
            pipe.rounds = 0;
            return;
        }
        pipe.rounds += 1;
        pipe.full = pipe.rounds >= ROUNDS;
    }

    /// `bbr_check_drain`.
    pub(super) fn check_drain(&mut self, tcp: &mut Tcp) {
        let bw = self.bandwidth.max();
        if unlikely(self.mode == Mode::Startup && self.pipe.full) {
            self.mode = Mode::Drain;
            tcp.snd_ssthresh = self.inflight(tcp, bw, UNIT);
        }
        if unlikely(self.mode == Mode::Drain)
            && self.at_departure(tcp, tcp.packets_in_flight()) <= self.inflight(tcp, bw, UNIT)
        {
            self.enter_probe_bw(tcp);
        }
    }
}

#[cfg(test)]
mod tests {
    use cclab_interface::{CaState, CongestionOps};

    use super::*;
    use crate::bbr::tests::Path;

    /// A round whose queue does not run off.
    fn queued(path: &mut Path, segments: u32) {
        path.round(segments, |tcp, _| tcp.packets_out = 250);
    }

    /// A quarter more is growth, a little less is none.
    #[test]
    fn growth_is_by_a_quarter() {
        let rounds_after = |segments| {
            let mut path = Path::new();
            for segments in [100, 100, segments] {
                path.round(segments, |_, _| {});
            }
            path.bbr.pipe.rounds
        };
        assert_eq!(rounds_after(124), 2);
        assert_eq!(rounds_after(125), 0);
    }

    #[test]
    fn a_mistake_begins_the_count_again() {
        let mut path = Path::new();
        for _ in 0..3 {
            path.round(100, |_, _| {});
        }
        assert_eq!(path.bbr.pipe.rounds, 2);
        path.bbr.undo_cwnd(&mut path.tcp);
        assert_eq!((path.bbr.pipe.rounds, path.bbr.pipe.bw), (0, 0));
    }

    /// Three rounds without a quarter more show a full pipe; Drain ends when no more is in flight
    /// than the product and three bursts.
    #[test]
    fn startup_ends_after_three_rounds_without_growth() {
        let mut path = Path::new();
        for segments in [10, 20, 40, 80, 100] {
            path.round(segments, |_, _| {});
            assert_eq!(path.bbr.mode, Mode::Startup);
        }
        for _ in 0..2 {
            queued(&mut path, 100);
            assert_eq!(path.bbr.mode, Mode::Startup);
        }
        queued(&mut path, 100);
        assert_eq!(path.bbr.mode, Mode::Drain);
        assert_eq!((path.bbr.gains.pacing, path.bbr.gains.cwnd), (88, 739));
        // 100 segments in 100 ms: 16777 a microsecond and 2^-24; 100 in a product, rounded up; a
        // burst is two, three of them and an even number.
        assert_eq!(path.bbr.bw(), 16_777);
        assert_eq!(path.tcp.snd_ssthresh, 106);
        path.round(100, |tcp, _| tcp.packets_out = 107);
        assert_eq!(path.bbr.mode, Mode::Drain);
        path.round(100, |tcp, _| tcp.packets_out = 106);
        assert_eq!(path.bbr.mode, Mode::ProbeBw);
        // Two products, 99 for acknowledgements of a round at once, three bursts, and even; two
        // more in the phase that sends more.
        path.round(100, |_, _| {});
        let cwnd = path.tcp.snd_cwnd;
        assert!(cwnd == 306 || cwnd == 308, "{cwnd}");
    }

    /// After a timeout the rate is compared with nothing, so that the rounds without growth are
    /// counted anew.
    #[test]
    fn a_timeout_in_startup_begins_the_search_for_growth_again() {
        let mut path = Path::new();
        for segments in [10, 20, 40, 80, 80, 80] {
            queued(&mut path, segments);
        }
        path.bbr.set_state(&mut path.tcp, CaState::Loss);
        for _ in 0..3 {
            queued(&mut path, 80);
            assert_eq!(path.bbr.mode, Mode::Startup);
        }
        queued(&mut path, 80);
        assert_eq!(path.bbr.mode, Mode::Drain);
    }

    /// It looks once a round, and at none that the application limited.
    #[test]
    fn only_whole_rounds_of_the_path_show_a_full_pipe() {
        let mut path = Path::new();
        for segments in [10, 20, 40, 80, 100] {
            path.round(segments, |_, _| {});
        }
        let within = path.tcp.delivered - 1;
        for _ in 0..10 {
            path.round(100, |tcp, sample| {
                tcp.packets_out = 250;
                sample.prior_delivered = within; // left before the round began
            });
        }
        for _ in 0..10 {
            path.round(100, |tcp, sample| {
                tcp.packets_out = 250;
                sample.is_app_limited = 1;
            });
        }
        for _ in 0..3 {
            assert_eq!(path.bbr.mode, Mode::Startup);
            queued(&mut path, 100);
        }
        assert_eq!(path.bbr.mode, Mode::Drain);
    }
}
