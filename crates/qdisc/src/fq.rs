//! Fair queueing as Linux's `sch_fq` without pacing: deficit round robin between flows (Shreedhar
//! and Varghese 1995), new flows first, arrivals dropped at the tail.

use cclab_units::parameter::Parameter;
use cclab_units::{InKernel, Measure, Time};

use crate::declare::{DERIVED, flag, number};
use crate::discipline::{Config, Discipline};
use crate::fifo::Room;
use crate::flow_queues::FlowQueues;
use crate::tc::{Form, Kind, Marks, Tc, Unit};
use crate::{Backlog, Cx, Departure, Descriptor, Dropped, Qdisc, codel, ecn};

/// Registry entry.
pub(crate) const DISCIPLINE: Discipline = Discipline {
    name: "fq",
    version: 1,
    summary: "fair queueing by deficit round robin, new flows first, as Linux's sch_fq",
    reference: "M. Shreedhar and G. Varghese, SIGCOMM 1995; sch_fq of Linux 6.12",
    params: &[
        number(
            "flow_limit",
            Measure::Packets,
            "packets that one flow may have waiting",
            100.0,
            [1.0, 1e9],
        ),
        // As in Linux: two full packets, and ten for a flow that was not seen before.
        number(
            "quantum",
            Measure::Bytes,
            "what a flow may send in a round",
            3028.0,
            [256.0, 1_048_576.0],
        ),
        number(
            "initial_quantum",
            Measure::Bytes,
            "what a flow may send at first",
            15_140.0,
            [0.0, 1_048_576.0],
        ),
        // Linux hashes forwarded packets by a mask of 1023 (`orphan_mask`).
        number(
            "buckets",
            Measure::Whole,
            "queues that flows are hashed into",
            1024.0,
            [1.0, 262_144.0],
        ),
        codel::CE_THRESHOLD,
    ],
    relations: &[],
    shapes: None,
    draws: true,
    bands: &[],
    kernel: Some(Tc {
        part: InKernel::Module {
            name: "sch_fq",
            symbol: "CONFIG_NET_SCH_FQ",
        },
        kinds: &[Kind {
            name: "fq",
            limit: "limit",
            unit: Unit::Packets,
            least: "",
        }],
        words: &[
            ("flow_limit", Form::Count),
            ("quantum", Form::Count),
            ("initial_quantum", Form::Count),
            ("maxrate", Form::Rate),
            ("buckets", Form::Count),
            ("pacing", Form::Flag("pacing", "nopacing")),
            ("ce_threshold", Form::Time),
            ("horizon", Form::Time),
        ],
        more: &[MAXRATE, PACING, HORIZON],
        // eight numbers of 64 bits, four of 32, ce_mark (64)
        marks: Marks::Long(80),
        ..Tc::PLAIN
    }),
    build: Some(|config| Box::new(Fq::new(config))),
};

/// The simulator's senders pace by themselves. Defaults are those of tc-fq(8).
const MAXRATE: Parameter = number(
    "maxrate",
    Measure::Rate,
    "the most that a flow is paced at; unlimited unless given",
    DERIVED,
    [1.0, 1e12],
);
const PACING: Parameter = flag("pacing", "hold packets back until they are due", true);
const HORIZON: Parameter = number(
    "horizon",
    Measure::Time,
    "how far ahead a packet may be due",
    10.0,
    [0.0, 4293.0],
);

/// A flow that had nothing waiting for longer than this gets a new quantum (Linux's
/// `flow_refill_delay`).
const REFILL_DELAY: Time = Time::from_millis(40);

/// What fq knows of a flow beside its packets.
#[derive(Clone, Copy, Debug, Default)]
struct Flow {
    seen: bool,
    /// When it left the lists.
    left_at: Time,
}

struct Fq {
    queues: FlowQueues<Flow>,
    room: Room,
    flow_limit: u64,
    initial_quantum: i64,
    ce_threshold: Option<Time>,
    marks: u64,
}

impl Fq {
    fn new(config: &Config) -> Fq {
        Fq {
            queues: FlowQueues::new(config.count("buckets"), config.count("quantum")),
            room: Room::new(config),
            flow_limit: config.count("flow_limit"),
            initial_quantum: config.count("initial_quantum") as i64,
            ce_threshold: config.time_given("ce_threshold"),
            marks: 0,
        }
    }

    /// Gives the flow `joined` what it may send in its first round.
    fn welcome(&mut self, flow: u32, now: Time) {
        let quantum = self.queues.quantum();
        let state = self.queues.state(flow);
        let first = !std::mem::replace(&mut state.seen, true);
        let rested = now > state.left_at + REFILL_DELAY;
        let deficit = self.queues.deficit(flow);
        if first {
            *deficit = self.initial_quantum;
        }
        if rested {
            *deficit = (*deficit).max(quantum);
        }
    }
}

impl Qdisc for Fq {
    fn enqueue(&mut self, packet: Descriptor, cx: &mut Cx<'_>, dropped: &mut Vec<Dropped>) {
        let flow = self.queues.classify(&packet, cx.rng);
        let fits = self.room.admits(self.queues.backlog(), &packet)
            && self.queues.backlog_of(flow).packets < self.flow_limit;
        if !fits {
            dropped.push(Dropped(packet));
        } else if self.queues.push(flow, packet, cx.now).joined {
            self.welcome(flow, cx.now);
        }
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>, _: &mut Vec<Dropped>) -> Option<Departure> {
        loop {
            let flow = self.queues.turn()?;
            let Some(mut departure) = self.queues.pop(flow) else {
                self.queues.retire(flow);
                self.queues.state(flow).left_at = cx.now;
                continue;
            };
            *self.queues.deficit(flow) -= i64::from(departure.packet.wire_len);
            let sojourn = cx.now - departure.enqueued;
            if self
                .ce_threshold
                .is_some_and(|threshold| sojourn > threshold)
                && ecn::mark(&mut departure.packet)
            {
                self.marks += 1;
            }
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

    #[test]
    fn flows_take_turns_after_their_initial_quantum() {
        let params = [("quantum", 1000.0), ("initial_quantum", 3000.0)];
        let mut bench = Bench::new("fq", Limit::Packets(100), &params);
        for _ in 0..5 {
            bench.enqueue(packet(1, 1000));
        }
        for _ in 0..5 {
            bench.enqueue(packet(2, 1000));
        }
        assert_eq!(bench.drain(), [1, 1, 1, 2, 2, 2, 1, 2, 1, 2]);
    }

    #[test]
    fn one_flow_cannot_fill_the_queue() {
        let mut bench = Bench::new("fq", Limit::Packets(1000), &[("flow_limit", 10.0)]);
        for _ in 0..50 {
            bench.enqueue(packet(1, 1000));
        }
        bench.enqueue(packet(2, 1000));
        assert_eq!(bench.backlog().packets, 11);
        assert!(bench.dropped.iter().all(|lost| lost.0.flow == 1));
    }

    #[test]
    fn a_flow_that_rested_gets_a_new_quantum() {
        let params = [("quantum", 1000.0), ("initial_quantum", 1000.0)];
        let mut bench = Bench::new("fq", Limit::Packets(100), &params);
        bench.enqueue(packet(1, 1000));
        assert_eq!(bench.drain(), [1]);
        // Its credit is used up; after a rest it has one again and goes before flow 2.
        bench.enqueue(packet(2, 1000));
        bench.enqueue(packet(2, 1000));
        assert_eq!(bench.dequeue().map(|d| d.packet.flow), Some(2));
        bench.wait(Time::from_millis(41));
        bench.enqueue(packet(1, 1000));
        assert_eq!(bench.drain(), [1, 2]);
    }

    /// A flow that went into debt has what is left of a quantum when it comes back, and a whole one
    /// after more than 40 ms.
    #[test]
    fn a_debt_is_forgiven_after_a_rest() {
        let order_after = |millis| {
            let params = [("quantum", 1000.0), ("initial_quantum", 1000.0)];
            let mut bench = Bench::new("fq", Limit::Packets(100), &params);
            bench.enqueue(packet(1, 1500));
            assert_eq!(bench.drain(), [1]); // 1000 - 1500 and a quantum: 500
            bench.wait(Time::from_millis(millis));
            for flow in [1, 1, 2] {
                bench.enqueue(packet(flow, 600));
            }
            bench.drain()
        };
        assert_eq!(order_after(40), [1, 2, 1]);
        assert_eq!(order_after(41), [1, 1, 2]);
    }

    #[test]
    fn above_the_ce_threshold_packets_are_marked() {
        let mut bench = Bench::new("fq", Limit::Packets(100), &[("ce_threshold", 0.001)]);
        bench.enqueue(ecn_packet(1, 1000, Ecn::Ect0));
        bench.enqueue(ecn_packet(1, 1000, Ecn::Ect0));
        bench.dequeue();
        assert_eq!(bench.marks(), 0);
        bench.wait(Time::from_micros(1001));
        let late = bench.dequeue().expect("a packet");
        assert_eq!((late.packet.ecn, bench.marks()), (Ecn::Ce, 1));
    }
}
