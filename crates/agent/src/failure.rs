//! Why a run cannot go on.

use std::fmt::Display;

pub use cclab_testbed::records::Failure;

/// A result whose error ends the run.
pub type Step<T> = Result<T, Failure>;

/// The failure of `step` by `problem`.
pub fn failure(step: impl Into<String>, problem: impl Display) -> Failure {
    Failure {
        step: step.into(),
        problem: problem.to_string(),
    }
}

/// Says which step an error belongs to.
pub trait During<T> {
    /// The error as the failure of `step`.
    fn during(self, step: &str) -> Step<T>;
}

impl<T, E: Display> During<T> for Result<T, E> {
    fn during(self, step: &str) -> Step<T> {
        self.map_err(|error| failure(step, error))
    }
}
