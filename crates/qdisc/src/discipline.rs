//! What a discipline says of itself to the registry, and what a queue is built from.

use cclab_units::Rate;
use cclab_units::parameter::{Parameter, Params, Relation};

use crate::Qdisc;
use crate::tc::Tc;

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

/// Makes an empty queue.
pub type Build = fn(&Config) -> Box<dyn Qdisc>;

/// A discipline, as study files, backends and lists know it: its one declaration.
pub struct Discipline {
    /// Its name in study files.
    pub name: &'static str,
    /// The version of its behaviour. Whoever changes what it does raises it: runs of the older
    /// version are then other runs.
    pub version: u32,
    /// One line for `cclab list qdiscs`.
    pub summary: &'static str,
    /// Where it is defined.
    pub reference: &'static str,
    /// The parameters it takes, spelt as `tc` spells them where it has them. The simulator's takes
    /// all of them.
    pub params: &'static [Parameter],
    /// What the parameters have to do with each other.
    pub relations: &'static [Relation],
    /// The parameter that says the rate that it lets pass, where that can be less than its link's.
    pub shapes: Option<&'static str>,
    /// Whether what it drops or marks depends on more than what waits: on dice or on time, so that
    /// a queue of it breaks phase effects.
    pub draws: bool,
    /// The names of its queues, where it has several that are one beside another on purpose, in the
    /// order of [`Qdisc::bands`]; none of a single queue, and where each flow has its own.
    pub bands: &'static [&'static str],
    /// How Linux spells it; `None`: no kernel has it as a queue of a link.
    pub kernel: Option<Tc>,
    /// Makes an empty queue for the simulator; `None`: only kernels have it.
    pub build: Option<Build>,
}

impl Discipline {
    /// Every parameter that some backend takes: first those that only kernels do.
    pub fn params_of_all(&self) -> impl Iterator<Item = &'static Parameter> {
        let more = self.kernel.map_or(&[][..], |tc| tc.more);
        more.iter().chain(self.params)
    }
}
