//! The entry of a run in a store: a folder whose `manifest.json` lists every file with its length
//! and SHA-256.
//!
//! [`seal`] writes the manifest once the run is over, [`check`] and [`check_all`] tell whether an
//! entry is as it was sealed, and [`sync`] waits until what was written is on the disk.

mod check;
mod digest;
mod manifest;
mod sync;

pub use check::{State, check, check_all};
pub use manifest::{Manifest, Seal, seal};
pub use sync::sync;

/// The name of an entry's manifest.
pub const MANIFEST: &str = "manifest.json";
