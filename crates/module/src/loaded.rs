//! A module in this process, with values of its parameters.

#![allow(
    unsafe_code,
    reason = "a shared object is loaded and its functions are called"
)]

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::Arc;
use std::thread::{self, ThreadId};

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

use crate::cache::Compiled;
use crate::guard::{self, Watched};
use crate::hook::{CongAvoid, Hook, Hooks};
use crate::kept::{WORK, Work};
use crate::message::ModuleError;
use crate::module::Module;
use crate::place;
use crate::traced::{Traced, Written};

/// A module that has begun. It is a copy of its own: another of the same file has other parameters
/// and other variables. It ends with the last of its flows.
#[derive(Clone)]
pub struct Loaded(Arc<Instance>);

/// A shared object and its functions.
pub(crate) struct Instance {
    /// The user's file.
    pub file: Watched,
    pub functions: Functions,
    /// The `struct tcp_congestion_ops` that it registered.
    pub ops: u64,
    /// What it tells traces.
    pub traced: Traced,
    /// Where the file's code finds the clock and the dice of the flow whose hook runs.
    pub clock: *mut *const u64,
    /// The one that calls it: what the file keeps in variables of its own is not guarded against
    /// others.
    thread: ThreadId,
    _library: Library,
    /// What the object lies in, of which lines are asked.
    _work: Option<Work>,
}

/// What `cclab_begin` tells (`struct told` of glue/hooks.c).
#[repr(C)]
struct Told {
    ops: *const c_void,
    lacking: *const c_char,
    registrations: c_int,
}

/// `cclab_host` of glue/hooks.c.
#[repr(C)]
struct Host {
    file: *const c_char,
    fatal: extern "C" fn(*const c_char),
    print: extern "C" fn(*const c_char, *const c_char, usize),
}

/// The functions of glue/hooks.c that are called while a module is loaded.
pub(crate) struct Functions {
    /// Writes the hooks of a `struct tcp_congestion_ops`.
    pub hooks: unsafe extern "C" fn(u64, *mut Hooks),
    /// The stack's own, by which a module may have its window grow.
    pub reno_cong_avoid: CongAvoid,
    end: unsafe extern "C" fn(),
}

impl Compiled {
    /// Loads the module and begins it, with `values` for those of its parameters that they name.
    ///
    /// # Errors
    /// It has no parameter of that name, or it does not take the value; it cannot be loaded.
    pub fn load(&self, values: &BTreeMap<String, f64>) -> Result<Loaded, ModuleError> {
        let wrong = |what: String| ModuleError::of(&self.file, what);
        let library = self.open()?;
        let unfit = |why: libloading::Error| wrong(format!("cannot be loaded: {why}"));
        // A name for each module that is loaded, which are few.
        let file: &'static CStr = Box::leak(
            CString::new(self.file.clone())
                .map_err(|_| wrong("its name has a zero byte".to_owned()))?
                .into_boxed_c_str(),
        );
        // SAFETY: `Compiled` linked it with the parts of this crate, whose functions and variables
        // have these types.
        let (functions, begin, clock) = unsafe {
            let host = library.get::<*mut Host>(b"cclab_host").map_err(unfit)?;
            host.write(Host {
                file: file.as_ptr(),
                fatal: guard::on_bug,
                print,
            });
            let begin = library
                .get::<unsafe extern "C" fn(*mut Told) -> c_int>(b"cclab_begin")
                .map_err(unfit)?;
            let end = library
                .get::<unsafe extern "C" fn()>(b"cclab_end")
                .map_err(unfit)?;
            let hooks = library
                .get::<unsafe extern "C" fn(u64, *mut Hooks)>(b"cclab_hooks")
                .map_err(unfit)?;
            let clock = library
                .get::<unsafe extern "C" fn() -> *mut *const u64>(b"cclab_clock")
                .map_err(unfit)?;
            let reno_cong_avoid = library
                .get::<unsafe extern "C" fn() -> CongAvoid>(b"cclab_reno_cong_avoid")
                .map_err(unfit)?;
            let functions = Functions {
                hooks: *hooks,
                reno_cong_avoid: reno_cong_avoid(),
                end: *end,
            };
            (functions, *begin, clock())
        };
        // SAFETY: `cclab_traced` of glue/hooks.c gives such a table.
        let traced = unsafe {
            let traced = library.get::<unsafe extern "C" fn() -> *const Written>(b"cclab_traced");
            Traced::read(traced.map_err(unfit)?(), &self.file)?
        };
        place::add(&self.object, begin as *const c_void);
        self.set(&library, values)?;
        let mut told = Told {
            ops: std::ptr::null(),
            lacking: c"".as_ptr(),
            registrations: 0,
        };
        let watched = Watched::new(file);
        watched.enter(Hook::ModuleInit);
        // SAFETY: `told` lives through the call.
        let said = unsafe { begin(&mut told) };
        guard::leave();
        if said < 0 || told.ops.is_null() {
            return Err(wrong(format!(
                "its module_init function fails with these parameters: it returned {said}"
            )));
        }
        Ok(Loaded(Arc::new(Instance {
            file: watched,
            functions,
            ops: told.ops as u64,
            traced,
            clock,
            thread: thread::current().id(),
            _library: library,
            _work: self.work.clone(),
        })))
    }

    /// Loads a copy of the shared object: a second one of the same file would be the first.
    fn open(&self) -> Result<Library, ModuleError> {
        let mut new = tempfile::Builder::new();
        new.prefix(WORK).suffix(".so");
        let beside = self.object.parent().map(|folder| new.tempfile_in(folder));
        // What cannot be written to can be read.
        let copy = beside
            .and_then(Result::ok)
            .map_or_else(|| new.tempfile(), Ok);
        let copy = copy.map_err(ModuleError::unwritable)?;
        std::fs::copy(&self.object, copy.path()).map_err(ModuleError::unwritable)?;
        // SAFETY: its constructors are those of C, which has none.
        let library = unsafe { Library::open(Some(copy.path()), RTLD_NOW | RTLD_LOCAL) };
        library.map_err(|why| ModuleError::of(&self.file, format!("cannot be loaded: {why}")))
    }

    fn set(&self, library: &Library, values: &BTreeMap<String, f64>) -> Result<(), ModuleError> {
        let params = &self.description().params;
        for (name, value) in values {
            let wrong = |what: String| Err(ModuleError::of(&self.file, what));
            let Some(param) = params.iter().find(|param| param.name == *name) else {
                let known: Vec<&str> = params.iter().map(|param| &*param.name).collect();
                return wrong(match known.is_empty() {
                    true => format!("has no parameter {name}: it has none"),
                    false => format!("has no parameter {name}: it has {}", known.join(", ")),
                });
            };
            if value.fract() != 0.0 || !value.is_finite() {
                return wrong(format!(
                    "takes whole numbers: its parameter {name} cannot be {value}"
                ));
            }
            let text = CString::new(format!("{value:.0}")).unwrap_or_default();
            // SAFETY: the type is that of glue/params.c; the index is one of the module's.
            let said = unsafe {
                match library
                    .get::<unsafe extern "C" fn(u32, *const c_char) -> c_int>(b"cclab_param_set")
                {
                    Ok(set) => set(param.index as u32, text.as_ptr()),
                    Err(why) => return wrong(format!("cannot be loaded: {why}")),
                }
            };
            if said < 0 {
                let kind = match param.kind.as_str() {
                    "" => String::new(),
                    kind => format!(", which is {kind}"),
                };
                return wrong(format!(
                    "does not take {value} for its parameter {name}{kind}"
                ));
            }
        }
        Ok(())
    }
}

/// What a module prints goes to standard error.
extern "C" fn print(file: *const c_char, text: *const c_char, length: usize) {
    // SAFETY: the name lives for ever, and the text through the call.
    let (file, text) = unsafe {
        let text = std::slice::from_raw_parts(text.cast::<u8>(), length);
        (CStr::from_ptr(file), text)
    };
    let (file, text) = (file.to_string_lossy(), String::from_utf8_lossy(text));
    eprintln!("{file}: {}", text.trim_end());
}

impl Loaded {
    /// A congestion control for a flow.
    ///
    /// # Panics
    /// Another thread has loaded it.
    pub fn module(&self) -> Module {
        Module::new(Arc::clone(&self.0))
    }

    /// What makes a congestion control for each flow, in the thread that has loaded it.
    pub fn make(&self) -> impl Fn() -> Module + Clone + Send + Sync + 'static {
        let instance = Arc::clone(&self.0);
        move || Module::new(Arc::clone(&instance))
    }
}

// SAFETY: the pointer is to a variable of the library, which lives as long; who calls hooks is of the
// thread that loaded it.
unsafe impl Send for Instance {}
// SAFETY: see above.
unsafe impl Sync for Instance {}

impl Instance {
    /// Sees to it that this is the thread that has loaded the module.
    pub(crate) fn check_thread(&self) {
        assert_eq!(
            thread::current().id(),
            self.thread,
            "the thread that loads a module calls it"
        );
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        self.file.enter(Hook::ModuleExit);
        // SAFETY: it has begun, and its last flow is gone.
        unsafe { (self.functions.end)() };
        guard::leave();
    }
}
