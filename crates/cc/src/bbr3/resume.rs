//! Resuming from what an earlier connection found (RFC 9959, on BBR): Startup may send at the rate that
//! is remembered before it has measured it.

use super::{Bbr3, State, whole};
use crate::Resumption;
use crate::window::MAX_WINDOW;

/// Whether the connection resumes (the flag "carefully-resuming").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Resuming {
    #[default]
    No,
    /// At so many bytes a second at least.
    At(u64),
    /// Congestion ended that: what is delivered until Drain is over pushed out others' packets.
    Drains,
}

impl Bbr3 {
    pub(super) fn take_step(&mut self, step: Resumption) {
        match (step, self.resuming) {
            (Resumption::Begins(rate), _) if self.state == State::Startup => {
                self.resuming = Resuming::At(rate);
                self.raise();
            }
            (Resumption::Retreats, Resuming::At(_)) => {
                // Out of Startup; below it nothing is tainted.
                self.resuming = match self.state {
                    State::Startup => Resuming::Drains,
                    _ => Resuming::No,
                };
                self.pipe.set_reached(true);
            }
            (Resumption::Ends, Resuming::At(_)) => self.resuming = Resuming::No,
            _ => {}
        }
    }

    /// Whether the delivery rate says something of the path.
    pub(super) fn is_tainted(&self) -> bool {
        self.resuming == Resuming::Drains
    }

    /// Behind each acknowledgement: rate and window are those of the rate that is remembered, if that
    /// is more.
    pub(super) fn keep_resuming(&mut self) {
        match (self.resuming, self.state) {
            (Resuming::At(_), State::Startup) => self.raise(),
            (Resuming::Drains, State::Startup | State::Drain) => {}
            _ => self.resuming = Resuming::No,
        }
    }

    fn raise(&mut self) {
        let Resuming::At(rate) = self.resuming else {
            return;
        };
        let rate = rate as f64;
        self.pacing.raise(rate);
        if let Some(rtt) = self.rtt.get() {
            let window = whole(self.constants.cwnd_gain * rate * rtt.as_secs_f64());
            self.cwnd = self.cwnd.max(window).min(MAX_WINDOW);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CongestionControl;
    use crate::bbr3::tests::{MSS, Path};

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
