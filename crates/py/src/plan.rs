//! From the text of a study to its plan.

use std::collections::BTreeMap;
use std::path::PathBuf;

use cclab_backends::Kernels;
use cclab_spec::{Baseline, Overrides, Repeats, RunIds, Scenario, Study};
use pyo3::prelude::*;

use crate::error;

/// Reads the study in `text`: its keys and the types of their values. What only shows when keys
/// are seen together, with what is set beside the file, is for `plan` to find.
#[pyfunction]
pub fn check(text: &str, file: PathBuf) -> PyResult<()> {
    Study::load_knowing(text, file, cclab_backends::names())
        .map(drop)
        .map_err(error::study)
}

/// The plan of the study in `text` as JSON: what it says of all its points, and each of the points
/// with its runs and what the backend cannot do there. `kernels` are those of the backends that run on some.
#[pyfunction]
#[pyo3(signature = (text, file, set, replaced, kernels, backend=None, repeat=None, seed=None))]
#[expect(clippy::too_many_arguments, reason = "Python names its arguments")]
pub fn plan(
    text: &str,
    file: PathBuf,
    set: Vec<String>,
    replaced: Vec<(String, String)>,
    kernels: BTreeMap<String, Kernels>,
    backend: Option<String>,
    repeat: Option<RepeatGiven>,
    seed: Option<u64>,
) -> PyResult<(String, Vec<String>)> {
    let overrides = Overrides {
        set,
        replaced,
        backend,
        repeat: repeat.map(|given| match given {
            RepeatGiven::Times(times) => Repeats::Times(times),
            RepeatGiven::Rule(text) => Repeats::Rule(text),
        }),
        seed,
    };
    let study = Study::load_knowing(text, file, cclab_backends::names()).map_err(error::study)?;
    cclab_backends::plan_documents(&study, &overrides, &kernels).map_err(error::study)
}

/// `repeat` as Python gives it.
#[derive(FromPyObject)]
pub enum RepeatGiven {
    Times(u64),
    Rule(String),
}

/// The network and the flows of a scenario (JSON) as JSON: links, each flow's path over them, and
/// the windows and packet sizes of its stack.
#[pyfunction]
pub fn describe(scenario: &str) -> PyResult<String> {
    let scenario: Scenario = serde_json::from_str(scenario).map_err(error::study)?;
    let description = cclab_sim::describe(&scenario).map_err(error::study)?;
    serde_json::to_string(&description).map_err(error::study)
}

/// The warnings that every run of a scenario (JSON) will have, as JSON.
#[pyfunction]
pub fn foreseen(scenario: &str) -> PyResult<String> {
    let scenario: Scenario = serde_json::from_str(scenario).map_err(error::study)?;
    serde_json::to_string(&cclab_metrics::foreseen(&scenario)).map_err(error::study)
}

/// What determines a run of `scenario` (JSON) on `backend` beside its seed: the versions of what it
/// uses, or, with `kernels`, those that it uses and the version of what is done around them.
#[pyfunction]
#[pyo3(signature = (scenario, backend, kernels=None))]
pub fn determinants(scenario: &str, backend: &str, kernels: Option<Kernels>) -> PyResult<String> {
    let scenario: Scenario = serde_json::from_str(scenario).map_err(error::study)?;
    Ok(cclab_backends::determinants(
        &scenario,
        backend,
        kernels.as_ref(),
    ))
}

/// What `scenario` (JSON) calls the kernels that it uses; None: the one used by default.
#[pyfunction]
pub fn kernels(scenario: &str) -> PyResult<Vec<Option<String>>> {
    let scenario: Scenario = serde_json::from_str(scenario).map_err(error::study)?;
    let used = scenario.kernels().into_iter();
    Ok(used.map(|called| called.map(str::to_owned)).collect())
}

/// A module's name, its file, and the texts that it is compiled of by their paths.
type Module = (String, String, BTreeMap<String, String>);

/// The modules of C files that the kernels of `scenario` (JSON) have: the name of each, its file, and the
/// texts that it is compiled of.
#[pyfunction]
pub fn modules(scenario: &str) -> PyResult<Vec<Module>> {
    let scenario: Scenario = serde_json::from_str(scenario).map_err(error::study)?;
    let modules = cclab_backends::modules(&scenario).into_iter();
    let owned = |(name, file, texts): (String, &str, &BTreeMap<String, String>)| {
        (name, file.to_owned(), texts.clone())
    };
    Ok(modules.map(owned).collect())
}

/// The id of the run of `scenario` (JSON) with `seed` on `backend`, determined by `version`: the
/// hash of its content.
#[pyfunction]
pub fn run_id(scenario: &str, seed: u64, backend: &str, version: &str) -> PyResult<String> {
    let scenario: Scenario = serde_json::from_str(scenario).map_err(error::study)?;
    Ok(cclab_spec::run_id(&scenario, seed, backend, version))
}

/// The ids of the runs of `scenario` (JSON) with `runs` seeds from `first` on, one behind the other; see
/// `run_id`.
#[pyfunction]
pub fn run_ids(
    scenario: &str,
    first: u64,
    runs: u64,
    backend: &str,
    version: &str,
) -> PyResult<String> {
    let scenario: Scenario = serde_json::from_str(scenario).map_err(error::study)?;
    let ids = RunIds::new(&scenario, backend, version);
    Ok(ids.listed(first..first.saturating_add(runs)))
}

/// A scenario (JSON), what determines runs of it, and the id of that with each of some seeds.
type WithIds = (String, String, Vec<String>);

/// What each flow of `scenario` (JSON) is compared with for the `baseline` of that name: for each its
/// scenario (JSON), what determines its runs, and the run's id with each of `seeds`; None of a flow
/// without others. `version` is what determines a run of `scenario`.
#[pyfunction]
pub fn baselines(
    scenario: &str,
    baseline: &str,
    seeds: Vec<u64>,
    backend: &str,
    version: &str,
) -> PyResult<Vec<Option<WithIds>>> {
    let scenario: Scenario = serde_json::from_str(scenario).map_err(error::study)?;
    let baseline: Baseline = serde_json::from_value(baseline.into()).map_err(error::study)?;
    let indices = 0..scenario.flows.len();
    let one = |index| {
        let other = baseline.of(&scenario, index)?;
        let version = cclab_spec::determinants_beside(&other, &scenario, version);
        let all = RunIds::new(&other, backend, &version);
        let ids = seeds.iter().map(|&seed| all.of(seed)).collect();
        let text = serde_json::to_string(&other).expect("a scenario is JSON");
        Some((text, version, ids))
    };
    Ok(indices.map(one).collect())
}

/// A tree as JSON; or the character that is wrong, why, and whether it is too deep a nest.
type Read = (Option<String>, usize, String, bool);

/// The tree of the expression `text`. `known` are the beginnings of names that have other
/// characters in them than names have.
#[pyfunction]
pub fn expression(text: &str, known: Vec<String>) -> PyResult<Read> {
    match cclab_spec::expression::parse(text, &known) {
        Ok(tree) => {
            let tree = serde_json::to_string(&tree).map_err(error::study)?;
            Ok((Some(tree), 0, String::new(), false))
        }
        Err(refusal) => Ok((None, refusal.at, refusal.message, refusal.too_deep)),
    }
}

/// The number that a value of a study stands for, in its SI unit; None where it is no quantity.
#[pyfunction]
pub fn number(text: &str) -> Option<f64> {
    cclab_spec::number(text)
}

/// What a value of a study is a quantity of; None where it is none or has no unit.
#[pyfunction]
pub fn dimension(text: &str) -> Option<&'static str> {
    cclab_spec::dimension(text)
}

/// The JSON Schema of study files.
#[pyfunction]
pub fn schema() -> String {
    cclab_spec::schema()
}

/// The JSON Schema of scenarios.
#[pyfunction]
pub fn scenario_schema() -> String {
    cclab_spec::scenario_schema()
}

/// The JSON Schema of what `describe` gives.
#[pyfunction]
pub fn description_schema() -> String {
    cclab_layout::description_schema()
}
