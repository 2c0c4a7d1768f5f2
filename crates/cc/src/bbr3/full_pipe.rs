//! Whether a faster rate still brings more bandwidth (5.3.1.2): ends Startup and ProbeBW_UP.

use super::{Bbr3, Sample};

/// Growth by a quarter is growth; three rounds without it show a full pipe.
const GROWTH: f64 = 1.25;
const ROUNDS: u32 = 3;

/// The estimator.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FullPipe {
    /// `full_bw`, `full_bw_count`, `full_bw_now`.
    bw: f64,
    count: u32,
    now: bool,
    /// `full_bw_reached`: once over the connection's life.
    reached: bool,
}

impl FullPipe {
    /// Whether the pipe was ever full.
    pub(super) fn reached(&self) -> bool {
        self.reached
    }

    /// Whether it is since the estimate began.
    pub(super) fn is_full_now(&self) -> bool {
        self.now
    }

    pub(super) fn set_reached(&mut self, reached: bool) {
        self.reached = reached;
        self.now = reached;
    }

    /// `ResetFullBW`, with `bw` as what growth is measured from.
    pub(super) fn reset(&mut self, bw: f64) {
        self.bw = bw;
        self.count = 0;
        self.now = false;
    }
}

impl Bbr3 {
    /// `CheckFullBWReached`.
    pub(super) fn check_full_pipe(&mut self, sample: &Sample) {
        let Some(rate) = sample.rate else { return };
        let pipe = &mut self.pipe;
        if pipe.now || !self.bandwidth.round_start || rate.app_limited {
            return;
        }
        if rate.rate >= pipe.bw * GROWTH {
            return pipe.reset(rate.rate);
        }
        pipe.count += 1;
        pipe.now = pipe.count >= ROUNDS;
        pipe.reached |= pipe.now;
    }
}
