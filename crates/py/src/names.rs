//! The lists of what there is, as JSON.

use cclab_testbed::VARIANTS;
use cclab_units::parameter::Parameter;
use pyo3::prelude::*;
use serde_json::{Value, json};

/// The backends that run on a Linux kernel.
const KERNEL: [&str; 2] = ["linux", "netns"];

/// Every variant: name, one line about it, where it is defined, the backends that have it.
#[pyfunction]
pub fn variants() -> String {
    let on_kernel = |name| VARIANTS.iter().any(|variant| variant.name == name);
    let simulated = |name| {
        cclab_cc::VARIANTS
            .iter()
            .any(|variant| variant.name == name)
    };
    let own = cclab_cc::VARIANTS.iter().map(|v| {
        let backends = backends(on_kernel(v.name));
        json!({
            "name": v.name,
            "summary": v.summary,
            "reference": v.reference,
            "params": parameters(v.params),
            "backends": backends,
        })
    });
    let others = VARIANTS.iter().filter(|v| !simulated(v.name)).map(|v| {
        json!({ "name": v.name, "summary": v.summary, "reference": v.reference, "params": [], "backends": KERNEL })
    });
    json!(own.chain(others).collect::<Vec<_>>()).to_string()
}

/// Every queueing discipline: name, one line about it, its parameters, the backends that have it.
#[pyfunction]
pub fn qdiscs() -> String {
    let on_kernel = |name: &str| cclab_testbed::kinds().any(|kind| kind == name);
    let simulated = |name: &str| cclab_qdisc::QDISCS.iter().any(|qdisc| qdisc.name == name);
    let own = cclab_qdisc::QDISCS.iter().map(|d| {
        let backends = backends(on_kernel(d.name));
        json!({ "name": d.name, "summary": d.summary, "params": parameters(d.params), "backends": backends })
    });
    let others = cclab_testbed::kinds()
        .filter(|kind| !simulated(kind))
        .map(|kind| {
            let params: Vec<Value> = cclab_testbed::params_of(kind)
                .map(|name| json!({ "name": name, "meaning": null, "default": null }))
                .collect();
            let summary = format!("as in Linux 6.12: tc-{kind}(8)");
            json!({ "name": kind, "summary": summary, "params": params, "backends": KERNEL })
        });
    json!(own.chain(others).collect::<Vec<_>>()).to_string()
}

/// Each parameter: name, meaning, default (null where the algorithm derives it), range.
fn parameters(declared: &[Parameter]) -> Vec<Value> {
    let row = |p: &Parameter| {
        json!({
            "name": p.name,
            "meaning": p.meaning,
            "default": Some(p.default).filter(|value| !value.is_nan()),
            "least": p.least,
            "most": p.most,
        })
    };
    declared.iter().map(row).collect()
}

/// The names of the backends that have what the simulator has.
fn backends(on_kernel: bool) -> Vec<&'static str> {
    let kernel = KERNEL.into_iter().filter(|_| on_kernel);
    std::iter::once("sim").chain(kernel).collect()
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
