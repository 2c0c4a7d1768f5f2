//! A link that sends when a trace says, as Mahimahi's link shell does.
//!
//! The rule is that of `LinkQueue::rationalize` in Mahimahi's `src/frontend/link_queue.cc`
//! (Netravali et al., "Mahimahi: Accurate Record-and-Replay for HTTP", USENIX ATC 2015): every
//! opportunity carries 1504 bytes, of one packet or of several; a packet that does not fit goes
//! on in the next; what an opportunity has left when nothing waits is lost. An opportunity comes
//! before the packets that arrive at its instant.

use cclab_qdisc::Departure;
use cclab_spec::{OPPORTUNITY_BYTES, OPPORTUNITY_FRAMING, Opportunities as Trace};
use cclab_units::Time;

/// A packet that has left a queue whole, and how long it waited to begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    /// The packet.
    pub departure: Departure,
    /// From its arrival to its first byte.
    pub waited: Time,
}

/// The opportunities of a link, and the packet that has begun to leave.
#[derive(Debug)]
pub struct Opportunities {
    trace: Trace,
    /// The next opportunity to be used.
    next: u64,
    /// Bytes of framing that the link's packets have; Mahimahi counts others.
    framing: u32,
    in_transit: Option<(Served, u32)>,
}

impl Opportunities {
    /// Those of `trace`, for packets with `framing` bytes of framing.
    pub fn new(trace: Trace, framing: u16) -> Opportunities {
        Opportunities {
            trace,
            next: 0,
            framing: framing.into(),
            in_transit: None,
        }
    }

    /// Whether a packet has begun to leave and has not left.
    pub fn is_busy(&self) -> bool {
        self.in_transit.is_some()
    }

    /// The next opportunity after `now`.
    pub fn next_after(&mut self, now: Time) -> Time {
        self.next = self.trace.count_until(now);
        self.trace.at(self.next)
    }

    /// Uses the opportunities of the instant `now`, for which [`Opportunities::next_after`] has
    /// waited, for packets that `queue` gives out.
    pub fn serve(
        &mut self,
        now: Time,
        mut queue: impl FnMut() -> Option<Departure>,
    ) -> Vec<Served> {
        let mut served = Vec::new();
        while self.trace.at(self.next) <= now {
            self.next += 1;
            let mut room = OPPORTUNITY_BYTES;
            while room > 0 {
                let begun = self.in_transit.take();
                let begin = || {
                    let departure = queue()?;
                    let waited = now - departure.enqueued;
                    Some((Served { departure, waited }, self.bytes_of(&departure)))
                };
                let Some((packet, left)) = begun.or_else(begin) else {
                    break;
                };
                let sent = left.min(room);
                room -= sent;
                if sent == left {
                    served.push(packet);
                } else {
                    self.in_transit = Some((packet, left - sent));
                }
            }
        }
        served
    }

    /// What Mahimahi counts of a packet: at least one byte, so that it leaves at an opportunity.
    fn bytes_of(&self, departure: &Departure) -> u32 {
        let wire_len = u32::from(departure.packet.wire_len);
        (wire_len + OPPORTUNITY_FRAMING)
            .saturating_sub(self.framing)
            .max(1)
    }

    /// The bytes, with the link's framing, of full packets that it could have sent by `now`.
    pub fn capacity(&self, now: Time) -> u64 {
        let each = OPPORTUNITY_BYTES - OPPORTUNITY_FRAMING + self.framing;
        self.trace.count_until(now) * u64::from(each)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use cclab_qdisc::Descriptor;

    use super::*;

    const FRAMING: u16 = 14;

    /// An IP packet of `bytes` bytes.
    fn packet(bytes: u16) -> Departure {
        Departure {
            packet: Descriptor {
                wire_len: bytes + FRAMING,
                ..Descriptor::default()
            },
            enqueued: Time::ZERO,
        }
    }

    /// IP packet sizes served at each instant, all of them waiting from the beginning.
    fn serve(trace: &str, sizes: &[u16]) -> Vec<(u64, Vec<u16>)> {
        let trace = Trace::parse(trace).expect("a good trace");
        let mut queue: VecDeque<Departure> = sizes.iter().map(|&bytes| packet(bytes)).collect();
        let mut link = Opportunities::new(trace, FRAMING);
        let mut all = Vec::new();
        let mut now = Time::ZERO;
        while link.is_busy() || !queue.is_empty() {
            now = link.next_after(now);
            let served = link.serve(now, || queue.pop_front());
            let sizes = served.iter().map(|s| s.departure.packet.wire_len - FRAMING);
            all.push((now.as_nanos() / 1_000_000, sizes.collect()));
        }
        all
    }

    #[test]
    fn a_full_packet_takes_an_opportunity() {
        let served = serve("2\n5\n5\n9\n", &[1500, 1500, 1500, 1500, 1500]);
        let expected = [
            (2, vec![1500]),
            (5, vec![1500, 1500]),
            (9, vec![1500]),
            (11, vec![1500]),
        ];
        assert_eq!(served, expected);
    }

    /// By hand: 1504 bytes are 22 packets of 64 + 4 bytes and 8 bytes of the next.
    #[test]
    fn small_packets_share_one_and_the_last_goes_on_in_the_next() {
        let served = serve("1\n3\n", &[60; 24]);
        assert_eq!(served, [(1, vec![60; 23]), (3, vec![60])]);
        let served = serve("1\n3\n", &[700, 1000, 500]);
        // 704 + 800 of 1004; then 204 and 504.
        assert_eq!(served, [(1, vec![700]), (3, vec![1000, 500])]);
    }

    #[test]
    fn a_packet_larger_than_an_opportunity_spans_several() {
        let served = serve("1\n2\n3\n", &[4000]);
        assert_eq!(served, [(1, vec![]), (2, vec![]), (3, vec![4000])]);
    }

    #[test]
    fn capacity_counts_what_has_come() {
        let trace = Trace::parse("2\n5\n5\n9\n").expect("a good trace");
        let link = Opportunities::new(trace, FRAMING);
        let packets = [0, 1, 2, 5, 9, 11].map(|ms| link.capacity(Time::from_millis(ms)) / 1514);
        assert_eq!(packets, [0, 0, 1, 3, 4, 5]);
    }
}
