//! What users' code is at, for whoever watches that it comes back.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// The hooks of a variant, as users' files call them.
pub const HOOKS: [&str; 7] = [
    "",
    "__init__",
    "on_ack",
    "on_congestion",
    "on_report",
    "on_timer",
    "on_undo",
];

/// Where in [`HOOKS`] a hook is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Hook {
    Init = 1,
    Ack = 2,
    Congestion = 3,
    Report = 4,
    Timer = 5,
    Undo = 6,
}

impl Hook {
    /// How many numbers there are, with that of none.
    pub const COUNT: usize = HOOKS.len();
    /// Those that the stack calls.
    pub const CALLED: [Hook; 5] = [
        Hook::Ack,
        Hook::Congestion,
        Hook::Report,
        Hook::Timer,
        Hook::Undo,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        HOOKS[self as usize]
    }
}

/// Whether this process is one that users' code forked.
pub static FORKED: AtomicBool = AtomicBool::new(false);

/// The call of a hook that is under way, if one is.
#[derive(Clone, Default)]
pub struct Watch(Arc<Calls>);

#[derive(Default)]
struct Calls {
    /// Calls begun so far.
    begun: AtomicU64,
    /// The hook of the call under way; zero: none.
    hook: AtomicUsize,
}

impl Watch {
    /// A call of `hook` begins.
    pub fn begin(&self, hook: Hook) {
        // One thread writes; another reads late at worst.
        let begun = self.0.begun.load(Ordering::Relaxed) + 1;
        self.0.begun.store(begun, Ordering::Relaxed);
        self.0.hook.store(hook as usize, Ordering::Relaxed);
    }

    /// It is over.
    pub fn end(&self) {
        if FORKED.load(Ordering::Relaxed) {
            // What was to be flushed is the parent's to flush.
            kill_self();
        }
        self.0.hook.store(0, Ordering::Relaxed);
    }

    /// The number of the call under way, and its hook.
    pub fn under_way(&self) -> Option<(u64, &'static str)> {
        match self.0.hook.load(Ordering::Relaxed) {
            0 => None,
            hook => Some((self.0.begun.load(Ordering::Relaxed), HOOKS[hook])),
        }
    }
}

/// Ends this process at once.
#[cold]
fn kill_self() -> ! {
    let _ = kill(Pid::this(), Signal::SIGKILL);
    std::process::abort()
}
