//! What a run leaves on disk: the only event schema, and its writers.

pub mod histogram;
pub mod probe;
pub mod schema;

pub use histogram::Histogram;
pub use probe::{Event, Probe};
