//! From the text of a study to its plan.

use cclab_spec::{Expectation, Names, Overrides, Parametric, Study};
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::error;

/// The plan of the study in `text` as JSON: what is written, the sweep points with what the
/// backend cannot do at each, the runs, the expectations.
#[pyfunction]
#[pyo3(signature = (text, file, set, backend=None, repeat=None, seed=None))]
pub fn plan(
    text: &str,
    file: &str,
    set: Vec<String>,
    backend: Option<String>,
    repeat: Option<u64>,
    seed: Option<u64>,
) -> PyResult<String> {
    let overrides = Overrides { set, backend, repeat, seed };
    let study = Study::load_knowing(text, file, known()).map_err(error::study)?;
    let plan = study.plan(&overrides, cclab_sim::VERSION).map_err(error::study)?;
    let simulated = plan.runs.iter().all(|planned| planned.run.backend == "sim");
    let mut points: Vec<Value> = plan
        .scenarios
        .iter()
        .map(|point| {
            let unsupported: Vec<Value> = cclab_sim::unsupported(&point.scenario)
                .into_iter()
                .filter(|_| simulated)
                .map(|reason| json!({ "path": reason.path, "what": reason.what }))
                .collect();
            json!({
                "params": point.params,
                "scenario": point.scenario,
                "unsupported": unsupported,
                "runs": [],
            })
        })
        .collect();
    for planned in &plan.runs {
        let run = &planned.run;
        let line = json!({
            "id": run.id, "seed": run.seed, "backend": run.backend, "version": run.version,
        });
        if let Some(Value::Array(runs)) = points[planned.point].get_mut("runs") {
            runs.push(line);
        }
    }
    let document = json!({
        "title": study.title(),
        "question": study.question(),
        "expectations": plan.expectations,
        "points": points,
    });
    Ok(document.to_string())
}

/// Whether `measured` meets the expectation that `expectation` describes.
#[pyfunction]
pub fn holds(expectation: &str, measured: f64) -> PyResult<bool> {
    let expectation: Expectation = serde_json::from_str(expectation).map_err(error::study)?;
    Ok(expectation.holds(measured))
}

/// The JSON Schema of study files.
#[pyfunction]
pub fn schema() -> String {
    cclab_spec::schema()
}

/// The names of the contract and those of the registries.
fn known() -> Names {
    let mut names = Names::default();
    for variant in cclab_cc::VARIANTS {
        if !names.variants.iter().any(|name| name == variant.name) {
            names.variants.push(variant.name.to_owned());
        }
    }
    for discipline in cclab_qdisc::QDISCS {
        if !names.qdiscs.iter().any(|known| known.name == discipline.name) {
            let params = discipline.params.iter().map(|&param| param.to_owned()).collect();
            names.qdiscs.push(Parametric { name: discipline.name.to_owned(), params });
        }
    }
    names
}
