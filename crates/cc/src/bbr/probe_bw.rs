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
