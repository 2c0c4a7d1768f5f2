//! What follows from the model: pacing rate, burst and window (5.6).

use cclab_units::{Rate, Time};

use super::{Bbr3, LEAST_CWND, PROBE_RTT_CWND_GAIN, Sample, State, whole};
use crate::Repair;
use crate::window::MAX_WINDOW;

/// A burst: a millisecond at the pacing rate, two segments at least (5.6.3).
const BURST_SECONDS: f64 = 0.001;
const MOST_BURST: u64 = 65_536;
const LEAST_BURST: u64 = 2;
/// What waits in both hosts, in bursts (5.5.8.1).
const OFFLOAD_BURSTS: u64 = 3;

/// The pacing rate.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pacing {
    /// Bytes per second.
    bytes: f64,
    rate: Option<Rate>,
    /// Whether a round-trip time has been used for it.
    has_seen_rtt: bool,
}

impl Pacing {
    pub(super) fn rate(&self) -> Option<Rate> {
        self.rate
    }

    pub(super) fn bytes_per_second(&self) -> u64 {
        whole(self.bytes)
    }

    /// At least so many bytes a second.
    pub(super) fn raise(&mut self, bytes: f64) {
        if bytes > self.bytes {
            self.set(bytes);
        }
    }

    pub(super) fn set(&mut self, bytes: f64) {
        self.bytes = bytes;
        // What is no number becomes one bit a second, which the sender refuses.
        self.rate = Rate::from_bps(((bytes * 8.0).min(1e15) as u64).max(1));
    }
}

impl Bbr3 {
    /// `InitPacingRate` (5.6.2).
    pub(super) fn init_pacing_rate(&mut self, rtt: Option<Time>) {
        self.pacing.has_seen_rtt = rtt.is_some();
        let seconds = rtt.map_or(0.001, |rtt| rtt.as_secs_f64().max(1e-6));
        self.pacing
            .set(self.constants.startup_gain * self.initial_window as f64 / seconds);
    }

    /// `SetPacingRate`.
    pub(super) fn set_pacing_rate(&mut self, srtt: Time) {
        if !self.pacing.has_seen_rtt && srtt > Time::ZERO {
            self.init_pacing_rate(Some(srtt));
        }
        let (gain, _) = self.state.gains(&self.constants);
        self.set_pacing_rate_with_gain(gain);
    }

    /// `SetPacingRateWithGain`: down only once the pipe was full.
    pub(super) fn set_pacing_rate_with_gain(&mut self, gain: f64) {
        let rate = self.paced_by(gain);
        if (self.pipe.reached() && rate > 0.0) || rate > self.pacing.bytes {
            self.pacing.set(rate);
        }
    }

    /// What the bandwidth comes to with that gain, in bytes a second.
    pub(super) fn paced_by(&self, gain: f64) -> f64 {
        gain * self.bw * (100.0 - self.constants.margin) / 100.0
    }

    /// `SetSendQuantum` (5.6.3).
    pub(super) fn send_quantum(&self) -> u64 {
        whole(self.pacing.bytes * BURST_SECONDS)
            .min(MOST_BURST)
            .max(LEAST_BURST * self.constants.mss)
    }

    /// `BDPMultiple` (5.6.4.2).
    fn bdp_multiple(&self, bw: f64, gain: f64) -> u64 {
        match self.rtt.get() {
            None => self.initial_window,
            Some(rtt) => whole(gain * bw * rtt.as_secs_f64()),
        }
    }

    /// `BBR.bdp`.
    pub(super) fn bdp(&self) -> u64 {
        self.bdp_multiple(self.bw, 1.0)
    }

    /// `TargetInflight` (5.3.3.8.3).
    pub(super) fn target_inflight(&self) -> u64 {
        self.bdp().min(self.cwnd)
    }

    /// `QuantizationBudget`.
    pub(super) fn with_budget(&self, inflight: u64) -> u64 {
        let mss = self.constants.mss;
        let least = (OFFLOAD_BURSTS * self.send_quantum()).max(LEAST_CWND * mss);
        let up = if self.state == State::Up { 2 * mss } else { 0 };
        inflight.max(least) + up
    }

    /// `Inflight`.
    pub(super) fn inflight(&self, bw: f64, gain: f64) -> u64 {
        self.with_budget(self.bdp_multiple(bw, gain))
    }

    /// `ProbeRTTCwnd` (5.6.4.5).
    pub(super) fn probe_rtt_cwnd(&self) -> u64 {
        self.bdp_multiple(self.bw, PROBE_RTT_CWND_GAIN)
            .max(LEAST_CWND * self.constants.mss)
    }

    /// `SaveCwnd` (5.6.4.4).
    pub(super) fn save_cwnd(&mut self) {
        let undisturbed = !self.loss.recovers() && self.state != State::ProbeRtt;
        self.undo.cwnd = match undisturbed {
            true => self.cwnd,
            false => self.undo.cwnd.max(self.cwnd),
        };
    }

    /// `RestoreCwnd`.
    pub(super) fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.undo.cwnd);
    }

    /// The window of before comes back when losses are repaired (5.6.4.4).
    pub(super) fn follow_recovery(&mut self, sample: &Sample) {
        if self.loss.recovers() && sample.repair == Repair::Nothing {
            self.loss.leave_recovery();
            self.restore_cwnd();
        }
    }

    /// `SetCwnd` (5.6.4.6).
    pub(super) fn set_cwnd(&mut self, sample: &Sample) {
        let (_, gain) = self.state.gains(&self.constants);
        let most = self.with_budget(self.bdp_multiple(self.bw, gain) + self.aggregation.extra());
        let grown = self.cwnd + sample.newly_acked;
        if self.pipe.reached() {
            self.cwnd = grown.min(most);
        } else if self.cwnd < most || sample.delivered < self.initial_window {
            self.cwnd = grown;
        }
        self.cwnd = self.cwnd.clamp(LEAST_CWND * self.constants.mss, MAX_WINDOW);
        if self.state == State::ProbeRtt {
            self.cwnd = self.cwnd.min(self.probe_rtt_cwnd());
        }
        self.bound_by_model();
    }

    /// `BoundCwndForModel` (5.6.4.7).
    fn bound_by_model(&mut self) {
        let cap = match self.state {
            State::Down | State::Refill | State::Up => self.long_term.bound,
            State::Cruise | State::ProbeRtt => self.inflight_with_headroom(),
            State::Startup | State::Drain => u64::MAX,
        };
        let cap = cap.min(self.loss.inflight);
        self.cwnd = self.cwnd.min(cap.max(LEAST_CWND * self.constants.mss));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bbr3::tests::{MSS, Path, sample};

    /// 5.6.2: the rate of the initial window over the first round trip, 1 ms if there is none; 5.6.3: 1%
    /// below the model's, down only once the pipe was full.
    #[test]
    fn the_rate_is_the_models_less_a_margin() {
        let mut bbr = Path::new().flow.cc;
        bbr.init_pacing_rate(None);
        assert_eq!(bbr.pacing.bytes, 27_700_000.0);
        bbr.set_pacing_rate(Time::from_millis(100));
        assert_eq!(bbr.pacing.bytes, 277_000.0);
        bbr.set_pacing_rate(Time::from_millis(10));
        assert_eq!(bbr.pacing.bytes, 277_000.0, "only once");
        let paced = |reached, bw, gain| {
            let mut bbr = Path::new().flow.cc;
            bbr.pipe.set_reached(reached);
            bbr.bw = bw;
            bbr.set_pacing_rate_with_gain(gain);
            bbr.pacing.bytes
        };
        assert_eq!(paced(false, 1e6, 1.25), 1_237_500.0);
        assert_eq!(paced(false, 1e5, 1.0), 277_000.0);
        assert_eq!(paced(true, 1e5, 1.0), 99_000.0);
        assert_eq!(paced(true, 0.0, 1.0), 277_000.0);
    }

    /// 5.6.4.2: gain times rate times round trip; the initial window before there is one.
    #[test]
    fn a_product_is_of_the_gain_the_rate_and_the_round_trip() {
        let mut bbr = Path::new().flow.cc;
        bbr.bw = 1e6;
        assert_eq!(bbr.bdp_multiple(1e6, 2.25), 225_000);
        assert_eq!((bbr.bdp(), bbr.target_inflight()), (100_000, 10_000));
        bbr.cwnd = 120_000;
        assert_eq!(
            (bbr.target_inflight(), bbr.probe_rtt_cwnd()),
            (100_000, 50_000)
        );
        bbr.bw = 5e4;
        assert_eq!(bbr.probe_rtt_cwnd(), 4_000);
        bbr.rtt.begin(None, Time::ZERO);
        assert_eq!(bbr.bdp_multiple(1e6, 2.25), 10_000);
    }

    /// 5.6.4.6, with two products of 200 segments.
    #[test]
    fn the_window_grows_by_what_is_delivered() {
        let after = |reached, cwnd: u64, delivered: u64| {
            let mut bbr = Path::new().flow.cc;
            bbr.bw = 1e6;
            bbr.pipe.set_reached(reached);
            bbr.cwnd = cwnd * MSS;
            bbr.set_cwnd(&Sample {
                newly_acked: 7 * MSS,
                delivered: delivered * MSS,
                ..sample(Time::from_secs(2))
            });
            bbr.cwnd / MSS
        };
        assert_eq!(after(true, 100, 500), 107);
        assert_eq!(after(true, 195, 500), 200);
        assert_eq!(after(true, 300, 500), 200);
        assert_eq!(after(false, 199, 500), 206);
        assert_eq!(after(false, 200, 500), 200);
        assert_eq!(after(false, 200, 9), 207);
        assert_eq!(after(false, 200, 10), 200);
    }

    /// 5.6.4.7: the bound of each state, and that of the short term; four segments at least.
    #[test]
    fn the_window_is_bounded_by_what_is_known_to_be_safe() {
        let bounded = |state, long_term: u64, short_term: u64| {
            let mut bbr = Path::new().flow.cc;
            bbr.state = state;
            bbr.cwnd = 200 * MSS;
            bbr.long_term.bound = long_term * MSS;
            bbr.loss.inflight = short_term * MSS;
            bbr.bound_by_model();
            bbr.cwnd / MSS
        };
        for state in [State::Down, State::Refill, State::Up] {
            assert_eq!(bounded(state, 100, 1_000), 100);
        }
        for state in [State::Cruise, State::ProbeRtt] {
            assert_eq!(bounded(state, 100, 1_000), 85);
        }
        for state in [State::Startup, State::Drain] {
            assert_eq!(bounded(state, 100, 1_000), 200);
            assert_eq!(bounded(state, 100, 60), 60);
        }
        assert_eq!(bounded(State::Up, 100, 60), 60);
        assert_eq!(bounded(State::Up, 3, 60), 4);
    }

    /// 5.6.4.4: a window of recovery or of a dip does not replace the one saved.
    #[test]
    fn a_disturbed_window_does_not_replace_the_one_saved() {
        let saved = |state, recovers: bool, cwnd| {
            let mut bbr = Path::new().flow.cc;
            bbr.undo.cwnd = 50_000;
            bbr.state = state;
            bbr.cwnd = cwnd;
            if recovers {
                bbr.loss.enter_recovery();
            }
            bbr.save_cwnd();
            bbr.undo.cwnd
        };
        assert_eq!(saved(State::Cruise, false, 20_000), 20_000);
        assert_eq!(saved(State::Cruise, true, 20_000), 50_000);
        assert_eq!(saved(State::Cruise, true, 70_000), 70_000);
        assert_eq!(saved(State::ProbeRtt, false, 20_000), 50_000);
    }

    #[test]
    fn the_window_of_before_comes_back_when_losses_are_repaired() {
        let after = |recovers: bool, repair| {
            let mut bbr = Path::new().flow.cc;
            bbr.undo.cwnd = 50_000;
            if recovers {
                bbr.loss.enter_recovery();
            }
            let sample = Sample {
                repair,
                ..sample(Time::from_secs(2))
            };
            bbr.follow_recovery(&sample);
            (bbr.cwnd, bbr.loss.recovers())
        };
        assert_eq!(after(true, Repair::Losses), (10_000, true));
        assert_eq!(after(true, Repair::Nothing), (50_000, false));
        assert_eq!(after(false, Repair::Nothing), (10_000, false));
    }
}
