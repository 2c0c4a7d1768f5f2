//! Variants in Rust files of users: `cc = "./mine.rs"`.
//!
//! A file says `use cclab::{CongestionOps, Tcp};` and `cclab::variant! { ... }`; `cclab` is the
//! crate `cclab-interface`, whose source this crate carries. `rustc` compiles the file against it
//! into a shared object, kept by the hashes of both and of the compiler's version, which is loaded
//! into the process and never unloaded.
//!
//! A panic of the file, windows that cannot be, a loop without end and a write through a pointer end a
//! process that is guarded by [`cclab_module::guard`], with a word on the file and the hook. In one that
//! is not, a panic unwinds out of the hook that was called, with a [`Fault`] as its payload.

mod compiler;
mod diagnostics;
mod foreign;
mod loaded;

use cclab_spec::{StudyError, VariantFile};

pub use loaded::{Description, Fault, Loaded, Parameter};

/// What the variant of `file` is, once it has been compiled and one was made with its defaults.
///
/// # Errors
/// What [`load`] says.
pub fn check(file: &VariantFile) -> Result<Description, Vec<StudyError>> {
    load(file).map(|loaded| loaded.description().clone())
}

/// The variant of `file`, compiled if it has not been before.
///
/// # Errors
/// The compiler's messages, each at the file's line and column; or why it cannot be compiled or
/// loaded: there is no compiler, it is too old, the file asks for another version of the
/// interface, what it declares is not sound, or it panics when one is made.
pub fn load(file: &VariantFile) -> Result<Loaded, Vec<StudyError>> {
    let compiler = compiler::Compiler::find().map_err(|why| vec![of_file(file, why)])?;
    let tables = compiler.tables(file)?;
    Loaded::of(file, tables).map_err(|wrong| vec![wrong])
}

/// A message on `file` as a whole: what is wrong, and what would be right.
fn of_file(file: &VariantFile, (message, help): (String, String)) -> StudyError {
    StudyError {
        file: file.file.clone(),
        line: 0,
        column: 0,
        message,
        help,
    }
}
