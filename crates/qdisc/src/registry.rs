//! The one list of queueing disciplines.

use crate::discipline::{Config, Discipline};
use crate::{Qdisc, droptail};

/// Every discipline of the simulator.
pub const QDISCS: &[Discipline] = &[droptail::DISCIPLINE];

/// The discipline called `name`.
pub fn find(name: &str) -> Option<&'static Discipline> {
    QDISCS.iter().find(|d| d.name == name)
}

/// An empty queue of the discipline called `name`; `None` if there is none of that name.
pub fn build(name: &str, config: &Config) -> Option<Box<dyn Qdisc>> {
    find(name).map(|d| (d.build)(config))
}
