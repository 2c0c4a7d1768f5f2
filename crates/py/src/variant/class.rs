//! A Python class as a congestion control of Linux's stack.

use std::sync::{Arc, Mutex, PoisonError};

use cclab_cc::EcnFeedback;
use cclab_cc::interface::{
    AckSample, CaState, CongestionOps, PacingStatus, RateSample, StateColumn,
    TCP_INFINITE_SSTHRESH, Tcp, ack_flags,
};
use cclab_sim::OwnVariant;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::BTreeMap;

use super::call::{Hook, Watch};
use super::failure::Failure;
use super::object::Object;
use super::report::{Round, seconds};
use super::told::{Ack, Congestion, Sign};
use super::window::State;

/// A variant of a Python file, as `cclab.variant.files` reads it.
#[derive(FromPyObject)]
pub struct Class {
    /// What flows call it.
    label: String,
    /// Their `cc_params`.
    params: BTreeMap<String, f64>,
    /// The class, which inherits from [`Window`].
    pub(super) cls: Py<PyAny>,
    /// What `__init__` gets.
    pub(super) arguments: Py<PyDict>,
    /// The hooks that it defines.
    hooks: Vec<String>,
    /// Whether it sets the window while losses are repaired, too.
    own_recovery: bool,
    /// Whether it needs the mark of each packet.
    needs_ecn: bool,
    /// The attributes that traces tell.
    traced: Vec<String>,
    /// What compiles its hooks, as `cclab.variant.native` does, if they are to be.
    pub(super) native: Option<Py<PyAny>>,
}

impl Class {
    /// What the simulator makes variants of.
    pub fn into_variant(self, failure: &Failure, watch: &Watch) -> OwnVariant {
        let (failure, watch) = (failure.clone(), watch.clone());
        let (label, params) = (self.label.clone(), self.params.clone());
        let ecn = match self.needs_ecn {
            true => EcnFeedback::PerPacket,
            false => EcnFeedback::Classic,
        };
        let columns = columns(&self.traced);
        let class = Arc::new(self);
        OwnVariant {
            label,
            params,
            ecn,
            make: Arc::new(move |_| {
                Box::new(Flow {
                    class: Arc::clone(&class),
                    columns,
                    failure: failure.clone(),
                    watch: watch.clone(),
                    object: None,
                    asked: None,
                    rtt_us: -1,
                    ece: false,
                    round: Round::default(),
                    at: Hook::Init,
                })
            }),
        }
    }

    /// Whether `hook` is to be called: what congestion comes to, every class is asked.
    pub(super) fn defines(&self, hook: Hook) -> bool {
        hook == Hook::Congestion || self.hooks.iter().any(|known| known == hook.name())
    }
}

/// The columns for the attributes `names`. What was made once stays: a process has few classes and many
/// runs of each.
fn columns(names: &[String]) -> &'static [StateColumn] {
    static MADE: Mutex<BTreeMap<Vec<String>, &'static [StateColumn]>> = Mutex::new(BTreeMap::new());
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    made.entry(names.to_vec()).or_insert_with(|| {
        let of = |name: &String| StateColumn::number(name.clone().leak(), "");
        let columns: Vec<StateColumn> = names.iter().map(of).collect();
        columns.leak()
    })
}

/// The class at one connection.
struct Flow {
    class: Arc<Class>,
    /// The columns of what it tells traces.
    columns: &'static [StateColumn],
    failure: Failure,
    watch: Watch,
    /// Made when the connection begins; gone once it failed.
    object: Option<Object>,
    /// The window at which `ssthresh` was asked for: what for is known with the state that follows.
    asked: Option<u32>,
    /// The round-trip time of the acknowledgement at hand in microseconds; -1: it measured none.
    rtt_us: i32,
    /// Whether it carries an ECN echo.
    ece: bool,
    round: Round,
    /// The hook that was called last.
    at: Hook,
}

/// Segments of which a window has `value`.
fn segments(value: f64) -> u32 {
    (value as u32).clamp(1, TCP_INFINITE_SSTHRESH)
}

/// Tells the object of the connection as it is. A part of a segment stays that the stack does not
/// count.
pub(super) fn enter(state: &State, tcp: &Tcp) {
    state.set_now(seconds(tcp.tcp_clock_cache));
    if segments(state.cwnd().get()) != tcp.snd_cwnd {
        state.cwnd().put(f64::from(tcp.snd_cwnd));
    }
    if segments(state.ssthresh().get()) != tcp.snd_ssthresh {
        state.ssthresh().put(match tcp.snd_ssthresh {
            TCP_INFINITE_SSTHRESH.. => f64::INFINITY,
            known => f64::from(known),
        });
    }
}

/// Gives the connection what the object set.
pub(super) fn leave(state: &State, tcp: &mut Tcp) {
    if let Some(cwnd) = state.cwnd().taken() {
        tcp.snd_cwnd = segments(cwnd).min(tcp.snd_cwnd_clamp);
    }
    if let Some(ssthresh) = state.ssthresh().taken() {
        tcp.snd_ssthresh = segments(ssthresh);
    }
    pace(state, tcp);
}

/// Gives the connection the rate that the object set.
fn pace(state: &State, tcp: &mut Tcp) {
    let Some(rate) = state.pacing_rate().taken() else {
        return;
    };
    let (rate, status) = match rate.is_nan() {
        true => (u64::MAX, PacingStatus::None),
        false => (rate as u64, PacingStatus::Needed),
    };
    // The stack works the rate out of the window wherever it grows the window: never above this.
    tcp.max_pacing_rate = rate;
    tcp.pacing_rate = rate;
    tcp.pacing_status = status as u32;
}

impl Flow {
    /// Does `work` with the object; what it raises ends the run.
    fn with<T>(&mut self, work: impl FnOnce(&mut Flow, &Object) -> PyResult<T>) -> Option<T> {
        let object = self.object.take()?;
        match work(self, &object) {
            Ok(done) => {
                self.object = Some(object);
                Some(done)
            }
            Err(error) => {
                self.watch.end();
                self.failure.tell(&self.class.label, self.at.name(), error);
                Python::attach(|_| drop(object));
                None
            }
        }
    }

    /// Does `call` of the hook `hook`.
    fn call<T>(&mut self, hook: Hook, call: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
        self.at = hook;
        self.watch.begin(hook);
        let returned = call();
        self.watch.end();
        returned
    }

    /// Calls `on_timer` if it is time.
    fn at_timer(&mut self, tcp: &mut Tcp) {
        let now = seconds(tcp.tcp_clock_cache);
        let due = |object: &Object| object.state().timer().get() <= now;
        let wanted = |object: &&Object| object.has(Hook::Timer) && due(object);
        if self.object.as_ref().filter(wanted).is_none() {
            return;
        }
        self.with(|flow, object| {
            let state = object.state();
            enter(state, tcp);
            state.timer().put(f64::NAN);
            flow.call(Hook::Timer, || object.at_timer(now))?;
            leave(state, tcp);
            Ok(())
        });
    }

    /// An acknowledgement at which the class may set the window: it delivered `acked` segments, and
    /// sampled `rate`.
    fn on_ack(&mut self, tcp: &mut Tcp, acked: u32, rate: Option<&RateSample>) {
        let report = self.round.over(tcp);
        let rtt_us = match std::mem::replace(&mut self.rtt_us, -1) {
            -1 => rate.map_or(-1, |rate| rate.rtt_us),
            known => i64::from(known),
        };
        let ece = self.ece;
        self.with(|flow, object| {
            let state = object.state();
            enter(state, tcp);
            if object.has(Hook::Ack) {
                let sampled = rate.filter(|rate| rate.delivered > 0 && rate.interval_us > 0);
                let ack = Ack {
                    now: seconds(tcp.tcp_clock_cache),
                    acked,
                    rtt: (rtt_us >= 0).then_some(rtt_us as f64 * 1e-6).into(),
                    srtt: f64::from(tcp.srtt_us) * 0.125e-6,
                    min_rtt: f64::from(tcp.rtt_min_us) * 1e-6,
                    in_flight: tcp.packets_in_flight(),
                    cwnd_limited: tcp.is_cwnd_limited(),
                    delivered: tcp.delivered,
                    lost: tcp.lost,
                    ece,
                    in_recovery: tcp.ca_state >= CaState::Recovery as u8,
                    delivery_rate: sampled.map(|rate| rate_of(rate, tcp)).into(),
                    app_limited: rate.is_some_and(|rate| rate.is_app_limited != 0),
                };
                flow.call(Hook::Ack, || object.tell(Hook::Ack, ack))?;
            }
            if let Some(report) = report.filter(|_| object.has(Hook::Report)) {
                flow.call(Hook::Report, || object.tell(Hook::Report, report))?;
            }
            leave(state, tcp);
            Ok(())
        });
    }

    /// The stack met congestion of this `kind` when the window was `before`.
    fn on_congestion(&mut self, tcp: &mut Tcp, before: u32, kind: Sign) {
        self.with(|flow, object| {
            let state = object.state();
            // After a timeout the stack has begun anew; what the class answers for is the window before.
            let left = std::mem::replace(&mut tcp.snd_cwnd, before);
            // What the stack put there meanwhile was for the time being.
            tcp.snd_ssthresh = tcp.prior_ssthresh.max(1);
            enter(state, tcp);
            tcp.snd_cwnd = left;
            let event = Congestion {
                now: seconds(tcp.tcp_clock_cache),
                kind,
                in_flight: tcp.packets_in_flight(),
                lost: tcp.lost,
            };
            let returned = flow.call(Hook::Congestion, || object.ask(event))?;
            let cwnd = state.cwnd().taken();
            let threshold = returned
                .or_else(|| state.ssthresh().taken())
                .unwrap_or_else(|| state.cwnd().get());
            tcp.snd_ssthresh = segments(threshold);
            state.ssthresh().put(threshold);
            if let Some(cwnd) = cwnd.filter(|_| flow.class.own_recovery) {
                tcp.snd_cwnd = segments(cwnd).min(tcp.snd_cwnd_clamp);
            }
            pace(state, tcp);
            Ok(())
        });
    }
}

/// Bytes a second of what `rate` sampled.
fn rate_of(rate: &RateSample, tcp: &Tcp) -> f64 {
    let bytes = f64::from(rate.delivered) * f64::from(tcp.mss_cache);
    bytes / (rate.interval_us as f64 * 1e-6)
}

impl CongestionOps for Flow {
    fn init(&mut self, tcp: &mut Tcp) {
        let made = Python::attach(|py| Object::new(py, &self.class, &self.watch, tcp));
        match made {
            Ok(object) => self.object = Some(object),
            Err(error) => {
                self.watch.end();
                self.failure
                    .tell(&self.class.label, Hook::Init.name(), error);
            }
        }
    }

    /// Half the window until [`set_state`](CongestionOps::set_state), which follows, says what it is
    /// asked for.
    fn ssthresh(&mut self, tcp: &mut Tcp) -> u32 {
        self.asked = Some(tcp.snd_cwnd);
        tcp.reno_ssthresh()
    }

    fn set_state(&mut self, tcp: &mut Tcp, new: CaState) {
        let Some(before) = self.asked.take() else {
            return;
        };
        let kind = match new {
            CaState::Recovery => Sign::Loss,
            CaState::Loss => Sign::Timeout,
            CaState::Cwr => Sign::Ecn,
            CaState::Open | CaState::Disorder => return,
        };
        self.on_congestion(tcp, before, kind);
    }

    fn in_ack_event(&mut self, tcp: &mut Tcp, flags: u32) {
        self.ece = flags & ack_flags::ECE != 0;
        self.at_timer(tcp);
    }

    fn pkts_acked(&mut self, _tcp: &mut Tcp, sample: &AckSample) {
        self.rtt_us = sample.rtt_us;
        self.round.add(sample);
    }

    fn cong_avoid(&mut self, tcp: &mut Tcp, _ack: u32, acked: u32) {
        self.on_ack(tcp, acked, None);
    }

    fn has_cong_control(&self) -> bool {
        self.class.own_recovery
    }

    fn cong_control(&mut self, tcp: &mut Tcp, _ack: u32, _flag: u32, sample: &RateSample) {
        self.on_ack(tcp, sample.acked_sacked, Some(sample));
    }

    fn undo_cwnd(&mut self, tcp: &mut Tcp) -> u32 {
        let restored = tcp.reno_undo_cwnd();
        let told = self.with(|flow, object| {
            if !object.has(Hook::Undo) {
                return Ok(restored);
            }
            let state = object.state();
            let left = std::mem::replace(&mut tcp.snd_cwnd, restored);
            enter(state, tcp);
            tcp.snd_cwnd = left;
            flow.call(Hook::Undo, || object.undo())?;
            let cwnd = state.cwnd().taken().map_or(restored, segments);
            leave(state, tcp);
            Ok(cwnd)
        });
        told.unwrap_or(restored)
    }

    fn state_columns(&self) -> &'static [StateColumn] {
        self.columns
    }

    fn tell_state(&self, _tcp: &Tcp, values: &mut [f64]) {
        let Some(object) = &self.object else {
            return;
        };
        if let Err(error) = object.numbers(self.columns, values) {
            self.failure.tell(&self.class.label, "traced", error);
        }
    }
}
