//! The network between hosts, in virtual time: calendar, links, queues, impairments, forwarding.
//!
//! Packets enter a [`Network`] at a [`Port`] and leave it where their route ends. What stands there
//! is a [`Host`]: a simulated one, or another process. Hosts have timers in the network's calendar, so
//! that packets and hosts act in one order, that of (time, sequence). What happens to packets on
//! their way, a [`Watch`] sees.
//!
//! What it is made of, a network takes from a layout. Of TCP it knows nothing.

mod admission;
mod build;
pub mod calendar;
mod fifo;
mod foreseen;
mod forwarding;
mod fusion;
mod host;
mod impairment;
mod link;
mod names;
mod network;
mod passage;
mod report;
mod seeing;
mod watch;
pub mod wires;

pub use build::{Counting, ROUTES, ports};
pub use forwarding::Forwarding;
pub use fusion::fuse;
pub use host::{Host, Port, Side};
pub use link::Link;
pub use network::{Coming, Network, Next};
pub use report::NotConserved;
pub use watch::{Sight, Watch};
