//! BBR version 3: the model of version 1, bounded by what losses show: a short-term bound that holds
//! for a cycle and a long-term one that probing raises (draft-ietf-ccwg-bbr-06).
//!
//! One form, the draft's in bytes and real numbers, on every stack; sections cited are the
//! draft's. Each part of the model and each state is one file; this one is the order in which
//! they act (section 5.2).
//!
//! - `bandwidth`: rounds and the largest delivery rate of two cycles (5.5.1 to 5.5.6);
//! - `aggregation`: acknowledgements that come in bursts (5.5.9);
//! - `full_pipe`: whether more rate brings more bandwidth (5.3.1.2);
//! - `startup`: Startup and Drain (5.3.1, 5.3.2);
//! - `probe_bw`: the four phases of ProbeBW (5.3.3), with `long_term` for the bound they raise;
//! - `probe_rtt`: the smallest round-trip time and the dip that measures it (5.3.4, 5.5.7);
//! - `loss`: what losses say, and the bounds of the short term (5.5.10);
//! - `undo`: losses that were none (5.5.11);
//! - `control`: what follows: pacing rate and window (5.6);
//! - `resume`: what is remembered of an earlier connection;
//! - `state`: what traces are told of it.

mod aggregation;
mod bandwidth;
mod control;
mod full_pipe;
mod long_term;
mod loss;
mod probe_bw;
mod probe_rtt;
mod resume;
mod startup;
mod state;
#[cfg(test)]
mod tests;
mod undo;

use cclab_units::parameter::{Parameter, Relation};
use cclab_units::{Measure, Rate, Time};

use crate::resuming::Resuming;
use crate::variant::{EcnFeedback, Near, Signal, Variant, WindowInRecovery};
use crate::window::MAX_WINDOW;
use crate::{
    AckSample, Config, Congestion, CongestionControl, CongestionSample, Cx, LostSegment, Repair,
    Resumption, StateColumn,
};

/// The entry of the registry.
pub(crate) const VARIANT: Variant = Variant {
    name: "bbr3",
    version: 2,
    summary: "BBR with bounds that losses lower and probing raises (version 3)",
    reference: "draft-ietf-ccwg-bbr-06",
    near: &[Near::of("bbr2"), Near::of("bbrv2"), Near::of("bbrv3")],
    kernel: None,
    recovery: None,
    window: WindowInRecovery::Own,
    paces: true,
    ecn: EcnFeedback::Classic,
    signal: Signal::Model,
    departures: &[],
    params: &PARAMS,
    relations: &[Relation::Below("probe_rtt_duration", "probe_rtt_interval")],
    ops: None,
    build: Some(|config| Box::new(Bbr3::new(config))),
};

const PARAMS: [Parameter; 9] = [
    parameter(
        Measure::Share,
        "loss_thresh",
        "losses a round above which a probe went too high (LossThresh)",
        0.02,
        [0.0, 1.0],
    ),
    parameter(
        Measure::Share,
        "beta",
        "what of a bound a round with losses leaves (Beta)",
        0.7,
        [0.1, 1.0],
    ),
    parameter(
        Measure::Share,
        "headroom",
        "share of the long-term bound left free while cruising (Headroom)",
        0.15,
        [0.0, 0.9],
    ),
    parameter(
        Measure::Number,
        "startup_pacing_gain",
        "gain of the rate in Startup (StartupPacingGain)",
        2.77,
        [1.1, 10.0],
    ),
    parameter(
        Measure::Number,
        "cwnd_gain",
        "bandwidth-delay products in the window (DefaultCwndGain)",
        2.0,
        [1.0, 10.0],
    ),
    parameter(
        Measure::Time,
        "probe_rtt_interval",
        "time after which a round-trip time is measured anew (ProbeRTTInterval)",
        5.0,
        [0.1, 3600.0],
    ),
    parameter(
        Measure::Time,
        "probe_rtt_duration",
        "time that measuring it lasts at least (ProbeRTTDuration)",
        0.2,
        [0.0, 10.0],
    ),
    parameter(
        Measure::Time,
        "min_rtt_filter_len",
        "time for which the smallest round-trip time holds (MinRTTFilterLen)",
        10.0,
        [0.1, 3600.0],
    ),
    parameter(
        Measure::Percent,
        "pacing_margin_percent",
        "per cent by which the pacing rate stays below the model's (PacingMarginPercent)",
        1.0,
        [0.0, 50.0],
    ),
];

const fn parameter(
    measure: Measure,
    name: &'static str,
    meaning: &'static str,
    default: f64,
    range: [f64; 2],
) -> Parameter {
    Parameter {
        name,
        measure,
        meaning,
        default,
        least: range[0],
        most: range[1],
    }
}

/// Where the state machine is (section 5.1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Doubles the rate each round until the pipe is full or loses.
    Startup,
    /// Lets the queue run off that Startup left.
    Drain,
    /// ProbeBW: sends less, to drain the queue and leave headroom.
    Down,
    /// ProbeBW: sends what is delivered.
    Cruise,
    /// ProbeBW: fills the pipe for a round, before more is tried.
    Refill,
    /// ProbeBW: sends more.
    Up,
    /// Half a product in flight, to measure the round-trip time.
    ProbeRtt,
}

impl State {
    fn is_probe_bw(self) -> bool {
        matches!(
            self,
            State::Down | State::Cruise | State::Refill | State::Up
        )
    }

    /// Gains of rate and window (section 5.6.1).
    fn gains(self, constants: &Constants) -> (f64, f64) {
        match self {
            State::Startup => (constants.startup_gain, constants.cwnd_gain),
            State::Drain => (0.5, constants.cwnd_gain),
            State::Down => (0.9, constants.cwnd_gain),
            State::Cruise | State::Refill => (1.0, constants.cwnd_gain),
            State::Up => (1.25, constants.cwnd_gain + 0.25),
            State::ProbeRtt => (1.0, PROBE_RTT_CWND_GAIN),
        }
    }
}

/// `ProbeRTTCwndGain`.
const PROBE_RTT_CWND_GAIN: f64 = 0.5;
/// `MinPipeCwnd`, in segments (section 2.8).
const LEAST_CWND: u64 = 4;

/// What parameters set.
#[derive(Clone, Copy, Debug)]
struct Constants {
    mss: u64,
    loss_thresh: f64,
    beta: f64,
    headroom: f64,
    startup_gain: f64,
    cwnd_gain: f64,
    margin: f64,
}

/// What one acknowledgement tells (sections 2.3 and 4.1).
#[derive(Clone, Copy, Debug)]
struct Sample {
    now: Time,
    /// Bytes delivered by it, and over the connection's life.
    newly_acked: u64,
    delivered: u64,
    in_flight: u64,
    /// The same before it.
    prior_in_flight: u64,
    newly_lost: u64,
    /// Whether the window was used to the full in the last round.
    cwnd_limited: bool,
    repair: Repair,
    rtt: Option<Time>,
    rate: Option<Delivery>,
}

/// The delivery-rate sample, in bytes and bytes per second.
#[derive(Clone, Copy, Debug)]
struct Delivery {
    rate: f64,
    delivered: u64,
    prior_delivered: u64,
    app_limited: bool,
    tx_in_flight: u64,
    lost: u64,
}

/// The variant at one flow.
struct Bbr3 {
    constants: Constants,
    initial_window: u64,
    initial_ssthresh: u64,
    cwnd: u64,
    state: State,
    /// `BBR.bw`: the bandwidth in force, in bytes per second.
    bw: f64,
    /// Bytes delivered as of the last acknowledgement.
    delivered: u64,
    bandwidth: bandwidth::Bandwidth,
    aggregation: aggregation::Aggregation,
    pipe: full_pipe::FullPipe,
    drain_start_round: u64,
    cycle: probe_bw::Cycle,
    long_term: long_term::LongTerm,
    rtt: probe_rtt::MinRtt,
    loss: loss::Signals,
    undo: undo::Undo,
    pacing: control::Pacing,
    idle_restart: bool,
    resuming: Resuming,
}

impl Bbr3 {
    fn new(config: &Config) -> Bbr3 {
        let get = |name| config.params.get(name);
        let mut bbr = Bbr3 {
            constants: Constants {
                mss: config.mss,
                loss_thresh: get("loss_thresh"),
                beta: get("beta"),
                headroom: get("headroom"),
                startup_gain: get("startup_pacing_gain"),
                cwnd_gain: get("cwnd_gain"),
                margin: get("pacing_margin_percent"),
            },
            initial_window: config.initial_window,
            initial_ssthresh: config.initial_ssthresh,
            cwnd: config.initial_window,
            state: State::Startup,
            bw: 0.0,
            delivered: 0,
            bandwidth: bandwidth::Bandwidth::default(),
            aggregation: aggregation::Aggregation::default(),
            pipe: full_pipe::FullPipe::default(),
            drain_start_round: 0,
            cycle: probe_bw::Cycle::default(),
            long_term: long_term::LongTerm::default(),
            rtt: probe_rtt::MinRtt::new(
                get("probe_rtt_interval"),
                get("probe_rtt_duration"),
                get("min_rtt_filter_len"),
            ),
            loss: loss::Signals::default(),
            undo: undo::Undo::default(),
            pacing: control::Pacing::default(),
            idle_restart: false,
            resuming: Resuming::default(),
        };
        bbr.init_pacing_rate(None);
        bbr
    }

    fn sample(&self, ack: &AckSample, now: Time) -> Sample {
        let rate = ack.rate.map(|rate| Delivery {
            rate: match rate.interval {
                Time::ZERO => 0.0,
                interval => rate.delivered as f64 / interval.as_secs_f64(),
            },
            delivered: rate.delivered,
            prior_delivered: rate.prior_delivered,
            app_limited: rate.app_limited || self.rtt.limits(rate.prior_delivered),
            tx_in_flight: rate.tx_in_flight,
            lost: rate.lost,
        });
        Sample {
            now,
            newly_acked: ack.newly_delivered,
            delivered: ack.delivered,
            in_flight: ack.in_flight,
            prior_in_flight: ack.prior_in_flight,
            newly_lost: ack.newly_lost,
            cwnd_limited: ack.cwnd_limited,
            repair: ack.repair,
            rtt: ack.rtt,
            rate,
        }
    }

    /// `StartRound` (section 5.5.1).
    fn start_round(&mut self) {
        self.bandwidth.start_round(self.delivered);
    }

    /// `IsProbingBW` (section 5.3.3.9).
    fn is_probing_bw(&self) -> bool {
        matches!(self.state, State::Startup | State::Refill | State::Up)
    }
}

impl CongestionControl for Bbr3 {
    /// `OnInit` (section 5.2.1).
    fn on_established(&mut self, rtt: Option<Time>, cx: &mut Cx<'_>) {
        self.rtt.begin(rtt, cx.now);
        self.aggregation.restart(cx.now);
        self.init_pacing_rate(rtt);
    }

    /// `HandleLostPacket` (section 5.5.10.2).
    fn on_lost(&mut self, segment: &LostSegment, cx: &mut Cx<'_>) {
        self.handle_lost(segment, cx);
    }

    /// `UpdateOnACK` (section 5.2.3).
    fn on_ack(&mut self, ack: &AckSample, cx: &mut Cx<'_>) {
        let sample = self.sample(ack, cx.now);
        self.delivered = sample.delivered;
        self.update_latest_delivery(&sample);
        self.update_congestion(&sample);
        self.update_aggregation(&sample);
        self.check_full_pipe(&sample);
        self.check_startup_done(&sample);
        self.check_drain_done(&sample, cx);
        self.update_cycle(&sample, cx);
        self.update_min_rtt(&sample);
        self.check_probe_rtt(&sample, cx);
        self.advance_latest_delivery(&sample);
        self.bw = self.bandwidth.max().min(self.loss.bw_bound()); // BoundBWForModel
        self.set_pacing_rate(ack.srtt);
        self.follow_recovery(&sample);
        self.set_cwnd(&sample);
        self.keep_resuming();
    }

    /// `OnEnterFastRecovery` and `OnEnterRTO` (section 5.6.4.4). Marks say nothing (section 3.7).
    fn on_congestion(&mut self, kind: Congestion, at: &CongestionSample, _cx: &mut Cx<'_>) {
        if kind == Congestion::Ecn {
            return;
        }
        if !(kind == Congestion::Rto && at.repeated) {
            self.save_state_upon_loss();
        }
        self.loss.enter_recovery();
        if kind == Congestion::Rto {
            self.cwnd = (at.in_flight + self.constants.mss).min(self.cwnd);
        }
    }

    /// `HandleSpuriousLossDetection` (section 5.5.11.2).
    fn on_undo(&mut self, _cx: &mut Cx<'_>) {
        self.handle_spurious_loss();
    }

    /// `HandleRestartFromIdle` (section 5.4.1): data ran out before, or it would not be idle.
    fn on_restart(&mut self, _idle: Time, _rto: Time, cx: &mut Cx<'_>) {
        self.idle_restart = true;
        self.aggregation.restart(cx.now);
        if self.state.is_probe_bw() {
            self.set_pacing_rate_with_gain(1.0);
        } else if self.state == State::ProbeRtt {
            self.check_probe_rtt_done(cx.now, cx);
        }
    }

    fn resume(&mut self, step: Resumption) -> bool {
        self.take_step(step);
        true
    }

    fn cwnd(&self) -> u64 {
        self.cwnd
    }

    /// Startup counts as slow start; beyond it no window does.
    fn ssthresh(&self) -> u64 {
        match self.state {
            State::Startup => self.initial_ssthresh,
            _ => LEAST_CWND * self.constants.mss,
        }
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.pacing.rate()
    }

    fn state_columns(&self) -> &'static [StateColumn] {
        state::COLUMNS
    }

    fn tell_state(&self, values: &mut [f64]) {
        self.tell(values);
    }
}

/// `bytes` as a window: bounded, and no less than nothing.
fn whole(bytes: f64) -> u64 {
    (bytes as u64).min(MAX_WINDOW)
}
