//! What losses say (5.5.10): of a probe, that it went too high; else that the path delivers less for
//! now, which bounds rate and window until the next probe.

use super::{Bbr3, Sample, State, undo, whole};
use crate::{Cx, LostSegment};

/// Losses of a round, what the last round delivered, and the bounds of the short term.
#[derive(Clone, Copy, Debug)]
pub(super) struct Signals {
    /// `is_loss_in_round`, `loss_round_delivered`, `loss_round_start`.
    in_round: bool,
    round_delivered: u64,
    round_start: bool,
    /// Acknowledgements of this round that showed losses.
    events: u32,
    /// `bw_latest`, in bytes per second, and `inflight_latest`.
    bw_latest: f64,
    inflight_latest: u64,
    /// `bw_shortterm` and `inflight_shortterm`; infinite without losses.
    pub(super) bw: f64,
    pub(super) inflight: u64,
    /// Whether losses are being repaired.
    recovers: bool,
}

impl Default for Signals {
    fn default() -> Signals {
        Signals {
            in_round: false,
            round_delivered: 0,
            round_start: false,
            events: 0,
            bw_latest: 0.0,
            inflight_latest: 0,
            bw: f64::INFINITY,
            inflight: u64::MAX,
            recovers: false,
        }
    }
}

impl Signals {
    /// `ResetCongestionSignals`.
    pub(super) fn reset(&mut self) {
        self.in_round = false;
        self.bw_latest = 0.0;
        self.inflight_latest = 0;
    }

    /// `ResetShortTermModel`.
    pub(super) fn forget_bounds(&mut self) {
        self.bw = f64::INFINITY;
        self.inflight = u64::MAX;
    }

    pub(super) fn forget_loss(&mut self) {
        self.in_round = false;
    }

    pub(super) fn bw_bound(&self) -> f64 {
        self.bw
    }

    pub(super) fn inflight_latest(&self) -> u64 {
        self.inflight_latest
    }

    pub(super) fn round_start(&self) -> bool {
        self.round_start
    }

    pub(super) fn enter_recovery(&mut self) {
        self.recovers = true;
    }

    /// `InLossRecovery`.
    pub(super) fn recovers(&self) -> bool {
        self.recovers
    }

    pub(super) fn leave_recovery(&mut self) {
        self.recovers = false;
    }

    /// Counts an acknowledgement with losses; returns how many the round had so far.
    pub(super) fn count_event(&mut self, sample: &Sample) -> u32 {
        self.events += u32::from(sample.newly_lost > 0);
        let events = self.events;
        if self.round_start {
            self.events = 0;
        }
        events
    }
}

impl Bbr3 {
    /// `HandleLostPacket`.
    pub(super) fn handle_lost(&mut self, segment: &LostSegment, cx: &mut Cx<'_>) {
        if !self.loss.in_round {
            self.loss.round_delivered = self.delivered;
            self.save_state_upon_loss();
        }
        self.loss.in_round = true;
        if !self.long_term.is_probe_sample || !self.is_too_high(segment.lost, segment.tx_in_flight)
        {
            return;
        }
        let at_loss = self.inflight_at_loss(segment);
        self.lower_long_term(at_loss, segment.app_limited);
        if self.state == State::Up {
            self.undo.state = undo::ReturnTo::Up;
            self.start_down(cx.now, cx);
        }
    }

    /// `InflightAtLoss`: how much was in flight when losses crossed the threshold.
    pub(super) fn inflight_at_loss(&self, segment: &LostSegment) -> u64 {
        let threshold = self.constants.loss_thresh;
        let before = segment.tx_in_flight.saturating_sub(segment.len) as f64;
        let lost_before = segment.lost.saturating_sub(segment.len) as f64;
        let prefix = (threshold * before - lost_before) / (1.0 - threshold).max(f64::EPSILON);
        whole(before + prefix.max(0.0))
    }

    /// `UpdateLatestDeliverySignals`.
    pub(super) fn update_latest_delivery(&mut self, sample: &Sample) {
        let loss = &mut self.loss;
        loss.round_start = false;
        let Some(rate) = sample.rate else { return };
        loss.bw_latest = loss.bw_latest.max(rate.rate);
        loss.inflight_latest = loss.inflight_latest.max(rate.delivered);
        if rate.prior_delivered >= loss.round_delivered {
            loss.round_delivered = sample.delivered;
            loss.round_start = true;
        }
    }

    /// `AdvanceLatestDeliverySignals`.
    pub(super) fn advance_latest_delivery(&mut self, sample: &Sample) {
        if let Some(rate) = sample.rate.filter(|_| self.loss.round_start) {
            self.loss.bw_latest = rate.rate;
            self.loss.inflight_latest = rate.delivered;
        }
    }

    /// `UpdateCongestionSignals`.
    pub(super) fn update_congestion(&mut self, sample: &Sample) {
        self.update_max_bw(sample);
        if !self.loss.round_start {
            return;
        }
        if !self.is_probing_bw() && self.loss.in_round {
            self.lower_short_term();
        }
        self.loss.in_round = false;
    }

    /// `InitLowerBounds`, `LossLowerBounds`.
    fn lower_short_term(&mut self) {
        let beta = self.constants.beta;
        let loss = &mut self.loss;
        if loss.bw == f64::INFINITY {
            loss.bw = self.bandwidth.max();
        }
        if loss.inflight == u64::MAX {
            loss.inflight = self.cwnd;
        }
        loss.bw = loss.bw_latest.max(beta * loss.bw);
        loss.inflight = loss.inflight_latest.max(whole(beta * loss.inflight as f64));
    }
}

#[cfg(test)]
mod tests {
    use cclab_units::Time;

    use super::*;
    use crate::bbr3::Delivery;
    use crate::bbr3::tests::{MSS, Path, sample};

    /// 5.5.10.3: the largest rate and delivery of a round; the next begins with its own.
    #[test]
    fn a_round_delivers_its_largest_samples() {
        let mut bbr = Path::new().flow.cc;
        bbr.loss.round_delivered = 400 * MSS;
        let mut take = |rate, segments: u64, prior: u64| {
            let sample = sample(Time::from_secs(2));
            let rate = sample.rate.map(|known| Delivery {
                rate,
                delivered: segments * MSS,
                prior_delivered: prior * MSS,
                ..known
            });
            let sample = Sample { rate, ..sample };
            bbr.update_latest_delivery(&sample);
            let seen = (bbr.loss.bw_latest, bbr.loss.inflight_latest / MSS);
            bbr.advance_latest_delivery(&sample);
            (seen, bbr.loss.round_start)
        };
        assert_eq!(take(1e6, 90, 399), ((1e6, 90), false));
        assert_eq!(take(8e5, 110, 399), ((1e6, 110), false));
        assert_eq!(take(7e5, 80, 400), ((1e6, 110), true));
        assert_eq!(take(6e5, 85, 499), ((7e5, 85), false)); // 500 were delivered
        assert_eq!(take(6e5, 70, 500), ((7e5, 85), true));
    }

    /// 5.5.10.3: from the bandwidth and the window on 0.7, or what the round delivered if that is more.
    #[test]
    fn bounds_fall_by_beta_at_most() {
        let bounds = |bw_latest, inflight_latest: u64| {
            let mut bbr = Path::in_state(State::Cruise).flow.cc;
            bbr.cwnd = 200 * MSS;
            let mut seen = Vec::new();
            for _ in 0..2 {
                bbr.loss.bw_latest = bw_latest;
                bbr.loss.inflight_latest = inflight_latest * MSS;
                bbr.lower_short_term();
                seen.push((bbr.loss.bw.round(), bbr.loss.inflight / MSS));
            }
            seen
        };
        let max = Path::in_state(State::Cruise).flow.cc.bandwidth.max();
        let [once, twice] = [0.7 * max, 0.49 * max].map(f64::round);
        assert_eq!(bounds(1e5, 10), [(once, 140), (twice, 98)]);
        assert_eq!(bounds(9e5, 150), [(9e5, 150), (9e5, 150)]);
    }

    /// Only a round with losses, and none of a probe, lowers the bounds, as it ends.
    #[test]
    fn a_round_that_ends_with_losses_lowers_the_bounds() {
        let lowers = |state, in_round, round_start| {
            let mut bbr = Path::in_state(State::Cruise).flow.cc;
            bbr.state = state;
            bbr.loss.in_round = in_round;
            bbr.loss.round_start = round_start;
            bbr.update_congestion(&sample(Time::from_secs(9)));
            (bbr.loss.bw < f64::INFINITY, bbr.loss.in_round)
        };
        assert_eq!(lowers(State::Cruise, true, true), (true, false));
        assert_eq!(lowers(State::Down, true, true), (true, false));
        assert_eq!(lowers(State::Cruise, false, true), (false, false));
        assert_eq!(lowers(State::Cruise, true, false), (false, true));
        for probing in [State::Startup, State::Refill, State::Up] {
            assert_eq!(lowers(probing, true, true), (false, false));
        }
    }

    #[test]
    fn events_are_counted_by_rounds() {
        let mut loss = Signals::default();
        let quiet = sample(Time::from_secs(2));
        let lossy = Sample {
            newly_lost: MSS,
            ..quiet
        };
        assert_eq!((loss.count_event(&lossy), loss.count_event(&quiet)), (1, 1));
        assert_eq!(loss.count_event(&lossy), 2);
        loss.round_start = true;
        assert_eq!((loss.count_event(&lossy), loss.count_event(&lossy)), (3, 1));
    }
}
