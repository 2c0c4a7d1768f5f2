//! What happens to packets on a link beside queueing, transmission and propagation: one file
//! for each impairment, and each with a seed stream of its own, so that adding one does not
//! change another's dice.
//!
//! A [`Gate`] stands in front of a link's queue or at its far end and loses, copies, corrupts
//! or re-marks packets; a [`Course`] is what a wire adds to their delay; a [`Schedule`] changes rate and
//! delay, by instants that are known before or become known as the run goes; [`Opportunities`] let a link send when a trace says. Most links have none of these,
//! and pay nothing for them.

mod bursts;
mod chance;
mod course;
mod gate;
mod install;
mod jitter;
mod listed;
mod opportunities;
mod random;
mod remark;
mod schedule;
mod slots;
mod wifi;

pub use course::Course;
pub use gate::Gate;
pub use install::Installer;
pub use opportunities::{Opportunities, Served};
pub use schedule::Schedule;
