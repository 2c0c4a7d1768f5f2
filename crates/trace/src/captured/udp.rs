//! UDP datagrams (RFC 768), and what of QUIC can be read in them.

use super::ip::IpPacket;
use super::quic::LongHeader;
use super::{Ecn, Endpoint, Fault};

/// Bytes of a UDP header.
const HEADER: usize = 8;

/// A UDP datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UdpDatagram {
    /// Who sent it.
    pub source: Endpoint,
    /// To whom.
    pub destination: Endpoint,
    /// The ECN field of its packet.
    pub ecn: Ecn,
    /// Bytes of payload.
    pub payload: u32,
    /// The long header of QUIC that its payload begins with, if it does and was kept.
    pub quic: Option<LongHeader>,
}

impl UdpDatagram {
    /// The datagram that `ip` carries.
    pub(super) fn parse(ip: &IpPacket<'_>) -> Result<UdpDatagram, Fault> {
        let (length, bytes) = (ip.payload.length, ip.payload.bytes);
        if (length as usize) < HEADER {
            return Err(Fault::BadUdpHeader);
        }
        let &[p, q, r, s, high, low, ..] = bytes.first_chunk::<HEADER>().ok_or(Fault::HeaderCut)?;
        let own = match u32::from(u16::from_be_bytes([high, low])) {
            // A jumbogram (RFC 2675 section 4), or a packet before segmentation offload.
            0 => length,
            own => own,
        };
        if (own as usize) < HEADER || own > length {
            return Err(Fault::BadUdpHeader);
        }
        let kept = &bytes[HEADER..bytes.len().min(own as usize).max(HEADER)];
        Ok(UdpDatagram {
            source: Endpoint {
                address: ip.ends.source(),
                port: u16::from_be_bytes([p, q]),
            },
            destination: Endpoint {
                address: ip.ends.destination(),
                port: u16::from_be_bytes([r, s]),
            },
            ecn: ip.ecn,
            payload: own - HEADER as u32,
            quic: LongHeader::parse(kept),
        })
    }
}
