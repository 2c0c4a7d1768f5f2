//! The lists of what there is, as JSON.

use std::ffi::OsString;

use pyo3::prelude::*;

use crate::error;

/// `text` in one line that no terminal takes for an order; each byte that is not UTF-8 is escaped.
#[pyfunction]
pub fn shown(text: &[u8]) -> String {
    cclab_units::shown(text)
}

/// Every variant: name, one line about it, where it is defined, its parameters, the backends that
/// have it, the kernel's module of it (null where the kernel needs none, or has none), the columns of
/// the inner state that it tells traces of the simulator.
#[pyfunction]
pub fn variants() -> String {
    cclab_backends::variants()
}

/// What the variant's file at `path` is, as a row of [`variants`] with its language, file, texts and hash;
/// a parameter of a C file has the type of its `module_param` for what it measures, those of others are
/// for who runs them to say.
#[pyfunction]
pub fn variant_file(path: OsString) -> PyResult<String> {
    cclab_backends::variant_file(&path).map_err(error::study)
}

/// The parameters that the C or Rust file at `path` declares, as in [`variant_file`], with their defaults:
/// it is compiled, and its code begins to run.
#[pyfunction]
pub fn declared_params(path: OsString) -> PyResult<String> {
    cclab_backends::declared_params(&path).map_err(error::study)
}

/// Every queueing discipline: name, one line about it, where it is defined, its parameters, the
/// backends that have it, the parameter with the rate that it lets pass (null where that is the
/// link's), whether it breaks phase effects, the names of its queues where it has several.
#[pyfunction]
pub fn qdiscs() -> String {
    cclab_backends::qdiscs()
}

/// Every discipline that runs on a kernel may need: its name there, the least that `tc` takes after
/// it, the kernel's module of it (null where it needs none), how backend `linux` is asked for what it
/// does.
#[pyfunction]
pub fn probes() -> String {
    cclab_backends::probes()
}

/// Every part that leads packets from one interface to another: its name, what it is, the commands
/// that try it, the kernel's module of it and the option that makes a kernel have it.
#[pyfunction]
pub fn parts() -> String {
    cclab_backends::parts()
}

/// Every stack profile: name and one line about it.
#[pyfunction]
pub fn stacks() -> String {
    cclab_backends::stacks()
}

/// Every metric: name, unit, definition, the span of time it covers, where it is measured, who
/// defined it, and what else its row says.
#[pyfunction]
pub fn metrics() -> String {
    cclab_backends::metrics()
}

/// The JSON Schema of what `cclab run --json` prints.
#[pyfunction]
pub fn results_schema() -> String {
    cclab_metrics::results_schema()
}

/// Every topology: name, one line about it, its keys, how it is written, the backends that have
/// it.
#[pyfunction]
pub fn topologies() -> String {
    cclab_backends::topologies()
}

/// Every impairment of links, as [`topologies`] has topologies.
#[pyfunction]
pub fn impairments() -> String {
    cclab_backends::impairments()
}

/// Every application of flows, as [`topologies`] has topologies.
#[pyfunction]
pub fn applications() -> String {
    cclab_backends::applications()
}

/// Every behaviour of receivers, as [`topologies`] has topologies.
#[pyfunction]
pub fn receivers() -> String {
    cclab_backends::receivers()
}

/// Every kind of cross traffic: name, one line about it, its keys, the backends that have it.
#[pyfunction]
pub fn traffic() -> String {
    cclab_backends::traffic()
}
