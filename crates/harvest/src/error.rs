//! What can go wrong between an agent's records and a trace.

use std::path::{Path, PathBuf};

use cclab_trace::TraceError;

/// A run whose records give no trace.
#[derive(Debug, thiserror::Error)]
pub enum HarvestError {
    /// The agent could not do what it was told to.
    #[error("{step}: {problem}")]
    Failed {
        /// What was being done.
        step: String,
        /// What went wrong.
        problem: String,
    },
    /// The agent ended before it could say what the run came to.
    #[error("{}: the agent left no outcome: it was stopped before the run ended", cclab_units::shown_path(.0))]
    NoOutcome(PathBuf),
    /// The kernel could not keep up with its own tracing.
    #[error(
        "the kernel lost {} of its trace events: the trace would have holes; record less \
         (no `events = [\"queue\"]`) or run at a lower rate",
        count(*.0)
    )]
    EventsLost(Option<u64>),
    /// A capture point could not keep up.
    #[error(
        "capture point {point:?} lost {lost} packets: the capture would have holes; narrow it \
         with trace.from and trace.until, or lower trace.snaplen"
    )]
    PacketsLost {
        /// The capture point.
        point: String,
        /// Packets that it lost.
        lost: u64,
    },
    /// The agent could not keep up with the datagrams of a flow.
    #[error(
        "{lost} datagrams of flow {flow:?} were sent and not written down: its numbers would be \
         wrong; send fewer per second"
    )]
    DatagramsLost {
        /// The flow.
        flow: String,
        /// Datagrams that were not written down.
        lost: u64,
    },
    /// The operating system refused.
    #[error("{}: {source}", cclab_units::shown_path(path))]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file is not what the agent of this version writes.
    #[error(
        "{}: damaged record: {reason}; `make setup` builds an agent that fits",
        cclab_units::shown_path(path)
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What does not fit.
        reason: String,
    },
    /// The trace could not be written.
    #[error(transparent)]
    Trace(#[from] TraceError),
}

fn count(lost: Option<u64>) -> String {
    lost.map_or("some".to_owned(), |lost| lost.to_string())
}

impl HarvestError {
    /// The operating system's `source` error on `path`.
    pub(crate) fn io(path: &Path, source: std::io::Error) -> HarvestError {
        HarvestError::Io {
            path: path.to_owned(),
            source,
        }
    }

    /// `path` does not hold what it should.
    pub(crate) fn damaged(path: &Path, reason: impl ToString) -> HarvestError {
        HarvestError::Damaged {
            path: path.to_owned(),
            reason: reason.to_string(),
        }
    }
}
