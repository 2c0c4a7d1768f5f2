//! Every backend: which does what of a scenario, the plan of a study with that in it, how a run is
//! carried out, and the lists of what there is.

mod determinants;
mod files;
mod lists;
mod names;
mod parameters;
mod plan;
mod progress;
mod run;
mod support;

pub use determinants::{Kernels, determinants, modules};
pub use files::{declared_params, of_files};
pub use lists::{
    applications, impairments, metrics, parts, probes, qdiscs, receivers, stacks, topologies,
    traffic, variant_file, variants,
};
pub use names::names;
pub use plan::plan_documents;
pub use progress::Progress;
pub use run::{measure, needs, on_kernel, simulate};
pub use support::{BACKENDS, Reason, doing_all, unsupported};
