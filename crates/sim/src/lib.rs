//! The packet-level simulator: hosts of TCP and UDP, cross traffic and applications around a network.

mod application;
mod describe;
mod ends;
mod flow;
pub mod fuzzing;
mod own;
mod probe;
mod sampler;
pub mod sight;
mod stack;
mod states;
mod steered;
mod steps;
mod summary;
mod tcp_flow;
pub mod traffic;
mod triggers;
mod udp_flow;
mod unsupported;
mod version;
mod warmup;
mod wire;
mod world;

/// What the integration tests share calls the crate by its name.
#[cfg(test)]
extern crate self as cclab_sim;

use cclab_net::NotConserved;
use cclab_spec::Scenario;
use cclab_trace::Probe;
pub use cclab_trace::Progress;
use cclab_trace::schema::RunSummary;
use cclab_units::Time;
use world::World;

pub use describe::describe;
pub use own::{OwnVariant, OwnVariants};
pub use sampler::Sampler;
pub use states::state_columns;
pub use steered::{Steered, Steering};
pub use steps::{FlowStanding, Standing, in_steps};
pub use unsupported::{
    Unsupported, disregarded, unsupported, unsupported_beside, unsupported_but_files,
    unsupported_network, unsupported_traffic,
};
pub use version::{VERSION, determinants, determinants_of_network, version};
pub use warmup::CountedQueues;
pub use wire::wire_options;

/// Why a run gave no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SimError {
    /// The scenario asks for what the simulator does not do.
    #[error("the simulator does not do {what} ({path})")]
    Unsupported {
        /// The key of the study file.
        path: String,
        /// What is asked for there.
        what: String,
    },
    /// The run was cancelled.
    #[error("cancelled at {at} of virtual time")]
    Cancelled {
        /// Virtual time reached.
        at: Time,
    },
    /// A variant returned what makes no sense: a fault of the variant, never of the study.
    #[error("flow {flow}: its variant {variant} returned {what}")]
    Variant {
        /// The flow's name.
        flow: String,
        /// The variant's name.
        variant: String,
        /// What it returned.
        what: String,
    },
    /// Packets appeared or vanished: a fault of the simulator, never of the study.
    #[error(
        "packets are not conserved on link {link}: {offered} offered, {accounted} accounted for"
    )]
    NotConserved {
        /// The link.
        link: String,
        /// Packets offered to it.
        offered: u64,
        /// Packets delivered, lost or still there.
        accounted: u64,
    },
}

impl From<NotConserved> for SimError {
    fn from(found: NotConserved) -> SimError {
        SimError::NotConserved {
            link: found.link,
            offered: found.offered,
            accounted: found.accounted,
        }
    }
}

/// Runs `scenario` with `seed`, handing events to `probe`.
///
/// # Errors
/// When the scenario asks for what [`unsupported`] names, when `progress` was cancelled, and
/// when the law of conservation does not hold at the end.
pub fn run(
    scenario: &Scenario,
    seed: u64,
    probe: &mut dyn Probe,
    progress: &Progress,
) -> Result<RunSummary, SimError> {
    run_with(scenario, seed, probe, progress, &OwnVariants::default())
}

/// As [`run`], with the variants that the scenario's files define.
///
/// # Errors
/// As [`run`]; a file's variant that is not among `own` is not done.
pub fn run_with(
    scenario: &Scenario,
    seed: u64,
    probe: &mut dyn Probe,
    progress: &Progress,
    own: &OwnVariants,
) -> Result<RunSummary, SimError> {
    let mut refused = unsupported_beside(scenario, own).into_iter();
    if let Some(Unsupported { path, what }) = refused.next() {
        return Err(SimError::Unsupported { path, what });
    }
    // What became of each datagram is known from what is seen of losses.
    let has_datagrams = scenario.flows.iter().any(|flow| flow.udp.is_some());
    match probe.looks_at_packets() || has_datagrams {
        true => World::<true>::new(scenario, seed, probe, own).run(progress),
        false => World::<false>::new(scenario, seed, probe, own).run(progress),
    }
}
