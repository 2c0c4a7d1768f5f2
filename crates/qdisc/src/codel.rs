//! CoDel (RFC 8289): drops at a growing pace for as long as the least sojourn time of an interval
//! stays above the target.

mod control;

use crate::declare::{self, DERIVED, time};
use crate::discipline::{Config, Discipline};
use crate::fifo::{Fifo, Room};
use crate::tc::{self, Form, Kind, Marks, Tc, Unit};
use crate::{Backlog, Cx, Departure, Descriptor, Dropped, Qdisc};

use cclab_units::parameter::{Parameter, Relation};
use cclab_units::{InKernel, Measure};
pub(crate) use control::{Codel, Law, Source};

/// Registry entry.
pub(crate) const DISCIPLINE: Discipline = Discipline {
    name: "codel",
    version: 1,
    summary: "CoDel: keeps the least sojourn time of an interval below a target",
    reference: "RFC 8289",
    params: &[TARGET, INTERVAL, CE_THRESHOLD, declare::ecn(false)],
    relations: &[Relation::Below("target", "interval")],
    shapes: None,
    draws: true,
    bands: &[],
    kernel: Some(Tc {
        part: InKernel::Module {
            name: "sch_codel",
            symbol: "CONFIG_NET_SCH_CODEL",
        },
        kinds: &[Kind {
            name: "codel",
            limit: "limit",
            unit: Unit::Packets,
            least: "",
        }],
        words: &[
            ("target", Form::Time),
            ("interval", Form::Time),
            ("ce_threshold", Form::Time),
            tc::ECN,
        ],
        // maxpacket, count, lastcount, ldelay, drop_next, drop_overlimit, ecn_mark, dropping,
        // ce_mark
        marks: Marks::Words(&[6, 8]),
        ..Tc::PLAIN
    }),
    build: Some(|config| Box::new(CodelQueue::new(config))),
};

/// RFC 8289, section 4.4: 5 ms.
pub(crate) const TARGET: Parameter = time("target", "sojourn time that is acceptable", 0.005);
/// RFC 8289, section 4.3: 100 ms, about the longest RTT that is usual.
pub(crate) const INTERVAL: Parameter = time(
    "interval",
    "how long the sojourn time must stay above the target before the first drop",
    0.1,
);
/// As in Linux: off unless given.
pub(crate) const CE_THRESHOLD: Parameter = declare::number(
    "ce_threshold",
    Measure::Time,
    "sojourn time above which every ECN-capable packet is marked; off unless given",
    DERIVED,
    [0.0, 60.0],
);

struct CodelQueue {
    queue: Single,
    room: Room,
    law: Law,
    marks: u64,
}

/// A queue in the order of arrival.
#[derive(Default)]
struct Single {
    packets: Fifo,
    codel: Codel,
}

impl CodelQueue {
    fn new(config: &Config) -> CodelQueue {
        CodelQueue {
            queue: Single::default(),
            room: Room::new(config),
            law: Law::new(config),
            marks: 0,
        }
    }
}

impl Source for Single {
    #[inline]
    fn pop(&mut self) -> Option<Departure> {
        self.packets.pop()
    }

    #[inline]
    fn bytes(&self) -> u64 {
        self.packets.backlog().bytes
    }

    #[inline]
    fn codel(&mut self) -> &mut Codel {
        &mut self.codel
    }
}

impl Qdisc for CodelQueue {
    fn enqueue(&mut self, packet: Descriptor, cx: &mut Cx<'_>, dropped: &mut Vec<Dropped>) {
        self.law.see(&packet);
        if self.room.admits(self.queue.packets.backlog(), &packet) {
            self.queue.packets.push(packet, cx.now);
        } else {
            dropped.push(Dropped(packet));
        }
    }

    fn pass(&mut self, packet: &mut Descriptor, _: &mut Cx<'_>) -> bool {
        self.law.see(packet);
        let passes = !self.room.never_admits(packet);
        if passes {
            self.queue.codel.rest();
        }
        passes
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>, dropped: &mut Vec<Dropped>) -> Option<Departure> {
        self.law
            .dequeue(&mut self.queue, cx.now, dropped, &mut self.marks)
    }

    fn backlog(&self) -> Backlog {
        self.queue.packets.backlog()
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

    /// A queue in which every packet waits 50 ms, one leaves every millisecond, for `ms`: when
    /// packets were dropped, in ms.
    fn drops_of_a_standing_queue(ecn: Ecn, params: &[(&str, f64)], ms: u64) -> (Vec<u64>, Bench) {
        let mut bench = Bench::new("codel", Limit::Packets(1000), params);
        let mut at = Vec::new();
        for step in 0..ms {
            bench.now = Time::from_millis(step);
            bench.enqueue(ecn_packet(0, 1000, ecn));
            let before = bench.dropped.len();
            // Replace what was dropped, so that the queue keeps its 50 packets.
            if step >= 50 {
                bench.dequeue().expect("the queue stands");
                for _ in before..bench.dropped.len() {
                    at.push(step);
                    bench.enqueue(ecn_packet(0, 1000, ecn));
                }
            }
        }
        (at, bench)
    }

    /// The pace of drops is the control law's: 100 ms after the sojourn time went above the target,
    /// then 100 ms, 100/sqrt(2), 100/sqrt(3) ... later (RFC 8289, section 5.3 and its table of
    /// intervals: 100, 70.7, 57.7, 50, 44.7 ms).
    #[test]
    fn drops_come_at_the_pace_of_the_control_law() {
        let (at, bench) = drops_of_a_standing_queue(Ecn::NotEct, &[], 620);
        // First above the target at 50 ms; ok to drop from 150 ms on. The times of the law are
        // 150, 250, 320.7, 378.4, 428.4, 473.2, 514.0, 551.8, 587.1; the next packet to leave
        // comes at the next whole millisecond.
        assert_eq!(at, [150, 250, 321, 379, 429, 474, 514, 552, 588]);
        assert_eq!(bench.marks(), 0);
    }

    #[test]
    fn with_ecn_it_marks_at_the_same_pace() {
        let (at, bench) = drops_of_a_standing_queue(Ecn::Ect0, &[("ecn", 1.0)], 620);
        assert!(at.is_empty(), "{at:?}");
        assert_eq!(bench.marks(), 9);
        let (_, off) = drops_of_a_standing_queue(Ecn::Ect0, &[], 620);
        assert_eq!(off.marks(), 0);
    }

    #[test]
    fn above_the_ce_threshold_every_packet_is_marked() {
        let (_, bench) = drops_of_a_standing_queue(Ecn::Ect0, &[("ce_threshold", 0.001)], 150);
        assert_eq!(bench.marks(), 100);
    }

    #[test]
    fn a_queue_that_drains_within_the_interval_loses_nothing() {
        let mut bench = Bench::new("codel", Limit::Packets(1000), &[]);
        for _ in 0..90 {
            bench.enqueue(packet(0, 1000));
        }
        for _ in 0..90 {
            bench.wait(Time::from_millis(1));
            bench.dequeue().expect("a packet");
        }
        assert!(bench.dropped.is_empty());
    }

    #[test]
    fn the_limit_is_a_limit() {
        let mut bench = Bench::new("codel", Limit::Packets(2), &[]);
        for flow in 0..3 {
            bench.enqueue(packet(flow, 1000));
        }
        assert_eq!(bench.dropped.len(), 1);
        assert_eq!(bench.drain(), [0, 1]);
    }
}
