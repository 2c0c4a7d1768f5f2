//! From the trace of a run to its metrics.

use std::path::PathBuf;

use cclab_metrics::{FlowMetrics, RunMetrics};
use pyo3::prelude::*;

use crate::error;

/// The metrics of the run whose trace is in `directory`, as JSON.
#[pyfunction]
pub fn measure(py: Python<'_>, directory: PathBuf) -> PyResult<String> {
    py.detach(|| cclab_backends::measure(&directory))
        .map_err(error::run)
}

/// The warnings that only the repeats of a scenario together can raise, as JSON; `metrics` is
/// what `measure` gave for each of them.
#[pyfunction]
pub fn compare_repeats(metrics: Vec<String>) -> PyResult<String> {
    let repeats: Vec<RunMetrics> = metrics
        .iter()
        .map(|text| serde_json::from_str(text).map_err(error::run))
        .collect::<PyResult<_>>()?;
    let raised: Vec<_> = cclab_metrics::identical_repeats(&repeats)
        .into_iter()
        .collect();
    serde_json::to_string(&raised).map_err(error::run)
}

/// What the company of the others cost a flow (JSON), as JSON; `solo` and `own` are the flow in the
/// runs that it is compared with, or None.
#[pyfunction]
#[pyo3(signature = (flow, solo=None, own=None))]
pub fn beside_others(flow: &str, solo: Option<&str>, own: Option<&str>) -> PyResult<String> {
    let read = |text| serde_json::from_str::<FlowMetrics>(text).map_err(error::run);
    let (solo, own) = (solo.map(read).transpose()?, own.map(read).transpose()?);
    let cost = cclab_metrics::beside_others(&read(flow)?, solo.as_ref(), own.as_ref());
    serde_json::to_string(&cost).map_err(error::run)
}
