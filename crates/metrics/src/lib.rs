//! From a trace to numbers: pure functions.
//!
//! [`measure`] gives the [`RunMetrics`] of a run, its warnings included; [`metrics`] has the row of
//! each number, from which `docs/metrics.md`, `docs/results.schema.json` and all that names metrics
//! are made. Times are virtual seconds, rates bits per second.

mod allocation;
mod band;
mod baselines;
mod bottleneck;
mod buckets;
mod catalog;
mod contest;
mod datagrams;
mod error;
mod fairness;
mod fidelity;
mod flow;
mod foreseen;
mod group;
mod input;
mod measure;
mod meetings;
mod of_many;
mod paths;
mod probe;
mod run_metrics;
mod schema;
mod series;
mod table;
mod traffic;
mod warning;
pub mod warnings;
mod window;

pub use allocation::{Claim, max_min};
pub use band::BandMetrics;
pub use baselines::{BesideOthers, beside_others};
pub use bottleneck::BottleneckMetrics;
pub use catalog::{markdown, metrics};
pub use datagrams::{
    BackMetrics, DatagramMetrics, FrameMetrics, WindowBackMetrics, WindowDatagramMetrics,
    WindowFrameMetrics,
};
pub use error::MeasureError;
pub use fairness::jain;
pub use fidelity::{FidelityMetrics, Verdict};
pub use flow::{FlowMetrics, LimitedShares, ResumptionMetrics};
pub use foreseen::{Nearby, SlowerSlots, foreseen};
pub use group::GroupMetrics;
pub use input::MeasureInput;
pub use measure::{measure, measure_dir};
pub use paths::Paths;
pub use probe::ProbeMetrics;
pub use run_metrics::{MachineMetrics, RunMetrics};
pub use schema::results_schema;
pub use table::{Better, Column, Metric, Number, Quantity, Told};
pub use traffic::{Distribution, SizeClass, TrafficMetrics, TransferMetrics};
pub use warning::Warning;
pub use warnings::identical_repeats;
pub use window::Window;

/// The version of what a trace is measured as: which numbers and warnings there are, and what they
/// come to. Whoever changes that raises it: what a store remembers of the older version is measured
/// again.
pub const VERSION: u32 = 13;
