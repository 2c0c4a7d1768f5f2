//! FQ-PIE: deficit round robin between flows, PIE within each, as in Linux.

use cclab_units::{InKernel, Measure};

use crate::declare::{self, number};
use crate::discipline::{Config, Discipline};
use crate::fifo::Room;
use crate::flow_queues::FlowQueues;
use crate::pie::control::{Law, Pie};
use crate::tc::{self, Form, Kind, Marks, Tc, Unit};
use crate::{Backlog, Cx, Departure, Descriptor, Dropped, Qdisc, ecn, fq_codel, pie};

/// Registry entry.
pub(crate) const DISCIPLINE: Discipline = Discipline {
    name: "fq_pie",
    version: 1,
    summary: "FQ-PIE: fair queueing of flows, PIE within each",
    reference: "M. Tahiliani and G. Ramakrishnan, FQ-PIE, LCN 2019 workshops; sch_fq_pie of Linux",
    params: &[
        pie::TARGET,
        pie::TUPDATE,
        pie::ALPHA,
        pie::BETA,
        declare::ecn(false),
        number(
            "ecn_prob",
            Measure::Share,
            "probability above which ECN-capable packets are dropped too",
            pie::ECN_THRESHOLD,
            [0.0, 1.0],
        ),
        pie::BYTEMODE,
        pie::MAX_BURST,
        pie::DERANDOMIZE,
        fq_codel::FLOWS,
        fq_codel::QUANTUM,
        fq_codel::MEMORY_LIMIT,
    ],
    relations: &[],
    shapes: None,
    draws: true,
    bands: &[],
    kernel: Some(Tc {
        part: InKernel::Module {
            name: "sch_fq_pie",
            symbol: "CONFIG_NET_SCH_FQ_PIE",
        },
        kinds: &[Kind {
            name: "fq_pie",
            limit: "limit",
            unit: Unit::Packets,
            least: "",
        }],
        words: &[
            ("flows", Form::Count),
            ("target", Form::Time),
            ("tupdate", Form::Time),
            ("alpha", Form::Count),
            ("beta", Form::Count),
            ("quantum", Form::Count),
            ("memory_limit", Form::Count),
            tc::ECN,
            ("ecn_prob", Form::Percent),
            ("bytemode", Form::Flag("bytemode", "nobytemode")),
        ],
        // packets_in, dropped, overlimit, overmemory, ecn_mark
        marks: Marks::Words(&[4]),
        ..Tc::PLAIN
    }),
    build: Some(|config| Box::new(FqPie::new(config))),
};

struct FqPie {
    queues: FlowQueues<Option<Pie>>,
    room: Room,
    law: Law,
    marks: u64,
}

impl FqPie {
    fn new(config: &Config) -> FqPie {
        let mut room = Room::new(config);
        room.bytes = room.bytes.min(config.count("memory_limit"));
        FqPie {
            queues: FlowQueues::new(config.count("flows"), config.count("quantum")),
            room,
            law: Law::new(config, config.params.get("ecn_prob")),
            marks: 0,
        }
    }

    /// The controller of the queue `flow`, caught up with `now`.
    fn control(&mut self, flow: u32, cx: &Cx<'_>) -> &mut Pie {
        let bytes = self.queues.backlog_of(flow).bytes;
        let law = &self.law;
        let state = self.queues.state(flow);
        let pie = state.get_or_insert_with(|| Pie::new(law));
        pie.catch_up(law, bytes, cx.now);
        pie
    }
}

impl Qdisc for FqPie {
    fn enqueue(&mut self, mut packet: Descriptor, cx: &mut Cx<'_>, dropped: &mut Vec<Dropped>) {
        self.law.see(&packet);
        let flow = self.queues.classify(&packet, cx.rng);
        let fits = self.room.admits(self.queues.backlog(), &packet);
        let bytes = self.queues.backlog_of(flow).bytes;
        let law = self.law;
        let pie = self.control(flow, cx);
        let hit = fits && pie.hits(&law, bytes, &packet, cx.rng);
        let marked = hit && pie.may_mark(&law) && ecn::mark(&mut packet);
        if !fits || (hit && !marked) {
            pie.dropped();
            dropped.push(Dropped(packet));
            return;
        }
        self.marks += u64::from(marked);
        if self.queues.push(flow, packet, cx.now).joined {
            *self.queues.deficit(flow) = self.queues.quantum();
        }
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>, _: &mut Vec<Dropped>) -> Option<Departure> {
        loop {
            let flow = self.queues.turn()?;
            self.control(flow, cx);
            let Some(departure) = self.queues.pop(flow) else {
                self.queues.retire(flow);
                continue;
            };
            let left = self.queues.backlog_of(flow).bytes;
            let sojourn = cx.now - departure.enqueued;
            self.control(flow, cx).departed(sojourn, left);
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

    /// Flow 1 sends 1.5 times what the link carries, flow 2 a tenth: the drops are flow 1's alone.
    #[test]
    fn a_flow_within_its_share_loses_nothing() {
        let mut bench = Bench::new("fq_pie", Limit::Packets(10_000), &[]);
        for ms in 0..20_000_u64 {
            bench.now = Time::from_millis(ms);
            bench.enqueue(packet(1, 1000));
            if ms % 2 == 0 {
                bench.enqueue(packet(1, 1000));
            }
            if ms % 10 == 0 {
                bench.enqueue(packet(2, 1000));
            }
            bench.dequeue();
        }
        assert!(bench.dropped.len() > 3000, "{}", bench.dropped.len());
        assert!(bench.dropped.iter().all(|lost| lost.0.flow == 1));
    }

    /// With ECN what would be dropped early is marked, while that is seldom: up to `ecn_prob`.
    #[test]
    fn capable_packets_are_marked_instead() {
        let mut bench = Bench::new("fq_pie", Limit::Packets(10_000), &[("ecn", 1.0)]);
        let mut marked = 0;
        for ms in 0..4_000_u64 {
            bench.now = Time::from_millis(ms);
            bench.enqueue(ecn_packet(1, 1000, Ecn::Ect0));
            if ms % 10 == 0 {
                bench.enqueue(ecn_packet(1, 1000, Ecn::Ect0));
            }
            let left = bench.dequeue().expect("one waits");
            marked += u64::from(left.packet.ecn == Ecn::Ce);
        }
        let waiting = std::iter::from_fn(|| bench.dequeue());
        marked += waiting.filter(|left| left.packet.ecn == Ecn::Ce).count() as u64;
        assert!(marked > 10, "{marked}");
        assert_eq!(bench.marks(), marked);
    }
}
