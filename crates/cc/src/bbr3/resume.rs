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
