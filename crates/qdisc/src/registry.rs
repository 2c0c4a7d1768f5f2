//! The one list of queueing disciplines.

use crate::discipline::{Config, Discipline};
use crate::{Qdisc, Tc};

/// Every discipline that there is, on whichever backend.
pub const QDISCS: &[Discipline] = &[
    crate::droptail::DISCIPLINE,
    crate::random_drop::DISCIPLINE,
    crate::red::DISCIPLINE,
    crate::red::OF_THE_1990S,
    crate::red::ADAPTIVE,
    crate::choke::DISCIPLINE,
    crate::codel::DISCIPLINE,
    crate::fq_codel::DISCIPLINE,
    crate::pie::DISCIPLINE,
    crate::fq_pie::DISCIPLINE,
    crate::fq::DISCIPLINE,
    crate::sfq::DISCIPLINE,
    crate::dualpi2::DISCIPLINE,
    crate::tbf::DISCIPLINE,
    crate::policer::DISCIPLINE,
    crate::cake::DISCIPLINE,
];

/// The disciplines of the simulator.
pub fn simulated() -> impl Iterator<Item = &'static Discipline> + Clone {
    QDISCS.iter().filter(|d| d.build.is_some())
}

/// The disciplines that a kernel has, each with how it spells it.
pub fn of_kernel() -> impl Iterator<Item = (&'static Discipline, &'static Tc)> + Clone {
    QDISCS.iter().filter_map(|d| Some((d, d.kernel.as_ref()?)))
}

/// The discipline called `name`, whichever backend has it.
pub fn find(name: &str) -> Option<&'static Discipline> {
    QDISCS.iter().find(|d| d.name == name)
}

/// The discipline of the simulator called `name`.
pub fn find_simulated(name: &str) -> Option<&'static Discipline> {
    simulated().find(|d| d.name == name)
}

/// An empty queue of the discipline called `name`; `None` if the simulator has none of that name.
pub fn build(name: &str, config: &Config) -> Option<Box<dyn Qdisc>> {
    find(name)?.build.map(|build| build(config))
}
