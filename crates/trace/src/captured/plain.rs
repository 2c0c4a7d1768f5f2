//! The segments that most frames carry, read at once.

use std::net::{IpAddr, Ipv4Addr};

use etherparse::IpNumber;

use super::link::{ETHERTYPE_IPV4, ip_packet};
use super::tcp::{TIMESTAMPS_LEN, timestamps};
use super::{Ecn, Endpoint, Frame, LinkType, TcpFlags, TcpOptions, TcpSegment};

/// Bytes of an Ethernet header.
const ETHERNET: usize = 14;
/// Bytes of an IPv4 header without options, and of a TCP header without.
const FIXED: usize = 20;

/// A TCP segment over IPv4 without options other than timestamps, in fewer bytes than one that may
/// tell more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlainSegment {
    /// Who sent it: the address before the port, as one number.
    pub source: u64,
    /// To whom, likewise.
    pub destination: u64,
    /// Sequence number of its first byte.
    pub seq: u32,
    /// The next sequence number its sender expects, if it acknowledges.
    pub ack: u32,
    /// Bytes of payload.
    pub payload: u32,
    /// TSval and TSecr.
    pub timestamps: Option<(u32, u32)>,
    /// The window as the header has it, unscaled.
    pub window: u16,
    /// The control bits in their order, the lowest byte of them.
    bits: u8,
    /// The one before them.
    ae: bool,
    ecn: Ecn,
}

impl PlainSegment {
    /// The segment in `frame`; None if a [`Dissector`](super::Dissector) has to look at it: it is
    /// not whole, not as plain, or no segment.
    #[inline]
    pub fn of(frame: &Frame<'_>) -> Option<PlainSegment> {
        let packet = match frame.link {
            LinkType::ETHERNET => {
                let (ethernet, packet) = frame.data.split_first_chunk::<ETHERNET>()?;
                let ethertype = u16::from_be_bytes([ethernet[12], ethernet[13]]);
                (ethertype == ETHERTYPE_IPV4).then_some(packet)?
            }
            other => ip_packet(other, frame.data).ok()??,
        };
        let (headers, options) = packet.split_first_chunk::<{ 2 * FIXED }>()?;
        let half = |at: usize| u16::from_be_bytes([headers[at], headers[at + 1]]);
        let word = |at: usize| u32::from_be_bytes(std::array::from_fn(|byte| headers[at + byte]));
        // Version 4 and no options; neither an offset nor more fragments.
        if headers[0] != 0x45 || half(6) & 0x3fff != 0 || headers[9] != IpNumber::TCP.0 {
            return None;
        }
        let (options_len, timestamps) = match headers[FIXED + 12] >> 4 {
            5 => (0, None),
            8 => (TIMESTAMPS_LEN, Some(timestamps(options)?)),
            _ => return None,
        };
        let end = |address, port| u64::from(word(address)) << 16 | u64::from(half(port));
        Some(PlainSegment {
            source: end(12, FIXED),
            destination: end(16, FIXED + 2),
            seq: word(FIXED + 4),
            ack: word(FIXED + 8),
            payload: u32::from(half(2)).checked_sub((2 * FIXED + options_len) as u32)?,
            timestamps,
            window: half(FIXED + 14),
            bits: headers[FIXED + 13],
            ae: headers[FIXED + 12] & 1 == 1,
            ecn: Ecn::of(headers[1] & 0b11),
        })
    }

    /// It as any segment.
    #[inline]
    pub fn segment(&self) -> TcpSegment {
        let end = |end: u64| Endpoint {
            address: IpAddr::V4(Ipv4Addr::from_bits((end >> 16) as u32)),
            port: end as u16,
        };
        TcpSegment {
            source: end(self.source),
            destination: end(self.destination),
            seq: self.seq,
            ack: self.ack,
            window: self.window,
            flags: TcpFlags::of(self.bits, self.ae),
            ecn: self.ecn,
            options: TcpOptions {
                timestamps: self.timestamps,
                ..TcpOptions::default()
            },
            options_cut: false,
            payload: self.payload,
        }
    }
}
