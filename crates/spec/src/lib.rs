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
//! let plan = Study::load(text, "study.toml")?.plan(&Overrides::default(), &|_| "0.1.0".to_owned())?;
//! assert_eq!(plan.runs.len(), 1);
//! # Ok::<(), cclab_spec::StudyError>(())
//! ```

mod de;
mod error;
mod expect;
pub mod fuzzing;
mod graph;
pub mod kinds;
mod link;
mod names;
mod node;
mod opportunities;
mod path;
mod placeholder;
mod plan;
mod quantity;
mod resolve;
mod scenario;
mod study;
mod sweep;
mod text;
mod traffic;
mod written;

pub use error::StudyError;
pub use expect::{
    BOTTLENECK_METRICS, Expectation, FLOW_METRICS, Operator, RUN_METRICS, Subject, TRAFFIC_METRICS,
};
pub use graph::{Graph, GraphLink, Step};
pub use link::*;
pub use names::{Names, Parametric, Stack, Taken};
pub use opportunities::{BadTrace, OPPORTUNITY_BYTES, OPPORTUNITY_FRAMING, Opportunities};
pub use placeholder::{PLACEHOLDERS, Piece, pieces};
pub use plan::{Plan, PlannedRun, Point, run_id};
pub use scenario::*;
pub use study::{Overrides, Study};
pub use traffic::{TRAFFIC_KINDS, TrafficKind};

/// The JSON Schema of the study file, for editors: every key with its meaning and its default.
pub fn schema() -> String {
    let schema = schemars::schema_for!(written::Study);
    serde_json::to_string_pretty(&schema).expect("a JSON Schema is JSON")
}
