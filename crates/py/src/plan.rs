//! From the text of a study to its plan.

use std::collections::BTreeMap;

use cclab_spec::{
    Baseline, By, Expectation, Language, Names, Overrides, Repeats, Run, Scenario, Study, Until,
};
use cclab_testbed::Target;
use indexmap::IndexMap;
use pyo3::prelude::*;
use serde::Serialize;
use serde_json::Value;

use crate::error;
use crate::variant;

/// Reads the study in `text`: its keys and the types of their values. What only shows when keys
/// are seen together, with what is set beside the file, is for `plan` to find.
#[pyfunction]
pub fn check(text: &str, file: &str) -> PyResult<()> {
    Study::load_knowing(text, file, known())
        .map(drop)
        .map_err(error::study)
}

/// The plan of the study in `text` as JSON: what is written, the sweep points with what the backend
/// cannot do at each, the runs, the expectations. `kernels` are those of the backends that run on some.
#[pyfunction]
#[pyo3(signature = (text, file, set, replaced, kernels, backend=None, repeat=None, seed=None))]
#[expect(clippy::too_many_arguments, reason = "Python names its arguments")]
pub fn plan(
    text: &str,
    file: &str,
    set: Vec<String>,
    replaced: Vec<(String, String)>,
    kernels: BTreeMap<String, Kernels>,
    backend: Option<String>,
    repeat: Option<RepeatGiven>,
    seed: Option<u64>,
) -> PyResult<String> {
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
    let study = Study::load_knowing(text, file, known()).map_err(error::study)?;
    let plan = study
        .plan(&overrides, &|scenario, backend| {
            determinants_of(scenario, backend, kernels.get(backend))
        })
        .map_err(error::study)?;
    let backend = plan.runs.first().map_or("", |planned| &planned.run.backend);
    let mut points = Vec::new();
    for (index, point) in plan.scenarios.iter().enumerate() {
        let mut reasons = unsupported(&point.scenario, backend);
        let mut absent = absent(&point.scenario, kernels.get(backend));
        if !reasons.is_empty() || !absent.is_empty() {
            let places = study.places(&overrides, index).map_err(error::study)?;
            for (path, kernel) in &mut absent {
                kernel.place = places.find(path);
            }
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
            disregarded: disregarded(&point.scenario, backend),
            absent: absent.into_iter().map(|(_, kernel)| kernel).collect(),
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
    let expected = match plan.expectations.is_empty() {
        true => Vec::new(),
        false => {
            let places = study.places(&overrides, 0).map_err(error::study)?;
            let all = plan.expectations.iter();
            all.map(|expectation| Expected {
                expectation,
                place: places.of(&["expect", &expectation.label]),
            })
            .collect()
        }
    };
    let document = Document {
        title: study.title(),
        question: study.question(),
        expectations: expected,
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
    expectations: Vec<Expected<'a>>,
    until: Option<&'a Until>,
    baselines: &'a [Baseline],
    points: Vec<PointLines<'a>>,
}

#[derive(Serialize)]
struct Expected<'a> {
    #[serde(flatten)]
    expectation: &'a Expectation,
    /// File, line and column, where the study writes it.
    place: Option<String>,
}

#[derive(Serialize)]
struct PointLines<'a> {
    /// In the order of the study file, which a `serde_json::Value` would not keep.
    params: &'a IndexMap<String, Value>,
    scenario: &'a Scenario,
    unsupported: Vec<Reason>,
    disregarded: Vec<String>,
    absent: Vec<Absent>,
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

/// A kernel that a study names and the backend does not have.
#[derive(Serialize)]
struct Absent {
    name: String,
    /// File, line and column, where the study names it.
    place: Option<String>,
}

/// The kernels that `scenario` names and that are not among `kernels`, each with the key that does.
fn absent(scenario: &Scenario, kernels: Option<&Kernels>) -> Vec<(String, Absent)> {
    let named = kernels.into_iter().flat_map(|kernels| {
        let own = scenario.kernel.iter();
        let own = own.map(|name| ("kernel".to_owned(), name));
        let flows = scenario.flows.iter().filter_map(|flow| {
            let name = flow.kernel.as_ref()?;
            Some((format!("flow.{}.kernel", flow.name), name))
        });
        let used = scenario.kernels();
        let used = move |name: &String| used.contains(&Some(name.as_str()));
        let all = own.chain(flows);
        all.filter(move |(_, name)| used(name) && !kernels.contains_key(&Some((*name).clone())))
    });
    let absent = |(path, name): (String, &String)| {
        let name = name.clone();
        (path, Absent { name, place: None })
    };
    named.map(absent).collect()
}

#[derive(Serialize)]
struct RunLine<'a> {
    id: &'a str,
    seed: u64,
    backend: &'a str,
    version: &'a str,
}

/// The networks of backend `linux`: how someone asks for them who is there, and who is elsewhere.
const NETWORKS: [(By, &str, &str); 2] = [
    (
        By::Simulator,
        "network.by = \"simulator\"",
        "linux with network.by = \"simulator\"",
    ),
    (
        By::Kernel,
        "network.by = \"kernel\"",
        "linux with network.by = \"kernel\"",
    ),
];

/// What else than `backend` could run `scenario`, each with the keys of what it does not do of it.
fn others(scenario: &Scenario, backend: &str) -> Vec<(&'static str, Vec<String>)> {
    let refused = |scenario: &Scenario, backend: &str| {
        let reasons = unsupported(scenario, backend).into_iter();
        let paths = reasons.map(|reason| reason.path);
        paths.chain(disregarded(scenario, backend)).collect()
    };
    let backends = BACKENDS.into_iter().filter(|other| *other != backend);
    let mut found: Vec<_> = backends
        .map(|other| (other, refused(scenario, other)))
        .collect();
    for (by, key, backend_and_key) in NETWORKS {
        if Target::in_guest(scenario) != Target::on(by) {
            let mut between = scenario.clone();
            between.network.by = Some(by);
            let told = match backend {
                "linux" => key,
                _ => backend_and_key,
            };
            found.push((told, refused(&between, "linux")));
        }
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
        let is_backend_and_key = |name: &&str| NETWORKS.iter().any(|network| network.2 == *name);
        names.retain(|name| !is_backend_and_key(name));
    }
    names
}

/// The backends that find nothing in `scenario` that they do not do; where only one network of backend
/// `linux` does it, with the key that asks for that.
pub(crate) fn doing_all(scenario: &Scenario) -> Vec<&'static str> {
    let does = |scenario: &Scenario, backend: &str| unsupported(scenario, backend).is_empty();
    let on = |by| {
        let mut there = scenario.clone();
        there.network.by = Some(by);
        does(&there, "linux")
    };
    let one = |backend| match does(scenario, backend) {
        true => Some(backend),
        false if backend == "linux" => NETWORKS
            .into_iter()
            .find_map(|(by, _, backend_and_key)| on(by).then_some(backend_and_key)),
        false => None,
    };
    BACKENDS.into_iter().filter_map(one).collect()
}

/// The keys of `scenario` that `backend` takes no notice of, though it runs the scenario.
fn disregarded(scenario: &Scenario, backend: &str) -> Vec<String> {
    match backend {
        "sim" => cclab_sim::disregarded(scenario),
        _ => Vec::new(),
    }
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
        _ => cclab_sim::unsupported_but_files(scenario, &variant::runs)
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

/// What each kernel of a backend is made of, by what scenarios call it; None: the one used by default.
type Kernels = BTreeMap<Option<String>, String>;

/// What determines a run of a scenario beside its seed on `backend`, which has `kernels` if it runs on
/// some.
fn determinants_of(scenario: &Scenario, backend: &str, kernels: Option<&Kernels>) -> String {
    match kernels {
        Some(kernels) => cclab_linux::determinants(scenario, kernels, backend == "linux"),
        None => cclab_sim::determinants(scenario),
    }
}

/// What determines a run of `scenario` (JSON) on `backend` beside its seed: the versions of what it
/// uses, or, with `kernels`, those that it uses and the version of what is done around them.
#[pyfunction]
#[pyo3(signature = (scenario, backend, kernels=None))]
pub fn determinants(scenario: &str, backend: &str, kernels: Option<Kernels>) -> PyResult<String> {
    let scenario: Scenario = serde_json::from_str(scenario).map_err(error::study)?;
    Ok(determinants_of(&scenario, backend, kernels.as_ref()))
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
    let files = scenario.variant_files.into_iter();
    let modules = files.filter(|file| file.language == Language::C);
    Ok(modules
        .map(|file| (file.module(), file.file, file.texts))
        .collect())
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
        let version = cclab_spec::determinants_beside(&other, &scenario, version);
        let id = |&seed: &u64| cclab_spec::run_id(&other, seed, backend, &version);
        let ids = seeds.iter().map(id).collect();
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
