//! The variants that scenarios bring in files of their own, as the simulator takes them.

mod call;
mod class;
mod failure;
mod report;
mod told;
mod window;

use cclab_sim::OwnVariants;
use cclab_spec::{Language, VariantFile};

pub use call::Watch;
pub use class::Class;
pub use failure::Failure;
pub use told::{Ack, Congestion, Report};
pub use window::Window;

/// Whether the simulator runs variants of files like `file`.
pub fn runs(file: &VariantFile) -> bool {
    match file.language {
        Language::Python => true,
        Language::C | Language::Rust => false,
    }
}

/// The variants of the files of a run: those of Python files are `classes`. What users' code raises is
/// told to `failure`, what it is at to `watch`.
pub fn own(classes: Vec<Class>, failure: &Failure, watch: &Watch) -> OwnVariants {
    let classes = classes.into_iter();
    OwnVariants::new(
        classes
            .map(|class| class.into_variant(failure, watch))
            .collect(),
    )
}
