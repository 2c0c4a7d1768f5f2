//! Startup and Drain: double the rate each round until it no longer grows, then let the queue run
//! off.

use super::{Bbr, GAIN_SHIFT, Mode, Sample, UNIT};
use crate::Cx;

/// Growth by a quarter is growth (`bbr_full_bw_thresh`).
const GROWTH: u64 = UNIT * 5 / 4;
/// Rounds without growth that show a full pipe (`bbr_full_bw_cnt`).
const ROUNDS: u32 = 3;

/// Whether the pipe is full.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pipe {
    full: bool,
    bw: u64,
    rounds: u32,
}

impl Pipe {
    /// Whether Startup filled the pipe.
    pub(super) fn is_full(&self) -> bool {
        self.full
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
    pub(super) fn check_full_pipe(&mut self, sample: &Sample) {
        let limited = sample.rate.is_some_and(|rate| rate.app_limited);
        let pipe = &mut self.pipe;
        if pipe.full || !self.bandwidth.round_start || limited {
            return;
        }
        let bw = self.bandwidth.max();
        if bw >= pipe.bw.saturating_mul(GROWTH) >> GAIN_SHIFT {
            pipe.bw = bw;
            pipe.rounds = 0;
            return;
        }
        pipe.rounds += 1;
        pipe.full = pipe.rounds >= ROUNDS;
    }

    /// `bbr_check_drain`.
    pub(super) fn check_drain(&mut self, sample: &Sample, cx: &mut Cx<'_>) {
        if self.mode == Mode::Startup && self.pipe.full {
            self.mode = Mode::Drain;
            self.ssthresh = self.inflight(self.bandwidth.max(), UNIT).max(1);
        }
        if self.mode == Mode::Drain
            && self.at_departure(sample, sample.in_flight)
                <= self.inflight(self.bandwidth.max(), UNIT)
        {
            self.enter_probe_bw(sample.now, cx);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::old::bbr::tests::Path;

    /// `bbr_full_bw_thresh`: a quarter more is growth, a little less is none.
    #[test]
    fn growth_is_by_a_quarter() {
        let rounds_after = |segments| {
            let mut path = Path::new();
            path.round(100, |_| {});
            path.round(100, |_| {});
            path.round(segments, |_| {});
            path.bbr().pipe.rounds
        };
        assert_eq!(rounds_after(124), 2);
        assert_eq!(rounds_after(125), 0);
    }

    #[test]
    fn a_mistake_begins_the_count_again() {
        let mut path = Path::new();
        for _ in 0..3 {
            path.round(100, |_| {});
        }
        assert_eq!(path.bbr().pipe.rounds, 2);
        path.flow.undo();
        assert_eq!((path.bbr().pipe.rounds, path.bbr().pipe.bw), (0, 0));
    }
}
