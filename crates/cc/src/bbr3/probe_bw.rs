//! ProbeBW (5.3.3): down to drain the queue, cruise, refill the pipe, up to find more.

use cclab_units::Time;

use super::long_term::AckPhase;
use super::{Bbr3, Sample, State};
use crate::Cx;

/// Between two probes pass two to three seconds (5.3.3.8.2), or as many rounds as segments are in
/// flight, 63 at most: what a Reno flow would need to come back.
const LEAST_WAIT: Time = Time::from_secs(2);
const MOST_ROUNDS: u64 = 63;

/// When the next probe is due.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cycle {
    /// When the cycle began (`cycle_stamp`), and how long it waits (`bw_probe_wait`).
    began: Time,
    wait: Time,
    /// `rounds_since_probe_up`.
    rounds: u64,
}

impl Cycle {
    pub(super) fn on_round(&mut self) {
        self.rounds += 1;
    }
}

impl Bbr3 {
    /// `StartProbeBW_DOWN`.
    pub(super) fn start_down(&mut self, now: Time, cx: &mut Cx<'_>) {
        self.loss.reset();
        self.long_term.stop_growing();
        // PickProbeWait
        self.cycle.rounds = u64::from(cx.rng.chance(0.5));
        let dice = cx.rng.uniform() * 1e9;
        self.cycle.wait = LEAST_WAIT + Time::from_nanos(dice as u64);
        self.cycle.began = now;
        self.long_term.phase = AckPhase::ProbeStopping;
        self.start_round();
        self.state = State::Down;
    }

    /// `StartProbeBW_CRUISE`.
    pub(super) fn start_cruise(&mut self) {
        self.state = State::Cruise;
    }

    /// `StartProbeBW_REFILL`.
    pub(super) fn start_refill(&mut self) {
        self.loss.forget_bounds();
        self.long_term.begin_probe();
        self.start_round();
        self.state = State::Refill;
    }

    /// `StartProbeBW_UP`.
    fn start_up(&mut self, rate: f64) {
        self.long_term.phase = AckPhase::ProbeStarting;
        self.start_round();
        self.pipe.reset(rate);
        self.state = State::Up;
        self.long_term.raise_slope(self.cwnd, self.constants.mss);
    }

    /// `UpdateProbeBWCyclePhase`.
    pub(super) fn update_cycle(&mut self, sample: &Sample, cx: &mut Cx<'_>) {
        if !self.pipe.reached() || self.adapt_long_term(sample) {
            return;
        }
        let state = self.state;
        match state {
            State::Down if self.probes_now(sample) => {}
            State::Down if self.is_time_to_cruise(sample) => self.start_cruise(),
            State::Cruise => {
                self.probes_now(sample);
            }
            State::Refill if self.bandwidth.round_start => {
                self.long_term.is_probe_sample = true;
                self.start_up(sample.rate.map_or(0.0, |rate| rate.rate));
            }
            State::Up if self.is_time_to_go_down(sample) => {
                self.long_term.too_high = false; // no high loss yet
                self.start_down(sample.now, cx);
            }
            _ => {}
        }
    }

    /// `IsTimeToProbeBW`.
    fn probes_now(&mut self, sample: &Sample) -> bool {
        let rounds = (self.target_inflight() / self.constants.mss).min(MOST_ROUNDS);
        let due = sample.now > self.cycle.began + self.cycle.wait || self.cycle.rounds >= rounds;
        if due {
            self.start_refill();
        }
        due
    }

    /// `IsTimeToCruise`: there is headroom, and no queue.
    fn is_time_to_cruise(&self, sample: &Sample) -> bool {
        sample.in_flight <= self.inflight_with_headroom()
            && sample.in_flight <= self.inflight(self.bandwidth.max(), 1.0)
    }

    /// `IsTimeToGoDown` (5.3.3.7). What was in flight before the acknowledgement counts, for the
    /// window keeps what is after it below the bound.
    fn is_time_to_go_down(&mut self, sample: &Sample) -> bool {
        if self.long_term.too_high && sample.prior_in_flight >= self.long_term.bound {
            self.long_term.precautionary = true;
            return true;
        }
        if sample.cwnd_limited && self.cwnd >= self.long_term.bound {
            // The bound limits the rate, not the path.
            self.pipe.reset(sample.rate.map_or(0.0, |rate| rate.rate));
            return false;
        }
        self.pipe.is_full_now()
    }
}
