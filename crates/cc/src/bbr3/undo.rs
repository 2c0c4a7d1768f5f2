//! Losses that were none: bounds and state return to what they were (5.5.11).

use super::{Bbr3, State};

/// The state that a loss ended (`undo_state`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ReturnTo {
    /// None.
    #[default]
    Nothing,
    Startup,
    /// ProbeBW_UP.
    Up,
}

/// What was in force before the losses.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Undo {
    pub(super) state: ReturnTo,
    bw: f64,
    inflight: u64,
    long_term: u64,
    /// `prior_cwnd`.
    pub(super) cwnd: u64,
}

impl Bbr3 {
    /// `SaveStateUponLoss`.
    pub(super) fn save_state_upon_loss(&mut self) {
        self.save_cwnd();
        self.undo = Undo {
            state: ReturnTo::Nothing,
            bw: self.loss.bw,
            inflight: self.loss.inflight,
            long_term: self.long_term.bound,
            cwnd: self.undo.cwnd,
        };
    }

    /// `HandleSpuriousLossDetection`.
    pub(super) fn handle_spurious_loss(&mut self) {
        self.restore_cwnd();
        self.loss.forget_loss();
        self.pipe.reset(0.0);
        self.loss.bw = self.loss.bw.max(self.undo.bw);
        self.loss.inflight = self.loss.inflight.max(self.undo.inflight);
        self.long_term.bound = self.long_term.bound.max(self.undo.long_term);
        match self.undo.state {
            ReturnTo::Startup if self.state != State::Startup => {
                self.pipe.set_reached(false);
                if self.state != State::ProbeRtt {
                    self.enter_startup();
                }
            }
            ReturnTo::Up if !matches!(self.state, State::Up | State::ProbeRtt) => {
                self.start_refill();
            }
            _ => {}
        }
        self.undo.state = ReturnTo::Nothing;
    }
}
