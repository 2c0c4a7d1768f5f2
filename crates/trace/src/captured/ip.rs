//! IP headers. Lengths are those the headers tell, so that a snap length that cuts the payload
//! changes nothing.

use std::net::IpAddr;

use etherparse::{IpNumber, Ipv4HeaderSlice, Ipv6FragmentHeaderSlice, Ipv6HeaderSlice};

use super::{Ecn, Fault};

/// What an IP packet carries.
#[derive(Clone, Copy, Debug)]
pub(super) struct IpPacket<'a> {
    /// Who sent it, and to whom.
    pub ends: Ends<'a>,
    /// The ECN field.
    pub ecn: Ecn,
    /// What follows the headers.
    pub payload: Payload<'a>,
}

/// What follows headers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Payload<'a> {
    /// Its protocol.
    pub protocol: IpNumber,
    /// Its bytes, as far as they were kept.
    pub bytes: &'a [u8],
    /// How many there were.
    pub length: u32,
    /// Which part of a payload it is, if not a whole one.
    pub part: Option<Part>,
}

/// The source and the destination, where the header has them: they are as often passed on as a
/// packet is looked at, and copied once.
#[derive(Clone, Copy, Debug)]
pub(super) enum Ends<'a> {
    V4(&'a [u8; 8]),
    V6(&'a [u8; 32]),
}

impl Ends<'_> {
    /// Who sent the packet.
    #[inline]
    pub fn source(self) -> IpAddr {
        match self {
            Ends::V4(&[a, b, c, d, ..]) => IpAddr::from([a, b, c, d]),
            Ends::V6(ends) => v6(ends.first_chunk()),
        }
    }

    /// To whom.
    #[inline]
    pub fn destination(self) -> IpAddr {
        match self {
            Ends::V4(&[.., a, b, c, d]) => IpAddr::from([a, b, c, d]),
            Ends::V6(ends) => v6(ends.last_chunk()),
        }
    }
}

#[inline]
fn v6(half: Option<&[u8; 16]>) -> IpAddr {
    IpAddr::from(*half.unwrap_or(&[0; 16]))
}

/// Which part of a packet a fragment is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    /// The same for all parts of one packet.
    pub identification: u32,
    /// Bytes before it.
    pub offset: u32,
    /// Whether there are bytes after it.
    pub more: bool,
}

impl Part {
    /// None if it is all there is.
    fn of(identification: u32, offset: u16, more: bool) -> Option<Part> {
        (offset > 0 || more).then_some(Part {
            identification,
            offset: u32::from(offset),
            more,
        })
    }
}

impl<'a> IpPacket<'a> {
    /// The packet that `bytes` begin with, which was `wire_len` bytes long where it was seen;
    /// that counts only where the header has no length. Extension headers are passed, up to that
    /// of a fragment.
    #[inline]
    pub fn parse(bytes: &'a [u8], wire_len: u32) -> Result<IpPacket<'a>, Fault> {
        match bytes.first().map(|first| first >> 4) {
            Some(4) => IpPacket::parse_v4(bytes, wire_len),
            Some(6) => IpPacket::parse_v6(bytes, wire_len),
            Some(_) => Err(Fault::BadHeader),
            None => Err(short(bytes, wire_len)),
        }
    }

    #[inline]
    fn parse_v4(bytes: &'a [u8], wire_len: u32) -> Result<IpPacket<'a>, Fault> {
        let header = Ipv4HeaderSlice::from_slice(bytes).map_err(|_| short(bytes, wire_len))?;
        // Packets that were captured before segmentation offload have no length.
        let whole = match u32::from(header.total_len()) {
            0 => wire_len,
            whole => whole,
        };
        let before = header.slice().len();
        let length = whole.checked_sub(before as u32).ok_or(Fault::BadHeader)?;
        let rest = cut(&bytes[before..], length);
        let part = Part::of(
            u32::from(header.identification()),
            header.fragments_offset().byte_offset(),
            header.more_fragments(),
        );
        Ok(IpPacket {
            ends: Ends::V4(bytes[12..].first_chunk().ok_or(Fault::BadHeader)?),
            ecn: Ecn::of(header.ecn().value()),
            payload: match (header.protocol(), part) {
                (protocol @ IpNumber::AUTHENTICATION_HEADER, None) => {
                    past_extensions(protocol, rest, length)?
                }
                (protocol, part) => Payload {
                    protocol,
                    bytes: rest,
                    length,
                    part,
                },
            },
        })
    }

    #[inline]
    fn parse_v6(bytes: &'a [u8], wire_len: u32) -> Result<IpPacket<'a>, Fault> {
        let header = Ipv6HeaderSlice::from_slice(bytes).map_err(|_| short(bytes, wire_len))?;
        let before = header.slice().len();
        // So have jumbograms (RFC 2675).
        let length = match u32::from(header.payload_length()) {
            0 => wire_len.saturating_sub(before as u32),
            length => length,
        };
        let rest = cut(&bytes[before..], length);
        Ok(IpPacket {
            ends: Ends::V6(bytes[8..].first_chunk().ok_or(Fault::BadHeader)?),
            ecn: Ecn::of(header.ecn().value()),
            payload: match header.next_header() {
                protocol @ IpNumber::TCP => Payload {
                    protocol,
                    bytes: rest,
                    length,
                    part: None,
                },
                protocol => past_extensions(protocol, rest, length)?,
            },
        })
    }
}

/// What follows the extension headers that `bytes` of `length` begin with, or that of a fragment.
#[inline(never)]
pub(super) fn past_extensions(
    mut protocol: IpNumber,
    mut bytes: &[u8],
    mut length: u32,
) -> Result<Payload<'_>, Fault> {
    let mut part = None;
    while part.is_none() {
        // Every extension header begins with the protocol of what follows, most with their length.
        let own = |unit: usize| match bytes.get(1) {
            Some(&units) => Ok((2 + unit * usize::from(units)) * 4),
            None => Err(cut_off(length, 2)),
        };
        let header = match protocol {
            IpNumber::IPV6_HEADER_HOP_BY_HOP
            | IpNumber::IPV6_ROUTE_HEADER
            | IpNumber::IPV6_DESTINATION_OPTIONS
            | IpNumber::MOBILITY_HEADER
            | IpNumber::HIP
            | IpNumber::SHIM6 => own(2)?,
            IpNumber::AUTHENTICATION_HEADER => own(1)?,
            IpNumber::IPV6_FRAGMENTATION_HEADER => 8,
            _ => break,
        };
        let Some((extension, rest)) = bytes.split_at_checked(header) else {
            return Err(cut_off(length, header));
        };
        if protocol == IpNumber::IPV6_FRAGMENTATION_HEADER {
            let header =
                Ipv6FragmentHeaderSlice::from_slice(extension).map_err(|_| Fault::BadHeader)?;
            part = Part::of(
                header.identification(),
                header.fragment_offset().byte_offset(),
                header.more_fragments(),
            );
        }
        protocol = IpNumber(extension[0]);
        bytes = rest;
        length = length.saturating_sub(header as u32);
    }
    Ok(Payload {
        protocol,
        bytes,
        length,
        part,
    })
}

/// Why there are fewer than `wanted` of `length` bytes: they were not kept, or not there.
fn cut_off(length: u32, wanted: usize) -> Fault {
    if length as usize >= wanted {
        Fault::HeaderCut
    } else {
        Fault::BadHeader
    }
}

/// The longest header without extensions: IPv4's, with all options.
const LONGEST_HEADER: usize = 60;

/// Why `bytes` of a packet of `wire_len` are no header.
fn short(bytes: &[u8], wire_len: u32) -> Fault {
    if bytes.len() < LONGEST_HEADER && wire_len as usize > bytes.len() {
        Fault::HeaderCut
    } else {
        Fault::BadHeader
    }
}

/// The first `length` of `bytes`: what follows is padding.
fn cut(bytes: &[u8], length: u32) -> &[u8] {
    &bytes[..bytes.len().min(length as usize)]
}
