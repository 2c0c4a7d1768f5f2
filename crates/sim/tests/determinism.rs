//! The same scenario and seed give the same events; another seed, others; a flow that never
//! starts changes nothing for the rest.

mod common;

use cclab_spec::{Flow, Limit, Place, Scenario, Start, Topology};
use cclab_units::Time;

use common::log::Log;
use common::{STACKS, TOPOLOGIES, capture_everywhere, dumbbell, flow, link, loss, rewire};

const END: Time = Time::from_secs(3);

fn scenario(stack: &str, topology: Topology, extra: Option<Flow>, first: bool) -> Scenario {
    let bottleneck = link(Some(3_000_000), Time::from_millis(9), Limit::Packets(12));
    let mut flows = vec![
        flow("long", "cubic").with(|flow| flow.extra_delay = Time::from_millis(3)),
        flow("short", "newreno").with(|flow| {
            flow.start = Start {
                at: Time::from_millis(100),
                spread: Time::from_millis(50),
            }
        }),
        flow("back", "sack").with(|flow| {
            flow.transfer = Some(200_000);
            flow.direction = cclab_spec::Direction::Reverse;
        }),
    ];
    match extra {
        Some(extra) if first => flows.insert(0, extra),
        Some(extra) => flows.push(extra),
        None => {}
    }
    let mut scenario = dumbbell(stack, bottleneck, flows, END);
    scenario.network.access = link(
        Some(20_000_000),
        Time::from_millis(1),
        Limit::Bytes(100_000),
    );
    scenario.network.bottleneck.loss = vec![loss(Place::Router, 0.01), loss(Place::Receiver, 0.01)];
    rewire(&mut scenario, topology);
    scenario.trace.interval = Time::from_millis(50);
    capture_everywhere(&mut scenario);
    scenario
}

fn each_network(mut check: impl FnMut(&str, Topology)) {
    for (stack, ..) in STACKS {
        for topology in TOPOLOGIES {
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
        let mut log = Log::empty(&scenario);
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
            let never = flow("never", "reno").with(|flow| {
                flow.start = Start {
                    at: END + Time::from_secs(1),
                    spread: Time::ZERO,
                };
                flow.extra_delay = Time::from_millis(7);
            });
            let with = Log::of(&scenario(stack, topology, Some(never), first), 5);
            let (a, b) = (without.without("never"), with.without("never"));
            let differ = a.iter().zip(&b).find(|(x, y)| x != y);
            assert!(differ.is_none(), "{stack}, {topology:?}: {differ:?}");
            assert_eq!(a.len(), b.len(), "{stack}, {topology:?}");
        }
    });
}
