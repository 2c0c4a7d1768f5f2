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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bbr3::tests::{MSS, Path, sample};

    /// 5.3.3.8: a probe is due after its wait, or after as many rounds as segments are in flight, 63 at
    /// most.
    #[test]
    fn a_probe_is_due_by_time_or_by_rounds() {
        let due = |millis: u64, rounds, cwnd: u64| {
            let mut bbr = Path::in_state(State::Cruise).flow.cc;
            bbr.cycle = Cycle {
                began: Time::from_secs(10),
                wait: Time::from_millis(2_500),
                rounds,
            };
            bbr.cwnd = cwnd * MSS;
            let due = bbr.probes_now(&sample(Time::from_millis(10_000 + millis)));
            assert_eq!(bbr.state == State::Refill, due);
            due
        };
        assert!(!due(2_500, 0, 50));
        assert!(due(2_501, 0, 50));
        assert!(!due(0, 49, 50));
        assert!(due(0, 50, 50));
        assert!(!due(0, 62, 90));
        assert!(due(0, 63, 90));
    }

    /// 5.3.3.8.2: two to three seconds, and at random a round more or less.
    #[test]
    fn the_wait_is_random() {
        let mut rng = cclab_units::Stream::new(1, "waits");
        let mut bbr = Path::new().flow.cc;
        let mut waits = Vec::new();
        let mut rounds = 0;
        for _ in 0..1_000 {
            let now = Time::from_secs(7);
            bbr.start_down(now, &mut Cx { now, rng: &mut rng });
            assert_eq!((bbr.state, bbr.cycle.began), (State::Down, now));
            waits.push(bbr.cycle.wait);
            rounds += bbr.cycle.rounds;
        }
        let [least, most] = [waits.iter().min(), waits.iter().max()];
        let millis = |wait: Option<&Time>| wait.map_or(0, |wait| wait.as_millis());
        assert!((2_000..2_020).contains(&millis(least)), "{least:?}");
        assert!((2_980..3_000).contains(&millis(most)), "{most:?}");
        assert!((430..570).contains(&rounds), "{rounds}");
    }

    /// 5.3.3.3: with 15% of the bound free, and no more than a product in flight.
    #[test]
    fn cruising_begins_with_headroom_and_without_a_queue() {
        let cruises = |in_flight: u64, bound| {
            let mut bbr = Path::in_state(State::Cruise).flow.cc;
            bbr.long_term.bound = bound;
            let sample = Sample {
                in_flight: in_flight * MSS,
                ..sample(Time::from_secs(9))
            };
            bbr.is_time_to_cruise(&sample)
        };
        assert!(cruises(100, u64::MAX));
        assert!(!cruises(102, u64::MAX));
        assert!(cruises(85, 100 * MSS));
        assert!(!cruises(86, 100 * MSS));
    }

    /// 5.3.3.7.
    #[test]
    fn a_probe_ends_at_the_bound_that_lost_or_when_the_pipe_is_full() {
        let goes = |too_high, prior_in_flight: u64, cwnd_limited, cwnd: u64| {
            let mut bbr = Path::in_state(State::Up).flow.cc;
            bbr.long_term.bound = 110 * MSS;
            bbr.long_term.too_high = too_high;
            bbr.cwnd = cwnd * MSS;
            bbr.pipe.set_reached(true);
            let sample = Sample {
                prior_in_flight: prior_in_flight * MSS,
                cwnd_limited,
                ..sample(Time::from_secs(9))
            };
            let goes = bbr.is_time_to_go_down(&sample);
            (goes, bbr.long_term.precautionary, bbr.pipe.is_full_now())
        };
        assert_eq!(goes(true, 110, false, 100), (true, true, true));
        assert_eq!(goes(true, 109, false, 100), (true, false, true));
        assert_eq!(goes(false, 110, false, 100), (true, false, true));
        assert_eq!(goes(false, 50, true, 110), (false, false, false));
        assert_eq!(goes(false, 50, true, 109), (true, false, true));
        assert_eq!(goes(false, 50, false, 110), (true, false, true));
    }
}
