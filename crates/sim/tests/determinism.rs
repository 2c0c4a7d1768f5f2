//! The same scenario and seed give the same events; another seed, others; a flow that never
//! starts changes nothing for the rest.

mod common;

use cclab_spec::{Flow, Limit, Place, Scenario, Start, Topology};
use cclab_trace::{Event, Probe};
use cclab_units::Time;

use common::{STACKS, capture_everywhere, dumbbell, flow, link, loss};

const END: Time = Time::from_secs(3);

/// Every event as text, with the name of its flow in place of its index, and without what
/// names a place in the tables of one network.
struct Log {
    flows: Vec<String>,
    points: Vec<String>,
    events: Vec<(Time, String)>,
}

impl Log {
    fn of(scenario: &Scenario, seed: u64) -> Log {
        let mut log = Log {
            flows: scenario.flows.iter().map(|f| f.name.clone()).collect(),
            points: scenario.trace.capture.clone(),
            events: Vec::new(),
        };
        common::run_with(scenario, seed, &mut log);
        log
    }

    fn name(&self, flow: u32) -> &str {
        &self.flows[flow as usize]
    }

    fn without(&self, name: &str) -> Vec<&(Time, String)> {
        let mark = format!("{name}: ");
        let others = |event: &&(Time, String)| !event.1.starts_with(&mark);
        self.events.iter().filter(others).collect()
    }
}

impl Probe for Log {
    fn wants_acks(&self, _: Time) -> bool {
        true
    }
    fn wants_queue(&self, _: Time) -> bool {
        true
    }
    fn wants_drops(&self, _: Time) -> bool {
        true
    }
    fn wants_packets(&self, _: Time) -> bool {
        true
    }
    fn record(&mut self, now: Time, event: Event<'_>) {
        let text = match event {
            Event::FlowSample(mut sample) => {
                let name = self.name(sample.flow).to_string();
                sample.flow = 0;
                format!("{name}: {sample:?}")
            }
            Event::QueueSample(sample) => format!("queue: {sample:?}"),
            Event::Ack(mut ack) => {
                let name = self.name(ack.flow).to_string();
                ack.flow = 0;
                format!("{name}: {ack:?}")
            }
            Event::Queue(mut queue) => {
                let name = self.name(queue.flow).to_string();
                queue.flow = 0;
                format!("{name}: {queue:?}")
            }
            Event::Drop(mut drop) => {
                let name = self.name(drop.flow).to_string();
                (drop.flow, drop.link) = (0, 0);
                format!("{name}: {drop:?}")
            }
            Event::Packet(point, packet) => {
                let mut packet = *packet;
                let name = self.name(packet.flow).to_string();
                packet.flow = 0;
                format!("{name}: at {} {packet:?}", self.points[point as usize])
            }
        };
        self.events.push((now, text));
    }
}

fn scenario(stack: &str, topology: Topology, extra: Option<Flow>, first: bool) -> Scenario {
    let bottleneck = link(Some(3_000_000), Time::from_millis(9), Limit::Packets(12));
    let mut flows = vec![
        Flow {
            extra_delay: Time::from_millis(3),
            ..flow("long", "cubic")
        },
        Flow {
            start: Start {
                at: Time::from_millis(100),
                spread: Time::from_millis(50),
            },
            ..flow("short", "newreno")
        },
        Flow {
            transfer: Some(200_000),
            direction: cclab_spec::Direction::Reverse,
            ..flow("back", "sack")
        },
    ];
    match extra {
        Some(extra) if first => flows.insert(0, extra),
        Some(extra) => flows.push(extra),
        None => {}
    }
    let mut scenario = dumbbell(stack, bottleneck, flows, END);
    scenario.network.topology = topology;
    scenario.network.access = link(
        Some(20_000_000),
        Time::from_millis(1),
        Limit::Bytes(100_000),
    );
    scenario.network.bottleneck.loss = vec![loss(Place::Router, 0.01), loss(Place::Receiver, 0.01)];
    scenario.trace.interval = Time::from_millis(50);
    capture_everywhere(&mut scenario);
    scenario
}

fn each_network(mut check: impl FnMut(&str, Topology)) {
    for (stack, ..) in STACKS {
        for topology in [Topology::Dumbbell, Topology::Chain] {
            check(stack, topology);
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_events_and_another_seed_others() {
    each_network(|stack, topology| {
        let scenario = scenario(stack, topology, None, false);
        let first = Log::of(&scenario, 1);
        assert!(first.events.len() > 3_000, "{stack}: a trace to compare");
        assert!(
            first.events == Log::of(&scenario, 1).events,
            "{stack}, {topology:?}: two runs differ"
        );
        assert!(
            first.events != Log::of(&scenario, 2).events,
            "{stack}, {topology:?}: the seed changes nothing"
        );
    });
}

#[test]
fn a_probe_changes_nothing_that_a_summary_tells() {
    each_network(|stack, topology| {
        let scenario = scenario(stack, topology, None, false);
        let mut log = Log {
            flows: scenario.flows.iter().map(|f| f.name.clone()).collect(),
            points: scenario.trace.capture.clone(),
            events: Vec::new(),
        };
        let traced = common::run_with(&scenario, 1, &mut log);
        let plain = common::run(&scenario, 1);
        assert_eq!(traced.flows, plain.flows, "{stack}, {topology:?}");
        assert_eq!(traced.links, plain.links, "{stack}, {topology:?}");
    });
}

#[test]
fn a_flow_that_never_starts_changes_no_event_of_the_others() {
    each_network(|stack, topology| {
        let without = Log::of(&scenario(stack, topology, None, false), 5);
        for first in [false, true] {
            let never = Flow {
                start: Start {
                    at: END + Time::from_secs(1),
                    spread: Time::ZERO,
                },
                extra_delay: Time::from_millis(7),
                ..flow("never", "reno")
            };
            let with = Log::of(&scenario(stack, topology, Some(never), first), 5);
            let (a, b) = (without.without("never"), with.without("never"));
            let differ = a.iter().zip(&b).find(|(x, y)| x != y);
            assert!(differ.is_none(), "{stack}, {topology:?}: {differ:?}");
            assert_eq!(a.len(), b.len(), "{stack}, {topology:?}");
        }
    });
}
