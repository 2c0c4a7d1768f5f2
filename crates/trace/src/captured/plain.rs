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

/// The bits of the byte of control bits that tell of no more than an acknowledgement, and of that data are to be
/// handed on at once.
const ACK: u8 = 1 << 4;
const PSH: u8 = 1 << 3;

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
    #[inline(always)]
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

    /// Whether it is as nearly all are: it acknowledges, and no other control bit is set but PSH.
    #[inline(always)]
    pub fn is_usual(&self) -> bool {
        self.bits & !PSH == ACK && !self.ae
    }

    /// It as any segment.
    #[inline(always)]
    pub fn segment(&self) -> TcpSegment {
        self.with(TcpFlags::of(self.bits, self.ae))
    }

    /// It as a segment that [is usual](PlainSegment::is_usual), which the compiler then knows.
    #[inline(always)]
    pub fn usual(&self) -> TcpSegment {
        debug_assert!(self.is_usual());
        self.with(TcpFlags {
            ack: true,
            psh: self.bits & PSH != 0,
            ..TcpFlags::default()
        })
    }

    #[inline(always)]
    fn with(&self, flags: TcpFlags) -> TcpSegment {
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
            flags,
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

#[cfg(test)]
mod tests {
    use cclab_units::Time;

    use super::*;
    use crate::captured::{Carried, Dissector};

    /// Bytes of the payload that the IPv4 header tells of.
    const PAYLOAD: u16 = 1_000;

    /// An Ethernet frame with a segment that has `options`, a multiple of four bytes; of its payload nothing
    /// is kept.
    fn framed(options: &[u8]) -> Vec<u8> {
        let words = (5 + options.len() / 4) as u8;
        let total = 40 + options.len() as u16 + PAYLOAD;
        let mut bytes = vec![2; 12];
        bytes.extend([8, 0]); // IPv4
        bytes.extend([0x45, 0b11]); // congestion experienced
        bytes.extend(total.to_be_bytes());
        bytes.extend([0, 1, 0x40, 0, 64, 6, 0, 0]); // not to be cut; TCP
        bytes.extend([10, 0, 0, 1, 10, 0, 0, 2]);
        bytes.extend([0xa0, 0x01, 0x14, 0x51]);
        bytes.extend([1, 2, 3, 4, 5, 6, 7, 8]);
        bytes.extend([words << 4 | 1, 0b0101_1000, 0x12, 0x34, 0, 0, 0, 0]); // AE, ECE, ACK, PSH
        bytes.extend(options);
        bytes
    }

    /// What a frame of `link` is as a plain segment, and what the dissector makes of it.
    fn both(link: LinkType, data: &[u8]) -> (Option<TcpSegment>, Option<Carried>) {
        let frame = Frame {
            time: Time::ZERO,
            link,
            wire_len: 2_000,
            data,
        };
        let plain = PlainSegment::of(&frame).map(|plain| plain.segment());
        (plain, Dissector::default().carried(&frame).ok().flatten())
    }

    const STAMPS: [u8; 12] = [1, 1, 8, 10, 0, 0, 1, 2, 0, 0, 3, 4];

    #[test]
    fn a_plain_segment_is_what_the_dissector_makes_of_it() {
        for options in [&[][..], &STAMPS] {
            let frame = framed(options);
            for (link, data) in [
                (LinkType::ETHERNET, &frame[..]),
                (LinkType::IPV4, &frame[14..]),
            ] {
                let (plain, carried) = both(link, data);
                let plain = plain.expect("a plain segment");
                assert_eq!(carried, Some(Carried::Tcp(plain)));
                assert_eq!(plain.payload, u32::from(PAYLOAD));
                assert_eq!((plain.seq, plain.ack), (0x0102_0304, 0x0506_0708));
                let stamps = (!options.is_empty()).then_some((0x0102, 0x0304));
                assert_eq!(plain.options.timestamps, stamps);
            }
        }
    }

    #[test]
    fn a_usual_segment_has_ack_and_perhaps_psh_and_is_the_same_as_any() {
        for bits in 0..=u8::MAX {
            for ae in [0, 1] {
                let mut data = framed(&STAMPS);
                (data[46], data[47]) = (8 << 4 | ae, bits);
                let plain = PlainSegment::of(&Frame {
                    time: Time::ZERO,
                    link: LinkType::ETHERNET,
                    wire_len: 2_000,
                    data: &data,
                });
                let plain = plain.expect("a plain segment");
                let usual = ae == 0 && [0b1_0000, 0b1_1000].contains(&bits);
                assert_eq!(plain.is_usual(), usual, "{bits:08b}");
                if usual {
                    assert_eq!(plain.usual(), plain.segment());
                }
            }
        }
    }

    /// What is left to the dissector: each differs by little from a plain segment.
    #[test]
    fn what_is_not_plain_is_left_to_the_dissector() {
        let plain = framed(&STAMPS);
        let changed = |at: usize, byte: u8| {
            let mut bytes = plain.clone();
            bytes[at] = byte;
            bytes
        };
        let not_plain = [
            ("a VLAN", changed(12, 0x81)),
            ("IPv6", changed(14, 0x65)),
            ("IPv4 options", changed(14, 0x46)),
            ("more fragments", changed(20, 0x20)),
            ("an offset", changed(21, 1)),
            ("UDP", changed(23, 17)),
            (
                "a length of nothing",
                [&plain[..16], &[0, 0], &plain[18..]].concat(),
            ),
            (
                "a length below the headers",
                [&plain[..16], &[0, 51], &plain[18..]].concat(),
            ),
            ("a header of 24 bytes", changed(46, 6 << 4)),
            ("a header of 16 bytes", changed(46, 4 << 4)),
            (
                "other options",
                framed(&[3, 3, 7, 1, 8, 10, 0, 0, 1, 2, 0, 0]),
            ),
            ("SACK", framed(&[1, 1, 5, 10, 0, 0, 1, 2, 0, 0, 3, 4])),
            ("timestamps cut", plain[..65].to_vec()),
            ("a header cut", plain[..53].to_vec()),
        ];
        for (what, bytes) in not_plain {
            assert_eq!(both(LinkType::ETHERNET, &bytes).0, None, "{what}");
        }
    }
}
