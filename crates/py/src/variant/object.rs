//! The object of a connection, and how its hooks are called: as Python, or compiled.

use cclab_cc::interface::{StateColumn, Tcp};
use pyo3::prelude::*;

use super::call::{Hook, Watch};
use super::class::{Class, enter, leave};
use super::compiled::Compiled;
use super::told::Told;
use super::window::{State, Window, answer};

/// The object of a connection.
pub struct Object {
    window: Py<Window>,
    hooks: Hooks,
}

/// What is called.
enum Hooks {
    /// The methods that a class defines, each at the number of its [`Hook`].
    Python([Option<Py<PyAny>>; Hook::COUNT]),
    /// What was made of them.
    Compiled(Compiled),
}

impl Object {
    /// The object of `class` for the connection `tcp`.
    pub fn new(py: Python<'_>, class: &Class, watch: &Watch, tcp: &mut Tcp) -> PyResult<Object> {
        let cls = class.cls.bind(py);
        let object = cls.call_method1("__new__", (cls,))?;
        let window = object.cast::<Window>()?.clone();
        window.get().begin(tcp.mss_cache, tcp.dice);
        enter(window.get().state(), tcp);
        watch.begin(Hook::Init);
        object.call_method("__init__", (), Some(class.arguments.bind(py)))?;
        watch.end();
        leave(window.get().state(), tcp);
        let hooks = match &class.native {
            Some(native) => {
                let compiled = Compiled::start(native.bind(py), &object)?;
                compiled.state().copy(window.get().state());
                Hooks::Compiled(compiled)
            }
            None => {
                let mut methods = [const { None }; Hook::COUNT];
                for hook in Hook::CALLED.into_iter().filter(|hook| class.defines(*hook)) {
                    methods[hook as usize] = Some(object.getattr(hook.name())?.unbind());
                }
                Hooks::Python(methods)
            }
        };
        let window = window.unbind();
        Ok(Object { window, hooks })
    }

    /// What it and the connection tell each other.
    pub fn state(&self) -> &State {
        match &self.hooks {
            Hooks::Python(_) => self.window.get().state(),
            Hooks::Compiled(compiled) => compiled.state(),
        }
    }

    /// Whether it has `hook`.
    pub fn has(&self, hook: Hook) -> bool {
        match &self.hooks {
            Hooks::Python(methods) => methods[hook as usize].is_some(),
            Hooks::Compiled(compiled) => compiled.has(hook),
        }
    }

    /// Calls `hook`, if it has it, with `told`.
    pub fn tell<T: Told>(&self, hook: Hook, told: T) -> PyResult<()> {
        match &self.hooks {
            Hooks::Python(_) => {
                self.call(hook, |py, method| method.call1((Py::new(py, told)?,)))?;
                Ok(())
            }
            Hooks::Compiled(compiled) => compiled.tell(hook, &told),
        }
    }

    /// Calls `on_congestion` with `told`; gives what it returned.
    pub fn ask<T: Told>(&self, told: T) -> PyResult<Option<f64>> {
        match &self.hooks {
            Hooks::Python(methods) => {
                let Some(method) = &methods[Hook::Congestion as usize] else {
                    return Ok(None);
                };
                Python::attach(|py| answer(&method.bind(py).call1((Py::new(py, told)?,))?))
            }
            Hooks::Compiled(compiled) => {
                compiled.tell(Hook::Congestion, &told)?;
                Ok(compiled.state().answer().taken())
            }
        }
    }

    /// The numbers of its attributes `names`; not a number where one is None.
    pub fn numbers(&self, names: &[StateColumn], values: &mut [f64]) -> PyResult<()> {
        Python::attach(|py| {
            for (column, value) in names.iter().zip(values) {
                let told: Option<f64> = self.window.bind(py).getattr(column.name)?.extract()?;
                *value = told.unwrap_or(f64::NAN);
            }
            Ok(())
        })
    }

    /// Calls `on_timer`, at the time `now`.
    pub fn at_timer(&self, now: f64) -> PyResult<()> {
        match &self.hooks {
            Hooks::Python(_) => self.call(Hook::Timer, |_, method| method.call1((now,))),
            Hooks::Compiled(compiled) => compiled.call(Hook::Timer),
        }
    }

    /// Calls `on_undo`.
    pub fn undo(&self) -> PyResult<()> {
        match &self.hooks {
            Hooks::Python(_) => self.call(Hook::Undo, |_, method| method.call0()),
            Hooks::Compiled(compiled) => compiled.call(Hook::Undo),
        }
    }

    /// Calls the method of `hook`, if there is one, by `by`.
    fn call(
        &self,
        hook: Hook,
        by: impl for<'py> FnOnce(Python<'py>, &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>>,
    ) -> PyResult<()> {
        let Hooks::Python(methods) = &self.hooks else {
            return Ok(());
        };
        match &methods[hook as usize] {
            Some(method) => Python::attach(|py| by(py, method.bind(py)).map(drop)),
            None => Ok(()),
        }
    }
}
