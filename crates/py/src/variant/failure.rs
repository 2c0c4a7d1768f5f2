//! The first thing that went wrong in users' code: it ends the run.

use std::sync::{Arc, Mutex, PoisonError};

use cclab_trace::Progress;
use pyo3::prelude::*;

/// What users' code raised first in a run, with the name of its file and of the hook.
#[derive(Clone)]
pub struct Failure {
    first: Arc<Mutex<Option<Raised>>>,
    run: Arc<Progress>,
}

/// What was raised, and in which hook.
pub struct Raised {
    /// What flows call the variant.
    pub label: String,
    /// The hook, as the user's file calls it.
    pub hook: &'static str,
    /// What was raised.
    pub error: PyErr,
}

impl Failure {
    /// None yet; the first one cancels `run`.
    pub fn of(run: Arc<Progress>) -> Failure {
        Failure {
            first: Arc::default(),
            run,
        }
    }

    /// `error` came out of `hook` of the variant that flows call `label`.
    pub fn tell(&self, label: &str, hook: &'static str, error: PyErr) {
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert_with(|| Raised {
            label: label.to_owned(),
            hook,
            error,
        });
        self.run.cancel();
    }

    /// What was raised first, if anything was.
    pub fn take(&self) -> Option<Raised> {
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        first.take()
    }
}
