//! Congestion controls of the Linux kernel in the simulator: a C file with a
//! `struct tcp_congestion_ops`, as Linux 6.12 has it, is compiled by the user's `cc` against the
//! headers of this crate and called through [`CongestionOps`](cclab_interface::CongestionOps).
//!
//! ```text
//! let compiled = Compiled::of(&Sources { file: "tcp_foo.c", texts: &texts }, &cache())?;
//! compiled.description();                       // name, flags, hooks, parameters
//! let loaded = compiled.load(&values)?;         // the module with these values of its parameters
//! let make = loaded.make();                     // a congestion control for each flow
//! guard::install(report, limit)?;               // in the process that runs it: faults are told
//! ```
//!
//! Compiling and describing run nothing of the file in this process. Loading does: what is loaded
//! can do all that the process can.

mod cache;
mod compiler;
mod description;
pub mod guard;
mod headers;
mod hook;
pub mod kept;
mod loaded;
mod message;
mod module;
mod place;
mod private;
mod traced;
pub mod windows;

pub use cache::{Compiled, Sources, cache};
pub use description::{Description, Param};
pub use hook::Hook;
pub use loaded::Loaded;
pub use message::{Message, ModuleError};
pub use module::Module;
