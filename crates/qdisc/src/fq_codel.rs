//! FQ-CoDel (RFC 8290): deficit round robin between flows, CoDel within each.

use crate::codel::{self, Codel, Law, Source};
use crate::declare::{self, number};
use crate::discipline::{Config, Discipline};
use crate::fifo::Room;
use crate::flow_queues::FlowQueues;
use crate::tc::{self, Form, Kind, Marks, Tc, Unit};
use crate::{Backlog, Cx, Departure, Descriptor, Dropped, Qdisc};
use cclab_units::parameter::{Parameter, Relation};
use cclab_units::{InKernel, Measure};

/// Registry entry.
pub(crate) const DISCIPLINE: Discipline = Discipline {
    name: "fq_codel",
    version: 1,
    summary: "FQ-CoDel: fair queueing of flows, CoDel within each",
    reference: "RFC 8290",
    params: &[
        codel::TARGET,
        codel::INTERVAL,
        codel::CE_THRESHOLD,
        declare::ecn(true),
        FLOWS,
        QUANTUM,
        MEMORY_LIMIT,
        number(
            "drop_batch",
            Measure::Packets,
            "the most packets dropped at once when the queue is full",
            64.0,
            [1.0, 1e6],
        ),
    ],
    relations: &[Relation::Below("target", "interval")],
    shapes: None,
    draws: true,
    bands: &[],
    kernel: Some(Tc {
        part: InKernel::Module {
            name: "sch_fq_codel",
            symbol: "CONFIG_NET_SCH_FQ_CODEL",
        },
        kinds: &[Kind {
            name: "fq_codel",
            limit: "limit",
            unit: Unit::Packets,
            least: "",
        }],
        words: &[
            ("target", Form::Time),
            ("interval", Form::Time),
            ("ce_threshold", Form::Time),
            tc::ECN,
            ("flows", Form::Count),
            ("quantum", Form::Count),
            ("memory_limit", Form::Count),
            ("drop_batch", Form::Count),
        ],
        // type, maxpacket, drop_overlimit, ecn_mark, new_flow_count, new_flows_len,
        // old_flows_len, ce_mark
        marks: Marks::Words(&[3, 7]),
        ..Tc::PLAIN
    }),
    build: Some(|config| Box::new(FqCodel::new(config))),
};

/// RFC 8290, section 5.2.4: 1024.
pub(crate) const FLOWS: Parameter = number(
    "flows",
    Measure::Whole,
    "queues that flows are hashed into",
    1024.0,
    [1.0, 65536.0],
);
/// RFC 8290, section 5.2.3: a full packet, which is 1514 bytes on Ethernet. Linux takes no less
/// than 256.
pub(crate) const QUANTUM: Parameter = number(
    "quantum",
    Measure::Bytes,
    "what a flow may send in a round",
    1514.0,
    [256.0, 1_048_576.0],
);
/// As in Linux: 32 MiB, here of packets alone, without what a kernel keeps beside them.
pub(crate) const MEMORY_LIMIT: Parameter = number(
    "memory_limit",
    Measure::Bytes,
    "what all queues together may hold beside the limit",
    33_554_432.0,
    [1.0, 4_294_967_295.0],
);

struct FqCodel {
    queues: FlowQueues<Codel>,
    room: Room,
    law: Law,
    drop_batch: u64,
    marks: u64,
}

impl FqCodel {
    fn new(config: &Config) -> FqCodel {
        let mut room = Room::new(config);
        room.bytes = room.bytes.min(config.count("memory_limit"));
        FqCodel {
            queues: FlowQueues::new(config.count("flows"), config.count("quantum")),
            room,
            law: Law::new(config),
            drop_batch: config.count("drop_batch"),
            marks: 0,
        }
    }

    /// Drops from the head of the fattest flow, up to half of its bytes and a batch at once
    /// (RFC 8290, section 4.1.3, and Linux for the batch).
    fn drop_from_fattest(&mut self, dropped: &mut Vec<Dropped>) {
        let Some(flow) = self.queues.largest(|backlog| backlog.bytes) else {
            return;
        };
        let half = self.queues.backlog_of(flow).bytes / 2;
        let mut packets = 0;
        let mut bytes = 0;
        while packets < self.drop_batch && (packets == 0 || bytes < half) {
            let Some(departure) = self.queues.pop(flow) else {
                break;
            };
            packets += 1;
            bytes += u64::from(departure.packet.wire_len);
            dropped.push(Dropped(departure.packet));
        }
        let counted = u32::try_from(packets).unwrap_or(u32::MAX);
        self.queues.state(flow).count_others(counted);
    }
}

/// One flow's queue. CoDel looks at the bytes of all of them, as in Linux.
struct One<'a> {
    queues: &'a mut FlowQueues<Codel>,
    flow: u32,
}

impl Source for One<'_> {
    #[inline]
    fn pop(&mut self) -> Option<Departure> {
        self.queues.pop(self.flow)
    }

    #[inline]
    fn bytes(&self) -> u64 {
        self.queues.backlog().bytes
    }

    #[inline]
    fn codel(&mut self) -> &mut Codel {
        self.queues.state(self.flow)
    }
}

impl Qdisc for FqCodel {
    fn enqueue(&mut self, packet: Descriptor, cx: &mut Cx<'_>, dropped: &mut Vec<Dropped>) {
        self.law.see(&packet);
        let flow = self.queues.classify(&packet, cx.rng);
        if self.queues.push(flow, packet, cx.now).joined {
            *self.queues.deficit(flow) = self.queues.quantum();
        }
        while self.room.is_exceeded_by(self.queues.backlog()) {
            self.drop_from_fattest(dropped);
        }
    }

    fn pass(&mut self, packet: &mut Descriptor, cx: &mut Cx<'_>) -> bool {
        self.law.see(packet);
        if self.room.never_admits(packet) {
            return false;
        }
        let flow = self.queues.classify(packet, cx.rng);
        if self.queues.join_new(flow) {
            *self.queues.deficit(flow) = self.queues.quantum();
        }
        // Other queues may be in the lists still, though they are empty.
        while let Some(next) = self.queues.turn() {
            self.queues.state(next).rest();
            if next == flow {
                break;
            }
            self.queues.retire(next);
        }
        *self.queues.deficit(flow) -= i64::from(packet.wire_len);
        true
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>, dropped: &mut Vec<Dropped>) -> Option<Departure> {
        loop {
            let flow = self.queues.turn()?;
            let queues = &mut self.queues;
            let mut one = One { queues, flow };
            let next = (self.law).dequeue(&mut one, cx.now, dropped, &mut self.marks);
            let Some(departure) = next else {
                self.queues.retire(flow);
                continue;
            };
            *self.queues.deficit(flow) -= i64::from(departure.packet.wire_len);
            return Some(departure);
        }
    }

    fn backlog(&self) -> Backlog {
        self.queues.backlog()
    }

    fn marks(&self) -> u64 {
        self.marks
    }
}

#[cfg(test)]
mod tests {
    use cclab_packet::Ecn;
    use cclab_units::Time;

    use crate::discipline::Limit;
    use crate::testing::{Bench, ecn_packet, packet};

    /// RFC 8290, section 4.2: flow 1 has packets waiting when flow 2 sends its first two; they
    /// leave before flow 1's next, as long as they fit the quantum, and then the flows take turns.
    #[test]
    fn a_sparse_flow_goes_first_and_bulk_flows_take_turns() {
        let mut bench = Bench::new("fq_codel", Limit::Packets(100), &[("quantum", 1000.0)]);
        for _ in 0..4 {
            bench.enqueue(packet(1, 1000));
        }
        assert_eq!(bench.dequeue().map(|d| d.packet.flow), Some(1));
        for _ in 0..4 {
            bench.enqueue(packet(2, 500));
        }
        // Flow 2 is new: 500 + 500 of its quantum, then 1000 of flow 1, and so on.
        assert_eq!(bench.drain(), [2, 2, 1, 2, 2, 1, 1]);
    }

    #[test]
    fn overflow_takes_half_of_the_fattest_flow_from_its_head() {
        let mut bench = Bench::new("fq_codel", Limit::Packets(100), &[]);
        for seq in 0..90 {
            bench.enqueue(crate::Descriptor {
                slot: seq,
                ..packet(1, 1000)
            });
        }
        for _ in 0..10 {
            bench.enqueue(packet(2, 1000));
        }
        assert!(bench.dropped.is_empty());
        bench.enqueue(packet(2, 1000));
        // Half of 90 kB: 45 packets, the oldest ones, of flow 1 alone.
        let lost: Vec<(u32, u32)> = bench.dropped.iter().map(|d| (d.0.flow, d.0.slot)).collect();
        let oldest: Vec<(u32, u32)> = (0..45).map(|seq| (1, seq)).collect();
        assert_eq!(lost, oldest);
    }

    #[test]
    fn no_more_than_a_batch_is_dropped_at_once() {
        let mut bench = Bench::new("fq_codel", Limit::Packets(1000), &[]);
        for _ in 0..1001 {
            bench.enqueue(packet(1, 1000));
        }
        assert_eq!(bench.dropped.len(), 64);
    }

    #[test]
    fn each_flow_has_a_codel_of_its_own() {
        let mut bench = Bench::new("fq_codel", Limit::Packets(1000), &[("ecn", 1.0)]);
        // Flow 1 keeps 100 packets waiting; flow 2 sends one at a time.
        for _ in 0..100 {
            bench.enqueue(ecn_packet(1, 1000, Ecn::Ect0));
        }
        let mut marked = [0; 3];
        for step in 0..2000 {
            bench.now = Time::from_micros(step * 800);
            bench.enqueue(ecn_packet(1, 1000, Ecn::Ect0));
            if step % 4 == 0 {
                bench.enqueue(ecn_packet(2, 200, Ecn::Ect0));
            }
            for departure in [bench.dequeue(), bench.dequeue()].into_iter().flatten() {
                let marks = &mut marked[departure.packet.flow as usize];
                *marks += u32::from(departure.packet.ecn == Ecn::Ce);
                if departure.packet.flow == 1 && bench.backlog().packets < 100 {
                    bench.enqueue(ecn_packet(1, 1000, Ecn::Ect0));
                }
            }
        }
        assert!(marked[1] > 10, "{marked:?}");
        assert_eq!(marked[2], 0);
        assert_eq!(bench.marks(), u64::from(marked[1]));
    }
}
