//! Every run of a study, each with its seed and the hash of its content.

use std::fmt::Write;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use sha2::{Digest, Sha256};

use crate::baseline::Baseline;
use crate::expect::Expectation;
use crate::repeat::Until;
use crate::scenario::{Run, Scenario};

/// What a study will run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The study as written, with what the command line set.
    pub study: Json,
    /// The sweep points; a study without a sweep has one.
    pub scenarios: Vec<Point>,
    /// When a point has been repeated often enough; none: when all its runs are done.
    pub until: Option<Until>,
    /// The runs, point by point, seed by seed; with `until` as many as there may be. Points that resolve to the same scenario have
    /// runs of the same id: the store keeps one.
    pub runs: Vec<PlannedRun>,
    /// The checks, in the order of their labels.
    pub expectations: Vec<Expectation>,
    /// What flows are compared with beside each other, in order; empty: nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub baselines: Vec<Baseline>,
}

/// A point of the sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Point {
    /// The swept paths and their values as written, in the order of the study file.
    pub params: IndexMap<String, Json>,
    /// What the point runs.
    pub scenario: Scenario,
}

/// A run and the point it belongs to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedRun {
    /// Index of its point in [`Plan::scenarios`].
    pub point: usize,
    /// The run.
    pub run: Run,
}

/// The name of a run's entry in a store: the first 20 hexadecimal digits of the SHA-256 of its
/// content as JSON. Structs serialise their fields in the order of declaration and maps are
/// sorted, so that equal content gives equal bytes.
pub fn run_id(scenario: &Scenario, seed: u64, backend: &str, version: &str) -> String {
    #[derive(Serialize)]
    struct Content<'a> {
        scenario: &'a Scenario,
        seed: u64,
        backend: &'a str,
        version: &'a str,
    }
    let content = serde_json::to_vec(&Content {
        scenario,
        seed,
        backend,
        version,
    })
    .expect("a scenario has text keys and finite numbers, so it is JSON");
    Sha256::digest(&content)
        .iter()
        .take(10)
        .fold(String::new(), |mut id, byte| {
            write!(id, "{byte:02x}").expect("writing to a string cannot fail");
            id
        })
}
