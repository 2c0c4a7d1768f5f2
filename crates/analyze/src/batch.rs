//! Packets as whoever reads them hands them to those who count.
//!
//! A segment with room for all that it may tell is as long as two lines of a cache, each of which is
//! fetched from another core twice; nearly all of them tell less, and are handed over as that.

use cclab_trace::captured::{Carried, PlainSegment};
use cclab_units::Time;

use crate::endpoints::Between;

/// Packets that are handed over at once: few enough to stay in a core's cache.
pub(crate) const PACKETS: usize = 1024;
const _: () = assert!(
    PACKETS <= u16::MAX as usize,
    "a batch counts its packets in sixteen bits"
);

/// Packets, and when the capture's first was seen.
pub(crate) struct Batch {
    pub began: Time,
    /// The number of its first packet, of those that are counted.
    pub first: u64,
    /// How many packets it has.
    len: u16,
    /// Each part's packets in a row: whoever counts them goes through memory from end to end, so that the processor
    /// fetches what another core wrote before it is asked for.
    parts: Vec<Vec<Packet>>,
    /// Those that are not plain, in their order.
    others: Vec<(Time, Carried)>,
}

/// A packet, and which of the batch it is.
struct Packet {
    place: u16,
    what: What,
}

enum What {
    Plain(Time, PlainSegment),
    /// The one at this place of the others.
    Other(u16),
}

/// A packet as it is handed out.
#[derive(Debug, PartialEq)]
pub(crate) enum Handed<'a> {
    Plain(&'a PlainSegment),
    Other(&'a Carried),
}

impl Batch {
    /// An empty one, whose packets are for so many parts.
    pub fn new(parts: usize) -> Batch {
        Batch {
            began: Time::ZERO,
            first: 0,
            len: 0,
            parts: (0..parts).map(|_| Vec::with_capacity(PACKETS)).collect(),
            others: Vec::new(),
        }
    }

    /// How many packets it has.
    pub fn len(&self) -> usize {
        usize::from(self.len)
    }

    /// Whether it is to be handed over.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.len() == PACKETS
    }

    /// Adds a segment that was seen at `at`.
    #[inline]
    pub fn push_plain(&mut self, at: Time, segment: PlainSegment) {
        let part = self.part_of(|| Between::v4(segment.source, segment.destination));
        self.put(part, What::Plain(at, segment));
    }

    /// Adds what was seen at `at`.
    pub fn push(&mut self, at: Time, carried: &Carried) {
        let (source, destination) = match carried {
            Carried::Tcp(segment) => (segment.source, segment.destination),
            Carried::Udp(datagram) => (datagram.source, datagram.destination),
            Carried::Other(_) => return, // whoever reads counts these
        };
        let part = self.part_of(|| Between::of(source, destination));
        self.put(part, What::Other(self.others.len() as u16));
        self.others.push((at, *carried));
    }

    /// Hands out those of the part `part`, in order: the number of each, and when it was seen.
    #[inline(always)]
    pub fn each_of<'a>(&'a self, part: usize, mut take: impl FnMut(u64, Time, Handed<'a>)) {
        for packet in &self.parts[part] {
            let number = self.first + u64::from(packet.place);
            match &packet.what {
                What::Plain(at, segment) => take(number, *at, Handed::Plain(segment)),
                What::Other(place) => {
                    let (at, carried) = &self.others[usize::from(*place)];
                    take(number, *at, Handed::Other(carried));
                }
            }
        }
    }

    /// Empties it, to be filled again.
    pub fn clear(&mut self) {
        self.len = 0;
        self.parts.iter_mut().for_each(Vec::clear);
        self.others.clear();
    }

    /// Whose a packet is, which is one `between` some endpoints.
    #[inline(always)]
    fn part_of(&self, between: impl FnOnce() -> Between) -> usize {
        match self.parts.len() {
            1 => 0,
            parts => between().ends.part_of(parts),
        }
    }

    #[inline(always)]
    fn put(&mut self, part: usize, what: What) {
        let place = self.len;
        self.len += 1;
        self.parts[part].push(Packet { place, what });
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use cclab_trace::captured::{Ecn, Endpoint, Frame, LinkType, UdpDatagram};

    use super::*;

    #[test]
    fn packets_come_out_as_they_were_put_in_and_in_their_order() {
        let mut bytes = [0; 40];
        (bytes[0], bytes[3], bytes[9], bytes[32]) = (0x45, 40, 6, 5 << 4);
        let plain = PlainSegment::of(&Frame {
            time: Time::ZERO,
            link: LinkType::IPV4,
            wire_len: 40,
            data: &bytes,
        });
        let plain = plain.expect("a segment");
        let datagram = |port| {
            let end = |port| Endpoint {
                address: IpAddr::V4(Ipv4Addr::LOCALHOST),
                port,
            };
            Carried::Udp(UdpDatagram {
                source: end(port),
                destination: end(53),
                payload: 9,
                ecn: Ecn::NotEct,
                quic: None,
            })
        };
        let others = [1, 2].map(datagram);
        let at = Time::from_nanos;
        for parts in [1, 3] {
            let mut batch = Batch::new(parts);
            batch.first = 7;
            batch.push(at(0), &others[0]);
            batch.push_plain(at(1), plain);
            batch.push(at(2), &others[1]);
            batch.push_plain(at(3), plain);
            let put = [
                (7, at(0), Handed::Other(&others[0])),
                (8, at(1), Handed::Plain(&plain)),
                (9, at(2), Handed::Other(&others[1])),
                (10, at(3), Handed::Plain(&plain)),
            ];
            assert_eq!(batch.len(), put.len());
            // Each packet is one part's, in their order.
            let mut out = Vec::new();
            for part in 0..parts {
                let begin = out.len();
                batch.each_of(part, |number, at, packet| out.push((number, at, packet)));
                assert!(out[begin..].is_sorted_by_key(|(number, ..)| *number));
            }
            out.sort_by_key(|(number, ..)| *number);
            assert_eq!(out, put);
            batch.clear();
            assert_eq!(batch.len(), 0);
            (0..parts).for_each(|part| batch.each_of(part, |_, _, _| panic!("it is empty")));
        }
    }

    #[test]
    fn what_is_handed_over_of_a_plain_segment_fits_a_line_of_a_cache() {
        assert!(size_of::<Packet>() <= 64);
    }
}
