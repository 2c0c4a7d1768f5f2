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

    /// Rounds in a row without growth.
    pub(super) fn count(&self) -> u32 {
        self.count
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

#[cfg(test)]
mod tests {
    use cclab_units::Time;

    use super::*;
    use crate::bbr3::Delivery;
    use crate::bbr3::tests::{Path, sample};

    /// 5.3.1.2: three rounds that bring less than a quarter more; what the application limited, and
    /// what is within a round, says nothing.
    #[test]
    fn a_pipe_is_full_after_three_rounds_without_growth() {
        let mut bbr = Path::new().flow.cc;
        let mut check = |rate, app_limited, round_start| {
            bbr.bandwidth.round_start = round_start;
            let sample = sample(Time::from_secs(2));
            let rate = sample.rate.map(|known| Delivery {
                rate,
                app_limited,
                ..known
            });
            bbr.check_full_pipe(&Sample { rate, ..sample });
            let pipe = &bbr.pipe;
            (pipe.bw, pipe.count, pipe.now)
        };
        assert_eq!(check(1e6, false, true), (1e6, 0, false));
        assert_eq!(check(1.25e6, false, true), (1.25e6, 0, false));
        assert_eq!(check(1.5e6, false, true), (1.25e6, 1, false));
        assert_eq!(check(1.5e6, true, true), (1.25e6, 1, false));
        assert_eq!(check(1.5e6, false, false), (1.25e6, 1, false));
        assert_eq!(check(1.5e6, false, true), (1.25e6, 2, false));
        assert_eq!(check(1.5e6, false, true), (1.25e6, 3, true));
        assert_eq!(check(2e6, false, true), (1.25e6, 3, true));
        assert!(bbr.pipe.reached());
        bbr.pipe.reset(1e6);
        assert!(bbr.pipe.reached() && !bbr.pipe.is_full_now());
    }
}
