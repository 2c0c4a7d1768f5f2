//! First in, first out; what does not fit is dropped at the tail.

use crate::discipline::Discipline;
use crate::fifo::{Fifo, Room};
use crate::tc::{Kind, Tc, Unit};
use crate::{Backlog, Cx, Departure, Descriptor, Dropped, FifoLimits, Qdisc};

/// Registry entry.
pub(crate) const DISCIPLINE: Discipline = Discipline {
    name: "droptail",
    version: 1,
    summary: "first in, first out; drops arrivals that do not fit",
    reference: "pfifo and bfifo of Linux",
    params: &[],
    relations: &[],
    shapes: None,
    draws: false,
    bands: &[],
    kernel: Some(Tc {
        kinds: &[
            Kind {
                name: "bfifo",
                limit: "limit",
                unit: Unit::Bytes,
                least: "limit 64000",
            },
            Kind {
                name: "pfifo",
                limit: "limit",
                unit: Unit::Packets,
                least: "limit 100",
            },
        ],
        limited_by_shaper: true,
        ..Tc::PLAIN
    }),
    build: Some(|config| {
        Box::new(DropTail {
            queue: Fifo::default(),
            room: Room::new(config),
        })
    }),
};

struct DropTail {
    queue: Fifo,
    room: Room,
}

impl Qdisc for DropTail {
    fn enqueue(&mut self, packet: Descriptor, cx: &mut Cx<'_>, dropped: &mut Vec<Dropped>) {
        if self.room.admits(self.queue.backlog(), &packet) {
            self.queue.push(packet, cx.now);
        } else {
            dropped.push(Dropped(packet));
        }
    }

    fn as_fifo(&self) -> Option<FifoLimits> {
        Some(FifoLimits {
            packets: self.room.packets,
            bytes: self.room.bytes,
        })
    }

    fn dequeue(&mut self, _: &mut Cx<'_>, _: &mut Vec<Dropped>) -> Option<Departure> {
        self.queue.pop()
    }

    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }
}

#[cfg(test)]
mod tests {
    use crate::Backlog;
    use crate::discipline::Limit;
    use crate::testing::{Bench, packet};

    fn filled(limit: Limit, exclusive: bool, sizes: &[u16]) -> (u64, Backlog) {
        let mut bench = Bench::new("droptail", limit, &[]);
        if exclusive {
            bench = bench.exclusive();
        }
        for &size in sizes {
            bench.enqueue(packet(0, size));
        }
        (bench.dropped.len() as u64, bench.backlog())
    }

    #[test]
    fn a_byte_limit_is_reached_but_not_passed() {
        let (drops, backlog) = filled(Limit::Bytes(3000), false, &[1500, 1500, 1, 1500]);
        assert_eq!((drops, backlog.packets, backlog.bytes), (2, 2, 3000));
    }

    #[test]
    fn an_exclusive_limit_is_not_even_reached() {
        let (drops, backlog) = filled(Limit::Bytes(3000), true, &[1500, 1500, 1499]);
        assert_eq!((drops, backlog.packets, backlog.bytes), (1, 2, 2999));
    }

    #[test]
    fn a_packet_limit_counts_packets() {
        let (drops, backlog) = filled(Limit::Packets(2), false, &[40, 9000, 40]);
        assert_eq!((drops, backlog.packets, backlog.bytes), (1, 2, 9040));
    }

    #[test]
    fn first_in_is_first_out() {
        let mut bench = Bench::new("droptail", Limit::Packets(9), &[]);
        for flow in [3, 1, 2] {
            bench.enqueue(packet(flow, 100));
        }
        assert_eq!(bench.drain(), [3, 1, 2]);
        assert!(bench.dropped.is_empty());
    }
}
