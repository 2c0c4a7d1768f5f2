//! A doubt about a run, as results tell it.

use serde::{Deserialize, Serialize};

/// A doubt about a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// Stable name of the doubt.
    pub code: String,
    /// What is doubtful, in one sentence with numbers.
    pub message: String,
    /// What to change.
    pub remedy: String,
}
