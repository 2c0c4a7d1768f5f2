//! Runs on a Linux kernel. A run is spelt out as orders (crate `testbed`), an agent carries them
//! out, and its records become the trace (crate `harvest`).
//!
//! [`Place::Guest`] boots a User Mode Linux kernel as an ordinary process, in virtual time, with
//! the agent as its first process. [`Place::Host`] runs the agent on this host's kernel, as root,
//! in network namespaces, in real time.

mod console;
mod execute;
mod guest;
mod kernels;
mod memory;
mod process;
mod processor;
mod wire;

pub use execute::{Execution, Place, carry_out, determinants, execute, unsupported};
pub use kernels::Kernel;

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use cclab_spec::Scenario;
use cclab_testbed::records::Failure;
use cclab_units::Time;

/// Why a run gave no result.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The scenario asks for what a kernel backend does not do.
    #[error("this backend does not do {what} ({path})")]
    Unsupported {
        /// The key of the study file.
        path: String,
        /// What is asked for there.
        what: String,
    },
    /// The run was cancelled.
    #[error("cancelled at {0}")]
    Cancelled(Time),
    /// A step failed.
    #[error("{what}: {}: {}", failure.step, failure.problem)]
    Failed {
        /// What could not do it: a guest, or the agent.
        what: String,
        /// The step, and what went wrong.
        failure: Failure,
    },
    /// The scenario is on a kernel that is not at hand.
    #[error("no kernel {} was given", .0.as_deref().unwrap_or("by default"))]
    NoKernel(Option<String>),
    /// The process that ran it ended by itself.
    #[error(
        "{what} ended with {status} at {at}, before the run's end{fault}; its last lines:\n{console}"
    )]
    Died {
        /// What it was: the guest, or the agent.
        what: String,
        /// How it ended.
        status: String,
        /// Time of the run when it was last heard of.
        at: Time,
        /// Where in the kernel it failed.
        fault: Fault,
        /// The last lines it printed.
        console: String,
    },
    /// A guest's kernel had no memory left.
    #[error(
        "{what} ran out of memory at {at} ({told}). A guest has {own} MB, {flow} MB for each flow, \
         {capture} MB for each capture and four times the queue, {most} MB at most: have programs \
         need less, flows be fewer, or queues smaller",
        own = memory::OWN_MB,
        flow = memory::FLOW_MB,
        capture = memory::CAPTURE_MB,
        most = memory::MOST_MB
    )]
    OutOfMemory {
        /// Which.
        what: String,
        /// When.
        at: Time,
        /// What the kernel says of it.
        told: String,
    },
    /// Time stood still.
    #[error(
        "{what} stopped moving: its time stood at {at} for {waited:?} of real time. A program \
         that polls without sleeping never lets virtual time pass. The last lines of its \
         console:\n{console}"
    )]
    Stalled {
        /// What: a guest, or the agent.
        what: String,
        /// Where time stood.
        at: Time,
        /// For how long.
        waited: Duration,
        /// The last lines it printed.
        console: String,
    },
    /// Packets leave without end at one instant.
    #[error(
        "{what} sent packets without end at {at}. A program that sends without sleeping never \
         lets virtual time pass: have it wait for its socket, or send at a rate"
    )]
    Floods {
        /// Which.
        what: String,
        /// When.
        at: Time,
    },
    /// The run took longer than it may.
    #[error("the run was ended at {at} after {limit:?} of real time, the limit (CCLAB_LIMIT_S)")]
    TooLong {
        /// How far it was.
        at: Time,
        /// The limit.
        limit: Duration,
    },
    /// A file or process could not be had.
    #[error("{}: {error}", cclab_units::shown_path(path))]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// Packets appeared or vanished: a fault of the network, never of the study.
    #[error("packets are not conserved on link {}: {} offered, {} accounted for", .0.link, .0.offered, .0.accounted)]
    NotConserved(cclab_net::NotConserved),
    /// A variant of cross traffic returned what makes no sense.
    #[error(transparent)]
    Traffic(cclab_sim::SimError),
    /// The trace cannot be written.
    #[error(transparent)]
    Trace(#[from] cclab_trace::TraceError),
    /// The records are not what they should be.
    #[error(transparent)]
    Harvest(#[from] cclab_harvest::HarvestError),
}

/// Where a kernel failed.
#[derive(Debug)]
pub enum Fault {
    /// The functions that it named, from where it was on.
    In(Box<[String]>),
    /// The module whose fault it is, in words.
    Module(Box<str>),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::In(_) => Ok(()),
            Fault::Module(told) => write!(f, ": the module {told}"),
        }
    }
}

impl RunError {
    /// The error of a run of `scenario`: it names the module whose function a kernel failed in.
    fn blaming(mut self, scenario: &Scenario) -> RunError {
        if let RunError::Died { fault, .. } = &mut self
            && let Fault::In(functions) = fault
        {
            let guilty = functions.iter().find_map(|function| {
                let mut files = scenario.variant_files.iter();
                let file = files.find(|file| file.defines(function))?;
                let told = format!("{} of {} failed in {function}", file.label, file.file);
                Some(told.into_boxed_str())
            });
            if let Some(told) = guilty {
                *fault = Fault::Module(told);
            }
        }
        self
    }

    fn io(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> RunError {
        let path = path.into();
        move |error| RunError::Io { path, error }
    }
}
