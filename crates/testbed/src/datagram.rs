//! A datagram as a record of where it was seen.

use std::hash::{DefaultHasher, Hasher};
use std::net::Ipv4Addr;

/// The longest header of IP, and that of UDP (RFC 791, section 3.1; RFC 768).
const HEADERS: usize = 60 + UDP_HEADER;
const UDP_HEADER: usize = 8;
const UDP: u8 = 17;
/// The bits of a fragment's place in its packet.
const PLACE: u16 = 0x1fff;

/// A datagram of UDP, seen at a host. One that was sent is known again where it arrives by all
/// of it but the time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Datagram {
    /// CLOCK_REALTIME in nanoseconds.
    pub at: u64,
    /// A hash of the first 1024 bytes of its payload.
    pub hash: u64,
    /// The first 8 bytes of its payload as a number, big endian; missing ones are zero.
    pub head: u64,
    /// Bytes of payload.
    pub payload: u16,
    /// Ports of both.
    pub source_port: u16,
    /// See `source_port`.
    pub destination_port: u16,
    /// The identification of its IP header; zero of many.
    pub id: u16,
}

/// Bytes of a datagram's payload that are hashed. The first fragment of one that is larger than
/// the MTU has them.
const HASHED: usize = 1024;

impl Datagram {
    /// Bytes that [`Datagram::to_bytes`] gives.
    pub const BYTES: usize = 32;
    /// Bytes at the beginning of a packet that [`Datagram::read`] looks at.
    pub const READ: usize = HEADERS + HASHED;

    /// As the agent's files have it, little endian.
    pub fn to_bytes(&self) -> [u8; Datagram::BYTES] {
        let mut bytes = [0; Datagram::BYTES];
        let long = [self.at, self.hash, self.head];
        let short = [
            self.payload,
            self.source_port,
            self.destination_port,
            self.id,
        ];
        let long = long.iter().flat_map(|number| number.to_le_bytes());
        let short = short.iter().flat_map(|number| number.to_le_bytes());
        for (to, from) in bytes.iter_mut().zip(long.chain(short)) {
            *to = from;
        }
        bytes
    }

    /// The inverse of [`Datagram::to_bytes`].
    pub fn from_bytes(bytes: &[u8; Datagram::BYTES]) -> Datagram {
        let long = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
        let short = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        Datagram {
            at: long(0),
            hash: long(8),
            head: long(16),
            payload: short(24),
            source_port: short(26),
            destination_port: short(28),
            id: short(30),
        }
    }

    /// The datagram in an IPv4 `packet` that was seen at `at`, or in its first fragment; `None` if it
    /// does not go from the first of `ends` to the second.
    pub fn read(at: u64, packet: &[u8], ends: (Ipv4Addr, Ipv4Addr)) -> Option<Datagram> {
        let short = |at: usize| Some(u16::from_be_bytes([*packet.get(at)?, *packet.get(at + 1)?]));
        let address = |at: usize| -> Option<Ipv4Addr> {
            let octets: [u8; 4] = packet.get(at..at + 4)?.try_into().ok()?;
            Some(octets.into())
        };
        // RFC 791, section 3.1.
        let (version, header) = (packet.first()? >> 4, usize::from(packet[0] & 0xf) * 4);
        let first = short(6)? & PLACE == 0;
        let own = (address(12)?, address(16)?) == ends;
        if version != 4 || *packet.get(9)? != UDP || !first || !own {
            return None;
        }
        let payload = short(header + 4)?.checked_sub(UDP_HEADER as u16)?;
        let bytes = packet.get(header + UDP_HEADER..)?;
        let bytes = &bytes[..bytes.len().min(HASHED).min(payload.into())];
        let mut head = [0; 8];
        let known = bytes.len().min(head.len());
        head[..known].copy_from_slice(&bytes[..known]);
        // Its keys are always the same ones.
        let mut hasher = DefaultHasher::new();
        hasher.write(bytes);
        Some(Datagram {
            at,
            hash: hasher.finish(),
            head: u64::from_be_bytes(head),
            payload,
            source_port: short(header)?,
            destination_port: short(header + 2)?,
            id: short(4)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FROM: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
    const TO: Ipv4Addr = Ipv4Addr::new(10, 1, 0, 1);

    /// A packet of `payload`, or its fragment at `place`, without checksums.
    fn packet(payload: &[u8], place: u16) -> Vec<u8> {
        let mut packet = vec![0x45, 0, 0, 0, 0x12, 0x34];
        packet.extend(place.to_be_bytes());
        packet.extend([64, UDP, 0, 0]);
        packet.extend(FROM.octets());
        packet.extend(TO.octets());
        let len = (payload.len() + UDP_HEADER) as u16;
        for word in [40_000, 5001, len, 0] {
            packet.extend(u16::to_be_bytes(word));
        }
        packet.extend(payload);
        packet
    }

    fn seen(packet: &[u8]) -> Option<Datagram> {
        Datagram::read(7, packet, (FROM, TO))
    }

    #[test]
    fn a_datagram_is_known_by_what_is_in_it() {
        let datagram = seen(&packet(&[1, 2, 3], 0)).expect("a datagram");
        assert_eq!((datagram.at, datagram.payload, datagram.id), (7, 3, 0x1234));
        assert_eq!(
            (datagram.source_port, datagram.destination_port),
            (40_000, 5001)
        );
        assert_eq!(datagram.head, 0x0102_0300_0000_0000);
        assert_eq!(seen(&packet(&[1, 2, 3], 0)), Some(datagram));
        let other = seen(&packet(&[1, 2, 4], 0)).expect("a datagram");
        assert_ne!(other.hash, datagram.hash);
        assert_eq!(Datagram::from_bytes(&datagram.to_bytes()), datagram);
    }

    #[test]
    fn the_first_fragment_stands_for_the_whole() {
        const MORE: u16 = 0x2000;
        let payload: Vec<u8> = (0..4000_u32).map(|n| n as u8).collect();
        let whole = packet(&payload, 0);
        let datagram = seen(&whole).expect("a datagram");
        assert_eq!(datagram.payload, 4000);
        let mut first = packet(&payload, MORE);
        first.truncate(1500);
        assert_eq!(seen(&first), Some(datagram));
        assert_eq!(seen(&packet(&payload, MORE | 185)), None);
        // Of a capture that keeps no more than it needs.
        assert_eq!(seen(&whole[..Datagram::READ]), Some(datagram));
    }

    #[test]
    fn what_is_of_others_is_passed_over() {
        let good = packet(b"hello", 0);
        for (at, value) in [(0, 0x65), (9, 6), (15, 9), (19, 9)] {
            let mut other = good.clone();
            other[at] = value;
            assert_eq!(seen(&other), None, "byte {at}");
        }
        for len in 0..28 {
            assert_eq!(seen(&good[..len]), None, "{len} bytes");
        }
    }
}
