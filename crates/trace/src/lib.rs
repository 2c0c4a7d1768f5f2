//! What a run leaves on disk: the only event schema, its writers and its reader.
//!
//! A backend hands [`Event`]s to a [`Probe`]. The [`Recorder`] streams them into a directory:
//!
//! - `summary.json`, `flows.parquet`, `links.parquet`, `histograms.parquet`: what the run was;
//! - `flow_samples.parquet`, `queue_samples.parquet`: its course in time;
//! - `acks.parquet`, `queue_events.parquet`, `drops.parquet`, `variant_states.parquet`: single events, if asked for;
//! - `POINT.pcapng` for each capture point.
//!
//! [`read`] gives the first two groups back as a [`Trace`]. The same run gives the same bytes.
//! [`sealed`] makes one file of a run that is over. [`captured`] reads packet captures, those of other programs too.

mod arrivals;
mod capture;
pub mod captured;
mod columns;
mod error;
pub mod histogram;
mod parquet_file;
mod playback;
pub mod probe;
mod progress;
mod reader;
mod recorder;
pub mod schema;
pub mod sealed;
pub mod segment;
mod states;
pub mod table;
pub mod tables;

pub use arrivals::{Arrivals, Departures};
pub use capture::file_name as capture_file_name;
pub use columns::{Columns, Value};
pub use error::TraceError;
pub use histogram::Histogram;
pub use parquet_file::TableWriter;
pub use playback::Playback;
pub use probe::{Event, Probe};
pub use progress::Progress;
pub use reader::{Trace, read, read_acks, read_drops, read_queue_events, read_summary};
pub use recorder::{Recorder, Recording};
pub use segment::WireOptions;
pub use states::ToldStates;

/// Name and version of the schema, written into every file of a trace.
pub const SCHEMA_VERSION: &str = "cclab-trace/1";
