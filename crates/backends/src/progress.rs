//! How far a run is.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use cclab_units::Time;

/// How far a run is, readable while it runs, and the wish that it stop.
#[derive(Debug, Default)]
pub struct Progress {
    told: Arc<cclab_trace::Progress>,
    /// When the run ends at the latest; zero before it began, `u64::MAX` if nobody knows.
    end_ns: AtomicU64,
    done: AtomicBool,
}

impl Progress {
    /// Virtual seconds done so far.
    pub fn now_s(&self) -> f64 {
        self.told.now().as_secs_f64()
    }

    /// Done part, from 0 to 1; 0 until the end if the run has no set duration.
    pub fn fraction(&self) -> f64 {
        if self.done.load(Ordering::Relaxed) {
            return 1.0;
        }
        match self.end_ns.load(Ordering::Relaxed) {
            0 | u64::MAX => 0.0,
            end => (self.told.now().as_nanos() as f64 / end as f64).min(1.0),
        }
    }

    /// Asks the run to stop soon.
    pub fn cancel(&self) {
        self.told.cancel();
    }

    /// Whether the run was asked to stop.
    pub fn is_cancelled(&self) -> bool {
        self.told.is_cancelled()
    }

    /// A process of its own, which does the run, is so far: `now_s` and `fraction` are what it says.
    pub fn tell(&self, now_s: f64, fraction: f64) {
        let now = Time::from_secs_f64(now_s);
        self.told.report(now);
        let end = now.as_nanos() as f64 / fraction;
        let end = match end.is_finite() {
            true => end as u64,
            false => u64::MAX,
        };
        self.end_ns.store(end, Ordering::Relaxed);
        if fraction >= 1.0 {
            self.end();
        }
    }

    /// What the run is told to stop by.
    pub fn told(&self) -> Arc<cclab_trace::Progress> {
        Arc::clone(&self.told)
    }

    /// A run begins, which ends at `end` at the latest; what it tells its progress to.
    pub(crate) fn begin(&self, end: Option<Time>) -> &cclab_trace::Progress {
        let end = end.map_or(u64::MAX, Time::as_nanos);
        self.end_ns.store(end, Ordering::Relaxed);
        &self.told
    }

    /// The run is done.
    pub(crate) fn end(&self) {
        self.done.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_done_part_is_known_of_a_run_whose_end_is() {
        let progress = Progress::default();
        assert_eq!(progress.fraction(), 0.0);
        progress
            .begin(Some(Time::from_secs(4)))
            .report(Time::from_secs(1));
        assert_eq!((progress.now_s(), progress.fraction()), (1.0, 0.25));
        progress.begin(None);
        assert_eq!(progress.fraction(), 0.0);
        progress.end();
        assert_eq!(progress.fraction(), 1.0);
    }

    #[test]
    fn what_another_process_tells_is_what_is_read() {
        let progress = Progress::default();
        progress.tell(3.0, 0.75);
        assert_eq!((progress.now_s(), progress.fraction()), (3.0, 0.75));
        progress.tell(0.0, 0.0);
        assert_eq!(progress.fraction(), 0.0);
        progress.tell(4.0, 1.0);
        assert_eq!(progress.fraction(), 1.0);
    }
}
