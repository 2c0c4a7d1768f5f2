//! RED: drops or marks arrivals at random, the more often the longer the queue is on average.
//!
//! Floyd and Jacobson, "Random Early Detection Gateways for Congestion Avoidance", IEEE/ACM
//! Transactions on Networking 1(4), 1993. Three entries of the registry: `red` as Linux's `tc` sets
//! it up, `red-1990s` as routers did, `adaptive-red` as Floyd, Gummadi and Shenker (2001) propose.

pub(crate) mod average;
pub(crate) mod detector;
pub(crate) mod settings;

use cclab_units::parameter::{Parameter, Relation};
use cclab_units::{InKernel, Measure, Time};

use crate::declare::{self, DERIVED, flag, number};
use crate::discipline::{Config, Discipline};
use crate::fifo::{Fifo, Room};
use crate::tc::{self, Form, Kind, Marks, Tc, Unit};
use crate::{Backlog, Cx, Departure, Descriptor, Dropped, Qdisc, ecn};
use detector::{Detector, Verdict};

/// Registry entry.
pub(crate) const DISCIPLINE: Discipline = Discipline {
    name: "red",
    version: 1,
    summary: "RED in bytes, thresholds from the limit as tc reckons",
    reference: "S. Floyd and V. Jacobson, IEEE/ACM ToN 1(4), 1993; tc-red(8)",
    params: &[
        number(
            "min",
            Measure::Bytes,
            "average queue from which on arrivals are hit; by default max / 3",
            DERIVED,
            [0.0, 1e12],
        ),
        number(
            "max",
            Measure::Bytes,
            "average queue from which on every arrival is hit; by default limit / 4",
            DERIVED,
            [1.0, 1e12],
        ),
        probability(0.02),
        BURST,
        WEIGHT,
        AVPKT,
        BANDWIDTH,
        declare::ecn(false),
        adaptive(false),
        HARDDROP,
        gentle(false),
    ],
    relations: &[
        Relation::Below("min", "max"),
        Relation::WithinLimit("min", true),
        Relation::WithinLimit("max", true),
        Relation::CountsAtLeast("burst", "min", Some("avpkt")),
    ],
    shapes: None,
    draws: true,
    bands: &[],
    kernel: Some(Tc {
        part: InKernel::Module {
            name: "sch_red",
            symbol: "CONFIG_NET_SCH_RED",
        },
        kinds: &[Kind {
            name: "red",
            limit: "limit",
            unit: Unit::Bytes,
            least: "limit 400000 min 30000 max 90000 avpkt 1000 burst 50 bandwidth 1mbit",
        }],
        words: &[
            ("min", Form::Count),
            ("max", Form::Count),
            ("probability", Form::Share),
            ("burst", Form::Count),
            ("avpkt", Form::Count),
            ("bandwidth", Form::Rate),
            tc::ECN_IF_SET,
            ("adaptive", Form::Flag("adaptive", "")),
            ("harddrop", Form::Flag("harddrop", "")),
        ],
        average: Some(Unit::Bytes),
        // early, pdrop, other, marked
        marks: Marks::Words(&[3]),
        ..Tc::PLAIN
    }),
    build: Some(|config| {
        let limit = Room::new(config).in_bytes();
        let style = settings::Style::of(config);
        let detector = settings::of_tc(config, limit, style.avpkt, style);
        Box::new(Red::new(config, detector, Unit::Bytes))
    }),
};

/// Registry entry.
pub(crate) const OF_THE_1990S: Discipline = Discipline {
    name: "red-1990s",
    version: 1,
    summary: "RED with the settings of routers of the 1990s: 5 and 15 packets, 1/50, 0.002",
    reference: "S. Floyd and V. Jacobson, 1993, section 6; S. Floyd, Setting Parameters, 1997",
    params: &[
        // Floyd, "RED: Discussions of Setting Parameters" (1997): 5 packets, and three times that.
        number(
            "min",
            Measure::MeanPackets,
            "average queue from which on arrivals are hit",
            5.0,
            [0.0, 1e9],
        ),
        number(
            "max",
            Measure::MeanPackets,
            "average queue from which on every arrival is hit",
            15.0,
            [1.0, 1e9],
        ),
        // Floyd and Jacobson (1993), section 6: 1/50.
        probability(0.02),
        // Floyd and Jacobson (1993), section 6: 0.002.
        number(
            "weight",
            Measure::Share,
            "weight of a sample in the average",
            0.002,
            [1e-6, 1.0],
        ),
        AVPKT,
        BANDWIDTH,
        declare::ecn(false),
        adaptive(false),
        HARDDROP,
        gentle(false),
    ],
    relations: IN_PACKETS,
    shapes: None,
    draws: true,
    bands: &[],
    // `tc` sets no weight, and counts in bytes.
    kernel: None,
    build: Some(|config| {
        let detector = settings::of_packets(config);
        Box::new(Red::new(config, detector, Unit::Packets))
    }),
};

/// Registry entry.
pub(crate) const ADAPTIVE: Discipline = Discipline {
    name: "adaptive-red",
    version: 1,
    summary: "Adaptive RED: gentle, all settings from the rate",
    reference: "S. Floyd, R. Gummadi and S. Shenker, Adaptive RED, 2001",
    params: &[
        number(
            "target",
            Measure::Time,
            "queueing delay to aim at",
            settings::TARGET_DELAY,
            [1e-6, 60.0],
        ),
        number(
            "min",
            Measure::MeanPackets,
            "average queue from which on arrivals are hit; by default what half the \
             target is at the link's rate, and at least 5",
            DERIVED,
            [0.0, 1e9],
        ),
        number(
            "max",
            Measure::MeanPackets,
            "average queue from which on every arrival is hit; by default 3 min",
            DERIVED,
            [1.0, 1e9],
        ),
        probability(0.1),
        number(
            "weight",
            Measure::Share,
            "weight of a sample in the average; by default 1 - exp(-1/C), C packets per second",
            DERIVED,
            [1e-9, 1.0],
        ),
        AVPKT,
        BANDWIDTH,
        declare::ecn(false),
        adaptive(true),
        HARDDROP,
        gentle(true),
    ],
    relations: IN_PACKETS,
    shapes: None,
    draws: true,
    bands: &[],
    // `tc` sets no target; it has `red` with `adaptive`.
    kernel: None,
    build: Some(|config| {
        let detector = settings::automatic(config);
        Box::new(Red::new(config, detector, Unit::Packets))
    }),
};

/// What holds of thresholds in packets.
const IN_PACKETS: &[Relation] = &[
    Relation::Below("min", "max"),
    Relation::WithinLimit("min", false),
    Relation::WithinLimit("max", false),
];

const fn probability(default: f64) -> Parameter {
    number(
        "probability",
        Measure::Share,
        "probability of a hit where the average reaches max",
        default,
        [0.0, 1.0],
    )
}

const fn adaptive(default: bool) -> Parameter {
    flag(
        "adaptive",
        "adapt the probability twice a second so that the average stays halfway",
        default,
    )
}

const fn gentle(default: bool) -> Parameter {
    flag(
        "gentle",
        "let the probability grow to 1 between max and 2 max instead of hitting all above max",
        default,
    )
}

/// As `tc` reckons: (2 min + max) / (3 avpkt).
pub(crate) const BURST: Parameter = number(
    "burst",
    Measure::Packets,
    "packets of a burst that the average lets pass, from which the weight follows; by default \
     (2 min + max) / (3 avpkt)",
    DERIVED,
    [1.0, 1e6],
);
const WEIGHT: Parameter = number(
    "weight",
    Measure::Share,
    "weight of a sample in the average; by default what `burst` asks for",
    DERIVED,
    [1e-9, 1.0],
);
/// `tc`'s manual proposes it.
pub(crate) const AVERAGE_PACKET: f64 = 1000.0;
const AVPKT: Parameter = number(
    "avpkt",
    Measure::Bytes,
    "size of an average packet, for the decay of the average in idle times",
    AVERAGE_PACKET,
    [1.0, 65535.0],
);
pub(crate) const BANDWIDTH: Parameter = number(
    "bandwidth",
    Measure::Rate,
    "rate at which idle times are counted in packets; by default that of the link",
    DERIVED,
    [1.0, 1e12],
);
const HARDDROP: Parameter = flag(
    "harddrop",
    "drop what comes above max even where ECN would allow a mark",
    false,
);

struct Red {
    queue: Fifo,
    room: Room,
    /// What the average is of.
    unit: Unit,
    detector: Detector,
    ecn: bool,
    harddrop: bool,
    marks: u64,
}

impl Red {
    fn new(config: &Config, detector: Detector, unit: Unit) -> Red {
        Red {
            queue: Fifo::default(),
            room: Room::new(config),
            unit,
            detector,
            ecn: config.flag("ecn"),
            harddrop: config.flag("harddrop"),
            marks: 0,
        }
    }

    /// Idle time begins when the last packet leaves, and anew when an arrival at the empty queue
    /// ended it and is dropped: else the average would stay where it hits every later one too.
    fn idle_if_empty(&mut self, now: Time) {
        if self.queue.is_empty() {
            self.detector.idle_from(now);
        }
    }
}

impl Qdisc for Red {
    fn enqueue(&mut self, mut packet: Descriptor, cx: &mut Cx<'_>, dropped: &mut Vec<Dropped>) {
        let backlog = self.queue.backlog();
        let length = match self.unit {
            Unit::Bytes => backlog.bytes,
            Unit::Packets => backlog.packets,
        };
        let verdict = self.detector.judge(length as f64, cx.now, cx.rng);
        let may_mark = match verdict {
            Verdict::Pass => false,
            Verdict::Early => self.ecn,
            Verdict::Forced => self.ecn && !self.harddrop,
        };
        let fits = self.room.admits(backlog, &packet);
        let marked = fits && may_mark && ecn::mark(&mut packet);
        if !fits || (verdict != Verdict::Pass && !marked) {
            dropped.push(Dropped(packet));
            self.idle_if_empty(cx.now);
            return;
        }
        self.marks += u64::from(marked);
        self.queue.push(packet, cx.now);
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>, _: &mut Vec<Dropped>) -> Option<Departure> {
        let departure = self.queue.pop()?;
        self.idle_if_empty(cx.now);
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

    /// Offers `count` packets to a queue that keeps `standing` packets of 1000 bytes.
    fn offered(
        name: &'static str,
        params: &[(&str, f64)],
        standing: u64,
        count: u32,
        ecn: Ecn,
    ) -> (usize, u64) {
        let mut bench = Bench::new(name, Limit::Packets(1000), params);
        let mut offered = 0;
        while offered < count {
            bench.wait(Time::from_micros(800));
            if bench.backlog().packets < standing {
                bench.enqueue(ecn_packet(0, 1000, ecn));
                offered += 1;
            } else {
                bench.dequeue();
            }
        }
        (bench.dropped.len(), bench.marks())
    }

    /// Halfway between min and max the probability is half of max_p: with drops spread evenly
    /// over 1 to 1/p arrivals, one in (1 + 1/p) / 2 is dropped.
    #[test]
    fn halfway_half_of_the_probability() {
        let params = [("weight", 1.0)];
        let (drops, marks) = offered("red-1990s", &params, 11, 20_000, Ecn::NotEct);
        // p = 0.01: one in 50.5, 396 of 20000; gaps are uniform with a deviation of 29, so that
        // the standard error is 0.57 sqrt(396) = 11.
        assert!((355..440).contains(&drops), "{drops}");
        assert_eq!(marks, 0);
        let ecn = [("weight", 1.0), ("ecn", 1.0)];
        let (drops, marks) = offered("red-1990s", &ecn, 11, 20_000, Ecn::Ect0);
        assert_eq!(drops, 0);
        assert!((355..440).contains(&marks), "{marks}");
    }

    #[test]
    fn below_min_nothing_and_above_max_everything() {
        let params = [("weight", 1.0)];
        let (drops, _) = offered("red-1990s", &params, 5, 5000, Ecn::NotEct);
        assert_eq!(drops, 0);
        let mut bench = Bench::new("red-1990s", Limit::Packets(1000), &params);
        for _ in 0..500 {
            bench.enqueue(ecn_packet(0, 1000, Ecn::Ect0));
        }
        assert_eq!(bench.backlog().packets, 15);
    }

    #[test]
    fn above_max_ecn_marks_unless_drops_are_asked_for() {
        let filled = |params: &[(&str, f64)]| {
            let mut bench = Bench::new("red-1990s", Limit::Packets(30), params);
            for _ in 0..60 {
                bench.enqueue(ecn_packet(0, 1000, Ecn::Ect0));
            }
            (bench.backlog().packets, bench.marks())
        };
        let (packets, marks) = filled(&[("weight", 1.0), ("ecn", 1.0)]);
        assert_eq!(packets, 30);
        assert!(marks >= 15, "{marks}");
        let hard = [("weight", 1.0), ("ecn", 1.0), ("harddrop", 1.0)];
        assert_eq!(filled(&hard).0, 15);
    }

    #[test]
    fn adaptive_red_holds_the_average_between_its_thresholds() {
        // 10 Mbit/s of 1000 bytes: 1250 packets a second; the queue drains at that rate and is
        // offered 1.2 times as much.
        let mut bench = Bench::new("adaptive-red", Limit::Packets(1000), &[]);
        let mut sum = 0;
        for step in 0..60_000_u64 {
            bench.wait(Time::from_micros(800));
            bench.enqueue(ecn_packet(0, 1000, Ecn::NotEct));
            if step % 5 == 0 {
                bench.enqueue(ecn_packet(0, 1000, Ecn::NotEct));
            }
            bench.dequeue();
            if step >= 30_000 {
                sum += bench.backlog().packets;
            }
        }
        // Thresholds 5 and 15, target 9 to 11; without adaptation 20 % of drops need gentle RED's
        // range above 15.
        let mean = sum as f64 / 30_000.0;
        assert!((8.0..12.5).contains(&mean), "{mean}");
    }

    /// After a burst that left the average above max the first arrival at the empty queue is
    /// dropped; the average goes on to decay all the same, so that a later one enters.
    #[test]
    fn an_arrival_that_is_dropped_does_not_end_the_decay_in_idle_times() {
        for name in ["red", "red-1990s", "adaptive-red", "choke"] {
            let mut bench = Bench::new(name, Limit::Packets(200), &[]);
            for flow in 0..5_000 {
                bench.enqueue(ecn_packet(flow, 1000, Ecn::NotEct));
            }
            bench.drain();
            bench.dropped.clear();
            bench.enqueue(ecn_packet(5_000, 1000, Ecn::NotEct));
            assert_eq!(bench.dropped.len(), 1, "{name}");
            // More than ten time constants of the slowest average.
            bench.wait(Time::from_secs(15));
            bench.enqueue(ecn_packet(5_001, 1000, Ecn::NotEct));
            assert_eq!(
                (bench.dropped.len(), bench.backlog().packets),
                (1, 1),
                "{name}"
            );
        }
    }
}
