//! From the text of a study to its plan.

use std::collections::BTreeMap;

use cclab_spec::{
    Baseline, By, Expectation, Names, Overrides, Repeats, Run, Scenario, Study, Until,
};
use indexmap::IndexMap;
use pyo3::prelude::*;
use serde::Serialize;
use serde_json::Value;

use crate::error;

/// Reads the study in `text`: its keys and the types of their values. What only shows when keys
/// are seen together, with what is set beside the file, is for `plan` to find.
#[pyfunction]
pub fn check(text: &str, file: &str) -> PyResult<()> {
    Study::load_knowing(text, file, known())
        .map(drop)
        .map_err(error::study)
}

/// The plan of the study in `text` as JSON: what is written, the sweep points with what the backend
/// cannot do at each, the runs, the expectations. `kernels` name those of the backends that run on one.
#[pyfunction]
#[pyo3(signature = (text, file, set, kernels, backend=None, repeat=None, seed=None))]
pub fn plan(
    text: &str,
    file: &str,
    set: Vec<String>,
    kernels: BTreeMap<String, String>,
    backend: Option<String>,
    repeat: Option<RepeatGiven>,
    seed: Option<u64>,
) -> PyResult<String> {
    let overrides = Overrides {
        set,
        backend,
        repeat: repeat.map(|given| match given {
            RepeatGiven::Times(times) => Repeats::Times(times),
            RepeatGiven::Rule(text) => Repeats::Rule(text),
        }),
        seed,
    };
    let study = Study::load_knowing(text, file, known()).map_err(error::study)?;
    let plan = study
        .plan(&overrides, &|scenario, backend| {
            determinants_of(scenario, kernels.get(backend).map(String::as_str))
        })
        .map_err(error::study)?;
    let backend = plan.runs.first().map_or("", |planned| &planned.run.backend);
    let mut points = Vec::new();
    for (index, point) in plan.scenarios.iter().enumerate() {
        let mut reasons = unsupported(&point.scenario, backend);
        if !reasons.is_empty() {
            let places = study.places(&overrides, index).map_err(error::study)?;
            let others = others(&point.scenario, backend);
            for reason in &mut reasons {
                reason.place = places.find(&reason.path);
                reason.elsewhere = doing(&others, &reason.path);
            }
        }
        points.push(PointLines {
            params: &point.params,
            scenario: &point.scenario,
            unsupported: reasons,
            runs: Vec::new(),
        });
    }
    for planned in &plan.runs {
        let Run {
            id,
            seed,
            backend,
            version,
            ..
        } = &planned.run;
        points[planned.point].runs.push(RunLine {
            id,
            seed: *seed,
            backend,
            version,
        });
    }
    let document = Document {
        title: study.title(),
        question: study.question(),
        expectations: &plan.expectations,
        until: plan.until.as_ref(),
        baselines: &plan.baselines,
        points,
    };
    serde_json::to_string(&document).map_err(error::study)
}

/// `repeat` as Python gives it.
#[derive(FromPyObject)]
pub enum RepeatGiven {
    Times(u64),
    Rule(String),
}

/// A plan as Python reads it: runs name their scenario by standing under it.
#[derive(Serialize)]
struct Document<'a> {
    title: Option<&'a str>,
    question: Option<&'a str>,
    expectations: &'a [Expectation],
    until: Option<&'a Until>,
    baselines: &'a [Baseline],
    points: Vec<PointLines<'a>>,
}

#[derive(Serialize)]
struct PointLines<'a> {
    /// In the order of the study file, which a `serde_json::Value` would not keep.
    params: &'a IndexMap<String, Value>,
    scenario: &'a Scenario,
    unsupported: Vec<Reason>,
    runs: Vec<RunLine<'a>>,
}

/// Every backend.
pub(crate) const BACKENDS: [&str; 3] = ["sim", "linux", "netns"];

/// A key of the study and what a backend does not do of it.
#[derive(Serialize)]
pub(crate) struct Reason {
    path: String,
    what: String,
    /// File, line and column, where the study writes it.
    place: Option<String>,
    /// The other backends that do it, and the key with which a kernel does.
    elsewhere: Vec<&'static str>,
}

#[derive(Serialize)]
struct RunLine<'a> {
    id: &'a str,
    seed: u64,
    backend: &'a str,
    version: &'a str,
}

/// Kernels on the simulator's network, as someone on backend `linux` asks for them.
const BY_KEY: &str = "network.by = \"simulator\"";
/// The same for someone on another backend.
const BY_BACKEND_AND_KEY: &str = "linux with network.by = \"simulator\"";

/// What else than `backend` could run `scenario`, each with the keys of what it does not do of it.
fn others(scenario: &Scenario, backend: &str) -> Vec<(&'static str, Vec<String>)> {
    let refused = |scenario: &Scenario, backend: &str| {
        let reasons = unsupported(scenario, backend).into_iter();
        reasons.map(|reason| reason.path).collect()
    };
    let backends = BACKENDS.into_iter().filter(|other| *other != backend);
    let mut found: Vec<_> = backends
        .map(|other| (other, refused(scenario, other)))
        .collect();
    if scenario.network.by == By::Kernel {
        let mut between = scenario.clone();
        between.network.by = By::Simulator;
        let told = match backend {
            "linux" => BY_KEY,
            _ => BY_BACKEND_AND_KEY,
        };
        found.push((told, refused(&between, "linux")));
    }
    found
}

/// Those of `others` that refuse neither the key `path`, nor what it is a part of, nor a part of it.
/// A network is told of only where the backend does not do it without.
fn doing(others: &[(&'static str, Vec<String>)], path: &str) -> Vec<&'static str> {
    let within = |inner: &str, outer: &str| {
        inner
            .strip_prefix(outer)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let does = |refused: &Vec<String>| {
        let touches = |other: &String| within(path, other) || within(other, path);
        !refused.iter().any(touches)
    };
    let doing = others.iter().filter(|(_, refused)| does(refused));
    let mut names: Vec<_> = doing.map(|(name, _)| *name).collect();
    if names.contains(&"linux") {
        names.retain(|name| *name != BY_BACKEND_AND_KEY);
    }
    names
}

/// What `backend` does not do of `scenario`.
pub(crate) fn unsupported(scenario: &Scenario, backend: &str) -> Vec<Reason> {
    let on_kernel = |guest| {
        let found = cclab_linux::unsupported(scenario, guest).into_iter();
        found.map(|reason| (reason.path, reason.what)).collect()
    };
    let found: Vec<(String, String)> = match backend {
        "linux" => on_kernel(true),
        "netns" => on_kernel(false),
        _ => cclab_sim::unsupported(scenario)
            .into_iter()
            .map(|reason| (reason.path, reason.what))
            .collect(),
    };
    found
        .into_iter()
        .map(|(path, what)| Reason {
            path,
            what,
            place: None,
            elsewhere: Vec::new(),
        })
        .collect()
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

/// What determines a run of a scenario beside its seed; `kernel` names what it is on, if it is on
/// one.
fn determinants_of(scenario: &Scenario, kernel: Option<&str>) -> String {
    match kernel {
        Some(kernel) => cclab_linux::determinants(scenario, kernel),
        None => cclab_sim::determinants(scenario),
    }
}

/// What determines a run of `scenario` (JSON) beside its seed: the versions of what it uses, or,
/// with a `kernel`, that and the version of what is done around it.
#[pyfunction]
#[pyo3(signature = (scenario, kernel=None))]
pub fn determinants(scenario: &str, kernel: Option<&str>) -> PyResult<String> {
    let scenario: Scenario = serde_json::from_str(scenario).map_err(error::study)?;
    Ok(determinants_of(&scenario, kernel))
}

/// The id of the run of `scenario` (JSON) with `seed` on `backend`, determined by `version`: the
/// hash of its content.
#[pyfunction]
pub fn run_id(scenario: &str, seed: u64, backend: &str, version: &str) -> PyResult<String> {
    let scenario: Scenario = serde_json::from_str(scenario).map_err(error::study)?;
    Ok(cclab_spec::run_id(&scenario, seed, backend, version))
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
        let version = cclab_spec::determinants_beside(&other, version);
        let id = |&seed: &u64| cclab_spec::run_id(&other, seed, backend, &version);
        let ids = seeds.iter().map(id).collect();
        let text = serde_json::to_string(&other).expect("a scenario is JSON");
        Some((text, version, ids))
    };
    Ok(indices.map(one).collect())
}

/// Whether `measured` meets the expectation that `expectation` describes.
#[pyfunction]
pub fn holds(expectation: &str, measured: f64) -> PyResult<bool> {
    let expectation: Expectation = serde_json::from_str(expectation).map_err(error::study)?;
    Ok(expectation.holds(measured))
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

/// The names of the registries and the metrics.
fn known() -> Names {
    let mut names = Names::default();
    for metric in cclab_metrics::metrics().filter(|metric| metric.is_expectable()) {
        for number in metric.numbers() {
            let (subject, name) = (metric.subject(), number.name());
            names.metrics.register(subject, &name, metric.baseline);
            // Of `jain` the whole name is the short one.
            if let Some(short) = number
                .short()
                .filter(|short| number.window_of().as_ref() != Some(short))
            {
                names.metrics.register(subject, &short, metric.baseline);
            }
        }
    }
    names
}
