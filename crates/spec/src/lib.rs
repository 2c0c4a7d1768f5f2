//! The study file: the only schema. Text becomes a [`Study`], a study becomes a [`Plan`] of
//! [`Run`]s, and each holds a [`Scenario`] in integers of one unit each.
//!
//! ```
//! use cclab_spec::{Overrides, Study};
//!
//! let text = r#"
//!     duration = "10s"
//!     network.bottleneck = { rate = "10Mbit", delay = "20ms", queue = { limit = "1bdp" } }
//!     [[flow]]
//!     cc = "reno"
//! "#;
//! let plan = Study::load(text, "study.toml")?.plan(&Overrides::default(), &|_, _| "core 1".to_owned())?;
//! assert_eq!(plan.runs.len(), 1);
//! # Ok::<(), cclab_spec::StudyError>(())
//! ```

mod application;
mod baseline;
mod change;
mod datagrams;
mod de;
mod determinants;
mod ecn;
mod error;
mod expect;
pub mod expression;
mod flow;
pub mod fuzzing;
mod graph;
pub mod kinds;
mod link;
mod misbehaviour;
mod names;
mod node;
mod opportunities;
mod path;
mod place;
mod placeholder;
mod plan;
mod points;
mod probe;
mod quantity;
mod repeat;
mod resolve;
mod routes;
mod scenario;
mod schema;
mod study;
mod sweep;
mod text;
mod traffic;
mod variant_file;
mod written;

pub use application::*;
pub use baseline::Baseline;
pub use change::{Change, Rates, StateValue, Triggered, When};
pub use datagrams::{Datagrams, Schedule, Sending, Video};
pub use determinants::{
    Part, determinants, determinants_beside, kernel_part, parts, parts_of_network,
};
pub use ecn::Ecn;
pub use error::StudyError;
pub use expect::{Expectation, Metrics, Named, Subject, Subjects};
pub use flow::{DelayAt, Direction, Flow, FlowFields, Remembered, Start, Transport};
pub use graph::{Graph, GraphLink, Reroute, Routing};
pub use link::*;
pub use misbehaviour::Misbehaviour;
pub use names::{Names, Parametric, Stack};
pub use opportunities::{BadTrace, OPPORTUNITY_BYTES, OPPORTUNITY_FRAMING, Opportunities};
pub use place::Places;
pub use placeholder::{PLACEHOLDERS, Piece, pieces};
pub use plan::{Frame, ID_DIGITS, Plan, PlannedPoint, PlannedRun, Point, RunIds, run_id};
pub use points::{
    BOTTLENECK_POINT, SHARED_ACCESS, access_name, bottleneck_name, own_hosts, way_back_name,
};
pub use probe::{Probe, ProbeKind};
pub use repeat::{Measure, Until};
pub use resolve::MAX_SAMPLES;
pub use routes::{Routes, Step};
pub use scenario::*;
pub use schema::schema_as_written;
pub use study::{Overrides, Repeats, Study};
pub use traffic::{TRAFFIC_KINDS, TrafficKind};
pub use variant_file::{Language, ModuleParam, ParamType, VariantFile};

/// The JSON Schema of the study file, for editors: every key with its meaning and its default.
pub fn schema() -> String {
    let schema = schemars::schema_for!(written::Study);
    serde_json::to_string_pretty(&schema).expect("a JSON Schema is JSON")
}

/// The JSON Schema of a [`Scenario`] as it is written.
pub fn scenario_schema() -> String {
    schema_as_written::<Scenario>()
}

/// The number that a value of a study stands for: seconds, bytes, bits per second, a share, packets
/// or bandwidth-delay products. None where it is no quantity, as a name is not.
pub fn number(text: &str) -> Option<f64> {
    if let Ok(plain) = text.parse::<f64>() {
        return plain.is_finite().then_some(plain);
    }
    let counted = text.strip_suffix("bdp").or_else(|| text.strip_suffix('p'));
    match counted.and_then(|number| number.trim_end().parse::<f64>().ok()) {
        Some(number) => number.is_finite().then_some(number),
        None => quantity::si(text).ok().map(|(number, _)| number),
    }
}

/// What a value of a study is a quantity of: `time`, `size`, `rate`, `share`, `packets` or `bdp`.
/// None where it is no quantity or has no unit.
pub fn dimension(text: &str) -> Option<&'static str> {
    match quantity::si(text) {
        Ok((_, dimension)) => dimension.name(),
        Err(_) => matches!(quantity::limit(text), Ok(quantity::LimitText::Bdp(_))).then_some("bdp"),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn quantities_of_every_dimension_have_a_number_and_say_which() {
        let cases = [
            ("20ms", 0.02, Some("time")),
            ("64kB", 64e3, Some("size")),
            ("1.7Mbit", 1.7e6, Some("rate")),
            ("0.5%", 0.005, Some("share")),
            ("10p", 10.0, Some("packets")),
            ("1.5bdp", 1.5, Some("bdp")),
            ("0.25", 0.25, None),
        ];
        for (text, value, dimension) in cases {
            assert_eq!(super::number(text), Some(value), "{text}");
            assert_eq!(super::dimension(text), dimension, "{text}");
        }
        for text in ["reno", "", "p", "nan", "10 lots"] {
            assert_eq!(super::number(text), None, "{text}");
            assert_eq!(super::dimension(text), None, "{text}");
        }
    }
}
