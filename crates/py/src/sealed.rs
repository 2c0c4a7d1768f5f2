//! The sealed files of runs: made when a run is over, checked and read.

use std::path::PathBuf;

use cclab_trace::captured::Expansion;
use cclab_trace::sealed::{self, Cells, State};
use cclab_units::shown_path;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use crate::error;

/// What a run's file says: SHA-256 and bytes of it, what was asked, the version of the metrics and
/// these.
type Told = (String, u64, String, String, String);

/// Columns of a table, if there are rows in it.
type Columns<'py> = Option<Vec<Bound<'py, PyAny>>>;

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
/// `captures`: "sound", "damaged", "foreign" (of another run) or "absent".
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
            State::Foreign => "foreign",
            State::Absent => "absent",
        }
    };
    py.detach(|| sealed::each(&runs, check))
}

/// How many bytes the members of a run's file of so many `bytes` may become together.
#[pyfunction]
pub fn most_of_file(bytes: u64) -> u64 {
    Expansion::Plausible.most(bytes)
}

/// What the files of `runs` in the folder `files` say; None of one that is not there, not as it was
/// sealed, or of another run.
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

/// Columns of the tables in the runs' `files`: for each file, of each of the tables `asked` its
/// columns by name, numbers as the bytes of floats; None of a table that the run did not record.
#[pyfunction]
pub fn read_columns<'py>(
    py: Python<'py>,
    files: Vec<PathBuf>,
    asked: Vec<(String, Vec<String>)>,
) -> PyResult<Vec<Vec<Columns<'py>>>> {
    let read = |file: &PathBuf| -> Result<Vec<_>, String> {
        let tables = asked.iter();
        tables
            .map(|(table, wanted)| {
                sealed::columns(file, table, wanted)
                    .map_err(|why| format!("{}: cannot be read: {why}", shown_path(file)))
            })
            .collect()
    };
    let found: Result<Vec<_>, String> =
        py.detach(|| sealed::each(&files, read).into_iter().collect());
    let of_cells = |cells: Cells| match cells {
        Cells::Numbers(numbers) => {
            let bytes: Vec<u8> = numbers.iter().flat_map(|v| v.to_ne_bytes()).collect();
            Ok(PyBytes::new(py, &bytes).into_any())
        }
        Cells::Texts(texts) => Ok(PyList::new(py, texts)?.into_any()),
    };
    let of_table = |table: Option<Vec<Cells>>| {
        let columns = table.map(|table| table.into_iter().map(of_cells).collect());
        columns.transpose()
    };
    let of_file = |tables: Vec<Option<Vec<Cells>>>| tables.into_iter().map(of_table).collect();
    found
        .map_err(error::run)?
        .into_iter()
        .map(of_file)
        .collect()
}

/// The ids of the runs that have a file in the folder `files`, sorted, each with a zero byte behind.
#[pyfunction]
pub fn run_names(py: Python<'_>, files: PathBuf) -> PyResult<Bound<'_, PyBytes>> {
    let names = py.detach(|| sealed::names(&files)).map_err(error::system)?;
    Ok(PyBytes::new(py, &names))
}

/// Waits until each of `paths`, a file or a folder with the files in it, is on the disk.
#[pyfunction]
pub fn sync(py: Python<'_>, paths: Vec<PathBuf>) -> PyResult<()> {
    py.detach(|| sealed::sync(&paths)).map_err(error::system)
}
