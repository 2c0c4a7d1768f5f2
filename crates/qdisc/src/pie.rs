//! PIE (RFC 8033): drops arrivals with a probability that a proportional integral controller sets
//! from the queueing delay.

pub(crate) mod control;

use cclab_units::parameter::Parameter;
use cclab_units::{InKernel, Measure};

use crate::declare::{self, flag, number, time};
use crate::discipline::{Config, Discipline};
use crate::fifo::{Fifo, Room};
use crate::tc::{self, Form, Kind, Marks, Tc, Unit};
use crate::{Backlog, Cx, Departure, Descriptor, Dropped, Qdisc, ecn};
use control::{Law, Pie};

/// Registry entry.
pub(crate) const DISCIPLINE: Discipline = Discipline {
    name: "pie",
    version: 1,
    summary: "PIE: drops at random so that the queueing delay keeps to a target",
    reference: "RFC 8033",
    params: &[
        TARGET,
        TUPDATE,
        ALPHA,
        BETA,
        declare::ecn(false),
        BYTEMODE,
        MAX_BURST,
        DERANDOMIZE,
    ],
    relations: &[],
    shapes: None,
    draws: true,
    bands: &[],
    kernel: Some(Tc {
        part: InKernel::Module {
            name: "sch_pie",
            symbol: "CONFIG_NET_SCH_PIE",
        },
        kinds: &[Kind {
            name: "pie",
            limit: "limit",
            unit: Unit::Packets,
            least: "",
        }],
        words: &[
            ("target", Form::Time),
            ("tupdate", Form::Time),
            ("alpha", Form::Count),
            ("beta", Form::Count),
            tc::ECN,
            ("bytemode", Form::Flag("bytemode", "nobytemode")),
        ],
        // prob (8), delay, avg_dq_rate, dq_rate_estimating, packets_in, dropped, overlimit,
        // maxq, ecn_mark
        marks: Marks::Words(&[9]),
        ..Tc::PLAIN
    }),
    build: Some(|config| Box::new(PieQueue::new(config))),
};

/// `QDELAY_REF`, RFC 8033, section 4.2.
pub(crate) const TARGET: Parameter = time("target", "queueing delay to keep to", 0.015);
/// `T_UPDATE`, RFC 8033, section 4.2.
pub(crate) const TUPDATE: Parameter = declare::tupdate(0.015);
/// RFC 8033, section 4.2: 0.125 Hz. `tc` counts sixteenths.
pub(crate) const ALPHA: Parameter = number(
    "alpha",
    Measure::Number,
    "weight of the deviation from the target, in 1/16 Hz",
    2.0,
    [0.0, 32.0],
);
/// RFC 8033, section 4.2: 1.25 Hz. `tc` counts sixteenths.
pub(crate) const BETA: Parameter = number(
    "beta",
    Measure::Number,
    "weight of the change of the delay, in 1/16 Hz",
    20.0,
    [0.0, 32.0],
);
/// As in Linux.
pub(crate) const BYTEMODE: Parameter = flag(
    "bytemode",
    "drop small packets less often, in proportion to their size",
    false,
);
/// `MAX_BURST`, RFC 8033, section 4.4.
pub(crate) const MAX_BURST: Parameter = number(
    "max_burst",
    Measure::Time,
    "how long a queue that builds up from idleness is left alone",
    0.15,
    [0.0, 60.0],
);
/// RFC 8033, section 5.4, as an option; Linux always does.
pub(crate) const DERANDOMIZE: Parameter = flag(
    "derandomize",
    "keep drops from coming too close together or too far apart",
    true,
);

/// RFC 8033, section 5.1: ECN-capable packets are marked only while the probability is no more than
/// this.
pub(crate) const ECN_THRESHOLD: f64 = 0.1;

struct PieQueue {
    queue: Fifo,
    room: Room,
    law: Law,
    state: Pie,
    marks: u64,
}

impl PieQueue {
    fn new(config: &Config) -> PieQueue {
        let law = Law::new(config, ECN_THRESHOLD);
        PieQueue {
            queue: Fifo::default(),
            room: Room::new(config),
            state: Pie::new(&law),
            law,
            marks: 0,
        }
    }
}

impl Qdisc for PieQueue {
    fn enqueue(&mut self, mut packet: Descriptor, cx: &mut Cx<'_>, dropped: &mut Vec<Dropped>) {
        let backlog = self.queue.backlog();
        self.law.see(&packet);
        self.state.catch_up(&self.law, backlog.bytes, cx.now);
        let taken = self.room.admits(backlog, &packet)
            && match self.state.hits(&self.law, backlog.bytes, &packet, cx.rng) {
                false => true,
                true if self.state.may_mark(&self.law) && ecn::mark(&mut packet) => {
                    self.marks += 1;
                    true
                }
                true => false,
            };
        if taken {
            self.queue.push(packet, cx.now);
        } else {
            self.state.dropped();
            dropped.push(Dropped(packet));
        }
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>, _: &mut Vec<Dropped>) -> Option<Departure> {
        self.state
            .catch_up(&self.law, self.queue.backlog().bytes, cx.now);
        let departure = self.queue.pop()?;
        let left = self.queue.backlog().bytes;
        self.state.departed(cx.now - departure.enqueued, left);
        Some(departure)
    }

    fn backlog(&self) -> Backlog {
        self.queue.backlog()
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
    use crate::testing::{Bench, ecn_packet};

    /// Packets of 1000 bytes leave at one per millisecond and come at as many and one more in
    /// `every`: drops and marks in `seconds`, and the longest queue of the second half.
    fn overloaded(every: u64, params: &[(&str, f64)], seconds: u64) -> (usize, u64, u64) {
        let mut bench = Bench::new("pie", Limit::Packets(10_000), params);
        let mut longest = 0;
        for ms in 0..seconds * 1000 {
            bench.now = Time::from_millis(ms);
            bench.enqueue(ecn_packet(0, 1000, Ecn::Ect0));
            if ms % every == 0 {
                bench.enqueue(ecn_packet(0, 1000, Ecn::Ect0));
            }
            bench.dequeue();
            if ms > seconds * 500 {
                longest = longest.max(bench.backlog().packets);
            }
        }
        (bench.dropped.len(), bench.marks(), longest)
    }

    #[test]
    fn the_delay_keeps_to_the_target_and_the_drops_to_the_excess() {
        let (drops, marks, longest) = overloaded(10, &[], 60);
        // One arrival in eleven is too much: 6000 in a minute. 15 ms are 15 packets.
        assert!((5400..6200).contains(&drops), "{drops}");
        assert_eq!(marks, 0);
        assert!(longest < 40, "{longest}");
    }

    #[test]
    fn nothing_is_dropped_within_the_burst_allowance() {
        // 20 times what leaves: the delay grows by 20 ms every ms that passes.
        let drops = |params: &[(&str, f64)], until| {
            let mut bench = Bench::new("pie", Limit::Packets(10_000), params);
            for ms in 0..until {
                bench.now = Time::from_millis(ms);
                for _ in 0..20 {
                    bench.enqueue(ecn_packet(0, 1000, Ecn::NotEct));
                }
                bench.dequeue();
            }
            bench.dropped.len()
        };
        assert_eq!(drops(&[], 150), 0);
        assert!(drops(&[], 250) > 0);
        assert!(drops(&[("max_burst", 0.0)], 150) > 0);
    }

    #[test]
    fn with_ecn_it_marks_below_ten_per_cent_and_drops_above() {
        // Marks do not shorten this queue, so that the probability climbs past the threshold; the
        // drops then are more than the excess of 2 %, so that it falls below it again.
        let (drops, marks, _) = overloaded(50, &[("ecn", 1.0)], 60);
        assert!(marks > 500, "{marks}");
        assert!((900..1200).contains(&drops), "{drops}");
    }
}
