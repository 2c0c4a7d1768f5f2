//! Which Python exception stands for which failure.

use std::fmt::Display;
use std::io;

use pyo3::PyErr;
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};

pyo3::create_exception!(
    cclab._core,
    StudyError,
    PyValueError,
    "A study, or a value given beside it, is wrong: the message says where and what is right."
);
pyo3::create_exception!(
    cclab._core,
    RunError,
    PyRuntimeError,
    "A run failed, was cancelled, or left a trace that cannot be read."
);
pyo3::create_exception!(
    cclab._core,
    CaptureError,
    PyValueError,
    "A file is no packet capture, or cannot be read: the message names it and says why."
);

/// The study is at fault.
pub fn study(error: impl Display) -> PyErr {
    StudyError::new_err(error.to_string())
}

/// The run is at fault.
pub fn run(error: impl Display) -> PyErr {
    RunError::new_err(error.to_string())
}

/// The capture is at fault.
pub fn capture(error: impl Display) -> PyErr {
    CaptureError::new_err(error.to_string())
}

/// The system is at fault: `OSError` with its `errno`, as Python's own functions raise it.
pub fn system(error: io::Error) -> PyErr {
    let Some(number) = error.raw_os_error() else {
        return error.into();
    };
    let text = error.to_string();
    let plain = text.split(" (os error").next().unwrap_or(&text);
    PyOSError::new_err((number, plain.to_owned()))
}
