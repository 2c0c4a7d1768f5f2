//! A Python class as a congestion control of Linux's stack.

use std::sync::Arc;

use cclab_cc::EcnFeedback;
use cclab_cc::interface::{
    AckSample, CaState, CongestionOps, PacingStatus, RateSample, TCP_INFINITE_SSTHRESH, Tcp,
    ack_flags,
};
use cclab_sim::OwnVariant;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::BTreeMap;

use super::call::{Hook, Watch};
use super::failure::Failure;
use super::report::{Round, seconds};
use super::told::{Ack, Congestion};
use super::window::{Window, checked};

/// A variant of a Python file, as `cclab.variant.files` reads it.
#[derive(FromPyObject)]
pub struct Class {
    /// What flows call it.
    label: String,
    /// Their `cc_params`.
    params: BTreeMap<String, f64>,
    /// The class, which inherits from [`Window`].
    cls: Py<PyAny>,
    /// What `__init__` gets.
    arguments: Py<PyDict>,
    /// The hooks that it defines.
    hooks: Vec<String>,
    /// Whether it sets the window while losses are repaired, too.
    own_recovery: bool,
    /// Whether it needs the mark of each packet.
    needs_ecn: bool,
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
        let class = Arc::new(self);
        OwnVariant {
            label,
            params,
            ecn,
            make: Arc::new(move |_| {
                Box::new(Flow {
                    class: Arc::clone(&class),
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

    fn defines(&self, hook: Hook) -> bool {
        self.hooks.iter().any(|known| known == hook.name())
    }
}

/// The class at one connection.
struct Flow {
    class: Arc<Class>,
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

/// The object of a connection, and its hooks.
struct Object {
    window: Py<Window>,
    on_congestion: Py<PyAny>,
    on_ack: Option<Py<PyAny>>,
    on_report: Option<Py<PyAny>>,
    on_timer: Option<Py<PyAny>>,
    on_undo: Option<Py<PyAny>>,
}

/// Segments of which a window has `value`.
fn segments(value: f64) -> u32 {
    (value as u32).clamp(1, TCP_INFINITE_SSTHRESH)
}

/// Tells the object of the connection as it is. A part of a segment stays that the stack does not
/// count.
fn enter(window: &Window, tcp: &Tcp) {
    window.set_now(seconds(tcp.tcp_clock_cache));
    if segments(window.cwnd().get()) != tcp.snd_cwnd {
        window.cwnd().put(f64::from(tcp.snd_cwnd));
    }
    if segments(window.ssthresh().get()) != tcp.snd_ssthresh {
        window.ssthresh().put(match tcp.snd_ssthresh {
            TCP_INFINITE_SSTHRESH.. => f64::INFINITY,
            known => f64::from(known),
        });
    }
}

/// Gives the connection what the object set.
fn leave(window: &Window, tcp: &mut Tcp) {
    if let Some(cwnd) = window.cwnd().taken() {
        tcp.snd_cwnd = segments(cwnd).min(tcp.snd_cwnd_clamp);
    }
    if let Some(ssthresh) = window.ssthresh().taken() {
        tcp.snd_ssthresh = segments(ssthresh);
    }
    pace(window, tcp);
}

/// Gives the connection the rate that the object set.
fn pace(window: &Window, tcp: &mut Tcp) {
    let Some(rate) = window.pacing_rate().taken() else {
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

impl Object {
    /// The object of `class` for the connection `tcp`.
    fn new(py: Python<'_>, class: &Class, watch: &Watch, tcp: &mut Tcp) -> PyResult<Object> {
        let cls = class.cls.bind(py);
        let object = cls.call_method1("__new__", (cls,))?;
        let window = object.cast::<Window>()?.clone();
        window.get().begin(tcp.mss_cache, tcp.dice);
        enter(window.get(), tcp);
        watch.begin(Hook::Init);
        object.call_method("__init__", (), Some(class.arguments.bind(py)))?;
        watch.end();
        leave(window.get(), tcp);
        let bound = |hook: Hook| -> PyResult<Option<Py<PyAny>>> {
            match class.defines(hook) {
                true => Ok(Some(object.getattr(hook.name())?.unbind())),
                false => Ok(None),
            }
        };
        Ok(Object {
            on_congestion: object.getattr(Hook::Congestion.name())?.unbind(),
            on_ack: bound(Hook::Ack)?,
            on_report: bound(Hook::Report)?,
            on_timer: bound(Hook::Timer)?,
            on_undo: bound(Hook::Undo)?,
            window: window.unbind(),
        })
    }
}

impl Flow {
    /// Does `work` with the object; what it raises ends the run.
    fn with<T>(
        &mut self,
        work: impl FnOnce(Python<'_>, &mut Flow, &Object) -> PyResult<T>,
    ) -> Option<T> {
        let object = self.object.take()?;
        Python::attach(|py| match work(py, self, &object) {
            Ok(done) => {
                self.object = Some(object);
                Some(done)
            }
            Err(error) => {
                self.watch.end();
                self.failure.tell(&self.class.label, self.at.name(), error);
                None
            }
        })
    }

    /// Calls `method`, the hook `hook`, with `told`.
    fn call<'py, T>(
        &mut self,
        py: Python<'py>,
        hook: Hook,
        method: &Py<PyAny>,
        told: T,
    ) -> PyResult<Bound<'py, PyAny>>
    where
        T: pyo3::call::PyCallArgs<'py>,
    {
        self.at = hook;
        self.watch.begin(hook);
        let returned = method.bind(py).call1(told);
        self.watch.end();
        returned
    }

    /// Calls `on_timer` if it is time.
    fn at_timer(&mut self, tcp: &mut Tcp) {
        let now = seconds(tcp.tcp_clock_cache);
        let due = |object: &Object| object.window.get().timer().get() <= now;
        let wanted = |object: &&Object| object.on_timer.is_some() && due(object);
        if self.object.as_ref().filter(wanted).is_none() {
            return;
        }
        self.with(|py, flow, object| {
            let Some(method) = &object.on_timer else {
                return Ok(());
            };
            let window = object.window.get();
            enter(window, tcp);
            window.timer().put(f64::NAN);
            flow.call(py, Hook::Timer, method, (now,))?;
            leave(window, tcp);
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
        self.with(|py, flow, object| {
            let window = object.window.get();
            enter(window, tcp);
            if let Some(method) = &object.on_ack {
                let sampled = rate.filter(|rate| rate.delivered > 0 && rate.interval_us > 0);
                let ack = Ack {
                    now: seconds(tcp.tcp_clock_cache),
                    acked,
                    rtt: (rtt_us >= 0).then_some(rtt_us as f64 * 1e-6),
                    srtt: f64::from(tcp.srtt_us) * 0.125e-6,
                    min_rtt: f64::from(tcp.rtt_min_us) * 1e-6,
                    in_flight: tcp.packets_in_flight(),
                    cwnd_limited: tcp.is_cwnd_limited(),
                    delivered: tcp.delivered,
                    lost: tcp.lost,
                    ece,
                    in_recovery: tcp.ca_state >= CaState::Recovery as u8,
                    delivery_rate: sampled.map(|rate| {
                        let bytes = f64::from(rate.delivered) * f64::from(tcp.mss_cache);
                        bytes / (rate.interval_us as f64 * 1e-6)
                    }),
                    app_limited: rate.is_some_and(|rate| rate.is_app_limited != 0),
                };
                flow.call(py, Hook::Ack, method, (Py::new(py, ack)?,))?;
            }
            if let (Some(report), Some(method)) = (report, &object.on_report) {
                flow.call(py, Hook::Report, method, (Py::new(py, report)?,))?;
            }
            leave(window, tcp);
            Ok(())
        });
    }

    /// The stack met congestion of this `kind` when the window was `before`.
    fn on_congestion(&mut self, tcp: &mut Tcp, before: u32, kind: &'static str) {
        self.with(|py, flow, object| {
            let window = object.window.get();
            // After a timeout the stack has begun anew; what the class answers for is the window before.
            let left = std::mem::replace(&mut tcp.snd_cwnd, before);
            // What the stack put there meanwhile was for the time being.
            tcp.snd_ssthresh = tcp.prior_ssthresh.max(1);
            enter(window, tcp);
            tcp.snd_cwnd = left;
            let event = Congestion {
                now: seconds(tcp.tcp_clock_cache),
                kind,
                in_flight: tcp.packets_in_flight(),
                lost: tcp.lost,
            };
            let method = &object.on_congestion;
            let returned = flow.call(py, Hook::Congestion, method, (Py::new(py, event)?,))?;
            let cwnd = window.cwnd().taken();
            let threshold = match returned.is_none() {
                true => window.ssthresh().taken(),
                false => Some(checked(
                    "what on_congestion returns",
                    returned.extract()?,
                    1.0,
                )?),
            };
            let threshold = threshold.unwrap_or_else(|| window.cwnd().get());
            tcp.snd_ssthresh = segments(threshold);
            window.ssthresh().put(threshold);
            if let Some(cwnd) = cwnd.filter(|_| flow.class.own_recovery) {
                tcp.snd_cwnd = segments(cwnd).min(tcp.snd_cwnd_clamp);
            }
            pace(window, tcp);
            Ok(())
        });
    }
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
            CaState::Recovery => "loss",
            CaState::Loss => "timeout",
            CaState::Cwr => "ecn",
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
        let told = self.with(|py, flow, object| {
            let Some(method) = &object.on_undo else {
                return Ok(restored);
            };
            let window = object.window.get();
            let left = std::mem::replace(&mut tcp.snd_cwnd, restored);
            enter(window, tcp);
            tcp.snd_cwnd = left;
            flow.call(py, Hook::Undo, method, ())?;
            let cwnd = window.cwnd().taken().map_or(restored, segments);
            leave(window, tcp);
            Ok(cwnd)
        });
        told.unwrap_or(restored)
    }
}
