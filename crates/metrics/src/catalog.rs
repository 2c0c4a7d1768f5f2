//! Every metric, and the page about them.

use crate::run_metrics::RunMetrics;
use crate::table::{Metric, Quantity};
use crate::warnings::{OF_POINTS, RULES};

/// Every metric, in the order of `--json`.
pub fn metrics() -> impl Iterator<Item = &'static Metric> {
    let mut all = Vec::new();
    unfold(RunMetrics::ROWS, &mut all);
    all.into_iter()
}

/// Puts `rows` into `all`; in the place of a group, those of the group.
fn unfold(rows: &'static [Metric], all: &mut Vec<&'static Metric>) {
    for row in rows {
        match row.quantity {
            Quantity::Group(groups) => groups.iter().for_each(|rows| unfold(rows, all)),
            _ => all.push(row),
        }
    }
}

const NAMES: &str = "
## Names in checks, rules and tables

`[expect]`, the rule of `repeat` and `cclab compare` take these; summaries and tables have them as
columns. Of values that are many, the name has what is told of them.

| written | names |
|---|---|
";

const SHORT: &str = "
A name without its unit is short for the number that tables show: `flow.FLOW.goodput` is `window_goodput_bps`
of a study with a warm-up and `goodput_bps` of any other. Whoever means the whole run of a study with a warm-up
writes the unit. Some have none, as `jain`, `datagrams_loss` and a band's `drops`: of such a study a check means
`window_jain`, while a run's entry in `--json` has the whole run's under `jain`.

| written | short names |
|---|---|
";

/// What names belong to, and how a study writes them.
const SUBJECTS: [(&str, &str); 7] = [
    ("run", "`NAME`"),
    ("bottleneck", "`bottleneck.NAME`"),
    ("band", "`bottleneck.band.BAND.NAME`"),
    ("flow", "`flow.FLOW.NAME`"),
    ("group", "`group.GROUP.NAME`"),
    ("traffic", "`traffic.SOURCE.NAME`"),
    ("probe", "`probe.PROBE.NAME`"),
];

/// The documentation page of metrics and warnings, `docs/metrics.md`.
pub fn markdown() -> String {
    let mut page = include_str!("catalog_intro.md").to_owned();
    page += "\n## Metrics\n\n| name | unit | window | measured at | definition | source |\n|---|---|---|---|---|---|\n";
    for metric in metrics() {
        let Metric {
            name,
            definition,
            window,
            point,
            source,
            ..
        } = metric;
        let unit = metric.quantity.unit();
        page += &format!("| `{name}` | {unit} | {window} | {point} | {definition} | {source} |\n");
    }
    page += NAMES;
    for (subject, written) in SUBJECTS {
        let rows = metrics().filter(|row| row.subject() == subject && row.is_expectable());
        let mut names = String::new();
        for number in rows.flat_map(Metric::numbers) {
            let joint = if names.is_empty() { "" } else { ", " };
            names += &format!("{joint}`{}`", number.name());
        }
        page += &format!("| {written} | {names} |\n");
    }
    page += SHORT;
    for (subject, written) in SUBJECTS {
        let rows = metrics().filter(|row| row.subject() == subject && row.is_expectable());
        let short: Vec<String> = rows
            .flat_map(Metric::numbers)
            .filter_map(|number| Some(format!("`{}`", number.short()?)))
            .collect();
        if !short.is_empty() {
            page += &format!("| {written} | {} |\n", short.join(", "));
        }
    }
    page += "\n## Warnings\n\n| code | raised when |\n|---|---|\n";
    let of_runs = RULES.iter().map(|rule| (rule.code, rule.when));
    for (code, when) in of_runs.chain(OF_POINTS) {
        page += &format!("| `{code}` | {when} |\n");
    }
    page
}
