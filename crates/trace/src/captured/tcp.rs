//! TCP segments.

use std::net::IpAddr;

use etherparse::{TcpOptionElement, TcpOptionsIterator};

use super::ip::IpPacket;
use super::{Carried, Fault};

/// Bytes of a TCP header without options.
const FIXED: usize = 20;

/// The control bits that tell what a segment does to its connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpFlags {
    /// It opens the connection.
    pub syn: bool,
    /// Its acknowledgement number counts.
    pub ack: bool,
    /// Its sender has no more to send.
    pub fin: bool,
    /// It aborts the connection.
    pub rst: bool,
    /// Its receiver is to hand the data on at once.
    pub psh: bool,
    /// It has an urgent pointer.
    pub urg: bool,
    /// The other end's packets were marked (RFC 3168 section 6.1.3), or ECN is asked for in a SYN.
    pub ece: bool,
    /// Its sender has reduced its window, or ECN is asked for in a SYN.
    pub cwr: bool,
    /// With the other two a count of the other end's marked packets (RFC 9768 section 3.2.2), or
    /// that is asked for in a SYN.
    pub ae: bool,
}

impl TcpFlags {
    /// Those of a header (RFC 9293 section 3.1): the byte of them, and the bit before it.
    #[inline(always)]
    pub(super) fn of(bits: u8, ae: bool) -> TcpFlags {
        let bit = |number: u8| bits >> number & 1 == 1;
        TcpFlags {
            cwr: bit(7),
            ece: bit(6),
            urg: bit(5),
            ack: bit(4),
            psh: bit(3),
            rst: bit(2),
            syn: bit(1),
            fin: bit(0),
            ae,
        }
    }
}

/// The codepoint of an IP packet's ECN field (RFC 3168 section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// The transport does not speak ECN.
    #[default]
    NotEct,
    /// It does, ECT(1).
    Ect1,
    /// It does, ECT(0).
    Ect0,
    /// Congestion was met on the way.
    Ce,
}

impl Ecn {
    /// The codepoint of the two bits of `field`.
    pub(super) fn of(field: u8) -> Ecn {
        match field {
            0b01 => Ecn::Ect1,
            0b10 => Ecn::Ect0,
            0b11 => Ecn::Ce,
            _ => Ecn::NotEct,
        }
    }
}

/// The blocks of a SACK option (RFC 2018 section 3), as many as an option holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlocks {
    blocks: [(u32, u32); 4],
    count: u8,
}

impl SackBlocks {
    /// The blocks in the order of the option: first sequence number, and the one after the last.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u32)> {
        self.blocks.into_iter().take(usize::from(self.count))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        usize::from(self.count)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    fn push(&mut self, block: (u32, u32)) {
        if let Some(free) = self.blocks.get_mut(usize::from(self.count)) {
            *free = block;
            self.count += 1;
        }
    }
}

/// The options of a segment that are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpOptions {
    /// Maximum segment size, bytes (RFC 9293 section 3.7.1).
    pub mss: Option<u16>,
    /// Shift of the windows to come (RFC 7323 section 2.2).
    pub window_scale: Option<u8>,
    /// Whether SACK is permitted (RFC 2018 section 2).
    pub sack_permitted: bool,
    /// TSval and TSecr (RFC 7323 section 3.2).
    pub timestamps: Option<(u32, u32)>,
    /// What arrived beyond the acknowledgement.
    pub sack: SackBlocks,
}

/// An end of a connection, or of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Endpoint {
    /// Its address.
    pub address: IpAddr,
    /// Its port.
    pub port: u16,
}

/// A TCP segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpSegment {
    /// Who sent it.
    pub source: Endpoint,
    /// To whom.
    pub destination: Endpoint,
    /// Sequence number of its first byte.
    pub seq: u32,
    /// The next sequence number its sender expects, if `flags.ack`.
    pub ack: u32,
    /// The window as the header has it, unscaled.
    pub window: u16,
    /// Its control bits.
    pub flags: TcpFlags,
    /// The ECN field of its packet.
    pub ecn: Ecn,
    /// Its options, as many as were kept.
    pub options: TcpOptions,
    /// Whether the snap length cut its options.
    pub options_cut: bool,
    /// Bytes of payload.
    pub payload: u32,
}

impl TcpSegment {
    /// The segment that `ip` carries, as it is handed on: to wrap it later is to copy it, which
    /// costs as much as all of its parsing.
    #[inline(always)]
    pub(super) fn parse(ip: &IpPacket<'_>) -> Result<Option<Carried>, Fault> {
        let (length, bytes) = (ip.payload.length, ip.payload.bytes);
        if (length as usize) < FIXED {
            return Err(Fault::BadTcpHeader);
        }
        // By hand: libraries want all options, which the snap length may have cut.
        let fixed = bytes.first_chunk::<FIXED>().ok_or(Fault::HeaderCut)?;
        let &[p, q, r, s, a, b, c, d, e, f, g, h, offset, bits, w, x, ..] = fixed;
        let header_len = usize::from(offset >> 4) * 4;
        if header_len < FIXED || header_len > length as usize {
            return Err(Fault::BadTcpHeader);
        }
        let options = &bytes[FIXED..header_len.min(bytes.len())];
        Ok(Some(Carried::Tcp(TcpSegment {
            source: Endpoint {
                address: ip.ends.source(),
                port: u16::from_be_bytes([p, q]),
            },
            destination: Endpoint {
                address: ip.ends.destination(),
                port: u16::from_be_bytes([r, s]),
            },
            seq: u32::from_be_bytes([a, b, c, d]),
            ack: u32::from_be_bytes([e, f, g, h]),
            window: u16::from_be_bytes([w, x]),
            flags: TcpFlags::of(bits, offset & 1 == 1),
            ecn: ip.ecn,
            options: read_options(options),
            options_cut: bytes.len() < header_len,
            payload: length - header_len as u32,
        })))
    }
}

/// Bytes of timestamps behind two no-operations.
pub(super) const TIMESTAMPS_LEN: usize = 12;

/// The timestamps that options begin with behind two no-operations: there they stand in nearly all
/// segments that have any (RFC 7323 appendix A), and mostly alone.
#[inline]
pub(super) fn timestamps(options: &[u8]) -> Option<(u32, u32)> {
    let [begin, value, echo] = options.first_chunk::<TIMESTAMPS_LEN>()?.as_chunks().0 else {
        return None;
    };
    let is_theirs = u32::from_be_bytes(*begin) == u32::from_be_bytes([1, 1, 8, 10]);
    is_theirs.then(|| (u32::from_be_bytes(*value), u32::from_be_bytes(*echo)))
}

/// The options as far as they make sense: what follows one that does not is not read.
#[inline]
fn read_options(bytes: &[u8]) -> TcpOptions {
    let mut options = TcpOptions::default();
    let mut rest = bytes;
    if let Some(alone) = timestamps(bytes) {
        options.timestamps = Some(alone);
        rest = &bytes[TIMESTAMPS_LEN..];
    }
    if !rest.is_empty() {
        read_each(rest, &mut options);
    }
    options
}

fn read_each(bytes: &[u8], options: &mut TcpOptions) {
    for element in TcpOptionsIterator::from_slice(bytes).map_while(Result::ok) {
        match element {
            TcpOptionElement::Noop => {}
            TcpOptionElement::SelectiveAcknowledgement(first, more) => {
                options.sack = SackBlocks::default();
                options.sack.push(first);
                more.into_iter()
                    .flatten()
                    .for_each(|block| options.sack.push(block));
            }
            TcpOptionElement::MaximumSegmentSize(mss) => options.mss = Some(mss),
            TcpOptionElement::WindowScale(shift) => options.window_scale = Some(shift),
            TcpOptionElement::SelectiveAcknowledgementPermitted => options.sack_permitted = true,
            TcpOptionElement::Timestamp(value, echo) => options.timestamps = Some((value, echo)),
        }
    }
}
