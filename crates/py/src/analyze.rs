//! From a packet capture to the numbers of its connections.

use std::num::NonZeroUsize;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;

use cclab_analyze::segments::{Datagram, Sack, Segment};
use cclab_analyze::{Analysis, Options, PATIENCE, Series, Watch, analyze_file};
use cclab_trace::captured::{CaptureFile, Expansion};
use cclab_trace::table::Row;
use cclab_trace::{Columns, TableWriter, Value};
use cclab_units::Time;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

use crate::error;

/// The rows of a table of an analysis, until they are asked for in a form.
#[pyclass(frozen, module = "cclab._core")]
pub struct Rows(Box<dyn Tabular>);

/// Rows of a table, whatever they are of.
trait Tabular: Send + Sync {
    fn count(&self) -> usize;
    fn columns(&self) -> Columns;
    fn parquet(&self) -> PyResult<Vec<u8>>;
}

impl<R: Row + Send + Sync> Tabular for Vec<R> {
    fn count(&self) -> usize {
        self.len()
    }

    fn columns(&self) -> Columns {
        Columns::of(self)
    }

    fn parquet(&self) -> PyResult<Vec<u8>> {
        parquet(self)
    }
}

#[pymethods]
impl Rows {
    fn __len__(&self) -> usize {
        self.0.count()
    }

    /// The columns called `names`, or all, each a list with None where a cell is absent.
    #[pyo3(signature = (names=None))]
    fn columns<'py>(
        &self,
        py: Python<'py>,
        names: Option<Vec<String>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let columns = py.detach(|| self.0.columns());
        let found = PyDict::new(py);
        let asked = |column: &str| {
            names
                .as_ref()
                .is_none_or(|all| all.iter().any(|n| n == column))
        };
        for (column, cells) in columns.each() {
            if asked(column.name) {
                let cells: PyResult<Vec<_>> = cells.map(|cell| of_cell(py, cell)).collect();
                found.set_item(column.name, PyList::new(py, cells?)?)?;
            }
        }
        for name in names.iter().flatten() {
            if !found.contains(name)? {
                return Err(PyKeyError::new_err(name.clone()));
            }
        }
        Ok(found)
    }

    /// All of them as CSV.
    fn csv(&self, py: Python<'_>) -> String {
        py.detach(|| self.0.columns().csv())
    }

    /// All of them as a Parquet file.
    fn parquet<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let file = py.detach(|| self.0.parquet())?;
        Ok(PyBytes::new(py, &file))
    }
}

fn of_cell<'py>(py: Python<'py>, cell: Option<Value<'_>>) -> PyResult<Bound<'py, PyAny>> {
    Ok(match cell {
        None => py.None().into_bound(py),
        Some(Value::Unsigned(number)) => number.into_pyobject(py)?.into_any(),
        Some(Value::Signed(number)) => number.into_pyobject(py)?.into_any(),
        Some(Value::Number(number)) => number.into_pyobject(py)?.into_any(),
        Some(Value::Truth(truth)) => truth.into_pyobject(py)?.to_owned().into_any(),
        Some(Value::Text(text)) => text.into_pyobject(py)?.into_any(),
    })
}

/// What each TCP connection and each conversation over UDP in the capture at `path` did: the document
/// as JSON, and the rows of its tables `connections` and `conversations`.
///
/// `interval` is one in nanoseconds since the first packet, whose shares are told; into the
/// folder `series` go the tables of all segments and datagrams. `max_decompressed` is what a
/// compressed capture may become, in bytes.
#[pyfunction]
#[pyo3(signature = (path, max_connections=None, interval=None, series=None, max_decompressed=None))]
pub fn analyze(
    py: Python<'_>,
    path: PathBuf,
    max_connections: Option<NonZeroUsize>,
    interval: Option<(u64, u64)>,
    series: Option<PathBuf>,
    max_decompressed: Option<u64>,
) -> PyResult<(String, Rows, Rows)> {
    py.detach(|| {
        let expansion = max_decompressed.map_or(Expansion::Plausible, Expansion::AtMost);
        let mut options = Options::default();
        if let Some(most) = max_connections {
            options.max_connections = most;
        }
        options.interval =
            interval.map(|(from, to)| (Time::from_nanos(from), Time::from_nanos(to)));
        let analysis = analyzed(&path, expansion, options, series.as_deref())?;
        let document = serde_json::to_string(&analysis).map_err(error::run)?;
        let connections = Rows(Box::new(analysis.connections));
        let conversations = Rows(Box::new(analysis.conversations));
        Ok((document, connections, conversations))
    })
}

/// Bytes of memory that an analysis takes whose `max_connections` are all there.
#[pyfunction]
pub fn analyze_memory(max_connections: NonZeroUsize) -> u64 {
    let options = Options {
        max_connections,
        ..Options::default()
    };
    options.memory()
}

fn analyzed(
    path: &Path,
    expansion: Expansion,
    options: Options,
    series: Option<&Path>,
) -> PyResult<Analysis> {
    let file = opened(path, expansion)?;
    let Some(folder) = series else {
        let mut heeding = Heeding::new(());
        let analysis = analyze_file(file, options, &mut heeding);
        return heeding.end().map(|()| analysis);
    };
    let mut heeding = Heeding::new(Series::create(folder).map_err(error::run)?);
    let analysis = analyze_file(file, options, &mut heeding);
    match heeding.signal.take() {
        Some(signal) => {
            heeding.watch.abandon();
            Err(signal)
        }
        None => heeding
            .watch
            .finish()
            .map(|()| analysis)
            .map_err(error::run),
    }
}

/// Opens a capture. Where it is a pipe, that waits for who writes it, and signals are heeded meanwhile.
fn opened(path: &Path, expansion: Expansion) -> PyResult<CaptureFile> {
    let (tell, told) = channel();
    let path = path.to_owned();
    let opener = thread::spawn(move || {
        // Nobody hears it where a signal was first.
        let _ = tell.send(CaptureFile::open_within(&path, expansion));
    });
    loop {
        match told.recv_timeout(PATIENCE) {
            Ok(file) => return file.map_err(error::capture),
            Err(RecvTimeoutError::Timeout) => Python::attach(|py| py.check_signals())?,
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    match opener.join() {
        Err(panic) => resume_unwind(panic),
        Ok(()) => unreachable!("what was opened is told"),
    }
}

/// Lets signals end an analysis: Python's handlers run on the thread that waits for it.
struct Heeding<W> {
    watch: W,
    /// What a handler raised.
    signal: Option<PyErr>,
}

impl<W> Heeding<W> {
    fn new(watch: W) -> Heeding<W> {
        Heeding {
            watch,
            signal: None,
        }
    }

    fn end(self) -> PyResult<()> {
        self.signal.map_or(Ok(()), Err)
    }
}

impl<W: Watch> Watch for Heeding<W> {
    fn on(&self) -> bool {
        self.watch.on()
    }
    fn segment(&mut self, segment: Segment) {
        self.watch.segment(segment);
    }
    fn sack(&mut self, sack: Sack) {
        self.watch.sack(sack);
    }
    fn datagram(&mut self, datagram: Datagram) {
        self.watch.datagram(datagram);
    }
    fn goes_on(&mut self) -> bool {
        self.signal = Python::attach(|py| py.check_signals()).err();
        self.signal.is_none()
    }
}

fn parquet<R: Row>(rows: &[R]) -> PyResult<Vec<u8>> {
    let mut table =
        TableWriter::new(Vec::new(), PathBuf::from(R::TABLE.name)).map_err(error::run)?;
    for row in rows {
        table.push(row).map_err(error::run)?;
    }
    table.into_inner().map_err(error::run)
}
