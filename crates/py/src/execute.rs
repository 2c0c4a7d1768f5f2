//! Execution of runs on the simulator.

use std::path::PathBuf;

use cclab_sim::OwnVariants;
use cclab_spec::Run;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::error;

/// How far a run is, readable while it runs, and the wish that it stop.
#[pyclass(module = "cclab._core", frozen)]
#[derive(Default)]
pub struct Progress(cclab_backends::Progress);

#[pymethods]
impl Progress {
    /// Progress of a run that has not begun.
    #[new]
    fn new() -> Progress {
        Progress::default()
    }

    /// Virtual seconds simulated so far.
    #[getter]
    fn now_s(&self) -> f64 {
        self.0.now_s()
    }

    /// Done part, from 0 to 1; 0 until the end if the run has no set duration.
    #[getter]
    fn fraction(&self) -> f64 {
        self.0.fraction()
    }

    /// Whether the run was asked to stop.
    #[getter]
    fn cancelled(&self) -> bool {
        self.0.is_cancelled()
    }

    /// A process of its own, which does the run, is so far: `now_s` and `fraction` are what it says.
    fn tell(&self, now_s: f64, fraction: f64) {
        self.0.tell(now_s, fraction);
    }

    /// Asks the run to stop soon; `execute` then raises `RunError`.
    fn cancel(&self) {
        self.0.cancel();
    }
}

impl Progress {
    /// What a run tells.
    pub fn of_run(&self) -> &cclab_backends::Progress {
        &self.0
    }
}

/// Simulates the runs that `runs` describe (JSON), one after the other, and writes the run.json and
/// the trace of each into a folder of its own in `directory`, called by its id. Gives for each None,
/// or why it failed. Other Python threads go on meanwhile.
#[pyfunction]
pub fn execute(
    py: Python<'_>,
    runs: Vec<String>,
    directory: PathBuf,
    progresses: Vec<Py<Progress>>,
) -> PyResult<Vec<Option<String>>> {
    if runs.len() != progresses.len() {
        return Err(PyValueError::new_err("one progress for each run"));
    }
    let progresses: Vec<&Progress> = progresses.iter().map(Py::get).collect();
    py.detach(|| {
        let outcomes = runs.iter().zip(progresses).map(|(text, progress)| {
            let run: Run = serde_json::from_str(text).map_err(error::study)?;
            let own = OwnVariants::default();
            let folder = directory.join(&run.id);
            Ok(cclab_backends::simulate(&run, &folder, progress.of_run(), &own).err())
        });
        outcomes.collect()
    })
}
