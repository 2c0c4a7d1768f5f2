//! Packets as one core hands them to the other.
//!
//! A segment with room for all that it may tell is as long as two lines of a cache, each of which is
//! fetched from the other core twice; nearly all of them tell less, and are handed over as that.

use std::net::{IpAddr, Ipv4Addr};

use cclab_trace::captured::{Carried, Ecn, Endpoint, SackBlocks, TcpFlags, TcpOptions, TcpSegment};
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
    Plain(Time, Plain),
    /// The next of the others.
    Other,
}

/// A segment over IPv4 without options other than timestamps.
struct Plain {
    source: (Ipv4Addr, u16),
    destination: (Ipv4Addr, u16),
    seq: u32,
    ack: u32,
    payload: u32,
    timestamps: Option<(u32, u32)>,
    window: u16,
    flags: TcpFlags,
    ecn: Ecn,
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

    /// Adds what was seen at `at`.
    #[inline]
    pub fn push(&mut self, at: Time, carried: &Carried) {
        let plain = match carried {
            Carried::Tcp(segment) => Plain::of(segment),
            _ => None,
        };
        self.packets.push(match plain {
            Some(plain) => Packet::Plain(at, plain),
            None => {
                self.others.push((at, *carried));
                Packet::Other
            }
        });
    }

    /// Hands out what it holds, in order, and when each was seen.
    #[inline]
    pub fn each(&self, mut take: impl FnMut(Time, &Carried)) {
        let mut others = self.others.iter();
        for packet in &self.packets {
            match packet {
                Packet::Plain(at, plain) => take(*at, &Carried::Tcp(plain.segment())),
                Packet::Other => {
                    if let Some((at, carried)) = others.next() {
                        take(*at, carried);
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

impl Plain {
    /// None if `segment` tells more than there is room for.
    #[inline]
    fn of(segment: &TcpSegment) -> Option<Plain> {
        let (IpAddr::V4(source), IpAddr::V4(destination)) =
            (segment.source.address, segment.destination.address)
        else {
            return None;
        };
        let TcpOptions {
            mss: None,
            window_scale: None,
            sack_permitted: false,
            timestamps,
            ref sack,
        } = segment.options
        else {
            return None;
        };
        (sack.is_empty() && !segment.options_cut).then_some(Plain {
            source: (source, segment.source.port),
            destination: (destination, segment.destination.port),
            seq: segment.seq,
            ack: segment.ack,
            payload: segment.payload,
            timestamps,
            window: segment.window,
            flags: segment.flags,
            ecn: segment.ecn,
        })
    }

    #[inline]
    fn segment(&self) -> TcpSegment {
        let end = |(address, port)| Endpoint {
            address: IpAddr::V4(address),
            port,
        };
        TcpSegment {
            source: end(self.source),
            destination: end(self.destination),
            seq: self.seq,
            ack: self.ack,
            window: self.window,
            flags: self.flags,
            ecn: self.ecn,
            options: TcpOptions {
                mss: None,
                window_scale: None,
                sack_permitted: false,
                timestamps: self.timestamps,
                sack: SackBlocks::default(),
            },
            options_cut: false,
            payload: self.payload,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A plain segment.
    fn plain() -> TcpSegment {
        let end = |last, port| Endpoint {
            address: IpAddr::from([192, 0, 2, last]),
            port,
        };
        TcpSegment {
            source: end(1, 40_000),
            destination: end(2, 80),
            seq: 1,
            ack: 2,
            window: 3,
            flags: TcpFlags {
                ack: true,
                ece: true,
                ..TcpFlags::default()
            },
            ecn: Ecn::Ce,
            options: TcpOptions {
                timestamps: Some((4, 5)),
                ..TcpOptions::default()
            },
            options_cut: false,
            payload: 6,
        }
    }

    #[test]
    fn segments_come_out_as_they_were_put_in_and_in_their_order() {
        let vary = |change: fn(&mut TcpSegment)| {
            let mut segment = plain();
            change(&mut segment);
            segment
        };
        let all = [
            plain(),
            vary(|segment| segment.options.mss = Some(1460)),
            vary(|segment| segment.options.window_scale = Some(7)),
            vary(|segment| segment.options.sack_permitted = true),
            vary(|segment| segment.options_cut = true),
            vary(|segment| segment.options.timestamps = None),
            vary(|segment| segment.source.address = IpAddr::from([1; 16])),
            vary(|segment| segment.destination.address = IpAddr::from([2; 16])),
        ];
        let mut batch = Batch::new();
        for (n, segment) in (0..).zip(all) {
            batch.push(Time::from_nanos(n), &Carried::Tcp(segment));
        }
        assert_eq!(batch.others.len(), all.len() - 2);
        let mut out = Vec::new();
        batch.each(|at, carried| out.push((at, *carried)));
        let put = (0..).zip(all);
        let put: Vec<_> = put
            .map(|(n, segment)| (Time::from_nanos(n), Carried::Tcp(segment)))
            .collect();
        assert_eq!(out, put);
        batch.clear();
        batch.each(|_, _| panic!("it is empty"));
    }

    #[test]
    fn what_is_handed_over_of_a_plain_segment_fits_a_line_of_a_cache() {
        assert!(size_of::<Packet>() <= 64);
    }
}
