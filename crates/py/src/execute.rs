//! Execution of runs on the simulator.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cclab_sim::OwnVariants;
use cclab_spec::Run;
use cclab_trace::{Recorder, Recording};
use cclab_units::Time;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::error;

/// How far a run is, readable while it runs, and the wish that it stop.
#[pyclass(module = "cclab._core", frozen)]
#[derive(Default)]
pub struct Progress {
    told: Arc<cclab_trace::Progress>,
    /// When the run ends at the latest; zero before it began, `u64::MAX` if nobody knows.
    end_ns: Arc<AtomicU64>,
    done: Arc<AtomicU64>,
}

#[pymethods]
impl Progress {
    /// Progress of a run that has not begun.
    #[new]
    fn new() -> Progress {
        Progress::default()
    }

    /// Virtual seconds simulated so far.
    #[getter]
    pub fn now_s(&self) -> f64 {
        self.told.now().as_secs_f64()
    }

    /// Done part, from 0 to 1; 0 until the end if the run has no set duration.
    #[getter]
    pub fn fraction(&self) -> f64 {
        if self.done.load(Ordering::Relaxed) != 0 {
            return 1.0;
        }
        match self.end_ns.load(Ordering::Relaxed) {
            0 | u64::MAX => 0.0,
            end => (self.told.now().as_nanos() as f64 / end as f64).min(1.0),
        }
    }

    /// Whether the run was asked to stop.
    #[getter]
    fn cancelled(&self) -> bool {
        self.told.is_cancelled()
    }

    /// A process of its own, which does the run, is so far: `now_s` and `fraction` are what it says.
    fn tell(&self, now_s: f64, fraction: f64) {
        let now = Time::from_secs_f64(now_s);
        self.told.report(now);
        let end = now.as_nanos() as f64 / fraction;
        let end = if end.is_finite() {
            end as u64
        } else {
            u64::MAX
        };
        self.end_ns.store(end, Ordering::Relaxed);
        if fraction >= 1.0 {
            self.end();
        }
    }

    /// Asks the run to stop soon; `execute` then raises `RunError`.
    fn cancel(&self) {
        self.told.cancel();
    }
}

impl Progress {
    /// What the run is told to stop by.
    pub fn told(&self) -> Arc<cclab_trace::Progress> {
        Arc::clone(&self.told)
    }

    /// A run begins, which ends at `end` at the latest; what it tells its progress to.
    pub fn begin(&self, end: Option<Time>) -> Arc<cclab_trace::Progress> {
        let end = end.map_or(u64::MAX, Time::as_nanos);
        self.end_ns.store(end, Ordering::Relaxed);
        Arc::clone(&self.told)
    }

    /// The run is done.
    pub fn end(&self) {
        self.done.store(1, Ordering::Relaxed);
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
            Ok(simulate(&run, &directory.join(&run.id), progress, &own).err())
        });
        outcomes.collect()
    })
}

/// Simulates `run`, the variants of whose files are `own`, and writes its entry's files into the new
/// folder `folder`.
pub fn simulate(
    run: &Run,
    folder: &Path,
    progress: &Progress,
    own: &OwnVariants,
) -> Result<(), String> {
    // A scenario that the simulator refuses must not reach what relies on its names.
    let refused = cclab_sim::unsupported_beside(&run.scenario, own);
    if let Some(reason) = refused.into_iter().next() {
        return Err(format!(
            "the simulator does not do {} ({})",
            reason.what, reason.path
        ));
    }
    let told = progress.begin(run.scenario.duration);
    let text = serde_json::to_string(run).map_err(|e| e.to_string())?;
    let file = folder.join("run.json");
    fs::create_dir(folder)
        .and_then(|()| fs::write(&file, text + "\n"))
        .map_err(|e| format!("{}: {e}", file.display()))?;
    let mut recorder = Recorder::create(folder, recording(run)).map_err(|e| e.to_string())?;
    let summary = cclab_sim::run_with(&run.scenario, run.seed, &mut recorder, &told, own)
        .map_err(|e| e.to_string())?;
    recorder.finish(&summary).map_err(|e| e.to_string())?;
    progress.end();
    Ok(())
}

/// What the scenario asks to be recorded.
fn recording(run: &Run) -> Recording {
    Recording {
        wire: cclab_sim::wire_options(&run.scenario),
        ..Recording::from(&run.scenario.trace)
    }
}
