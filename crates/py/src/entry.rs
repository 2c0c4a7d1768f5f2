//! The entries of a store: measured and sealed when a run is over, and checked.

use std::path::PathBuf;

use cclab_entry::State;
use pyo3::prelude::*;

use crate::error;
use crate::measure::metrics_of;

/// A run that is over: SHA-256 of its entry's manifest, bytes of the entry, its metrics as JSON.
type Finished = (String, u64, String);

/// Measures and seals the run in each folder of `directory` that `runs` names by its id: what it
/// is known by, or why it cannot be measured.
#[pyfunction]
pub fn finish(
    py: Python<'_>,
    directory: PathBuf,
    runs: Vec<String>,
) -> PyResult<Vec<(Option<Finished>, Option<String>)>> {
    py.detach(|| {
        let mut finished = Vec::with_capacity(runs.len());
        for run in &runs {
            let folder = directory.join(run);
            finished.push(match metrics_of(&folder) {
                Err(why) => (None, Some(why)),
                Ok(metrics) => {
                    let sealed = cclab_entry::seal(&folder, run).map_err(error::system)?;
                    (Some((sealed.digest, sealed.bytes, metrics)), None)
                }
            });
        }
        Ok(finished)
    })
}

/// Lists the files in `folder` in its manifest, as the entry of `run`: the manifest's SHA-256 and the
/// bytes of the entry.
#[pyfunction]
pub fn seal(py: Python<'_>, folder: PathBuf, run: String) -> PyResult<(String, u64)> {
    let sealed = py
        .detach(|| cclab_entry::seal(&folder, &run))
        .map_err(error::system)?;
    Ok((sealed.digest, sealed.bytes))
}

/// What there is of the entry of each of `runs` in `folder`: "sound", "damaged" or "absent".
#[pyfunction]
pub fn check_entries(
    py: Python<'_>,
    folder: PathBuf,
    runs: Vec<String>,
    contents: bool,
) -> Vec<&'static str> {
    let states = py.detach(|| cclab_entry::check_all(&folder, &runs, contents));
    let word = |state| match state {
        State::Sound => "sound",
        State::Damaged => "damaged",
        State::Absent => "absent",
    };
    states.into_iter().map(word).collect()
}

/// Waits until the files in each of `folders` are on the disk.
#[pyfunction]
pub fn sync(py: Python<'_>, folders: Vec<PathBuf>) -> PyResult<()> {
    py.detach(|| cclab_entry::sync(&folders))
        .map_err(error::system)
}
