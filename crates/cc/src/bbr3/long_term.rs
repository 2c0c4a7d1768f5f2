//! The long-term bound on what is in flight (`inflight_longterm`): set where a probe lost too much,
//! raised where a probe does not (5.3.3.5, 5.3.3.6, 5.3.3.9).

use super::{Bbr3, LEAST_CWND, Sample, State, whole};

/// What the acknowledgements are of (`ack_phase`, section 2.14).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum AckPhase {
    /// Not of a probe.
    #[default]
    Init,
    /// The pipe fills.
    Refilling,
    /// A probe has begun.
    ProbeStarting,
    /// Of what the probe sent.
    ProbeFeedback,
    /// The probe is over; its acknowledgements still come.
    ProbeStopping,
}

/// The bound and how it grows.
#[derive(Clone, Copy, Debug)]
pub(super) struct LongTerm {
    /// Bytes; `u64::MAX` while no probe lost too much.
    pub(super) bound: u64,
    pub(super) phase: AckPhase,
    /// `is_bw_probe_sample`.
    pub(super) is_probe_sample: bool,
    /// `prev_probe_too_high`, `prev_probe_precautionary`.
    pub(super) too_high: bool,
    pub(super) precautionary: bool,
    /// `bw_probe_up_acked`, `bw_probe_up_rounds`, `probe_up_acked_per_inc`.
    acked: u64,
    rounds: u32,
    pub(super) per_step: u64,
}

impl Default for LongTerm {
    fn default() -> LongTerm {
        LongTerm {
            bound: u64::MAX,
            phase: AckPhase::default(),
            is_probe_sample: false,
            too_high: false,
            precautionary: false,
            acked: 0,
            rounds: 0,
            per_step: u64::MAX,
        }
    }
}

impl LongTerm {
    pub(super) fn stop_growing(&mut self) {
        self.per_step = u64::MAX;
    }

    pub(super) fn begin_probe(&mut self) {
        self.rounds = 0;
        self.acked = 0;
        self.precautionary = false;
        self.phase = AckPhase::Refilling;
    }

    /// `RaiseInflightLongtermSlope`: 1, 2, 4, ... segments a round.
    pub(super) fn raise_slope(&mut self, cwnd: u64, mss: u64) {
        let growth = 1 << self.rounds;
        self.rounds = (self.rounds + 1).min(30);
        self.per_step = (cwnd / growth).max(mss);
    }
}

impl Bbr3 {
    /// `AdaptLongTermModel`; returns whether it decided the next state.
    pub(super) fn adapt_long_term(&mut self, sample: &Sample) -> bool {
        let round_start = self.bandwidth.round_start;
        if self.long_term.phase == AckPhase::ProbeStarting && round_start {
            self.long_term.phase = AckPhase::ProbeFeedback;
        }
        if self.long_term.phase == AckPhase::ProbeStopping && round_start {
            self.long_term.is_probe_sample = false;
            self.long_term.phase = AckPhase::Init;
            if self.state.is_probe_bw() && !sample.rate.is_some_and(|rate| rate.app_limited) {
                self.bandwidth.advance_cycle();
            }
            let LongTerm {
                precautionary,
                too_high,
                ..
            } = self.long_term;
            if self.state.is_probe_bw() && precautionary && !too_high {
                self.start_refill();
                return true;
            }
        }
        let Some(rate) = sample.rate else {
            return false;
        };
        if self.is_too_high(rate.lost, rate.tx_in_flight) || self.long_term.bound == u64::MAX {
            return false;
        }
        self.long_term.bound = self.long_term.bound.max(rate.tx_in_flight);
        if self.state == State::Up {
            self.raise_long_term(sample);
        }
        false
    }

    /// `ProbeInflightLongtermUpward`.
    pub(super) fn raise_long_term(&mut self, sample: &Sample) {
        let long_term = &mut self.long_term;
        if !sample.cwnd_limited || self.cwnd < long_term.bound {
            return; // not used to the full
        }
        long_term.acked += sample.newly_acked;
        if long_term.acked >= long_term.per_step {
            let steps = long_term.acked / long_term.per_step;
            long_term.acked -= steps * long_term.per_step;
            long_term.bound = long_term.bound.saturating_add(steps * self.constants.mss);
        }
        if self.bandwidth.round_start {
            long_term.raise_slope(self.cwnd, self.constants.mss);
        }
    }

    /// `InflightWithHeadroom`.
    pub(super) fn inflight_with_headroom(&self) -> u64 {
        let mss = self.constants.mss;
        match self.long_term.bound {
            u64::MAX => u64::MAX,
            bound => {
                let headroom = whole(self.constants.headroom * bound as f64).max(mss);
                bound.saturating_sub(headroom).max(LEAST_CWND * mss)
            }
        }
    }

    /// `IsInflightTooHigh` (5.5.10.2).
    pub(super) fn is_too_high(&self, lost: u64, tx_in_flight: u64) -> bool {
        lost as f64 > tx_in_flight as f64 * self.constants.loss_thresh
    }

    /// Sets the bound, in whole segments: a part of one is never in flight.
    pub(super) fn bound_long_term(&mut self, bytes: u64) {
        let mss = self.constants.mss;
        self.long_term.bound = (bytes / mss).max(1) * mss;
    }

    /// `HandleInflightTooHigh`, but for the step to ProbeBW_DOWN.
    pub(super) fn lower_long_term(&mut self, tx_in_flight: u64, app_limited: bool) {
        self.long_term.too_high = true;
        self.long_term.is_probe_sample = false; // react once to a probe
        if !app_limited {
            let least = whole(self.target_inflight() as f64 * self.constants.beta);
            self.bound_long_term(tx_in_flight.max(least));
        }
    }
}
