//! What a discipline says of itself to the registry, and what a queue is built from.

use cclab_units::Rate;
use cclab_units::parameter::{Parameter, Params, Relation};

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
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// How much it holds.
    pub limit: Limit,
    /// Whether a queue must stay *below* its limit (ns-3) instead of at or below it.
    pub limit_is_exclusive: bool,
    /// The rate of the link it stands before; `None`: infinitely fast.
    pub rate: Option<Rate>,
    /// The discipline's own parameters.
    pub params: Params,
}

/// A discipline of the registry.
pub struct Discipline {
    /// Its name in study files.
    pub name: &'static str,
    /// The version of its behaviour. Whoever changes what it does raises it: runs of the older
    /// version are then other runs.
    pub version: u32,
    /// One line for `cclab list qdiscs`.
    pub summary: &'static str,
    /// The parameters it takes.
    pub params: &'static [Parameter],
    /// What the parameters have to do with each other.
    pub relations: &'static [Relation],
    /// Makes an empty queue.
    pub build: fn(&Config) -> Box<dyn Qdisc>,
}
