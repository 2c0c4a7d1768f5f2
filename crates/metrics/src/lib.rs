//! From a trace to numbers: pure functions.
//!
//! [`measure`] gives the [`RunMetrics`] of a run, its warnings included; [`metrics`] says what
//! each number means, and `docs/metrics.md` is printed from it. Times are virtual seconds, rates
//! bits per second.

mod allocation;
mod baselines;
mod bottleneck;
mod buckets;
mod catalog;
mod contest;
mod error;
mod fairness;
mod fidelity;
mod flow;
mod measure;
mod paths;
mod run_metrics;
mod series;
mod traffic;
pub mod warnings;
mod window;

pub use allocation::{Claim, max_min};
pub use baselines::{BesideOthers, beside_others};
pub use catalog::{Metric, markdown, metrics};
pub use error::MeasureError;
pub use fairness::jain;
pub use measure::{MeasureInput, measure, measure_dir};
pub use paths::Paths;
pub use run_metrics::{
    BottleneckMetrics, Distribution, FidelityMetrics, FlowMetrics, LimitedShares, RunMetrics,
    SizeClass, TrafficMetrics, TransferMetrics, Verdict,
};
pub use warnings::{Warning, identical_repeats};
pub use window::Window;

/// The version of what a trace is measured as: which numbers and warnings there are, and what they
/// come to. Whoever changes that raises it: what a store remembers of the older version is measured
/// again.
pub const VERSION: u32 = 1;
