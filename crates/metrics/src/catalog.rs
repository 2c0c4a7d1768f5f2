//! What each number means.

mod fidelity;
mod flows;
mod traffic;
mod whole;

use crate::warnings::{IDENTICAL_REPEATS, RULES};

/// The definition of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    /// Its path in the `--json` of a run; `flow.` stands for each of `flows`, `traffic.`
    /// for each of `traffic`.
    pub name: &'static str,
    /// Unit, `1` for shares and counts.
    pub unit: &'static str,
    /// Formula.
    pub definition: &'static str,
    /// The span of time that it covers.
    pub window: &'static str,
    /// Where it is measured.
    pub point: &'static str,
    /// Who defined it; empty where there is nothing to define.
    pub source: &'static str,
}

impl Metric {
    /// The same, as `source` defines it.
    const fn of(self, source: &'static str) -> Metric {
        Metric { source, ..self }
    }
}

const fn metric(
    name: &'static str,
    unit: &'static str,
    window: &'static str,
    point: &'static str,
    definition: &'static str,
) -> Metric {
    Metric {
        name,
        unit,
        definition,
        window,
        point,
        source: "",
    }
}

/// Every metric, in the order of `--json`.
pub fn metrics() -> impl Iterator<Item = &'static Metric> {
    let parts = [
        flows::FLOWS,
        whole::WHOLE,
        traffic::TRAFFIC,
        fidelity::FIDELITY,
    ];
    parts.into_iter().flatten()
}

/// The documentation page of metrics and warnings, `docs/metrics.md`.
pub fn markdown() -> String {
    let mut page = include_str!("catalog_intro.md").to_owned();
    page += "\n## Metrics\n\n| name | unit | window | measured at | definition | source |\n|---|---|---|---|---|---|\n";
    for Metric {
        name,
        unit,
        definition,
        window,
        point,
        source,
    } in metrics()
    {
        page += &format!("| `{name}` | {unit} | {window} | {point} | {definition} | {source} |\n");
    }
    page += "\n## Warnings\n\n| code | raised when |\n|---|---|\n";
    for rule in RULES {
        page += &format!("| `{}` | {} |\n", rule.code, rule.when);
    }
    page += &format!(
        "| `{IDENTICAL_REPEATS}` | two repeats of one sweep point gave the same numbers |\n"
    );
    // Found by further runs, which the package makes and compares.
    page += "| `phase-effects` | on the simulator, with several flows and nothing random: a start \
             shifted by part of a round trip moves a flow's share by more than a tenth |\n";
    page += "| `ci-not-reached` | `repeat` is a rule, and a sweep point had all runs that it may \
             have, or one of them failed, before its interval was narrow enough |\n";
    page
}
