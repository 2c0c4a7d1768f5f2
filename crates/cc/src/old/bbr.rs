//! BBR version 1 with a window of its own (`tcp_bbr.c`): see `crate::bbr`, whose parts have the
//! same names here.

mod aggregation;
mod bandwidth;
mod control;
mod policer;
mod probe_bw;
mod probe_rtt;
mod startup;
#[cfg(test)]
mod tests;

use cclab_units::{Rate, Time};

use crate::window::{MAX_WINDOW, segments};
use crate::{AckSample, Config, Congestion, CongestionControl, CongestionSample, Cx};

/// `BBR_SCALE`: gains are in 1/256.
const GAIN_SHIFT: u32 = 8;
/// `BBR_UNIT`: a gain of one.
const UNIT: u64 = 1 << GAIN_SHIFT;
/// `BW_SCALE`: bandwidths are in segments per microsecond and 2^-24.
const BW_SHIFT: u32 = 24;
/// `BW_UNIT`.
const BW_UNIT: u64 = 1 << BW_SHIFT;
/// `bbr_cwnd_min_target`: the least window, in segments.
const LEAST_CWND: u64 = 4;

/// Where the state machine is (`enum bbr_mode`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Doubles the rate each round until the pipe is full.
    Startup,
    /// Lets the queue run off that Startup left.
    Drain,
    /// Cycles around the measured bandwidth.
    ProbeBw,
    /// Holds four segments, to measure the round-trip time.
    ProbeRtt,
}

/// What one acknowledgement tells, in the units of the model.
#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    /// Microseconds; `delivered_mstamp` of the kernel.
    now: u64,
    /// Segments delivered by this acknowledgement (`acked_sacked`).
    acked: u64,
    /// Segments taken for lost by it (`losses`).
    losses: u64,
    /// Segments in flight before and after.
    prior_in_flight: u64,
    in_flight: u64,
    /// Segments delivered and lost over the connection's life.
    delivered: u64,
    lost: u64,
    /// The delivery rate: segments, over microseconds, those delivered when it began, and
    /// whether the application was the limit. `None`: not valid.
    rate: Option<RateOfAck>,
    /// How long, in microseconds, until the pacer lets the next segment go.
    until_departure: u64,
}

/// See [`Sample::rate`].
#[derive(Clone, Copy, Debug)]
struct RateOfAck {
    delivered: u64,
    interval: u64,
    prior_delivered: u64,
    app_limited: bool,
}

/// The variant at one flow.
pub(crate) struct Bbr {
    mss: u64,
    /// Segments; `most` is the largest window.
    cwnd: u64,
    most: u64,
    ssthresh: u64,
    mode: Mode,
    gains: Gains,
    constants: Constants,
    bandwidth: bandwidth::Bandwidth,
    policer: policer::Policer,
    aggregation: aggregation::Aggregation,
    pipe: startup::Pipe,
    cycle: probe_bw::Cycle,
    rtt: probe_rtt::MinRtt,
    /// Whether the connection restarts after an idle time.
    idle_restart: bool,
    pacing: control::Pacing,
    recovery: control::Recovery,
}

/// The gains in force.
#[derive(Clone, Copy, Debug)]
struct Gains {
    pacing: u64,
    cwnd: u64,
}

/// Gains and lengths that parameters set.
#[derive(Clone, Copy, Debug)]
struct Constants {
    high_gain: u64,
    drain_gain: u64,
    cwnd_gain: u64,
    bw_rtts: u64,
    margin: u64,
}

impl Bbr {
    pub(crate) fn new(config: &Config) -> Bbr {
        let get = |name| config.params.get(name);
        let high_gain = (get("high_gain") * UNIT as f64) as u64 + 1;
        let mut bbr = Bbr {
            mss: config.mss,
            cwnd: segments(config.initial_window, config.mss).max(1),
            most: MAX_WINDOW / config.mss,
            ssthresh: match config.initial_ssthresh {
                u64::MAX => u64::MAX,
                bytes => (bytes / config.mss).max(2),
            },
            mode: Mode::Startup,
            gains: Gains {
                pacing: high_gain,
                cwnd: high_gain,
            },
            constants: Constants {
                high_gain,
                drain_gain: (UNIT as f64 / get("high_gain")) as u64,
                cwnd_gain: (get("cwnd_gain") * UNIT as f64) as u64,
                bw_rtts: get("bw_rtts") as u64,
                margin: get("pacing_margin_percent") as u64,
            },
            bandwidth: bandwidth::Bandwidth::default(),
            policer: policer::Policer::default(),
            aggregation: aggregation::Aggregation::default(),
            pipe: startup::Pipe::default(),
            cycle: probe_bw::Cycle::default(),
            rtt: probe_rtt::MinRtt::new(get("min_rtt_win_sec"), get("probe_rtt_mode_ms")),
            idle_restart: false,
            pacing: control::Pacing::default(),
            recovery: control::Recovery::default(),
        };
        bbr.init_pacing_rate(None);
        bbr
    }

    /// `bbr_bw`: the bandwidth in force.
    fn bw(&self) -> u64 {
        match self.policer.in_use() {
            Some(bw) => bw,
            None => self.bandwidth.max(),
        }
    }

    fn sample(&self, ack: &AckSample, now: Time) -> Sample {
        let whole = |bytes| segments(bytes, self.mss);
        let rate = ack.rate.map(|rate| RateOfAck {
            delivered: whole(rate.delivered),
            interval: rate.interval.as_micros(),
            prior_delivered: rate.prior_delivered,
            app_limited: rate.app_limited || self.rtt.limits(rate.prior_delivered),
        });
        Sample {
            now: now.as_micros(),
            acked: whole(ack.newly_delivered),
            losses: whole(ack.newly_lost),
            prior_in_flight: whole(ack.prior_in_flight),
            in_flight: whole(ack.in_flight),
            delivered: ack.delivered,
            lost: whole(ack.lost),
            rate: rate.filter(|rate| rate.interval > 0),
            until_departure: ack.until_departure.as_micros(),
        }
    }

    /// `bbr_update_gains`.
    fn update_gains(&mut self) {
        let Constants {
            high_gain,
            drain_gain,
            cwnd_gain,
            ..
        } = self.constants;
        let (pacing, cwnd) = match self.mode {
            Mode::Startup => (high_gain, high_gain),
            Mode::Drain => (drain_gain, high_gain), // slow, with the window as it is
            Mode::ProbeBw if self.policer.in_use().is_some() => (UNIT, cwnd_gain),
            Mode::ProbeBw => (self.cycle.gain(), cwnd_gain),
            Mode::ProbeRtt => (UNIT, UNIT),
        };
        self.gains = Gains { pacing, cwnd };
    }
}

impl CongestionControl for Bbr {
    fn on_established(&mut self, rtt: Option<Time>, cx: &mut Cx<'_>) {
        self.rtt.begin(rtt, cx.now);
        self.aggregation.restart(cx.now.as_micros());
        self.policer.restart(cx.now.as_micros(), 0, 0);
        self.init_pacing_rate(rtt);
    }

    /// `bbr_main`.
    fn on_ack(&mut self, ack: &AckSample, cx: &mut Cx<'_>) {
        let sample = self.sample(ack, cx.now);
        self.update_bandwidth(&sample, cx);
        self.update_aggregation(&sample);
        self.update_cycle(&sample);
        self.check_full_pipe(&sample);
        self.check_drain(&sample, cx);
        self.update_min_rtt(ack, &sample, cx);
        self.update_gains();
        let bw = self.bw();
        self.set_pacing_rate(bw, self.gains.pacing, ack.srtt);
        self.set_cwnd(&sample, ack.repair, bw);
    }

    /// `bbr_ssthresh` saves the window; a timeout leaves one segment more than is in flight
    /// (`tcp_enter_loss`) and ends a round (`bbr_set_state`). A mark is nothing to BBR.
    fn on_congestion(&mut self, kind: Congestion, at: &CongestionSample, cx: &mut Cx<'_>) {
        let timeout = kind == Congestion::Rto;
        if !(timeout && at.repeated) {
            self.save_cwnd();
        }
        if timeout {
            self.recovery.on_timeout();
            self.pipe.forget_rate();
            self.on_timeout(cx);
            self.cwnd = (segments(at.in_flight, self.mss) + 1).min(self.cwnd);
        }
    }

    /// `bbr_undo_cwnd`: the slow-down was spurious; the window comes back as recovery ends.
    fn on_undo(&mut self, cx: &mut Cx<'_>) {
        self.pipe.forget_growth();
        self.policer.forget(cx.now.as_micros());
    }

    /// `bbr_cwnd_event`, on a transmission with nothing in flight: what was sent before ran out.
    fn on_restart(&mut self, _idle: Time, _rto: Time, cx: &mut Cx<'_>) {
        self.idle_restart = true;
        self.aggregation.restart(cx.now.as_micros());
        match self.mode {
            Mode::ProbeBw => self.set_pacing_rate(self.bw(), UNIT, Time::ZERO),
            Mode::ProbeRtt => self.check_probe_rtt_done(cx),
            Mode::Startup | Mode::Drain => {}
        }
    }

    fn cwnd(&self) -> u64 {
        self.cwnd * self.mss
    }

    fn ssthresh(&self) -> u64 {
        self.ssthresh.saturating_mul(self.mss)
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.pacing.rate()
    }

    fn least_burst(&self) -> Option<u64> {
        Some(self.least_burst_segments())
    }
}
