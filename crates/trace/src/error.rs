//! What can go wrong with a trace on disk.

use std::path::{Path, PathBuf};

/// A trace that could not be written or read. Every message names the file.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The operating system refused.
    #[error("{}: {source}", cclab_units::shown_path(path))]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file is not what a trace of this version holds: truncated, damaged or of another
    /// version.
    #[error(
        "{}: damaged trace file: {reason}; delete the run and repeat it",
        cclab_units::shown_path(path)
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What does not fit.
        reason: String,
    },
    /// A file could not be encoded.
    #[error("{}: cannot be written: {reason}", cclab_units::shown_path(path))]
    Encode {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
}

impl TraceError {
    /// The operating system's `source` error on `path`.
    pub(crate) fn io(path: &Path, source: std::io::Error) -> TraceError {
        TraceError::Io {
            path: path.to_owned(),
            source,
        }
    }

    /// `path` does not hold what it should.
    pub(crate) fn damaged(path: &Path, reason: impl ToString) -> TraceError {
        TraceError::Damaged {
            path: path.to_owned(),
            reason: reason.to_string(),
        }
    }

    /// `path` cannot be encoded.
    pub(crate) fn encode(path: &Path, reason: impl ToString) -> TraceError {
        TraceError::Encode {
            path: path.to_owned(),
            reason: reason.to_string(),
        }
    }
}
