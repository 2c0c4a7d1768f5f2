//! First in, first out; what does not fit is dropped at the tail.

use std::collections::VecDeque;

use cclab_packet::Packet;

use crate::discipline::{Config, Discipline, Limit};
use crate::{Backlog, Cx, Departure, Dropped, FifoLimits, Qdisc};

/// Registry entry.
pub(crate) const DISCIPLINE: Discipline = Discipline {
    name: "droptail",
    summary: "first in, first out; drops arrivals that do not fit",
    params: &[],
    build: |config| Box::new(DropTail::new(config)),
};

struct DropTail {
    queue: VecDeque<Departure>,
    bytes: u64,
    max_bytes: u64,
    max_packets: usize,
}

impl DropTail {
    fn new(config: &Config) -> DropTail {
        let slack = u64::from(config.limit_is_exclusive);
        let (max_bytes, max_packets) = match config.limit {
            Limit::Bytes(bytes) => (bytes - slack.min(bytes), usize::MAX),
            Limit::Packets(packets) => (
                u64::MAX,
                usize::try_from(packets - slack.min(packets)).unwrap_or(usize::MAX),
            ),
        };
        DropTail {
            queue: VecDeque::new(),
            bytes: 0,
            max_bytes,
            max_packets,
        }
    }
}

impl Qdisc for DropTail {
    fn enqueue(&mut self, packet: Packet, cx: &mut Cx<'_>, dropped: &mut Vec<Dropped>) {
        let bytes = self.bytes + u64::from(packet.wire_len);
        if bytes > self.max_bytes || self.queue.len() >= self.max_packets {
            dropped.push(Dropped(packet));
            return;
        }
        self.bytes = bytes;
        self.queue.push_back(Departure {
            packet,
            enqueued: cx.now,
        });
    }

    fn as_fifo(&self) -> Option<FifoLimits> {
        Some(FifoLimits {
            packets: self.max_packets as u64,
            bytes: self.max_bytes,
        })
    }

    fn dequeue(&mut self, _: &mut Cx<'_>, _: &mut Vec<Dropped>) -> Option<Departure> {
        let departure = self.queue.pop_front()?;
        self.bytes -= u64::from(departure.packet.wire_len);
        Some(departure)
    }

    fn backlog(&self) -> Backlog {
        Backlog {
            packets: self.queue.len() as u64,
            bytes: self.bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use cclab_units::parameter::Params;
    use cclab_units::{Stream, Time};

    use super::*;

    fn filled(limit: Limit, exclusive: bool, sizes: &[u16]) -> (u64, Backlog) {
        let config = Config {
            limit,
            limit_is_exclusive: exclusive,
            rate: None,
            params: Params::defaults(&[]),
        };
        let mut queue = DropTail::new(&config);
        let mut rng = Stream::new(1, "queue");
        let mut cx = Cx {
            now: Time::ZERO,
            rng: &mut rng,
        };
        let mut dropped = Vec::new();
        for &wire_len in sizes {
            let packet = Packet {
                wire_len,
                ..Packet::default()
            };
            queue.enqueue(packet, &mut cx, &mut dropped);
        }
        (dropped.len() as u64, queue.backlog())
    }

    #[test]
    fn a_byte_limit_is_reached_but_not_passed() {
        let (drops, backlog) = filled(Limit::Bytes(3000), false, &[1500, 1500, 1, 1500]);
        assert_eq!(
            (drops, backlog),
            (
                2,
                Backlog {
                    packets: 2,
                    bytes: 3000
                }
            )
        );
    }

    #[test]
    fn an_exclusive_limit_is_not_even_reached() {
        let (drops, backlog) = filled(Limit::Bytes(3000), true, &[1500, 1500, 1499]);
        assert_eq!(
            (drops, backlog),
            (
                1,
                Backlog {
                    packets: 2,
                    bytes: 2999
                }
            )
        );
    }

    #[test]
    fn a_packet_limit_counts_packets() {
        let (drops, backlog) = filled(Limit::Packets(2), false, &[40, 9000, 40]);
        assert_eq!(
            (drops, backlog),
            (
                1,
                Backlog {
                    packets: 2,
                    bytes: 9040
                }
            )
        );
    }

    #[test]
    fn first_in_is_first_out() {
        let config = Config {
            limit: Limit::Packets(9),
            limit_is_exclusive: false,
            rate: None,
            params: Params::defaults(&[]),
        };
        let mut queue = DropTail::new(&config);
        let mut rng = Stream::new(1, "queue");
        let mut cx = Cx {
            now: Time::ZERO,
            rng: &mut rng,
        };
        let mut dropped = Vec::new();
        for seq in [3, 1, 2] {
            let packet = Packet {
                seq,
                ..Packet::default()
            };
            queue.enqueue(packet, &mut cx, &mut dropped);
        }
        let order: Vec<u32> = std::iter::from_fn(|| queue.dequeue(&mut cx, &mut dropped))
            .map(|departure| departure.packet.seq)
            .collect();
        assert_eq!(order, [3, 1, 2]);
        assert!(dropped.is_empty());
    }
}
