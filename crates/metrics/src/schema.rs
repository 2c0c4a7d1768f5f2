//! The JSON Schema of results: what is no metric stands in `results.schema.json`, and in its places
//! `{{PATH.WHAT}}` stands what the rows say.

use crate::catalog::metrics;
use crate::run_metrics::RunMetrics;
use crate::table::{Metric, Quantity};

/// The JSON Schema of what `cclab run --json` prints, `docs/results.schema.json`.
///
/// # Panics
/// If the file asks for what rows do not say.
pub fn results_schema() -> String {
    let mut rest = include_str!("results.schema.json");
    let mut schema = String::new();
    while let Some((before, after)) = rest.split_once("{{") {
        let (place, after) = after.split_once("}}").expect("what is opened is closed");
        schema += before;
        let indent = before.rsplit('\n').next().unwrap_or_default();
        let indent = &indent[..indent.len() - indent.trim_start().len()];
        schema += &filled(place, &format!(",\n{indent}"));
        rest = after;
    }
    schema + rest
}

/// What stands at `place`; `joint` is between entries that have a line each.
fn filled(place: &str, joint: &str) -> String {
    let (path, what) = place.rsplit_once('.').expect("a path and what of it");
    let listed = |names: Vec<String>| {
        let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
        quoted.join(", ")
    };
    match what {
        "keys" => listed(rows(path).iter().map(|row| row.key().to_owned()).collect()),
        "properties" => {
            let properties: Vec<String> = rows(path).into_iter().map(property).collect();
            properties.join(joint)
        }
        "estimates" => listed(estimates(path)),
        "estimated" => {
            let estimate = |name| format!("\"{name}\": {{ \"$ref\": \"#/$defs/estimate\" }}");
            let estimated: Vec<String> = estimates(path).into_iter().map(estimate).collect();
            estimated.join(joint)
        }
        _ => unreachable!("{place}"),
    }
}

/// The rows of the keys directly below `path`, in the order of `--json`; of `run`, the numbers.
fn rows(path: &str) -> Vec<&'static Metric> {
    let mut all = Vec::new();
    unfold(RunMetrics::ROWS, &mut all);
    all.into_iter()
        .filter(|row| match path {
            "run" => !row.name.contains('.') && row.quantity.is_number(),
            _ => row
                .name
                .rsplit_once('.')
                .is_some_and(|(above, _)| above == path),
        })
        .filter(|row| !row.of_summary)
        .collect()
}

/// Puts `rows` and those below them into `all`.
fn unfold(rows: &'static [Metric], all: &mut Vec<&'static Metric>) {
    for row in rows {
        all.push(row);
        if let Quantity::Group(groups) = row.quantity {
            groups.iter().for_each(|rows| unfold(rows, all));
        }
    }
}

/// The names of the estimates of a subject, as the summary orders them.
fn estimates(subject: &str) -> Vec<String> {
    let mut rows: Vec<&Metric> = metrics()
        .filter(|row| row.subject() == subject && row.estimated)
        .collect();
    // What is made of the runs comes after what is estimated of their own numbers.
    rows.sort_by_key(|row| (row.of_summary, row.rank));
    let numbers = rows.iter().flat_map(|row| row.numbers());
    numbers.map(|number| number.name()).collect()
}

/// The entry of a row among the properties.
fn property(row: &'static Metric) -> String {
    let key = row.key();
    let definition = row.definition;
    if let Quantity::Group(_) = row.quantity {
        return format!("\"{key}\": {{ \"$ref\": \"#/$defs/{key}\" }}");
    }
    let whole = row.quantity.is_whole();
    let shape = match row.bounds {
        _ if !row.shape.is_empty() => defined(row.shape),
        _ if row.quantity == Quantity::Text => "\"type\": \"string\"".to_owned(),
        _ if !row.spread.is_empty() => defined("distribution"),
        (0.0, f64::INFINITY) => defined(if whole { "count" } else { "quantity" }),
        (0.0, 1.0) => defined("fraction"),
        (f64::NEG_INFINITY, 1.0) => defined("harm"),
        (least, most) => {
            let mut form = "\"type\": [\"number\", \"null\"]".to_owned();
            for (word, bound) in [("minimum", least), ("maximum", most)] {
                if bound.is_finite() {
                    form += &format!(", \"{word}\": {bound}");
                }
            }
            form
        }
    };
    format!("\"{key}\": {{ {shape}, \"description\": \"{definition}\" }}")
}

/// What is said in the definition called `name`.
fn defined(name: &str) -> String {
    format!("\"$ref\": \"#/$defs/{name}\"")
}
