//! The variants that scenarios bring in files of their own, as the simulator takes them.

mod call;
mod class;
mod compiled;
mod failure;
mod layout;
mod native;
mod object;
mod report;
mod told;
mod window;

use cclab_sim::OwnVariants;
use cclab_spec::{Language, Scenario, VariantFile};

pub use call::{FORKED, Watch};
pub use class::Class;
pub use compiled::raised_compiled;
pub use failure::Failure;
pub use layout::layouts;
pub use native::compiled;
pub use told::{Ack, Congestion, Report};
pub use window::Window;

/// Whether the simulator runs variants of files like `file`.
pub fn runs(file: &VariantFile) -> bool {
    match file.language {
        Language::C | Language::Python | Language::Rust => true,
    }
}

/// What is wrong with the C and Rust files of `scenario`, and with the parameters that they are given; it
/// may end the process, which has to be guarded.
pub fn wrong(scenario: &Scenario) -> Option<String> {
    native::of(scenario).err()
}

/// The variants of the files of `scenario`: those of Python files are `classes`. What users' Python code
/// raises is told to `failure`, what it is at to `watch`.
///
/// # Errors
/// What is wrong with a C or Rust file.
pub fn own(
    scenario: &Scenario,
    classes: Vec<Class>,
    failure: &Failure,
    watch: &Watch,
) -> Result<OwnVariants, String> {
    let mut made = native::of(scenario)?;
    let classes = classes.into_iter();
    made.extend(classes.map(|class| class.into_variant(failure, watch)));
    Ok(OwnVariants::new(made))
}
