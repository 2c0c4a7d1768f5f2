//! How a backend tells how far a run is, and hears that it should stop.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use cclab_units::Time;

/// How far a run is, readable from another thread, and the wish that it stop.
#[derive(Debug, Default)]
pub struct Progress {
    now_ns: AtomicU64,
    cancelled: AtomicBool,
}

impl Progress {
    /// Virtual time that the run has reached.
    pub fn now(&self) -> Time {
        Time::from_nanos(self.now_ns.load(Ordering::Relaxed))
    }

    /// Asks the run to stop soon.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Whether the run was asked to stop.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Says that the run has reached `now`; true if it should stop.
    pub fn report(&self, now: Time) -> bool {
        self.now_ns.store(now.as_nanos(), Ordering::Relaxed);
        self.cancelled.load(Ordering::Relaxed)
    }
}
