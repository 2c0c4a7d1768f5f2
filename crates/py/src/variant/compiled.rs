//! Hooks that were compiled (`cclab.variant.native`): called by their addresses, without Python.

#![allow(
    unsafe_code,
    reason = "compiled hooks are functions of C that are lent structures by pointer"
)]

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;

use super::call::Hook;
use super::told::Told;
use super::window::State;

/// A hook: the flow's record, which begins with its [`State`], and what is told.
type Function = unsafe extern "C" fn(*const State, *const c_void);

/// A compiled hook is being called.
static CALLING: AtomicBool = AtomicBool::new(false);
/// It has raised an exception.
static RAISED: AtomicBool = AtomicBool::new(false);
/// The exception.
static EXCEPTION: Mutex<Option<PyErr>> = Mutex::new(None);

/// `error` was raised and caught by nobody. Gives whether a compiled hook raised it, which it ends
/// then.
#[pyfunction]
pub fn raised_compiled(error: Bound<'_, PyAny>) -> bool {
    let compiled = CALLING.load(Relaxed);
    if compiled {
        let mut first = EXCEPTION.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert_with(|| PyErr::from_value(error));
        RAISED.store(true, Relaxed);
    }
    compiled
}

/// The hooks of a class, compiled, at one flow.
pub struct Compiled {
    record: *const State,
    hooks: [Option<Function>; Hook::COUNT],
    /// What the record and the functions live in.
    _kept: Py<PyAny>,
    native: Py<PyAny>,
}

// SAFETY: the record is this flow's alone, and code has no thread of its own.
unsafe impl Send for Compiled {}

impl Compiled {
    /// Those of `object`, which `native` makes a record of.
    pub fn start(native: &Bound<'_, PyAny>, object: &Bound<'_, PyAny>) -> PyResult<Compiled> {
        let made = native.call_method1("start", (object,))?;
        let (record, addresses, kept): (usize, BTreeMap<String, usize>, Py<PyAny>) =
            made.extract()?;
        let mut hooks = [None; Hook::COUNT];
        for hook in Hook::CALLED {
            if let Some(address) = addresses.get(hook.name()) {
                let function = ptr::with_exposed_provenance::<c_void>(*address);
                // SAFETY: `native` compiles functions of this signature, and keeps them.
                hooks[hook as usize] =
                    Some(unsafe { std::mem::transmute::<*const c_void, Function>(function) });
            }
        }
        Ok(Compiled {
            record: ptr::with_exposed_provenance(record),
            hooks,
            _kept: kept,
            native: native.clone().unbind(),
        })
    }

    /// The head of the record.
    pub fn state(&self) -> &State {
        // SAFETY: `start` made the record, zeroed and aligned, and it is kept.
        unsafe { &*self.record }
    }

    /// Whether there is `hook`.
    pub fn has(&self, hook: Hook) -> bool {
        self.hooks[hook as usize].is_some()
    }

    /// Calls `hook`, if there is one, with `told`.
    pub fn tell<T: Told>(&self, hook: Hook, told: &T) -> PyResult<()> {
        self.called(hook, ptr::from_ref(told).cast())
    }

    /// Calls `hook`, if there is one, which is told nothing.
    pub fn call(&self, hook: Hook) -> PyResult<()> {
        self.called(hook, ptr::null())
    }

    #[inline]
    fn called(&self, hook: Hook, told: *const c_void) -> PyResult<()> {
        let Some(function) = self.hooks[hook as usize] else {
            return Ok(());
        };
        CALLING.store(true, Relaxed);
        // SAFETY: the hook was compiled for the record, and for what this hook is told, which it
        // reads during the call alone.
        unsafe { function(self.record, told) };
        CALLING.store(false, Relaxed);
        match RAISED.load(Relaxed) || self.state().is_wrong() {
            true => Err(self.failure()),
            false => Ok(()),
        }
    }

    /// What went wrong, with its place in the user's file.
    #[cold]
    fn failure(&self) -> PyErr {
        let mut first = EXCEPTION.lock().unwrap_or_else(PoisonError::into_inner);
        let error = self.state().wrong().or_else(|| first.take());
        Python::attach(|py| {
            let error = error.map(|error| error.into_value(py));
            let placed = (self.state().place(), error);
            match self.native.bind(py).call_method1("failed", placed) {
                Ok(told) => PyErr::from_value(told),
                Err(failed) => failed,
            }
        })
    }
}
