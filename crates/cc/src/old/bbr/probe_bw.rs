//! ProbeBW: eight phases of a round-trip time each, of which one sends more than was measured, one
//! drains the queue of it, and six cruise.

use super::{BW_SHIFT, Bbr, Mode, Sample, UNIT};
use crate::Cx;

/// `bbr_pacing_gain`.
const GAINS: [u64; 8] = [
    UNIT * 5 / 4,
    UNIT * 3 / 4,
    UNIT,
    UNIT,
    UNIT,
    UNIT,
    UNIT,
    UNIT,
];
/// Phases in which a cycle may begin: any but the one that drains (`bbr_cycle_rand`).
const BEGINNINGS: u64 = 7;

/// Where the cycle is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cycle {
    phase: usize,
    /// When the phase began, in microseconds.
    began: u64,
}

impl Cycle {
    pub(super) fn gain(&self) -> u64 {
        GAINS[self.phase]
    }

    /// Whether the phase is the one that sends more.
    pub(super) fn is_up(&self) -> bool {
        self.phase == 0
    }

    fn advance(&mut self, now: u64) {
        self.phase = (self.phase + 1) % GAINS.len();
        self.began = now;
    }
}

impl Bbr {
    /// `bbr_reset_probe_bw_mode`: a cycle begins in a phase by dice.
    pub(super) fn enter_probe_bw(&mut self, now: u64, cx: &mut Cx<'_>) {
        self.mode = Mode::ProbeBw;
        let dice = (cx.rng.uniform() * BEGINNINGS as f64) as u64;
        self.cycle.phase = GAINS.len() - 1 - dice.min(BEGINNINGS - 1) as usize;
        self.cycle.advance(now);
    }

    /// `bbr_update_cycle_phase`.
    pub(super) fn update_cycle(&mut self, sample: &Sample) {
        if self.mode == Mode::ProbeBw && self.is_next_phase(sample) {
            self.cycle.advance(sample.now);
        }
    }

    /// `bbr_is_next_cycle_phase`.
    fn is_next_phase(&self, sample: &Sample) -> bool {
        let full_length = sample.now - self.cycle.began > self.rtt.micros();
        let gain = self.gains.pacing;
        if gain == UNIT {
            return full_length;
        }
        let in_flight = self.at_departure(sample, sample.prior_in_flight);
        let bw = self.bandwidth.max();
        if gain > UNIT {
            // Until that much is in flight, which a small round-trip time takes several of; a
            // loss shows that the path does not hold it.
            full_length && (sample.losses > 0 || in_flight >= self.inflight(bw, gain))
        } else {
            // The queue may be gone before.
            full_length || in_flight <= self.inflight(bw, UNIT)
        }
    }

    /// `bbr_packets_in_net_at_edt`: segments in flight when the pacer lets the next one go, that
    /// one included where more is to be in flight.
    pub(super) fn at_departure(&self, sample: &Sample, in_flight: u64) -> u64 {
        let delivered = self.bw().saturating_mul(sample.until_departure) >> BW_SHIFT;
        let next = if self.gains.pacing > UNIT {
            self.burst()
        } else {
            0
        };
        (in_flight + next).saturating_sub(delivered)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::old::bbr::tests::{Path, flow};

    /// A flow at 100 segments in 100 ms, whose bursts are of two, in `phase` since 5 s.
    fn in_phase(phase: usize) -> Bbr {
        let mut bbr = Path::in_probe_bw().flow.cc;
        bbr.cycle = Cycle {
            phase,
            began: 5_000_000,
        };
        bbr.pacing.set(1_000_000);
        bbr.update_gains();
        bbr
    }

    /// `bbr_is_next_cycle_phase`. A product is 100 segments; with three bursts and even it is 106, and
    /// a quarter more is 125 and so 132, and two of the phase up.
    #[test]
    fn phases_last_a_round_trip_or_until_their_purpose_is_reached() {
        let next = |phase, after: u64, prior_in_flight, losses| {
            in_phase(phase).is_next_phase(&Sample {
                now: 5_000_000 + after,
                prior_in_flight,
                losses,
                ..Sample::default()
            })
        };
        let round_trip = 100_000;
        assert!(!next(2, round_trip, 0, 9));
        assert!(next(2, round_trip + 1, 500, 0));
        // Up: a burst of two will be in flight beside what is.
        assert!(!next(0, round_trip + 1, 131, 0));
        assert!(next(0, round_trip + 1, 132, 0));
        assert!(next(0, round_trip + 1, 0, 1));
        assert!(!next(0, round_trip, 200, 1));
        // Down.
        assert!(next(1, 1, 106, 0));
        assert!(!next(1, 1, 107, 0));
        assert!(!next(1, round_trip, 107, 0));
        assert!(next(1, round_trip + 1, 107, 0));
    }

    /// In 10 ms the rate delivers floor(9.99) segments.
    #[test]
    fn what_is_in_flight_is_counted_when_the_next_segment_leaves() {
        let at = |phase, in_flight| {
            let sample = Sample {
                until_departure: 10_000,
                ..Sample::default()
            };
            in_phase(phase).at_departure(&sample, in_flight)
        };
        assert_eq!((at(2, 50), at(1, 50), at(0, 50)), (41, 41, 43));
        assert_eq!((at(2, 9), at(2, 5)), (0, 0));
    }

    /// `bbr_cycle_rand`: any phase but the one that drains.
    #[test]
    fn a_cycle_begins_in_any_phase_but_the_second() {
        let mut rng = cclab_units::Stream::new(1, "phases");
        let mut bbr = flow().cc;
        let mut seen = [0; 8];
        for now in 0..7_000 {
            let mut cx = Cx {
                now: cclab_units::Time::ZERO,
                rng: &mut rng,
            };
            bbr.enter_probe_bw(now, &mut cx);
            assert_eq!(bbr.cycle.began, now);
            seen[bbr.cycle.phase] += 1;
        }
        // A standard deviation is 29.
        let evenly = |&times: &i32| (850..1_150).contains(&times);
        assert_eq!(seen[1], 0);
        assert_eq!(
            seen.iter().filter(|times| evenly(times)).count(),
            7,
            "{seen:?}"
        );
    }
}
