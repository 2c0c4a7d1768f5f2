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

#[cfg(test)]
mod tests {
    use cclab_units::{Stream, Time};

    use super::*;
    use crate::bbr3::Delivery;
    use crate::bbr3::tests::{MSS, Path, sample};

    /// 5.3.1.3: at the end of a round of recovery that lost more than 2% at six times at least.
    #[test]
    fn startup_ends_when_a_round_of_recovery_loses_much() {
        let ends = |events, repair, lost: u64| {
            let mut bbr = Path::new().flow.cc;
            let lossy = Sample {
                newly_lost: MSS,
                ..sample(Time::from_secs(9))
            };
            for _ in 1..events {
                assert!(bbr.loss.count_event(&lossy) < 6);
            }
            let last = Sample {
                repair,
                rate: lossy.rate.map(|rate| Delivery {
                    lost: lost * MSS,
                    ..rate
                }),
                ..lossy
            };
            bbr.update_latest_delivery(&last);
            bbr.check_startup_high_loss(&last);
            bbr.pipe.reached()
        };
        assert!(ends(6, Repair::Losses, 3));
        assert!(!ends(5, Repair::Losses, 3));
        assert!(!ends(6, Repair::Losses, 2));
        assert!(!ends(6, Repair::Nothing, 3));
        assert!(!ends(6, Repair::Timeout, 3));
    }

    #[test]
    fn drain_lasts_three_rounds_at_most() {
        let ends = |rounds: u64, in_flight: u64| {
            let mut bbr = Path::in_drain().flow.cc;
            bbr.drain_start_round = 20;
            bbr.bandwidth.rounds = 20 + rounds;
            let mut rng = Stream::new(1, "dice");
            let now = Time::from_secs(9);
            let mut cx = Cx { now, rng: &mut rng };
            let sample = Sample {
                in_flight: in_flight * MSS,
                ..sample(now)
            };
            bbr.check_drain_done(&sample, &mut cx);
            bbr.state != State::Drain
        };
        assert!(!ends(3, 150));
        assert!(ends(4, 150));
        assert!(ends(0, 100));
    }
}
