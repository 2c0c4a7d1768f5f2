//! BBR version 1: the window and the rate follow a model of the path, its bottleneck bandwidth
//! and its round-trip time without a queue, both measured in turns (Cardwell et al. 2016).
//!
//! One form, that of Linux 6.12 (`tcp_bbr.c`) in integers, on every stack: bandwidth in segments
//! per microsecond with 24 binary digits, gains in 1/256. Each part of the model and each state
//! is one file; this one is the order in which they act.
//!
//! - `bandwidth`: rounds, and the largest delivery rate of ten of them;
//! - `policer`: the "long-term" rate of a path that polices;
//! - `aggregation`: acknowledgements that come in bursts;
//! - `startup`: whether the pipe is full, and Drain;
//! - `probe_bw`: the cycle of gains;
//! - `probe_rtt`: the smallest round-trip time, and the dip that measures it;
//! - `control`: what follows from the model: pacing rate and window;
//! - `resume`: what is remembered of an earlier connection;
//! - `state`: what traces are told of it.

mod aggregation;
mod bandwidth;
mod control;
mod policer;
mod probe_bw;
mod probe_rtt;
mod resume;
mod startup;
mod state;
#[cfg(test)]
mod tests;

use cclab_interface::{
    CaEvent, CaState, CongestionOps, PacingStatus, RateSample, Resumption, StateColumn,
    TCP_INFINITE_SSTHRESH, Tcp,
};
use cclab_units::parameter::Parameter;
use cclab_units::{InKernel, Measure};

use crate::Config;
use crate::lent::lent;
use crate::resuming::Resuming;
use crate::variant::{EcnFeedback, Near, Signal, Variant, WindowInRecovery};

/// The entry of the registry.
pub(crate) const VARIANT: Variant = Variant {
    name: "bbr",
    version: 3,
    summary: "Models the path's bandwidth and round-trip time and paces by it (version 1)",
    reference: "N. Cardwell et al., BBR, ACM Queue 14(5), 2016; Linux 6.12",
    near: &[Near::of("bbr1"), Near::of("bbrv1")],
    kernel: Some(InKernel::Module {
        name: "tcp_bbr",
        symbol: "CONFIG_TCP_CONG_BBR",
    }),
    recovery: None,
    window: WindowInRecovery::Own,
    paces: true,
    ecn: EcnFeedback::Classic,
    signal: Signal::Model,
    departures: &[],
    params: &[
        Parameter {
            name: "bw_rtts",
            measure: Measure::Whole,
            meaning: "rounds over which the largest delivery rate counts",
            default: 10.0,
            least: 1.0,
            most: 1000.0,
        },
        Parameter {
            name: "min_rtt_win_sec",
            measure: Measure::Seconds,
            meaning: "time after which the smallest round-trip time is measured anew",
            default: 10.0,
            least: 0.1,
            most: 3600.0,
        },
        Parameter {
            name: "probe_rtt_mode_ms",
            measure: Measure::Milliseconds,
            meaning: "how long measuring it lasts at least; 0: never",
            default: 200.0,
            least: 0.0,
            most: 10_000.0,
        },
        Parameter {
            name: "high_gain",
            measure: Measure::Number,
            meaning: "gain of rate and window in Startup; 2/ln 2 doubles the rate each round",
            default: 2.885,
            least: 1.1,
            most: 3.9,
        },
        Parameter {
            name: "cwnd_gain",
            measure: Measure::Number,
            meaning: "bandwidth-delay products in the window of ProbeBW",
            default: 2.0,
            least: 1.0,
            most: 3.9,
        },
        Parameter {
            name: "pacing_margin_percent",
            measure: Measure::Percent,
            meaning: "per cent by which the pacing rate stays below the model's",
            default: 1.0,
            least: 0.0,
            most: 50.0,
        },
    ],
    relations: &[],
    ops: Some(|config| Box::new(Bbr::new(config))),
    build: Some(|config| lent(config, Bbr::new(config))),
};

/// `BBR_SCALE`: gains are in 1/256.
const GAIN_SHIFT: u32 = 8;
/// `BBR_UNIT`: a gain of one.
const UNIT: u32 = 1 << GAIN_SHIFT;
/// `BW_SCALE`: bandwidths are in segments per microsecond and 2^-24, of 32 bits.
const BW_SHIFT: u32 = 24;
/// `BW_UNIT`.
const BW_UNIT: u64 = 1 << BW_SHIFT;
/// `bbr_cwnd_min_target`: the least window, in segments.
const LEAST_CWND: u32 = 4;
/// Windows' worth of data that the send buffer holds (`bbr_sndbuf_expand`).
const SEND_BUFFER: u32 = 3;

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

/// The gains in force; zero before the first acknowledgement.
#[derive(Clone, Copy, Debug, Default)]
struct Gains {
    pacing: u32,
    cwnd: u32,
}

/// Gains and lengths that parameters set.
#[derive(Clone, Copy, Debug)]
struct Constants {
    high_gain: u32,
    drain_gain: u32,
    cwnd_gain: u32,
    bw_rtts: u32,
    /// Ticks for which a round-trip time holds, and for which a dip lasts.
    min_rtt_window: u32,
    dip: u32,
    /// Per cent.
    margin: u64,
}

impl Constants {
    fn of(config: &Config) -> Constants {
        let get = |name| config.params.get(name);
        let ticks = |seconds: f64| (seconds * f64::from(cclab_interface::HZ)) as u32;
        let high_gain = get("high_gain");
        Constants {
            high_gain: (high_gain * f64::from(UNIT)) as u32 + 1,
            drain_gain: (f64::from(UNIT) / high_gain) as u32,
            cwnd_gain: (get("cwnd_gain") * f64::from(UNIT)) as u32,
            bw_rtts: get("bw_rtts") as u32,
            min_rtt_window: ticks(get("min_rtt_win_sec")),
            dip: ticks(get("probe_rtt_mode_ms") / 1e3),
            margin: get("pacing_margin_percent") as u64,
        }
    }
}

/// The module's state (`struct bbr`).
struct Bbr {
    constants: Constants,
    mode: Mode,
    gains: Gains,
    bandwidth: bandwidth::Bandwidth,
    policer: policer::Policer,
    aggregation: aggregation::Aggregation,
    pipe: startup::Pipe,
    cycle: probe_bw::Cycle,
    rtt: probe_rtt::MinRtt,
    /// Whether the connection restarts after an idle time.
    idle_restart: bool,
    /// Whether a round-trip time has been used for the pacing rate.
    has_seen_rtt: bool,
    recovery: control::Recovery,
    resuming: Resuming,
}

impl Bbr {
    fn new(config: &Config) -> Bbr {
        Bbr::of(Constants::of(config))
    }

    fn of(constants: Constants) -> Bbr {
        Bbr {
            constants,
            mode: Mode::Startup,
            gains: Gains::default(),
            bandwidth: bandwidth::Bandwidth::default(),
            policer: policer::Policer::default(),
            aggregation: aggregation::Aggregation::default(),
            pipe: startup::Pipe::default(),
            cycle: probe_bw::Cycle::default(),
            rtt: probe_rtt::MinRtt::default(),
            idle_restart: false,
            has_seen_rtt: false,
            recovery: control::Recovery::default(),
            resuming: Resuming::default(),
        }
    }

    /// `bbr_bw`: the bandwidth in force.
    fn bw(&self) -> u32 {
        match self.policer.in_use() {
            Some(bw) => bw,
            None => self.bandwidth.max(),
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

impl CongestionOps for Bbr {
    fn init(&mut self, tcp: &mut Tcp) {
        *self = Bbr::of(self.constants);
        tcp.snd_ssthresh = TCP_INFINITE_SSTHRESH;
        self.bandwidth.begin_round(tcp.delivered);
        self.rtt.begin(tcp);
        self.init_pacing_rate(tcp);
        self.policer.forget(tcp);
        self.aggregation.restart(tcp.tcp_mstamp);
        if tcp.pacing_status == PacingStatus::None as u32 {
            tcp.pacing_status = PacingStatus::Needed as u32;
        }
    }

    /// Saves the window, for when recovery ends; the threshold stays.
    fn ssthresh(&mut self, tcp: &mut Tcp) -> u32 {
        self.save_cwnd(tcp);
        tcp.snd_ssthresh
    }

    /// Not asked of it: it has `cong_control`.
    fn cong_avoid(&mut self, _tcp: &mut Tcp, _ack: u32, _acked: u32) {}

    /// A timeout ends a round, and what was measured before it is no growth to compare with.
    fn set_state(&mut self, tcp: &mut Tcp, new: CaState) {
        if new == CaState::Loss {
            self.recovery.on_timeout();
            self.pipe.forget_rate();
            self.bandwidth.round_start = true;
            let loss = RateSample {
                losses: 1,
                ..RateSample::default()
            };
            self.sample_policer(tcp, &loss);
        }
    }

    /// A transmission with nothing in flight, once the application had limited the sender.
    fn cwnd_event(&mut self, tcp: &mut Tcp, event: CaEvent) {
        if event != CaEvent::TxStart || tcp.app_limited == 0 {
            return;
        }
        self.idle_restart = true;
        self.aggregation.restart(tcp.tcp_mstamp);
        match self.mode {
            // No faster than was measured, as long as no more is needed.
            Mode::ProbeBw => self.set_pacing_rate(tcp, self.bw(), UNIT),
            Mode::ProbeRtt => self.check_probe_rtt_done(tcp),
            Mode::Startup | Mode::Drain => {}
        }
    }

    fn has_cong_control(&self) -> bool {
        true
    }

    /// `bbr_main`.
    fn cong_control(&mut self, tcp: &mut Tcp, _ack: u32, _flag: u32, sample: &RateSample) {
        self.update_bandwidth(tcp, sample);
        self.update_aggregation(tcp, sample);
        self.update_cycle(tcp, sample);
        self.check_full_pipe(sample);
        self.check_drain(tcp);
        self.update_min_rtt(tcp, sample);
        self.update_gains();
        let bw = self.bw();
        self.set_pacing_rate(tcp, bw, self.gains.pacing);
        self.set_cwnd(tcp, sample, bw);
        self.keep_resuming(tcp);
    }

    /// The slow-down was spurious: growth and policers are looked for anew. The window comes back
    /// as recovery ends.
    fn undo_cwnd(&mut self, tcp: &mut Tcp) -> u32 {
        self.pipe.forget_growth();
        self.policer.forget(tcp);
        tcp.snd_cwnd
    }

    fn min_tso_segs(&mut self, tcp: &mut Tcp) -> Option<u32> {
        Some(control::least_burst(tcp))
    }

    fn sndbuf_expand(&mut self, _tcp: &mut Tcp) -> Option<u32> {
        Some(SEND_BUFFER)
    }

    fn resume(&mut self, tcp: &mut Tcp, step: Resumption) -> bool {
        self.take_step(tcp, step);
        true
    }

    fn state_columns(&self) -> &'static [StateColumn] {
        state::COLUMNS
    }

    fn tell_state(&self, tcp: &Tcp, values: &mut [f64]) {
        self.tell(tcp, values);
    }
}
