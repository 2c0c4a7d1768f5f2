//! ProbeBW: eight phases of a round-trip time each, of which one sends more than was measured, one
//! drains the queue of it, and six cruise.

use cclab_interface::{RateSample, Tcp};

use super::aggregation::micros_between;
use super::{BW_SHIFT, Bbr, Mode, UNIT};

/// `bbr_pacing_gain`.
const GAINS: [u32; 8] = [
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
const BEGINNINGS: u32 = 7;

/// Where the cycle is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cycle {
    /// `cycle_idx`.
    phase: usize,
    /// When the phase began, in microseconds (`cycle_mstamp`).
    began: u64,
}

impl Cycle {
    pub(super) fn gain(&self) -> u32 {
        GAINS[self.phase]
    }

    /// Whether the phase is the one that sends more.
    pub(super) fn is_up(&self) -> bool {
        self.phase == 0
    }

    /// `bbr_advance_cycle_phase`.
    fn advance(&mut self, tcp: &Tcp) {
        self.phase = (self.phase + 1) % GAINS.len();
        self.began = tcp.delivered_mstamp;
    }
}

impl Bbr {
    /// `bbr_reset_probe_bw_mode`: a cycle begins in a phase by dice.
    pub(super) fn enter_probe_bw(&mut self, tcp: &mut Tcp) {
        self.mode = Mode::ProbeBw;
        let dice = tcp.random_u32_below(BEGINNINGS);
        self.cycle.phase = GAINS.len() - 1 - dice as usize;
        self.cycle.advance(tcp);
    }

    /// `bbr_update_cycle_phase`.
    pub(super) fn update_cycle(&mut self, tcp: &Tcp, sample: &RateSample) {
        if self.mode == Mode::ProbeBw && self.is_next_phase(tcp, sample) {
            self.cycle.advance(tcp);
        }
    }

    /// `bbr_is_next_cycle_phase`.
    fn is_next_phase(&self, tcp: &Tcp, sample: &RateSample) -> bool {
        let passed = micros_between(tcp.delivered_mstamp, self.cycle.began);
        let full_length = passed > self.rtt.micros();
        let gain = self.gains.pacing;
        if gain == UNIT {
            return full_length;
        }
        let in_flight = self.at_departure(tcp, sample.prior_in_flight);
        let bw = self.bandwidth.max();
        if gain > UNIT {
            // Until that much is in flight, which a small round-trip time takes several of; a
            // loss shows that the path does not hold it.
            full_length && (sample.losses != 0 || in_flight >= self.inflight(tcp, bw, gain))
        } else {
            // The queue may be gone before.
            full_length || in_flight <= self.inflight(tcp, bw, UNIT)
        }
    }

    /// `bbr_packets_in_net_at_edt`: segments in flight when the pacer lets the next one go, that
    /// one included where more is to be in flight.
    pub(super) fn at_departure(&self, tcp: &Tcp, in_flight: u32) -> u32 {
        let now = tcp.tcp_clock_cache;
        let micros = (tcp.tcp_wstamp_ns.max(now) - now) / 1_000;
        let delivered = (u64::from(self.bw()).wrapping_mul(micros) >> BW_SHIFT) as u32;
        let next = if self.gains.pacing > UNIT {
            self.burst(tcp)
        } else {
            0
        };
        in_flight.wrapping_add(next).saturating_sub(delivered)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bbr::tests::Path;

    /// A flow at 100 segments in 100 ms, whose bursts are of two, in `phase` since 5 s.
    fn in_phase(phase: usize) -> Path {
        let mut path = Path::in_probe_bw();
        path.bbr.cycle = Cycle {
            phase,
            began: 5_000_000,
        };
        path.tcp.pacing_rate = 1_000_000;
        path.bbr.update_gains();
        path
    }

    /// A product is 100 segments; with three bursts and even it is 106, and a quarter more is 125
    /// and so 132, and two of the phase up.
    #[test]
    fn phases_last_a_round_trip_or_until_their_purpose_is_reached() {
        let next = |phase, after: u64, prior_in_flight, losses| {
            let mut path = in_phase(phase);
            path.tcp.delivered_mstamp = 5_000_000 + after;
            let sample = RateSample {
                prior_in_flight,
                losses,
                ..RateSample::default()
            };
            path.bbr.is_next_phase(&path.tcp, &sample)
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
            let mut path = in_phase(phase);
            path.tcp.tcp_wstamp_ns = path.tcp.tcp_clock_cache + 10_000_999;
            path.bbr.at_departure(&path.tcp, in_flight)
        };
        assert_eq!((at(2, 50), at(1, 50), at(0, 50)), (41, 41, 43));
        assert_eq!((at(2, 9), at(2, 5)), (0, 0));
        let mut late = in_phase(2);
        late.tcp.tcp_wstamp_ns = late.tcp.tcp_clock_cache - 1;
        assert_eq!(late.bbr.at_departure(&late.tcp, 50), 50);
    }

    /// `bbr_cycle_rand`: any phase but the one that drains.
    #[test]
    fn a_cycle_begins_in_any_phase_but_the_second() {
        let mut path = Path::new();
        let mut seen = [0; 8];
        for now in 0..7_000 {
            path.tcp.delivered_mstamp = now;
            path.bbr.enter_probe_bw(&mut path.tcp);
            assert_eq!(path.bbr.cycle.began, now);
            seen[path.bbr.cycle.phase] += 1;
        }
        // A standard deviation is 29.
        let evenly = |&times: &i32| (850..1_150).contains(&times);
        assert_eq!(seen[1], 0);
        let even = seen.iter().filter(|times| evenly(times)).count();
        assert_eq!(even, 7, "{seen:?}");
    }

    #[test]
    fn the_cycle_has_a_phase_up_a_phase_down_and_six_to_cruise() {
        let mut path = Path::in_probe_bw();
        let mut gains = Vec::new();
        for _ in 0..200 {
            path.pass(1); // just over a round trip
            path.round(100, |_, sample| sample.prior_in_flight = 140);
            gains.push(path.bbr.gains.pacing);
        }
        let up = gains.iter().position(|&gain| gain == 320);
        let up = up.expect("a phase up");
        assert_eq!(
            gains[up + 1..up + 9],
            [192, 256, 256, 256, 256, 256, 256, 320]
        );
    }
}
