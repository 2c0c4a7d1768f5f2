//! The one list of queueing disciplines.

use std::collections::BTreeMap;

use crate::{Qdisc, droptail};

/// The size of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Bytes, headers and framing included.
    Bytes(u64),
    /// Packets.
    Packets(u64),
}

/// What a queue is built from.
#[derive(Clone, Debug)]
pub struct Config<'a> {
    /// How much it holds.
    pub limit: Limit,
    /// Whether a queue must stay *below* its limit (ns-3) instead of at or below it.
    pub limit_is_exclusive: bool,
    /// Parameters by name.
    pub params: &'a BTreeMap<String, f64>,
}

/// A discipline of the registry.
pub struct Discipline {
    /// Its name in study files.
    pub name: &'static str,
    /// One line for `cclab list qdiscs`.
    pub summary: &'static str,
    /// Names of the parameters it takes.
    pub params: &'static [&'static str],
    /// Makes an empty queue.
    pub build: fn(&Config<'_>) -> Box<dyn Qdisc>,
}

/// Every discipline of the simulator.
pub const QDISCS: &[Discipline] = &[droptail::DISCIPLINE];

/// The discipline called `name`.
pub fn find(name: &str) -> Option<&'static Discipline> {
    QDISCS.iter().find(|d| d.name == name)
}

/// An empty queue of the discipline called `name`; `None` if there is none of that name.
pub fn build(name: &str, config: &Config<'_>) -> Option<Box<dyn Qdisc>> {
    find(name).map(|d| (d.build)(config))
}
