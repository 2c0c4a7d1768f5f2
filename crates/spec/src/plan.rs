//! Every run of a study, each with its seed and the hash of its content.

use std::fmt::Write;
use std::ops::Range;

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

/// What a plan says of all its points.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// As [`Plan::study`].
    pub study: Json,
    /// The title, if the study has one.
    pub title: Option<String>,
    /// The question, if the study asks one.
    pub question: Option<String>,
    /// As [`Plan::until`].
    pub until: Option<Until>,
    /// As [`Plan::expectations`].
    pub expectations: Vec<Expectation>,
    /// As [`Plan::baselines`].
    pub baselines: Vec<Baseline>,
}

/// A sweep point and its runs, which differ in their seeds alone.
#[derive(Clone, Debug)]
pub struct PlannedPoint {
    /// As [`Point::params`].
    pub params: IndexMap<String, Json>,
    /// What it runs.
    pub scenario: Scenario,
    /// What it runs on.
    pub backend: &'static str,
    /// What else determines its runs.
    pub version: String,
    /// As [`Plan::baselines`].
    pub baselines: Vec<Baseline>,
    /// A run has each; with a rule for repeats, as many as there may be.
    pub seeds: Range<u64>,
}

/// Digits of a run's id.
pub const ID_DIGITS: usize = 20;

/// The ids of the runs of one scenario that differ in their seeds alone.
///
/// An id is the name of a run's entry in a store: the first 20 hexadecimal digits of the SHA-256 of
/// its content as JSON, `{"scenario":..,"seed":..,"backend":..,"version":..}`. Structs serialise
/// their fields in the order of declaration and maps are sorted, so that equal content gives equal
/// bytes. What stands before the seed is most of it, and is digested once.
#[derive(Clone, Debug)]
pub struct RunIds {
    before_seed: Sha256,
    after_seed: String,
}

impl RunIds {
    /// Those of `scenario` on `backend`, determined by `version`.
    ///
    /// # Panics
    /// Never: a scenario has text keys and finite numbers, so it is JSON.
    pub fn new(scenario: &Scenario, backend: &str, version: &str) -> RunIds {
        let json = "a scenario has text keys and finite numbers, so it is JSON";
        let mut before_seed = Sha256::new_with_prefix(r#"{"scenario":"#);
        before_seed.update(serde_json::to_vec(scenario).expect(json));
        before_seed.update(r#","seed":"#);
        let [backend, version] =
            [backend, version].map(|text| serde_json::to_string(text).expect(json));
        RunIds {
            before_seed,
            after_seed: format!(r#","backend":{backend},"version":{version}}}"#),
        }
    }

    /// That of the run with `seed`.
    ///
    /// # Panics
    /// Never: writing to a string does not fail.
    pub fn of(&self, seed: u64) -> String {
        let mut id = String::with_capacity(ID_DIGITS);
        self.push(seed, &mut id);
        id
    }

    /// Those of the runs with `seeds`, one behind the other.
    ///
    /// # Panics
    /// Never: writing to a string does not fail.
    pub fn listed(&self, seeds: Range<u64>) -> String {
        let runs = usize::try_from(seeds.end.saturating_sub(seeds.start)).unwrap_or(0);
        let mut ids = String::with_capacity(runs * ID_DIGITS);
        for seed in seeds {
            self.push(seed, &mut ids);
        }
        ids
    }

    fn push(&self, seed: u64, ids: &mut String) {
        let mut digest = self.before_seed.clone();
        digest.update(seed.to_string());
        digest.update(&self.after_seed);
        for byte in digest.finalize().iter().take(ID_DIGITS / 2) {
            write!(ids, "{byte:02x}").expect("writing to a string cannot fail");
        }
    }
}

/// The id of one run; see [`RunIds`].
pub fn run_id(scenario: &Scenario, seed: u64, backend: &str, version: &str) -> String {
    RunIds::new(scenario, backend, version).of(seed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Study;

    #[test]
    fn an_id_is_the_digest_of_a_runs_whole_content() {
        #[derive(Serialize)]
        struct Content<'a> {
            scenario: &'a Scenario,
            seed: u64,
            backend: &'a str,
            version: &'a str,
        }
        let text = "duration = \"1s\"\n[network.bottleneck]\nrate = \"10Mbit\"\ndelay = \"5ms\"\n\
                    queue = { kind = \"droptail\", limit = \"9p\" }\n\
                    [[flow]]\nname = \"a\"\ncc = \"reno\"\n";
        let study = Study::load(text, "study.toml").expect("a study");
        let plan = study.plan(&Default::default(), &|_, _| String::new());
        let scenario = &plan.expect("a plan").scenarios[0].scenario;
        let (backend, version) = ("a \"backend\"", "core 1, \u{e9}\\ 2\n");
        let ids = RunIds::new(scenario, backend, version);
        let whole = |seed| {
            let content = Content {
                scenario,
                seed,
                backend,
                version,
            };
            let digest = Sha256::digest(serde_json::to_vec(&content).expect("JSON"));
            digest
                .iter()
                .take(10)
                .map(|byte| format!("{byte:02x}"))
                .collect::<String>()
        };
        for seed in [0, 1, 9, 10, u64::MAX] {
            assert_eq!(ids.of(seed), whole(seed), "seed {seed}");
            assert_eq!(
                run_id(scenario, seed, backend, version),
                whole(seed),
                "seed {seed}"
            );
        }
        assert_eq!(ids.listed(8..12), (8..12).map(whole).collect::<String>());
    }
}
