//! CHOKe: RED that first compares an arrival with a packet drawn from the queue, and drops both if
//! they are of one flow.
//!
//! Pan, Prabhakar and Psounis, "CHOKe: a stateless active queue management scheme for approximating
//! fair bandwidth allocation", INFOCOM 2000; defaults and details as in Linux.

use cclab_units::parameter::Relation;
use cclab_units::{InKernel, Measure, Time};

use crate::declare::{self, DERIVED, number};
use crate::discipline::{Config, Discipline};
use crate::fifo::{Fifo, Room};
use crate::red;
use crate::red::detector::{Detector, Verdict};
use crate::red::settings::{self, Style};
use crate::tc::{self, Form, Kind, Marks, Tc, Unit};
use crate::{Backlog, Cx, Departure, Descriptor, Dropped, Qdisc, ecn};

/// Registry entry.
pub(crate) const DISCIPLINE: Discipline = Discipline {
    name: "choke",
    version: 1,
    summary: "CHOKe: RED in packets that drops pairs of one flow, so that bulk hits itself",
    reference: "R. Pan, B. Prabhakar and K. Psounis, CHOKe, INFOCOM 2000; sch_choke of Linux",
    params: &[
        number(
            "min",
            Measure::Packets,
            "average queue from which on arrivals are compared and hit; by default max / 3",
            DERIVED,
            [0.0, 1e9],
        ),
        number(
            "max",
            Measure::Packets,
            "average queue from which on every arrival is hit; by default limit / 4",
            DERIVED,
            [1.0, 1e9],
        ),
        number(
            "probability",
            Measure::Share,
            "probability of a hit where the average reaches max",
            0.02,
            [0.0, 1.0],
        ),
        red::BURST,
        red::BANDWIDTH,
        declare::ecn(false),
    ],
    relations: &[
        Relation::Below("min", "max"),
        Relation::WithinLimit("min", false),
        Relation::WithinLimit("max", false),
        Relation::CountsAtLeast("burst", "min", None),
    ],
    shapes: None,
    draws: true,
    bands: &[],
    kernel: Some(Tc {
        part: InKernel::Module {
            name: "sch_choke",
            symbol: "CONFIG_NET_SCH_CHOKE",
        },
        kinds: &[Kind {
            name: "choke",
            limit: "limit",
            unit: Unit::Packets,
            least: "limit 1000 min 30 max 90 burst 50 bandwidth 1mbit",
        }],
        words: &[
            ("min", Form::Count),
            ("max", Form::Count),
            ("probability", Form::Share),
            ("burst", Form::Count),
            ("bandwidth", Form::Rate),
            tc::ECN_IF_SET,
        ],
        average: Some(Unit::Packets),
        // early, pdrop, other, marked
        marks: Marks::Words(&[3]),
        ..Tc::PLAIN
    }),
    build: Some(|config| Box::new(Choke::new(config))),
};

struct Choke {
    queue: Fifo,
    room: Room,
    detector: Detector,
    ecn: bool,
    marks: u64,
}

impl Choke {
    fn new(config: &Config) -> Choke {
        let room = Room::new(config);
        let style = Style {
            weight: None,
            avpkt: red::AVERAGE_PACKET,
            gentle: false,
            adaptive: false,
        };
        Choke {
            queue: Fifo::default(),
            room,
            detector: settings::of_tc(config, room.in_packets(), 1.0, style),
            ecn: config.flag("ecn"),
            marks: 0,
        }
    }

    /// Draws a packet from the queue, and takes it out if it is of the flow of `packet`.
    fn match_at_random(&mut self, packet: &Descriptor, cx: &mut Cx<'_>) -> Option<Departure> {
        let place = (cx.rng.uniform() * self.queue.len() as f64) as usize;
        let drawn = self.queue.at(place)?.packet;
        let of = |packet: &Descriptor| (packet.flow, packet.backward, packet.connection);
        let same = of(&drawn) == of(packet);
        if same { self.queue.remove(place) } else { None }
    }

    /// Idle time begins when the last packet leaves, and anew when an arrival at the empty queue
    /// ended it and is dropped.
    fn idle_if_empty(&mut self, now: Time) {
        if self.queue.is_empty() {
            self.detector.idle_from(now);
        }
    }
}

impl Qdisc for Choke {
    fn enqueue(&mut self, mut packet: Descriptor, cx: &mut Cx<'_>, dropped: &mut Vec<Dropped>) {
        let length = self.queue.len() as f64;
        let average = self.detector.sample(length, cx.now);
        if self.detector.is_above_min(average)
            && let Some(twin) = self.match_at_random(&packet, cx)
        {
            dropped.extend([Dropped(twin.packet), Dropped(packet)]);
            self.idle_if_empty(cx.now);
            return;
        }
        let verdict = self.detector.judge_average(average, cx.rng);
        let hit = verdict != Verdict::Pass;
        let fits = self.room.admits(self.queue.backlog(), &packet);
        let marked = fits && hit && self.ecn && ecn::mark(&mut packet);
        if !fits || (hit && !marked) {
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
    use cclab_units::Stream;

    use super::*;
    use crate::discipline::Limit;
    use crate::testing::{Bench, config, packet};

    /// A flow that floods the queue meets itself there: of two flows of which one sends nine times
    /// as much, it loses far more than nine times as much.
    #[test]
    fn a_flood_hits_itself() {
        let mut bench = Bench::new("choke", Limit::Packets(200), &[]);
        let mut lost = [0; 2];
        for step in 0..200_000_u64 {
            bench.now = Time::from_micros(step * 100);
            bench.enqueue(packet(u32::from(step % 10 == 0), 1000));
            if step % 3 == 0 {
                bench.dequeue();
            }
            for dropped in bench.dropped.drain(..) {
                lost[dropped.0.flow as usize] += 1;
            }
        }
        let offered = [180_000.0, 20_000.0];
        let share: Vec<f64> = (0..2).map(|i| f64::from(lost[i]) / offered[i]).collect();
        assert!(share[0] > 0.6 && share[1] < 0.75 * share[0], "{share:?}");
    }

    #[test]
    fn below_min_nobody_is_compared() {
        let mut bench = Bench::new("choke", Limit::Packets(200), &[]);
        for _ in 0..15 {
            bench.enqueue(packet(0, 1000));
        }
        assert!(bench.dropped.is_empty());
    }

    /// The packet that is drawn may be any: of four, one is of the arrival's flow, wherever it waits.
    #[test]
    fn any_packet_of_the_queue_may_be_drawn() {
        let config = config("choke", Limit::Packets(200), &[]);
        let mut rng = Stream::new(5, "choke");
        let mut matched = [0; 4];
        for _ in 0..4_000 {
            for flow in 0..4 {
                let mut choke = Choke::new(&config);
                for waiting in 0..4 {
                    choke.queue.push(packet(waiting, 1000), Time::ZERO);
                }
                let mut cx = Cx {
                    now: Time::ZERO,
                    rng: &mut rng,
                };
                if let Some(twin) = choke.match_at_random(&packet(flow, 1000), &mut cx) {
                    assert_eq!((twin.packet.flow, choke.queue.len()), (flow, 3));
                    matched[flow as usize] += 1;
                }
            }
        }
        // A standard deviation is 27.
        assert!(
            matched.iter().all(|times| (860..1_140).contains(times)),
            "{matched:?}"
        );
    }
}
