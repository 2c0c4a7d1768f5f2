//! The plan of a study, with what its backend does of it.

use std::collections::BTreeMap;

use cclab_spec::{Baseline, Expectation, Overrides, RunIds, Scenario, Study, StudyError, Until};
use indexmap::IndexMap;
use serde::Serialize;
use serde_json::Value;

use crate::determinants::{Kernels, absent, determinants};
use crate::support::{disregarded, doing, others, unsupported, unsupported_beside};

/// The plan of `study` in JSON texts: what it says of all its sweep points, with the expectations,
/// and each of the points with its runs and what the backend cannot do there. `kernels` are those of
/// the backends that run on some.
///
/// # Errors
/// What is wrong with the study.
///
/// # Panics
/// Never: a plan is JSON.
pub fn plan_documents(
    study: &Study,
    overrides: &Overrides,
    kernels: &BTreeMap<String, Kernels>,
) -> Result<(String, Vec<String>), StudyError> {
    let mut points: Vec<String> = Vec::new();
    let version =
        |scenario: &Scenario, backend: &str| determinants(scenario, backend, kernels.get(backend));
    let mut first_backend = None;
    let frame = study.plan_points(overrides, &version, &mut |point| {
        // What is asked of one point is asked of all.
        let asked = *first_backend.get_or_insert(point.backend);
        let mut reasons = unsupported(&point.scenario, asked);
        if reasons.is_empty() {
            reasons = unsupported_beside(&point.scenario, &point.baselines, asked);
        }
        let missing = absent(&point.scenario, kernels.get(asked));
        let places = match reasons.is_empty() && missing.is_empty() {
            true => None,
            false => Some(study.places(overrides, points.len())?),
        };
        let place = |path: &str| places.as_ref().and_then(|places| places.find(path));
        let elsewhere = match reasons.is_empty() {
            true => Vec::new(),
            false => others(&point.scenario, asked),
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
        let ids = RunIds::new(&point.scenario, point.backend, &point.version);
        points.push(json(&PointLines {
            params: &point.params,
            scenario: &point.scenario,
            unsupported: refused.collect(),
            disregarded: disregarded(&point.scenario, asked),
            absent: missing.collect(),
            backend: point.backend,
            version: &point.version,
            seed: point.seeds.start,
            ids: ids.listed(point.seeds),
        }));
        Ok(())
    })?;
    let expected = match frame.expectations.is_empty() {
        true => Vec::new(),
        false => {
            let places = study.places(overrides, 0)?;
            let all = frame.expectations.iter();
            all.map(|expectation| Expected {
                expectation,
                place: places.of(&["expect", &expectation.label]),
            })
            .collect()
        }
    };
    let document = json(&Document {
        title: frame.title.as_deref(),
        question: frame.question.as_deref(),
        expectations: expected,
        until: frame.until.as_ref(),
        baselines: &frame.baselines,
    });
    Ok((document, points))
}

fn json(document: &impl Serialize) -> String {
    serde_json::to_string(document).expect("a plan is JSON")
}

/// What a plan says of all its points, as Python reads it.
#[derive(Serialize)]
struct Document<'a> {
    title: Option<&'a str>,
    question: Option<&'a str>,
    expectations: Vec<Expected<'a>>,
    until: Option<&'a Until>,
    baselines: &'a [Baseline],
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
    backend: &'a str,
    version: &'a str,
    /// That of the first run; those of the others follow.
    seed: u64,
    /// Of the runs, one behind the other.
    ids: String,
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
