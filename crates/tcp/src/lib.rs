//! Sans-I/O TCP: packets and instants in, packets and deadlines out. One flow has a
//! [`Sender`] on one host and a [`Receiver`] on another; what differs between stacks is data
//! in a [`profile::Profile`].

mod accecn;
mod acknowledge;
mod acknowledge_linux;
mod bursts;
mod cwnd_usage;
mod due;
mod fault;
pub mod fuzzing;
mod handshake;
pub mod limits;
pub mod pacing;
pub mod profile;
pub mod rate;
pub mod receiver;
mod recovery;
mod resume;
pub mod rtt;
pub mod scoreboard;
mod send_buffer;
pub mod sender;
pub mod seq;
mod timers;
mod transmit;
mod transmit_due;
mod transmit_linux;
mod transmit_marks;
mod transmit_packets;
mod wheel;
mod write_queue;

pub use accecn::EcnMode;
pub use fault::Fault;
pub use receiver::{Misbehaviour, Receiver, ReceiverConfig};
pub use resume::{Remembered, Resumed};
pub use sender::{Config, Sender};
