//! Packet captures of any origin, read: pcap and pcapng, compressed or not, down to TCP
//! segments and UDP datagrams.
//!
//! [`CaptureFile`] opens a file and hands out its [`Frame`]s one by one, in bounded memory; a
//! [`Dissector`] takes link layers, IP headers and tunnels off them, and puts fragments together.
//! What cannot be read is skipped and told as a [`Fault`]; nothing in a file makes them panic.
//!
//! The formats are read by hand: libraries of them stop at the first record that makes no sense.

#![forbid(unsafe_code)]

mod bytes;
mod dissector;
mod fault;
mod file;
mod fragments;
pub mod fuzzing;
mod ip;
mod link;
mod pcap;
mod pcapng;
mod plain;
mod quic;
mod record;
mod source;
mod tcp;
mod tunnel;
mod udp;
mod window;

pub use dissector::{Carried, Dissector, Protocol};
pub use fault::{CaptureError, Fault, Skipped, Skips};
pub use file::{CaptureFile, Format};
pub use link::LinkType;
pub use plain::PlainSegment;
pub use quic::{LongHeader, LongType, QuicVersion};
pub use source::{Compression, Expansion};
pub use tcp::{Ecn, Endpoint, SackBlocks, TcpFlags, TcpOptions, TcpSegment};
pub use udp::UdpDatagram;

use cclab_units::Time;

/// A packet as a capture holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// When it was seen, since the epoch of the capture (1970, or the beginning of a run).
    pub time: Time,
    /// What its bytes begin with.
    pub link: LinkType,
    /// Its length in bytes where it was seen, before a snap length cut it.
    pub wire_len: u32,
    /// Its bytes from the link layer on, as many as were kept.
    pub data: &'a [u8],
}
