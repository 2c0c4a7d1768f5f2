//! What a Python class sets: window, threshold, rate.

use std::mem::offset_of;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyFloat, PyTuple};

use super::layout::{Kind, Layout};

/// What a connection obeys, set by the class that inherits from this.
#[pyclass(module = "cclab._core", subclass, frozen)]
pub struct Window {
    state: State,
    dice: AtomicU64,
    random: PyOnceLock<Py<PyAny>>,
}

/// What a class and the connection tell each other. Of a compiled class it is the head of the flow's
/// record, which the class's code reads and writes as [`STATE`] says.
#[derive(Default)]
#[repr(C)]
pub struct State {
    cwnd: Number,
    ssthresh: Number,
    /// Not a number: the window alone limits.
    pacing_rate: Number,
    /// When `on_timer` is wanted; not a number: never.
    timer: Number,
    /// What compiled code returns.
    answer: Number,
    now: Number,
    mss: AtomicU64,
    /// Which of [`SET`] compiled code set to what it cannot be, counted from 1; zero: none.
    wrong: AtomicU64,
    /// What it set it to.
    wrong_value: Number,
    /// Where compiled code is: the index of its file in the upper half, the line in the lower.
    place: AtomicU64,
    /// Where it was when it set that.
    wrong_place: AtomicU64,
}

/// A number that a class may set, and whether it did since this was last asked.
#[derive(Default)]
#[repr(C)]
pub struct Number {
    bits: AtomicU64,
    set: AtomicBool,
}

impl Number {
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

/// A number that a class sets: its name, the least that it may be, whether it may be infinite, and
/// whether it may be None, which is kept as what is not a number.
#[derive(Clone, Copy)]
pub struct Bounds {
    name: &'static str,
    least: f64,
    infinite: bool,
    none: bool,
}

const fn bounds(name: &'static str, least: f64, infinite: bool, none: bool) -> Bounds {
    Bounds {
        name,
        least,
        infinite,
        none,
    }
}

const CWND: Bounds = bounds("cwnd", 0.0, false, false);
const SSTHRESH: Bounds = bounds("ssthresh", 0.0, true, false);
const PACING_RATE: Bounds = bounds("pacing_rate", 1.0, true, true);
const TIMER: Bounds = bounds("timer", 0.0, true, true);
/// What `on_congestion` returns.
const ANSWER: Bounds = bounds("what on_congestion returns", 1.0, true, true);

impl Bounds {
    /// The least, whether it may be infinite, and whether it may be None.
    pub fn of(&self) -> (f64, bool, bool) {
        (self.least, self.infinite, self.none)
    }

    /// What is wrong with `value`, which is printed as `shown`.
    fn refused(self, shown: &str) -> PyErr {
        let Bounds {
            name, least, none, ..
        } = self;
        let or_none = if none { ", or None" } else { "" };
        let finite = if self.infinite { "a" } else { "a finite" };
        PyValueError::new_err(format!(
            "{name} = {shown}: it is {finite} number from {least} up{or_none}"
        ))
    }

    /// `value`, if it may be that.
    fn checked(self, value: f64) -> Result<f64, PyErr> {
        match value >= self.least && (self.infinite || value.is_finite()) {
            true => Ok(value),
            false => Err(self.refused(&value.to_string())),
        }
    }

    /// `value` as a class gives it; None is what is not a number.
    fn read(self, value: &Bound<'_, PyAny>) -> PyResult<f64> {
        if self.none && value.is_none() {
            return Ok(f64::NAN);
        }
        // A string of digits is no number; what numpy has is one.
        match value.cast::<PyFloat>() {
            Ok(float) => self.checked(float.extract()?),
            Err(_) => match value.extract() {
                Ok(number) => self.checked(number),
                Err(_) => Err(self.refused(&value.repr()?.to_string())),
            },
        }
    }
}

/// What `on_congestion` returned: a threshold in segments, or None.
pub fn answer(returned: &Bound<'_, PyAny>) -> PyResult<Option<f64>> {
    let answer = ANSWER.read(returned)?;
    Ok(Some(answer).filter(|answer| !answer.is_nan()))
}

/// What compiled code reads and writes of a [`State`]: kinds `set` are a [`Number`].
pub const STATE: Layout = Layout {
    name: "Window",
    size: size_of::<State>(),
    fields: &[
        ("cwnd", Kind::Set(CWND), offset_of!(State, cwnd)),
        ("ssthresh", Kind::Set(SSTHRESH), offset_of!(State, ssthresh)),
        (
            "pacing_rate",
            Kind::Set(PACING_RATE),
            offset_of!(State, pacing_rate),
        ),
        ("timer", Kind::Set(TIMER), offset_of!(State, timer)),
        ("answer", Kind::Set(ANSWER), offset_of!(State, answer)),
        ("now", Kind::Float, offset_of!(State, now)),
        ("mss", Kind::Long, offset_of!(State, mss)),
        ("wrong", Kind::Long, offset_of!(State, wrong)),
        ("wrong_value", Kind::Float, offset_of!(State, wrong_value)),
        ("place", Kind::Long, offset_of!(State, place)),
        ("wrong_place", Kind::Long, offset_of!(State, wrong_place)),
    ],
};

impl Window {
    /// What it and the connection tell each other.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The connection begins: what its packets carry, and the state of its dice.
    pub fn begin(&self, mss: u32, dice: u64) {
        self.state.mss.store(u64::from(mss), Ordering::Relaxed);
        self.dice.store(dice, Ordering::Relaxed);
    }
}

impl State {
    /// That of a window that no connection has yet.
    fn new() -> State {
        let state = State::default();
        state.cwnd.put(10.0);
        state.ssthresh.put(f64::INFINITY);
        state.pacing_rate.put(f64::NAN);
        state.timer.put(f64::NAN);
        state.mss.store(1_448, Ordering::Relaxed);
        state
    }

    /// Becomes as `other` is, whose changes the connection has.
    pub fn copy(&self, other: &State) {
        for (to, from) in [
            (&self.cwnd, &other.cwnd),
            (&self.ssthresh, &other.ssthresh),
            (&self.pacing_rate, &other.pacing_rate),
            (&self.timer, &other.timer),
            (&self.now, &other.now),
        ] {
            to.put(from.get());
        }
        let mss = other.mss.load(Ordering::Relaxed);
        self.mss.store(mss, Ordering::Relaxed);
    }

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

    /// What compiled code returned.
    pub fn answer(&self) -> &Number {
        &self.answer
    }

    /// It is `now`, in seconds.
    pub fn set_now(&self, now: f64) {
        self.now.put(now);
    }

    /// Whether compiled code set what cannot be.
    pub fn is_wrong(&self) -> bool {
        self.wrong.load(Ordering::Relaxed) != 0
    }

    /// What compiled code set that cannot be, if it did.
    pub fn wrong(&self) -> Option<PyErr> {
        let wrong = self.wrong.load(Ordering::Relaxed).checked_sub(1)?;
        let value = self.wrong_value.get();
        let bounds = STATE.fields.iter().filter_map(|(_, kind, _)| match kind {
            Kind::Set(bounds) => Some(bounds),
            _ => None,
        });
        let mut bounds = bounds.skip(wrong as usize);
        bounds.next()?.checked(value).err()
    }

    /// Where compiled code is, or was when it set what cannot be: the index of its file, and the line.
    pub fn place(&self) -> (u64, u64) {
        let place = match self.is_wrong() {
            true => &self.wrong_place,
            false => &self.place,
        };
        let place = place.load(Ordering::Relaxed);
        (place >> 32, place & u64::from(u32::MAX))
    }
}

/// What a class sees of a number that may be None.
fn or_none(number: &Number) -> Option<f64> {
    Some(number.get()).filter(|number| !number.is_nan())
}

#[pymethods]
impl Window {
    /// A window that no connection has yet; arguments are those of the class that inherits.
    #[new]
    #[pyo3(signature = (*_args, **_kwargs))]
    fn new(_args: &Bound<'_, PyTuple>, _kwargs: Option<&Bound<'_, PyDict>>) -> Window {
        Window {
            state: State::new(),
            dice: AtomicU64::new(0),
            random: PyOnceLock::new(),
        }
    }

    #[getter(cwnd)]
    fn read_cwnd(&self) -> f64 {
        self.state.cwnd.get()
    }

    #[setter(cwnd)]
    fn write_cwnd(&self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.state.cwnd.set(CWND.read(value)?);
        Ok(())
    }

    #[getter(ssthresh)]
    fn read_ssthresh(&self) -> f64 {
        self.state.ssthresh.get()
    }

    #[setter(ssthresh)]
    fn write_ssthresh(&self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.state.ssthresh.set(SSTHRESH.read(value)?);
        Ok(())
    }

    #[getter(pacing_rate)]
    fn read_pacing_rate(&self) -> Option<f64> {
        or_none(&self.state.pacing_rate)
    }

    #[setter(pacing_rate)]
    fn write_pacing_rate(&self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.state.pacing_rate.set(PACING_RATE.read(value)?);
        Ok(())
    }

    #[getter(timer)]
    fn read_timer(&self) -> Option<f64> {
        or_none(&self.state.timer)
    }

    #[setter(timer)]
    fn write_timer(&self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.state.timer.set(TIMER.read(value)?);
        Ok(())
    }

    #[getter]
    fn mss(&self) -> u64 {
        self.state.mss.load(Ordering::Relaxed)
    }

    #[getter]
    fn now(&self) -> f64 {
        self.state.now.get()
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
