//! Stochastic fairness queueing as in Linux: round robin between hashed flows; when the queue is
//! full, the longest of them loses its last packet.
//!
//! McKenney, "Stochastic Fairness Queueing", INFOCOM 1990. The hash is never perturbed anew.

use cclab_units::parameter::Parameter;
use cclab_units::{InKernel, Measure};

use crate::declare::{flag, number};
use crate::discipline::{Config, Discipline};
use crate::fifo::Room;
use crate::flow_queues::FlowQueues;
use crate::tc::{Form, Kind, Tc, Unit};
use crate::{Backlog, Cx, Departure, Descriptor, Dropped, Qdisc};

/// Registry entry.
pub(crate) const DISCIPLINE: Discipline = Discipline {
    name: "sfq",
    version: 1,
    summary: "stochastic fairness queueing, the longest flow drops, as in Linux",
    reference: "P. McKenney, Stochastic Fairness Queueing, INFOCOM 1990; sch_sfq of Linux",
    params: &[
        number(
            "quantum",
            Measure::Bytes,
            "what a flow may send in a round",
            1514.0,
            [256.0, 1_048_576.0],
        ),
        number(
            "depth",
            Measure::Packets,
            "packets that one flow may have waiting",
            127.0,
            [1.0, 65_536.0],
        ),
        number(
            "divisor",
            Measure::Whole,
            "buckets that flows are hashed into",
            1024.0,
            [1.0, 65_536.0],
        ),
        flag(
            "headdrop",
            "drop a flow's first packet instead of its last",
            false,
        ),
        number(
            "flows",
            Measure::Whole,
            "flows that may have packets waiting",
            128.0,
            [1.0, 65_408.0],
        ),
    ],
    relations: &[],
    shapes: None,
    draws: true,
    bands: &[],
    kernel: Some(Tc {
        part: InKernel::Module {
            name: "sch_sfq",
            symbol: "CONFIG_NET_SCH_SFQ",
        },
        kinds: &[Kind {
            name: "sfq",
            limit: "limit",
            unit: Unit::Packets,
            least: "",
        }],
        words: &[
            ("perturb", Form::Count),
            ("quantum", Form::Count),
            ("depth", Form::Count),
            ("divisor", Form::Count),
            ("headdrop", Form::Flag("headdrop", "")),
            ("flows", Form::Count),
        ],
        more: &[PERTURB],
        ..Tc::PLAIN
    }),
    build: Some(|config| Box::new(Sfq::new(config))),
};

/// The simulator's hash is never perturbed. As in tc-sfq(8): off.
const PERTURB: Parameter = number(
    "perturb",
    Measure::Seconds,
    "time after which flows are hashed anew; never where it is 0",
    0.0,
    [0.0, 4_294_967_295.0],
);

struct Sfq {
    queues: FlowQueues<()>,
    room: Room,
    depth: u64,
    headdrop: bool,
    flows: usize,
}

impl Sfq {
    fn new(config: &Config) -> Sfq {
        Sfq {
            queues: FlowQueues::new(config.count("divisor"), config.count("quantum")),
            room: Room::new(config),
            depth: config.count("depth"),
            headdrop: config.flag("headdrop"),
            flows: config.count("flows") as usize,
        }
    }

    /// Drops a packet of `flow`; a flow without packets is forgotten, its deficit with it.
    fn drop_from(&mut self, flow: u32, dropped: &mut Vec<Dropped>) {
        let lost = match self.headdrop {
            true => self.queues.pop(flow),
            false => self.queues.pop_last(flow),
        };
        dropped.extend(lost.map(|departure| Dropped(departure.packet)));
        self.forget_if_empty(flow);
    }

    fn forget_if_empty(&mut self, flow: u32) {
        if self.queues.backlog_of(flow).packets == 0 {
            self.queues.forget(flow);
        }
    }
}

impl Qdisc for Sfq {
    fn enqueue(&mut self, packet: Descriptor, cx: &mut Cx<'_>, dropped: &mut Vec<Dropped>) {
        let flow = self.queues.classify(&packet, cx.rng);
        let waiting = self.queues.backlog_of(flow).packets;
        let another = waiting == 0 && self.queues.active() >= self.flows;
        if another || (waiting >= self.depth && !self.headdrop) {
            dropped.push(Dropped(packet));
            return;
        }
        if self.queues.push(flow, packet, cx.now).joined {
            *self.queues.deficit(flow) = self.queues.quantum();
            // New flows have no precedence here.
            self.queues.make_old(flow);
        }
        if waiting >= self.depth {
            self.drop_from(flow, dropped);
        }
        while self.room.is_exceeded_by(self.queues.backlog()) {
            let Some(longest) = self.queues.largest(|backlog| backlog.packets) else {
                break;
            };
            self.drop_from(longest, dropped);
        }
    }

    fn dequeue(&mut self, _: &mut Cx<'_>, _: &mut Vec<Dropped>) -> Option<Departure> {
        let flow = self.queues.turn()?;
        let departure = self.queues.pop(flow)?;
        *self.queues.deficit(flow) -= i64::from(departure.packet.wire_len);
        self.forget_if_empty(flow);
        Some(departure)
    }

    fn backlog(&self) -> Backlog {
        self.queues.backlog()
    }
}

#[cfg(test)]
mod tests {
    use crate::discipline::Limit;
    use crate::testing::{Bench, packet};

    #[test]
    fn flows_take_turns_and_new_ones_wait_for_theirs() {
        let mut bench = Bench::new("sfq", Limit::Packets(100), &[("quantum", 1000.0)]);
        for _ in 0..3 {
            bench.enqueue(packet(1, 1000));
        }
        for _ in 0..2 {
            bench.enqueue(packet(2, 1000));
        }
        assert_eq!(bench.dequeue().map(|d| d.packet.flow), Some(1));
        bench.enqueue(packet(3, 1000));
        assert_eq!(bench.drain(), [2, 3, 1, 2, 1]);
    }

    #[test]
    fn the_longest_flow_loses_its_last_packet() {
        let mut bench = Bench::new("sfq", Limit::Packets(6), &[]);
        for seq in 0..5 {
            bench.enqueue(crate::Descriptor {
                slot: seq,
                ..packet(1, 1000)
            });
        }
        bench.enqueue(packet(2, 1000));
        bench.enqueue(packet(2, 1000));
        let lost: Vec<(u32, u32)> = bench.dropped.iter().map(|d| (d.0.flow, d.0.slot)).collect();
        assert_eq!(lost, [(1, 4)]);
    }

    #[test]
    fn a_flow_is_no_deeper_than_it_may_be() {
        for (headdrop, left) in [(0.0, [0, 1, 2]), (1.0, [2, 3, 4])] {
            let params = [("depth", 3.0), ("headdrop", headdrop)];
            let mut bench = Bench::new("sfq", Limit::Packets(100), &params);
            for seq in 0..5 {
                bench.enqueue(crate::Descriptor {
                    slot: seq,
                    ..packet(1, 1000)
                });
            }
            assert_eq!(bench.dropped.len(), 2);
            let order: Vec<u32> = std::iter::from_fn(|| bench.dequeue())
                .map(|d| d.packet.slot)
                .collect();
            assert_eq!(order, left);
        }
    }

    #[test]
    fn no_more_flows_wait_than_may() {
        let mut bench = Bench::new("sfq", Limit::Packets(100), &[("flows", 2.0)]);
        for flow in [1, 2, 3, 2, 1] {
            bench.enqueue(packet(flow, 1000));
        }
        let lost: Vec<u32> = bench.dropped.iter().map(|lost| lost.0.flow).collect();
        assert_eq!((lost, bench.backlog().packets), (vec![3], 4));
    }
}
