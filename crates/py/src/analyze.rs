//! From a packet capture to the numbers of its connections.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use cclab_analyze::Options;
use pyo3::prelude::*;

use crate::error;

/// What each TCP connection in the capture at `path` did, as JSON.
#[pyfunction]
#[pyo3(signature = (path, max_connections=None))]
pub fn analyze(
    py: Python<'_>,
    path: PathBuf,
    max_connections: Option<NonZeroUsize>,
) -> PyResult<String> {
    py.detach(|| {
        let mut options = Options::default();
        if let Some(most) = max_connections {
            options.max_connections = most;
        }
        let analysis = cclab_analyze::analyze(&path, options).map_err(error::capture)?;
        serde_json::to_string(&analysis).map_err(error::run)
    })
}
