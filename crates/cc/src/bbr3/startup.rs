//! Startup and Drain (5.3.1, 5.3.2).

use super::{Bbr3, Sample, State, undo};
use crate::{Cx, Repair};

/// Losses apart from each other that end Startup (`StartupFullLossCnt`). Counted by the
/// acknowledgements that show some, as implementations do.
const LOSS_EVENTS: u32 = 6;
/// Rounds after which Drain is over whatever is in flight.
const DRAIN_ROUNDS: u64 = 3;

impl Bbr3 {
    /// `CheckStartupDone`.
    pub(super) fn check_startup_done(&mut self, sample: &Sample) {
        self.check_startup_high_loss(sample);
        if self.state == State::Startup && self.pipe.reached() {
            self.enter_drain();
        }
    }

    /// `CheckStartupHighLoss` (5.3.1.3): at the end of a round of recovery with a loss rate above
    /// the threshold, made of several losses.
    fn check_startup_high_loss(&mut self, sample: &Sample) {
        let events = self.loss.count_event(sample);
        let lossy = self.state == State::Startup
            && !self.pipe.reached()
            && self.loss.round_start()
            && sample.repair == Repair::Losses
            && events >= LOSS_EVENTS
            && sample
                .rate
                .is_some_and(|rate| self.is_too_high(rate.lost, rate.tx_in_flight));
        if lossy {
            self.undo.state = undo::ReturnTo::Startup;
            self.pipe.set_reached(true);
            self.bound_long_term(self.bdp().max(self.loss.inflight_latest()));
        }
    }

    pub(super) fn enter_startup(&mut self) {
        self.state = State::Startup;
    }

    fn enter_drain(&mut self) {
        self.state = State::Drain;
        self.drain_start_round = self.bandwidth.rounds;
    }

    /// `CheckDrainDone`.
    pub(super) fn check_drain_done(&mut self, sample: &Sample, cx: &mut Cx<'_>) {
        let empty = sample.in_flight <= self.inflight(self.bw, 1.0);
        let late = self.bandwidth.rounds > self.drain_start_round + DRAIN_ROUNDS;
        if self.state == State::Drain && (empty || late) {
            self.start_down(sample.now, cx); // EnterProbeBW
        }
    }
}
