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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bbr3::tests::{MSS, Path};
    use crate::tests::congestion;
    use crate::{Congestion, CongestionSample};

    /// 5.5.11.2: the looser of each bound, the larger window, and the state that the loss ended.
    #[test]
    fn what_losses_changed_comes_back() {
        let mut bbr = Path::in_state(State::Cruise).flow.cc;
        bbr.cwnd = 200 * MSS;
        bbr.loss.bw = 9e5;
        bbr.loss.inflight = 180 * MSS;
        bbr.long_term.bound = 190 * MSS;
        bbr.save_state_upon_loss();
        bbr.cwnd = 100 * MSS;
        bbr.loss.bw = 5e5;
        bbr.loss.inflight = 90 * MSS;
        bbr.long_term.bound = 250 * MSS;
        bbr.handle_spurious_loss();
        assert_eq!((bbr.cwnd, bbr.loss.bw), (200 * MSS, 9e5));
        let bounds = (bbr.loss.inflight, bbr.long_term.bound);
        assert_eq!(bounds, (180 * MSS, 250 * MSS));
        assert_eq!(bbr.state, State::Cruise);
    }

    #[test]
    fn the_state_that_a_loss_ended_comes_back_but_from_a_dip() {
        let after = |undo, now| {
            let mut bbr = Path::in_state(State::Cruise).flow.cc;
            bbr.state = now;
            bbr.undo.state = undo;
            bbr.handle_spurious_loss();
            assert_eq!(bbr.undo.state, ReturnTo::Nothing);
            (bbr.state, bbr.pipe.reached())
        };
        assert_eq!(
            after(ReturnTo::Startup, State::Drain),
            (State::Startup, false)
        );
        assert_eq!(
            after(ReturnTo::Startup, State::Startup),
            (State::Startup, true)
        );
        let dip = State::ProbeRtt;
        assert_eq!(after(ReturnTo::Startup, dip), (dip, false));
        assert_eq!(after(ReturnTo::Up, State::Down), (State::Refill, true));
        assert_eq!(after(ReturnTo::Up, State::Up), (State::Up, true));
        assert_eq!(after(ReturnTo::Up, dip), (dip, true));
        assert_eq!(after(ReturnTo::Nothing, State::Down), (State::Down, true));
    }

    /// 5.6.4.4: each episode saves what it finds, a repeated timeout and a mark do not.
    #[test]
    fn an_episode_saves_the_bounds_once() {
        let mut flow = Path::in_state(State::Cruise).flow;
        let timeout = |repeated| CongestionSample {
            repeated,
            ..congestion(50 * MSS)
        };
        flow.cc.loss.inflight = 90 * MSS;
        flow.congestion(Congestion::Ecn, &congestion(50 * MSS));
        assert!(!flow.cc.loss.recovers());
        flow.congestion(Congestion::Rto, &timeout(false));
        assert_eq!((flow.cc.undo.inflight, flow.cc.cwnd), (90 * MSS, 51 * MSS));
        flow.cc.loss.inflight = 60 * MSS;
        flow.congestion(Congestion::Rto, &timeout(true));
        assert_eq!(flow.cc.undo.inflight, 90 * MSS);
        flow.congestion(Congestion::Loss, &timeout(true));
        assert_eq!((flow.cc.undo.inflight, flow.cc.cwnd), (60 * MSS, 51 * MSS));
    }
}
