//! What a scenario is on a Linux kernel: hosts and routers as network namespaces, links as veth
//! pairs with queueing disciplines, flows as sockets or programs.
//!
//! [`orders()`] tells an agent what to do, [`records`] is what it hands back. Nothing here runs
//! anything.
//!
//! A link with a rate or a delay is two veth pairs whose inner ends lie in a namespace of wires:
//!
//! ```text
//! sender: netem (losses) > tbf (rate) > queue ── wires: netem (delay, rate) ── receiver
//! ```
//!
//! The shaper lets one packet go at a time and the wire delivers it after its transmission and the
//! propagation delay: store and forward. Packets wait in the queue and nowhere else.

mod access;
mod bottleneck;
mod cable;
mod datagram;
mod discipline;
mod flow;
mod impairment;
mod lowering;
mod machine;
mod modules;
mod needs;
mod network;
pub mod orders;
mod own;
mod probe;
mod probes;
mod processor;
mod program;
pub mod records;
mod route;
mod settings;
mod tap;
mod unsupported;
mod wired;
mod words;

use cclab_spec::{By, Scenario, kernel_part};

pub use lowering::orders;
pub use machine::Machine;
pub use modules::{boot_arguments, disagree, label_of, name_in_kernel, paces};
pub use needs::{Needs, needs};
pub use orders::Orders;
pub use probes::{PARTS, Part, PartKind, Probe, probes};
pub use records::Outcome;
pub use settings::is_machine_wide;
pub use unsupported::{Unsupported, unsupported};

/// The version of what the kernel backends do around a kernel: the orders, what the agent makes of
/// them, and the trace that its records become. Whoever changes one of them raises it: runs of the
/// older version are then other runs, and an agent of it is refused.
pub const VERSION: u32 = 11;

/// What determines a run on kernels beside its scenario and its seed, given what the scenario calls
/// each, `None` the one used by default, and what it is made of.
pub fn determinants<'a>(kernels: impl IntoIterator<Item = (Option<&'a str>, &'a str)>) -> String {
    let named = |(called, key)| format!(", {} {key}", kernel_part(called));
    let kernels: String = kernels.into_iter().map(named).collect();
    format!("testbed {VERSION}{kernels}")
}

/// The agent's first argument where it is to become another program that ends with the process
/// that started it; that one's number, the program and its arguments follow.
pub const TIED: &str = "--tied";

/// [`TIED`], of a guest's kernel, which begins at the same addresses each time and is confined. The
/// parent's number is followed by the folder of its run and that for its memory, which it may write
/// to, by the memory that it shares with its network ([`NO_MEMORY`]: none), the kernel's program
/// and its arguments.
pub const TIED_GUEST: &str = "--tied-guest";

/// The number of the open file by which a guest's kernel has the memory that it shares with its
/// network.
pub const MEMORY: i32 = 9;

/// What stands for the memory where there is none.
pub const NO_MEMORY: &str = "-";

/// The agent's first argument where it is to become a program of a flow in a guest, without what
/// only the agent may do there. The folder that it may write to follows, that of the run's records
/// on the host, the program and its arguments.
pub const PROGRAM: &str = "--program";

/// Where orders are carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// In a guest that is all the run's own, in virtual time, with the kernel's own network.
    Guest,
    /// In a guest as well, whose hosts stand around a network that is no kernel's.
    Wire,
    /// On a host with others on it, in real time.
    Host,
}

impl Target {
    /// Where `scenario` is carried out in a guest.
    pub fn in_guest(scenario: &Scenario) -> Target {
        Target::on(scenario.network.by.unwrap_or(By::Simulator))
    }

    /// A guest whose network is that one's.
    pub fn on(network: By) -> Target {
        match network {
            By::Kernel => Target::Guest,
            By::Simulator => Target::Wire,
        }
    }
}
