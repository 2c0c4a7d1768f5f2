//! What a scenario is on a Linux kernel: hosts and routers as network namespaces, links as veth
//! pairs with queueing disciplines, flows as sockets or programs.
//!
//! [`orders`] is what an agent is told to do, [`records`] what it hands back. Nothing here runs
//! anything.

pub mod orders;
pub mod records;

pub use orders::Orders;
pub use records::Outcome;
