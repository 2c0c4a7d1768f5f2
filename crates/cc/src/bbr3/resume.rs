//! What is remembered of an earlier connection (`crate::resuming`), in the units of BBR's draft.

use super::{Bbr3, State, whole};
use crate::Resumption;
use crate::resuming::{Pace, Stage, Turn};
use crate::window::MAX_WINDOW;

impl Bbr3 {
    pub(super) fn take_step(&mut self, step: Resumption) {
        let now = Pace {
            rate: self.pacing.bytes_per_second(),
            window: self.cwnd,
        };
        match self.resuming.take(step, self.stage(), now) {
            Some(Turn::Raise(rate)) => self.raise(rate),
            Some(Turn::Fill) => self.pipe.set_reached(true),
            Some(Turn::GiveBack(before)) => self.give_back(before),
            None => {}
        }
    }

    /// Behind each acknowledgement: rate and window are those of the rate that is remembered, if that
    /// is more.
    pub(super) fn keep_resuming(&mut self) {
        if let Some(rate) = self.resuming.keep(self.stage()) {
            self.raise(rate);
        }
    }

    fn stage(&self) -> Stage {
        match self.state {
            State::Startup => Stage::Startup,
            State::Drain => Stage::Drain,
            _ => Stage::Later,
        }
    }

    fn raise(&mut self, rate: u64) {
        let rate = rate as f64;
        self.pacing.raise(rate);
        if let Some(rtt) = self.rtt.get() {
            let window = whole(self.constants.cwnd_gain * rate * rtt.as_secs_f64());
            self.cwnd = self.cwnd.max(window).min(MAX_WINDOW);
        }
    }

    /// `SetPacingRateWithGain` never does so before the pipe was full.
    fn give_back(&mut self, before: Pace) {
        let (pacing, window) = self.state.gains(&self.constants);
        let measured = self.paced_by(pacing).max(before.rate as f64);
        if measured < self.pacing.bytes_per_second() as f64 {
            self.pacing.set(measured);
        }
        let window = self.inflight(self.bw, window).max(before.window);
        self.cwnd = self.cwnd.min(window);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CongestionControl;
    use crate::bbr3::tests::{MSS, Path};
    use crate::resuming::Resuming;

    /// 2 Mbyte/s over 100 ms are 200 segments, twice.
    #[test]
    fn startup_sends_at_the_rate_remembered_until_it_is_told_otherwise() {
        let mut path = Path::new();
        path.round(10, 20);
        assert!(path.bbr().resume(Resumption::Begins(2_000_000)));
        let rate = |path: &mut Path| path.bbr().pacing_rate().map(|rate| rate.bps() / 8);
        assert_eq!(rate(&mut path), Some(2_000_000));
        assert_eq!(path.bbr().cwnd / MSS, 400);
        path.round(10, 20);
        assert_eq!(rate(&mut path), Some(2_000_000));
        path.bbr().resume(Resumption::Ends);
        assert_eq!(path.bbr().resuming, Resuming::No);
        assert_eq!(path.bbr().state, State::Startup);
        // Twenty segments a round trip are what was measured: a rate that none spoke for is given back.
        assert!(rate(&mut path) < Some(1_200_000));
        assert!(path.bbr().cwnd / MSS < 100);
        path.round(10, 20);
        assert!(rate(&mut path) < Some(1_200_000));
    }

    /// What was delivered at the rate remembered keeps it up.
    #[test]
    fn a_rate_that_was_validated_stays() {
        let mut path = Path::new();
        path.round(10, 20);
        path.bbr().resume(Resumption::Begins(2_000_000));
        path.round(140, 200);
        path.bbr().resume(Resumption::Ends);
        let rate = path.bbr().pacing_rate().map(|rate| rate.bps() / 8);
        assert!(rate >= Some(2_000_000), "{rate:?}");
    }

    /// Congestion ends Startup, and what Drain delivers is no bandwidth.
    #[test]
    fn congestion_drains_and_what_that_delivers_says_nothing() {
        let mut path = Path::new();
        path.round(10, 20);
        path.bbr().resume(Resumption::Begins(2_000_000));
        path.round(100, 300);
        let known = path.bbr().bandwidth.max();
        path.bbr().resume(Resumption::Retreats);
        path.round(200, 250);
        assert_eq!(path.bbr().state, State::Drain);
        assert_eq!(path.bbr().bandwidth.max(), known);
        path.round(200, 10);
        assert!(path.bbr().state.is_probe_bw());
        assert_eq!(path.bbr().resuming, Resuming::No);
    }

    /// Only Startup resumes.
    #[test]
    fn a_pipe_that_was_full_is_not_filled_again() {
        let mut path = Path::in_state(State::Cruise);
        let before = (path.bbr().pacing_rate(), path.bbr().cwnd);
        path.bbr().resume(Resumption::Begins(1 << 40));
        assert_eq!((path.bbr().pacing_rate(), path.bbr().cwnd), before);
    }
}
