//! From a packet capture to the numbers of its connections.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use cclab_analyze::{Analysis, Direction, Options, Series};
use cclab_trace::TableWriter;
use cclab_units::Time;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error;

/// What each TCP connection in the capture at `path` did: the document as JSON, and its table
/// `connections` as a Parquet file.
///
/// `interval` is one in nanoseconds since the first segment, whose shares are told; into the
/// folder `series` go the tables of all segments.
#[pyfunction]
#[pyo3(signature = (path, max_connections=None, interval=None, series=None))]
pub fn analyze<'py>(
    py: Python<'py>,
    path: PathBuf,
    max_connections: Option<NonZeroUsize>,
    interval: Option<(u64, u64)>,
    series: Option<PathBuf>,
) -> PyResult<(String, Bound<'py, PyBytes>)> {
    let (document, table) = py.detach(|| {
        let mut options = Options::default();
        if let Some(most) = max_connections {
            options.max_connections = most;
        }
        options.interval =
            interval.map(|(from, to)| (Time::from_nanos(from), Time::from_nanos(to)));
        let analysis = analyzed(&path, options, series.as_deref())?;
        let document = serde_json::to_string(&analysis).map_err(error::run)?;
        let table = parquet(&analysis.connections)?;
        PyResult::Ok((document, table))
    })?;
    Ok((document, PyBytes::new(py, &table)))
}

fn analyzed(path: &Path, options: Options, series: Option<&Path>) -> PyResult<Analysis> {
    let Some(folder) = series else {
        return cclab_analyze::analyze(path, options, &mut ()).map_err(error::capture);
    };
    let mut series = Series::create(folder).map_err(error::run)?;
    let analysis = cclab_analyze::analyze(path, options, &mut series).map_err(error::capture)?;
    series.finish().map_err(error::run)?;
    Ok(analysis)
}

fn parquet(rows: &[Direction]) -> PyResult<Vec<u8>> {
    let mut table =
        TableWriter::new(Vec::new(), PathBuf::from("connections")).map_err(error::run)?;
    for row in rows {
        table.push(row).map_err(error::run)?;
    }
    table.into_inner().map_err(error::run)
}
