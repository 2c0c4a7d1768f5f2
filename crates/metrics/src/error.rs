//! What can keep a run from being measured.

use std::path::PathBuf;

use cclab_trace::TraceError;

/// A run's directory that could not be measured. Every message names the file.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// The trace cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// `run.json` cannot be read.
    #[error("{}: {source}", cclab_units::shown_path(path))]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// `run.json` is not a run.
    #[error(
        "{}: not the description of a run: {source}; delete the run and repeat it",
        cclab_units::shown_path(path)
    )]
    Run {
        /// The file.
        path: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
}
