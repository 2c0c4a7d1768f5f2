//! The sealed files of runs: made when a run is over, checked and read.

use std::path::PathBuf;

use cclab_trace::sealed::{self, State};
use pyo3::prelude::*;

use crate::error;

/// What a run's file says: SHA-256 and bytes of it, what was asked, the version of the metrics and
/// these.
type Told = (String, u64, String, String, String);

fn metrics_version() -> String {
    cclab_metrics::VERSION.to_string()
}

/// Measures and seals the run in each folder of `directory` that `runs` names by its id: None, or
/// why it cannot be measured.
#[pyfunction]
pub fn finish(
    py: Python<'_>,
    directory: PathBuf,
    runs: Vec<String>,
) -> PyResult<Vec<Option<String>>> {
    py.detach(|| {
        let finish = |run: &String| {
            let folder = directory.join(run);
            match cclab_backends::measure(&folder) {
                Err(why) => Ok(Some(why)),
                Ok(metrics) => sealed::seal(&folder, &metrics, &metrics_version()).map(|()| None),
            }
        };
        let finished: Result<_, _> = runs.iter().map(finish).collect();
        finished.map_err(error::system)
    })
}

/// Seals the run in `folder`, which measured `metrics` (JSON).
#[pyfunction]
pub fn seal(py: Python<'_>, folder: PathBuf, metrics: &str) -> PyResult<()> {
    py.detach(|| sealed::seal(&folder, metrics, &metrics_version()))
        .map_err(error::system)
}

/// What there is of each of `runs`, whose files are in the folder `files` and whose captures in
/// `captures`: "sound", "damaged" or "absent".
#[pyfunction]
pub fn check_runs(
    py: Python<'_>,
    files: PathBuf,
    captures: PathBuf,
    runs: Vec<String>,
    contents: bool,
) -> Vec<&'static str> {
    let check = |run: &String| {
        let file = sealed::file_of(&files.join(run));
        match sealed::check(&file, &captures.join(run), contents) {
            State::Sound => "sound",
            State::Damaged => "damaged",
            State::Absent => "absent",
        }
    };
    py.detach(|| sealed::each(&runs, check))
}

/// What the files of `runs` in the folder `files` say; None of one that is not there or not as it
/// was sealed.
#[pyfunction]
pub fn read_runs(
    py: Python<'_>,
    files: PathBuf,
    runs: Vec<String>,
    whole: bool,
) -> Vec<Option<Told>> {
    let read = |run: &String| {
        let told = sealed::read(&sealed::file_of(&files.join(run)), whole)?;
        let sealed::Told {
            sha256,
            bytes,
            asked,
            metrics_version,
            metrics,
        } = told;
        Some((sha256, bytes, asked, metrics_version, metrics))
    };
    py.detach(|| sealed::each(&runs, read))
}

/// Waits until each of `paths`, a file or a folder with the files in it, is on the disk.
#[pyfunction]
pub fn sync(py: Python<'_>, paths: Vec<PathBuf>) -> PyResult<()> {
    py.detach(|| sealed::sync(&paths)).map_err(error::system)
}
