//! The variants that scenarios bring in files of their own, as the simulator takes them.

mod call;
mod class;
mod compiled;
mod failure;
mod layout;
mod object;
mod report;
mod told;
mod window;

use cclab_sim::OwnVariants;
use cclab_spec::Scenario;

pub use call::{FORKED, Watch};
pub use class::Class;
pub use compiled::raised_compiled;
pub use failure::Failure;
pub use layout::layouts;
pub use told::{Ack, Congestion, Report};
pub use window::Window;

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
    let mut made = cclab_backends::of_files(scenario)?;
    let classes = classes.into_iter();
    made.extend(classes.map(|class| class.into_variant(failure, watch)));
    Ok(OwnVariants::new(made))
}
