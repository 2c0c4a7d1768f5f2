//! Packets as one core hands them to the other.
//!
//! A segment with room for all that it may tell is as long as two lines of a cache, each of which is
//! fetched from the other core twice; nearly all of them tell less, and are handed over as that.

use cclab_trace::captured::{Carried, PlainSegment};
use cclab_units::Time;

/// Packets that are handed over at once: few enough to stay in a core's cache.
const PACKETS: usize = 1024;

/// Packets, and when the capture's first was seen.
pub(crate) struct Batch {
    pub began: Time,
    packets: Vec<Packet>,
    /// Those that are not plain, in their order.
    others: Vec<(Time, Carried)>,
}

enum Packet {
    Plain(Time, PlainSegment),
    /// The next of the others.
    Other,
}

/// A packet as it is handed out.
#[derive(Debug, PartialEq)]
pub(crate) enum Handed<'a> {
    Plain(&'a PlainSegment),
    Other(&'a Carried),
}

impl Batch {
    /// An empty one.
    pub fn new() -> Batch {
        Batch {
            began: Time::ZERO,
            packets: Vec::with_capacity(PACKETS),
            others: Vec::with_capacity(PACKETS),
        }
    }

    /// Whether it is to be handed over.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.packets.len() == PACKETS
    }

    /// Adds a segment that was seen at `at`.
    #[inline]
    pub fn push_plain(&mut self, at: Time, segment: PlainSegment) {
        self.packets.push(Packet::Plain(at, segment));
    }

    /// Adds what was seen at `at`.
    pub fn push(&mut self, at: Time, carried: &Carried) {
        self.others.push((at, *carried));
        self.packets.push(Packet::Other);
    }

    /// Hands out what it holds, in order, and when each was seen.
    #[inline(always)]
    pub fn each<'a>(&'a self, mut take: impl FnMut(Time, Handed<'a>)) {
        let mut others = self.others.iter();
        for packet in &self.packets {
            match packet {
                Packet::Plain(at, segment) => take(*at, Handed::Plain(segment)),
                Packet::Other => {
                    if let Some((at, carried)) = others.next() {
                        take(*at, Handed::Other(carried));
                    }
                }
            }
        }
    }

    /// Empties it, to be filled again.
    pub fn clear(&mut self) {
        self.packets.clear();
        self.others.clear();
    }
}

#[cfg(test)]
mod tests {
    use cclab_trace::captured::{Frame, LinkType, Protocol};

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
        let others = [1, 2].map(|number| Carried::Other(Protocol::Ip(number)));
        let mut batch = Batch::new();
        let at = Time::from_nanos;
        batch.push(at(0), &others[0]);
        batch.push_plain(at(1), plain);
        batch.push(at(2), &others[1]);
        batch.push_plain(at(3), plain);
        let mut out = Vec::new();
        batch.each(|at, packet| out.push((at, packet)));
        let put = [
            (at(0), Handed::Other(&others[0])),
            (at(1), Handed::Plain(&plain)),
            (at(2), Handed::Other(&others[1])),
            (at(3), Handed::Plain(&plain)),
        ];
        assert_eq!(out, put);
        batch.clear();
        batch.each(|_, _| panic!("it is empty"));
    }

    #[test]
    fn what_is_handed_over_of_a_plain_segment_fits_a_line_of_a_cache() {
        assert!(size_of::<Packet>() <= 64);
    }
}
