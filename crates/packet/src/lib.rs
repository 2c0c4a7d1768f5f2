//! The packet that crosses links: one cache line, copied by value, never allocated. And the
//! addresses that every backend gives the flows.
//!
//! Flow `i` (counted from 0) runs from `10.0.x.y` port `40000 + i mod 20000` to `10.1.x.y` port
//! `5001 + i mod 20000`, where `x = i / 250` and `y = i mod 250 + 1`.

mod accecn;

use std::net::Ipv4Addr;

pub use accecn::{EcnBytes, Order};

/// TCP flag bits as RFC 9293 lays them out.
pub mod flags {
    /// No segment of TCP but a datagram: the bit is that of a reset, which no segment here has.
    pub const DATAGRAM: u8 = 0x04;
    /// An echo request of ICMP or, backward, its reply: what is no segment of TCP has the bit of
    /// [`DATAGRAM`].
    pub const ECHO: u8 = DATAGRAM | PSH;
    /// No more data from the sender.
    pub const FIN: u8 = 0x01;
    /// Synchronise sequence numbers.
    pub const SYN: u8 = 0x02;
    /// Push function.
    pub const PSH: u8 = 0x08;
    /// The acknowledgement field is significant.
    pub const ACK: u8 = 0x10;
    /// Accurate ECN (RFC 9768). In the header of TCP it lies beside these eight; here it has the bit
    /// of urgent data, which no segment here has.
    pub const AE: u8 = 0x20;
    /// ECN echo (RFC 3168).
    pub const ECE: u8 = 0x40;
    /// Congestion window reduced (RFC 3168).
    pub const CWR: u8 = 0x80;
}

/// What the laboratory knows of a packet and no host can see.
pub mod notes {
    /// The payload has been sent before.
    pub const RETRANSMISSION: u8 = 0x01;
    /// A link has changed a bit: the receiving host will find the checksum wrong.
    pub const CORRUPT: u8 = 0x02;
    /// It stands for a frame of another process, by the number in place of its SACK blocks, beside
    /// which stands its connection.
    pub const FRAME: u8 = 0x04;
}

/// The ECN field of the IP header (RFC 3168, section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Ecn {
    /// Not ECN-capable.
    #[default]
    NotEct = 0b00,
    /// ECN-capable, L4S identifier (RFC 9331).
    Ect1 = 0b01,
    /// ECN-capable.
    Ect0 = 0b10,
    /// Congestion experienced.
    Ce = 0b11,
}

/// The most SACK blocks one segment carries: four fill the 40 bytes of TCP options
/// (RFC 2018, section 3), three beside a timestamp.
pub const MAX_SACK_BLOCKS: usize = 4;

/// A TCP segment in flight, with what the network needs to carry it.
///
/// Sequence numbers are the 32-bit ones of the wire; options are present when their field
/// says so. `wire_len` is what a link transmits and a queue counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packet {
    /// Index of the flow, in the scenario's order.
    pub flow: u32,
    /// Sequence number of the first payload byte (or of SYN or FIN).
    pub seq: u32,
    /// Acknowledgement number, significant with [`flags::ACK`].
    pub ack: u32,
    /// Timestamp value and echo (RFC 7323); `tsval` 0 means that the option is absent. Of a
    /// datagram the upper and lower half of the nanosecond in which it left.
    pub tsval: u32,
    /// Echoed timestamp.
    pub tsecr: u32,
    /// The window field *as advertised*, before scaling.
    pub window: u16,
    /// Payload bytes.
    pub payload: u16,
    /// Bytes that the packet takes on a link: payload, headers, options and framing.
    pub wire_len: u16,
    /// TCP flags, see [`flags`].
    pub flags: u8,
    /// ECN field of the IP header.
    pub ecn: Ecn,
    /// SACK blocks in use.
    pub sack_len: u8,
    /// Whether the packet travels against the flow's data: an acknowledgement.
    pub backward: bool,
    /// See [`notes`].
    pub notes: u8,
    /// Window scale offered in a SYN, plus one; 0 means that the option is absent.
    pub wscale_plus_one: u8,
    /// SACK blocks `[left, right)`, most recent first (RFC 2018); a first block at or below
    /// the acknowledgement, or inside the second, reports a duplicate (RFC 2883). Beside two of them
    /// at most an AccECN option has the other places ([`Packet::ecn_bytes`]).
    pub sack: [(u32, u32); MAX_SACK_BLOCKS],
}

const _: () = assert!(size_of::<Packet>() == 64);

impl Packet {
    /// Whether all of `bits` are set in the flags.
    pub const fn has(&self, bits: u8) -> bool {
        self.flags & bits == bits
    }

    /// Whether the payload has been sent before.
    pub const fn is_retransmission(&self) -> bool {
        self.notes & notes::RETRANSMISSION != 0
    }

    /// Whether the receiving host will find the checksum wrong.
    pub const fn is_corrupt(&self) -> bool {
        self.notes & notes::CORRUPT != 0
    }

    /// The number of the frame that it stands for; `None` of a packet that is all there is.
    pub const fn frame(&self) -> Option<u32> {
        match self.notes & notes::FRAME {
            0 => None,
            _ => Some(self.sack[0].0),
        }
    }

    /// What tells its connection from others of its flow and direction: zero where there is but one.
    pub const fn connection(&self) -> u32 {
        match self.notes & notes::FRAME {
            0 => 0,
            _ => self.sack[0].1,
        }
    }

    /// It stands for the frame with that number, which is of that `connection`.
    pub const fn stand_for(&mut self, frame: u32, connection: u32) {
        self.notes |= notes::FRAME;
        self.sack[0] = (frame, connection);
    }

    /// Whether it is a segment of TCP, not a datagram or an echo.
    pub const fn is_tcp(&self) -> bool {
        self.flags & flags::DATAGRAM == 0
    }

    /// The SACK blocks in use.
    pub fn sack_blocks(&self) -> &[(u32, u32)] {
        &self.sack[..usize::from(self.sack_len).min(MAX_SACK_BLOCKS)]
    }

    /// Bytes of sequence space: payload, and one each for SYN and FIN.
    pub fn seq_len(&self) -> u32 {
        u32::from(self.payload) + u32::from(self.has(flags::SYN)) + u32::from(self.has(flags::FIN))
    }
}

/// The most flows that have addresses of their own; beyond that ports still tell flows apart.
pub const MAX_ADDRESSED_FLOWS: usize = 256 * 250;

/// The sender's or receiver's IPv4 address of a flow.
pub const fn address(flow: u32, receiver: bool) -> Ipv4Addr {
    let side = if receiver { 1 } else { 0 };
    Ipv4Addr::new(10, side, (flow / 250) as u8, (flow % 250 + 1) as u8)
}

/// The sender's or receiver's TCP port of a flow.
pub const fn port(flow: u32, receiver: bool) -> u16 {
    (flow % 20_000) as u16 + if receiver { 5001 } else { 40_000 }
}
