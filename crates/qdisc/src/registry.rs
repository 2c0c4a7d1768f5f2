//! The one list of queueing disciplines.

use crate::discipline::{Config, Discipline};
use crate::{
    Qdisc, choke, codel, droptail, dualpi2, fq, fq_codel, fq_pie, pie, policer, random_drop, red,
    sfq, tbf,
};

/// Every discipline of the simulator.
pub const QDISCS: &[Discipline] = &[
    droptail::DISCIPLINE,
    random_drop::DISCIPLINE,
    red::DISCIPLINE,
    red::OF_THE_1990S,
    red::ADAPTIVE,
    choke::DISCIPLINE,
    codel::DISCIPLINE,
    fq_codel::DISCIPLINE,
    pie::DISCIPLINE,
    fq_pie::DISCIPLINE,
    fq::DISCIPLINE,
    sfq::DISCIPLINE,
    dualpi2::DISCIPLINE,
    tbf::DISCIPLINE,
    policer::DISCIPLINE,
];

/// The discipline called `name`.
pub fn find(name: &str) -> Option<&'static Discipline> {
    QDISCS.iter().find(|d| d.name == name)
}

/// An empty queue of the discipline called `name`; `None` if there is none of that name.
pub fn build(name: &str, config: &Config) -> Option<Box<dyn Qdisc>> {
    find(name).map(|d| (d.build)(config))
}
