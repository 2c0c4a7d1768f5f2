//! What a congestion control of Linux's stack meets: the connection that the stack keeps
//! ([`Tcp`]), the hooks that the stack calls ([`CongestionOps`]), and what it tells with them.
//!
//! Names, units and order are those of `struct tcp_congestion_ops` of Linux 6.12
//! (`include/net/tcp.h`): windows in segments, times in microseconds or ticks of a millisecond.
//! The crate depends on nothing, so that a user's file is compiled against it alone.

mod declare;
mod fault;
mod ops;
mod sample;
pub mod state;
mod table;
mod tcp;

#[doc(hidden)]
pub use declare::Declared;
pub use declare::{Given, Start};
pub use ops::{CaEvent, CaState, CongestionOps, Resumption, ack_flags};
pub use sample::{AckSample, RateSample};
pub use state::{StateColumn, StateKind};
pub use table::{Fault, INTERFACE_VERSION, Parameter, Table, Tell, Text};
pub use tcp::{HZ, PacingStatus, TCP_INFINITE_SSTHRESH, Tcp, after, before, usecs_to_jiffies};
