//! What a discipline says of itself to the registry, and what a queue is built from.

use std::collections::BTreeMap;

use crate::Qdisc;

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
