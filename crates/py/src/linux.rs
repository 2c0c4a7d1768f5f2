//! Execution of a run on a Linux kernel.

use std::path::PathBuf;
use std::time::Duration;

use cclab_linux::{Execution, Kernel, Place};
use cclab_spec::Run;
use cclab_units::Time;
use pyo3::prelude::*;

use crate::error;
use crate::execute::Progress;

/// A kernel: what the scenario calls it (None: the one used by default), its name, its key and its
/// program.
type Given = (Option<String>, String, String, PathBuf);

/// Executes the run that `run_json` describes and writes run.json and the trace into
/// `directory`: on `kernels`, in virtual time, or, without any, on this host's. Other Python threads
/// go on meanwhile. `limits_s` are the real seconds that the run may take in all, and without
/// progress.
/// Hosts on our own network run ahead of it by `window_ns` at most, if that is given: no result
/// depends on it.
#[pyfunction]
#[pyo3(signature = (run_json, directory, progress, agent, kernels, limits_s, window_ns=None))]
#[expect(clippy::too_many_arguments, reason = "Python names its arguments")]
pub fn execute_on_kernel(
    py: Python<'_>,
    run_json: &str,
    directory: PathBuf,
    progress: &Progress,
    agent: PathBuf,
    kernels: Option<Vec<Given>>,
    limits_s: (f64, f64),
    window_ns: Option<u64>,
) -> PyResult<()> {
    let run: Run = serde_json::from_str(run_json).map_err(error::study)?;
    let kernels = kernels.map(|kernels| {
        let kernel = |(called, name, key, path)| Kernel {
            called,
            name,
            key,
            path,
        };
        kernels.into_iter().map(kernel).collect::<Vec<_>>()
    });
    py.detach(|| {
        let how = Execution {
            place: match &kernels {
                Some(kernels) => Place::Guest { kernels },
                None => Place::Host,
            },
            agent: &agent,
            limit: Duration::from_secs_f64(limits_s.0),
            stall: Duration::from_secs_f64(limits_s.1),
            window: window_ns.map(Time::from_nanos),
        };
        cclab_backends::on_kernel(&run, &directory, progress.of_run(), &how).map_err(error::run)
    })
}

/// What a run on this host's kernel needs of it, as JSON.
#[pyfunction]
pub fn needs_of(run_json: &str) -> PyResult<String> {
    let run: Run = serde_json::from_str(run_json).map_err(error::study)?;
    Ok(cclab_backends::needs(&run))
}
