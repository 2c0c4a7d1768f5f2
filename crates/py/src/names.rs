//! The lists of what there is, as JSON.

use pyo3::prelude::*;
use serde_json::json;

/// Every variant: name, one line about it, where it is defined.
#[pyfunction]
pub fn variants() -> String {
    let rows: Vec<_> = cclab_cc::VARIANTS
        .iter()
        .map(|v| json!({ "name": v.name, "summary": v.summary, "reference": v.reference }))
        .collect();
    json!(rows).to_string()
}

/// Every queueing discipline: name, one line about it, its parameters.
#[pyfunction]
pub fn qdiscs() -> String {
    let rows: Vec<_> = cclab_qdisc::QDISCS
        .iter()
        .map(|d| json!({ "name": d.name, "summary": d.summary, "params": d.params }))
        .collect();
    json!(rows).to_string()
}

/// Every stack profile: name and one line about it.
#[pyfunction]
pub fn stacks() -> String {
    let rows: Vec<_> = cclab_tcp::profile::PROFILES
        .iter()
        .map(|p| json!({ "name": p.name, "summary": p.summary }))
        .collect();
    json!(rows).to_string()
}

/// Every metric: name, unit, definition.
#[pyfunction]
pub fn metrics() -> String {
    let rows: Vec<_> = cclab_metrics::METRICS
        .iter()
        .map(|m| json!({ "name": m.name, "unit": m.unit, "definition": m.definition }))
        .collect();
    json!(rows).to_string()
}
