//! What a Python class sets: window, threshold, rate.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple};

/// What a connection obeys, set by the class that inherits from this.
#[pyclass(module = "cclab._core", subclass, frozen)]
pub struct Window {
    cwnd: Number,
    ssthresh: Number,
    /// Not a number: the window alone limits.
    pacing_rate: Number,
    /// When `on_timer` is wanted; not a number: never.
    timer: Number,
    mss: AtomicU64,
    now: Number,
    dice: AtomicU64,
    random: PyOnceLock<Py<PyAny>>,
}

/// A number that the class may set, and whether it did since this was last asked.
#[derive(Default)]
pub struct Number {
    bits: AtomicU64,
    set: AtomicBool,
}

impl Number {
    fn new(value: f64) -> Number {
        Number {
            bits: AtomicU64::new(value.to_bits()),
            set: AtomicBool::new(false),
        }
    }

    /// What it is.
    pub fn get(&self) -> f64 {
        f64::from_bits(self.bits.load(Ordering::Relaxed))
    }

    /// The connection has `value`.
    pub fn put(&self, value: f64) {
        self.bits.store(value.to_bits(), Ordering::Relaxed);
    }

    /// The class set it to `value`.
    fn set(&self, value: f64) {
        self.put(value);
        self.set.store(true, Ordering::Relaxed);
    }

    /// What the class set it to since this was last asked, if it did.
    pub fn taken(&self) -> Option<f64> {
        let set = self.set.load(Ordering::Relaxed);
        self.set.store(false, Ordering::Relaxed);
        set.then(|| self.get())
    }
}

impl Window {
    /// The window in segments.
    pub fn cwnd(&self) -> &Number {
        &self.cwnd
    }

    /// The slow-start threshold in segments.
    pub fn ssthresh(&self) -> &Number {
        &self.ssthresh
    }

    /// Bytes a second; not a number: the window alone limits.
    pub fn pacing_rate(&self) -> &Number {
        &self.pacing_rate
    }

    /// When `on_timer` is wanted, in seconds; not a number: never.
    pub fn timer(&self) -> &Number {
        &self.timer
    }

    /// The connection begins: what its packets carry, and the state of its dice.
    pub fn begin(&self, mss: u32, dice: u64) {
        self.mss.store(u64::from(mss), Ordering::Relaxed);
        self.dice.store(dice, Ordering::Relaxed);
    }

    /// It is `now`, in seconds.
    pub fn set_now(&self, now: f64) {
        self.now.put(now);
    }
}

/// `value` as `what` of a connection, which has to be a number from `least` up.
pub(super) fn checked(what: &str, value: f64, least: f64) -> PyResult<f64> {
    if value >= least {
        return Ok(value);
    }
    let least = least as i64;
    Err(PyValueError::new_err(format!(
        "{what} = {value}: it is a number from {least} up"
    )))
}

#[pymethods]
impl Window {
    /// A window that no connection has yet; arguments are those of the class that inherits.
    #[new]
    #[pyo3(signature = (*_args, **_kwargs))]
    fn new(_args: &Bound<'_, PyTuple>, _kwargs: Option<&Bound<'_, PyDict>>) -> Window {
        Window {
            cwnd: Number::new(10.0),
            ssthresh: Number::new(f64::INFINITY),
            pacing_rate: Number::new(f64::NAN),
            timer: Number::new(f64::NAN),
            mss: AtomicU64::new(1_448),
            now: Number::new(0.0),
            dice: AtomicU64::new(0),
            random: PyOnceLock::new(),
        }
    }

    #[getter(cwnd)]
    fn read_cwnd(&self) -> f64 {
        self.cwnd.get()
    }

    #[setter(cwnd)]
    fn write_cwnd(&self, value: f64) -> PyResult<()> {
        let value = checked("cwnd", value, 0.0)?;
        if value.is_infinite() {
            return Err(PyValueError::new_err("cwnd = inf: it is a number"));
        }
        self.cwnd.set(value);
        Ok(())
    }

    #[getter(ssthresh)]
    fn read_ssthresh(&self) -> f64 {
        self.ssthresh.get()
    }

    #[setter(ssthresh)]
    fn write_ssthresh(&self, value: f64) -> PyResult<()> {
        self.ssthresh.set(checked("ssthresh", value, 0.0)?);
        Ok(())
    }

    #[getter(pacing_rate)]
    fn read_pacing_rate(&self) -> Option<f64> {
        Some(self.pacing_rate.get()).filter(|rate| !rate.is_nan())
    }

    #[setter(pacing_rate)]
    fn write_pacing_rate(&self, value: Option<f64>) -> PyResult<()> {
        let value = match value {
            None => f64::NAN,
            Some(value) => checked("pacing_rate", value, 1.0)?,
        };
        self.pacing_rate.set(value);
        Ok(())
    }

    #[getter(timer)]
    fn read_timer(&self) -> Option<f64> {
        Some(self.timer.get()).filter(|at| !at.is_nan())
    }

    #[setter(timer)]
    fn write_timer(&self, value: Option<f64>) -> PyResult<()> {
        let value = match value {
            None => f64::NAN,
            Some(value) => checked("timer", value, 0.0)?,
        };
        self.timer.set(value);
        Ok(())
    }

    #[getter]
    fn mss(&self) -> u64 {
        self.mss.load(Ordering::Relaxed)
    }

    #[getter]
    fn now(&self) -> f64 {
        self.now.get()
    }

    /// Made when it is first asked for: most classes do without.
    #[getter]
    fn random<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let made = self.random.get_or_try_init(py, || {
            let seed = self.dice.load(Ordering::Relaxed);
            let random = py.import("random")?.getattr("Random")?.call1((seed,))?;
            PyResult::Ok(random.unbind())
        })?;
        Ok(made.bind(py).clone())
    }
}
