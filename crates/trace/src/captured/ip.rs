//! IP headers. Lengths are those the headers tell, so that a snap length that cuts the payload
//! changes nothing.

use std::net::IpAddr;

use etherparse::{IpNumber, Ipv4HeaderSlice, Ipv6FragmentHeaderSlice, Ipv6HeaderSlice};

use super::{Ecn, Fault};

/// What an IP packet carries.
#[derive(Clone, Copy, Debug)]
pub(super) struct IpPacket<'a> {
    /// Who sent it.
    pub source: IpAddr,
    /// To whom.
    pub destination: IpAddr,
    /// The protocol of the payload.
    pub protocol: IpNumber,
    /// The ECN field.
    pub ecn: Ecn,
    /// What follows the headers, as far as it was kept.
    pub payload: &'a [u8],
    /// Bytes that follow the headers.
    pub length: u32,
    /// Which part of a packet it is, if not a whole one.
    pub part: Option<Part>,
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
    pub fn parse(bytes: &'a [u8], wire_len: u32) -> Result<IpPacket<'a>, Fault> {
        match bytes.first().map(|first| first >> 4) {
            Some(4) => IpPacket::parse_v4(bytes, wire_len),
            Some(6) => IpPacket::parse_v6(bytes, wire_len),
            Some(_) => Err(Fault::BadHeader),
            None => Err(short(bytes, wire_len)),
        }
    }

    fn parse_v4(bytes: &'a [u8], wire_len: u32) -> Result<IpPacket<'a>, Fault> {
        let header = Ipv4HeaderSlice::from_slice(bytes).map_err(|_| short(bytes, wire_len))?;
        // Packets that were captured before segmentation offload have no length.
        let whole = match u32::from(header.total_len()) {
            0 => wire_len,
            whole => whole,
        };
        let before = header.slice().len();
        let length = whole.checked_sub(before as u32).ok_or(Fault::BadHeader)?;
        let packet = IpPacket {
            source: IpAddr::V4(header.source_addr()),
            destination: IpAddr::V4(header.destination_addr()),
            protocol: header.protocol(),
            ecn: Ecn::of(header.ecn().value()),
            payload: cut(&bytes[before..], length),
            length,
            part: Part::of(
                u32::from(header.identification()),
                header.fragments_offset().byte_offset(),
                header.more_fragments(),
            ),
        };
        match packet.protocol {
            IpNumber::AUTHENTICATION_HEADER if packet.part.is_none() => packet.past_extensions(),
            _ => Ok(packet),
        }
    }

    fn parse_v6(bytes: &'a [u8], wire_len: u32) -> Result<IpPacket<'a>, Fault> {
        let header = Ipv6HeaderSlice::from_slice(bytes).map_err(|_| short(bytes, wire_len))?;
        let before = header.slice().len();
        // So have jumbograms (RFC 2675).
        let length = match u32::from(header.payload_length()) {
            0 => wire_len.saturating_sub(before as u32),
            length => length,
        };
        IpPacket {
            source: IpAddr::V6(header.source_addr()),
            destination: IpAddr::V6(header.destination_addr()),
            protocol: header.next_header(),
            ecn: Ecn::of(header.ecn().value()),
            payload: cut(&bytes[before..], length),
            length,
            part: None,
        }
        .past_extensions()
    }

    /// The packet behind its extension headers, or up to the one that makes it a fragment.
    pub fn past_extensions(mut self) -> Result<IpPacket<'a>, Fault> {
        loop {
            // Every extension header begins with the protocol of what follows.
            let words = match self.protocol {
                IpNumber::TCP | IpNumber::UDP => return Ok(self),
                IpNumber::IPV6_HEADER_HOP_BY_HOP
                | IpNumber::IPV6_ROUTE_HEADER
                | IpNumber::IPV6_DESTINATION_OPTIONS
                | IpNumber::MOBILITY_HEADER
                | IpNumber::HIP
                | IpNumber::SHIM6 => 2 + 2 * self.extension_length()?,
                IpNumber::AUTHENTICATION_HEADER => 2 + self.extension_length()?,
                IpNumber::IPV6_FRAGMENTATION_HEADER => 2,
                _ => return Ok(self),
            };
            let bytes = words * 4;
            if bytes as usize > self.payload.len() {
                return Err(self.cut_off(bytes));
            }
            if self.protocol == IpNumber::IPV6_FRAGMENTATION_HEADER {
                let header = Ipv6FragmentHeaderSlice::from_slice(self.payload)
                    .map_err(|_| Fault::BadHeader)?;
                self.part = Part::of(
                    header.identification(),
                    header.fragment_offset().byte_offset(),
                    header.more_fragments(),
                );
            }
            self.protocol = IpNumber(self.payload[0]);
            self.payload = &self.payload[bytes as usize..];
            self.length = self.length.saturating_sub(bytes);
            if self.part.is_some() {
                return Ok(self);
            }
        }
    }

    /// Why there are fewer than `wanted` bytes of payload: they were not kept, or not there.
    pub fn cut_off(&self, wanted: u32) -> Fault {
        if self.length >= wanted {
            Fault::HeaderCut
        } else {
            Fault::BadHeader
        }
    }

    fn extension_length(&self) -> Result<u32, Fault> {
        let length = self.payload.get(1).ok_or_else(|| self.cut_off(2))?;
        Ok(u32::from(*length))
    }
}

/// Why `bytes` of a packet of `wire_len` are no header.
fn short(bytes: &[u8], wire_len: u32) -> Fault {
    if bytes.len() < 40 && wire_len as usize > bytes.len() {
        Fault::HeaderCut
    } else {
        Fault::BadHeader
    }
}

/// The first `length` of `bytes`: what follows is padding.
fn cut(bytes: &[u8], length: u32) -> &[u8] {
    &bytes[..bytes.len().min(length as usize)]
}
