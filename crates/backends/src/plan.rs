//! The plan of a study, with what its backend does of it.

use std::collections::BTreeMap;

use cclab_spec::{Baseline, Expectation, Overrides, Run, Scenario, Study, StudyError, Until};
use indexmap::IndexMap;
use serde::Serialize;
use serde_json::Value;

use crate::determinants::{Kernels, absent, determinants};
use crate::support::{disregarded, doing, others, unsupported};

/// The plan of `study` as JSON: what is written, the sweep points with what the backend cannot do at
/// each, the runs, the expectations. `kernels` are those of the backends that run on some.
///
/// # Errors
/// What is wrong with the study.
///
/// # Panics
/// Never: a plan is JSON.
pub fn plan_document(
    study: &Study,
    overrides: &Overrides,
    kernels: &BTreeMap<String, Kernels>,
) -> Result<String, StudyError> {
    let plan = study.plan(overrides, &|scenario, backend| {
        determinants(scenario, backend, kernels.get(backend))
    })?;
    let backend = plan.runs.first().map_or("", |planned| &planned.run.backend);
    let mut points = Vec::new();
    for (index, point) in plan.scenarios.iter().enumerate() {
        let reasons = unsupported(&point.scenario, backend);
        let missing = absent(&point.scenario, kernels.get(backend));
        let places = match reasons.is_empty() && missing.is_empty() {
            true => None,
            false => Some(study.places(overrides, index)?),
        };
        let place = |path: &str| places.as_ref().and_then(|places| places.find(path));
        let elsewhere = match reasons.is_empty() {
            true => Vec::new(),
            false => others(&point.scenario, backend),
        };
        let refused = reasons.into_iter().map(|reason| Refused {
            place: place(&reason.path),
            elsewhere: doing(&elsewhere, &reason.path),
            path: reason.path,
            what: reason.what,
        });
        let missing = missing.into_iter().map(|kernel| AbsentKernel {
            place: place(&kernel.path),
            name: kernel.name,
        });
        points.push(PointLines {
            params: &point.params,
            scenario: &point.scenario,
            unsupported: refused.collect(),
            disregarded: disregarded(&point.scenario, backend),
            absent: missing.collect(),
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
            let places = study.places(overrides, 0)?;
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
    Ok(serde_json::to_string(&document).expect("a plan is JSON"))
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
    unsupported: Vec<Refused>,
    disregarded: Vec<String>,
    absent: Vec<AbsentKernel>,
    runs: Vec<RunLine<'a>>,
}

/// A key of the study and what the backend does not do of it.
#[derive(Serialize)]
struct Refused {
    path: String,
    what: String,
    /// File, line and column, where the study writes it.
    place: Option<String>,
    /// The other backends that do it, and the key with which a kernel does.
    elsewhere: Vec<&'static str>,
}

/// A kernel that a study names and the backend does not have.
#[derive(Serialize)]
struct AbsentKernel {
    name: String,
    /// File, line and column, where the study names it.
    place: Option<String>,
}

#[derive(Serialize)]
struct RunLine<'a> {
    id: &'a str,
    seed: u64,
    backend: &'a str,
    version: &'a str,
}
