//! Packet captures of any origin, read: pcap and pcapng, compressed or not, down to TCP segments.
//!
//! [`CaptureFile`] opens a file and hands out its [`Frame`]s one by one, in bounded memory.
//! [`ip_packet`] takes the link layer off a frame, [`TcpSegment::parse`] the IP and TCP headers.
//! What cannot be read is skipped and reported as a [`Fault`]; nothing in a file makes it panic.

mod fault;
mod file;
mod link;
mod source;
mod tcp;

pub use fault::{CaptureError, Fault};
pub use file::{CaptureFile, Format};
pub use link::{LinkType, ip_packet};
pub use source::Compression;
pub use tcp::{Ecn, SackBlocks, TcpFlags, TcpOptions, TcpSegment};

use cclab_units::Time;

/// A packet as a capture holds it.
#[derive(Clone, Copy, Debug)]
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
