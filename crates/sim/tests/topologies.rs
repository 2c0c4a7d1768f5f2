//! Parking lots and graphs against what is known of them without simulation.

mod common;

use cclab_spec::{Direction, Graph, GraphLink, Limit, Routing, Scenario, Topology};
use cclab_trace::schema::RunSummary;
use cclab_units::Time;

use common::{dumbbell, flow, link, run};

const RTT: Time = Time::from_millis(40);

fn ms(ms: u64) -> Time {
    Time::from_millis(ms)
}

/// Two flows of different RTTs, one against the other's direction, over 20 Mbit/s.
fn two_way() -> Scenario {
    let bottleneck = link(Some(20_000_000), ms(10), Limit::Bytes(100_000));
    let mut flows = vec![flow("there", "reno"), flow("back", "cubic")];
    flows[1].direction = Direction::Reverse;
    let mut scenario = dumbbell("linux-6.12", bottleneck, flows, Time::from_secs(20));
    scenario.network.access = link(Some(100_000_000), ms(1), Limit::Packets(10_000));
    scenario
}

/// What flows did, without the names of links.
fn outcomes(summary: &RunSummary) -> Vec<(u64, u64, Option<Time>, Option<Time>)> {
    let outcome = |flow: &cclab_trace::schema::FlowSummary| {
        let times = (flow.srtt_mean, flow.last_byte);
        (flow.bytes_received, flow.retransmits, times.0, times.1)
    };
    summary.flows.iter().map(outcome).collect()
}

#[test]
fn a_parking_lot_of_one_bottleneck_is_a_dumbbell() {
    let dumbbell = two_way();
    let mut lot = dumbbell.clone();
    lot.network.topology = Topology::ParkingLot;
    assert_eq!(run(&lot, 3), run(&dumbbell, 3));
}

#[test]
fn a_graph_drawn_as_a_dumbbell_is_one() {
    let dumbbell = two_way();
    let mut drawn = dumbbell.clone();
    let access = &dumbbell.network.access;
    let edge = |name: &str, from: &str, to: &str, link: &cclab_spec::Link| GraphLink {
        name: name.into(),
        from: from.into(),
        to: to.into(),
        one_way: false,
        link: link.clone(),
    };
    drawn.network.topology = Topology::Graph;
    drawn.network.graph = Some(Graph {
        reroutes: Vec::new(),
        routing: Routing::Shortest,
        links: vec![
            edge("1", "a", "r1", access),
            edge("2", "b", "r2", access),
            edge("3", "c", "r1", access),
            edge("4", "d", "r2", access),
            edge("bottleneck", "r1", "r2", &dumbbell.network.bottleneck),
        ],
        bottleneck: 4,
    });
    for (flow, (from, to)) in drawn.flows.iter_mut().zip([("a", "b"), ("d", "c")]) {
        flow.direction = Direction::Forward;
        flow.from = Some(from.into());
        flow.to = Some(to.into());
    }
    assert_eq!(outcomes(&run(&drawn, 3)), outcomes(&run(&dumbbell, 3)));
}

/// Over `hops` bottlenecks one flow crosses all, and one each crosses one.
fn parking_lot(hops: u32) -> Scenario {
    let bottleneck = link(Some(10_000_000), RTT / 2, Limit::Packets(60));
    let mut flows = vec![flow("long", "sack")];
    for hop in 1..=hops {
        let mut short = flow(&format!("short{hop}"), "sack");
        short.crosses = Some([hop, hop]);
        short.start.at = ms(130 * u64::from(hop));
        flows.push(short);
    }
    let mut scenario = dumbbell("rfc", bottleneck, flows, Time::from_secs(60));
    scenario.network.topology = Topology::ParkingLot;
    scenario.network.bottlenecks = hops;
    scenario
}

#[test]
fn each_flow_of_a_parking_lot_has_the_propagation_of_the_bottlenecks_it_crosses() {
    let summary = run(&parking_lot(3), 1);
    let least = |index: usize| summary.flows[index].rtt_min.expect("samples");
    let long = least(0);
    // Propagation, and at each hop the transmission of a packet there and of one back.
    let own = Time::from_micros(1_200 + 42);
    assert!(long >= RTT * 3 && long < (RTT + own) * 3, "{long}");
    for index in 1..=3 {
        let short = least(index);
        assert!(short >= RTT && short < RTT + own * 2, "{short}");
    }
}

#[test]
fn every_bottleneck_of_a_parking_lot_is_shared_and_full_and_the_long_way_gets_least() {
    let summary = run(&parking_lot(3), 1);
    let names: Vec<&str> = summary.links[..6].iter().map(|l| l.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "bottleneck",
            "bottleneck.reverse",
            "bottleneck2",
            "bottleneck2.reverse",
            "bottleneck3",
            "bottleneck3.reverse",
        ]
    );
    for hop in [0, 2, 4] {
        let sent = summary.links[hop].tx_bytes as f64 * 8.0;
        let used = sent / (10e6 * summary.end.as_secs_f64());
        assert!(used > 0.9, "{}: {used}", summary.links[hop].name);
        assert!(summary.links[hop].queue_drops > 0);
    }
    let got = |index: usize| summary.flows[index].bytes_received;
    // Proportional fairness would give it a quarter of a link, max-min fairness a half; its
    // threefold RTT lessens its share besides.
    for index in 1..=3 {
        assert!(3 * got(0) < got(index), "{} {}", got(0), got(index));
    }
    assert!(got(0) > 0);
}

#[test]
fn a_direction_of_its_own_carries_acknowledgements() {
    let mut scenario = two_way();
    scenario.flows.truncate(1);
    common::rewire(&mut scenario, Topology::Graph);
    let summary = run(&scenario, 1);
    let delivered = |name: &str| {
        let found = summary.links.iter().find(|link| link.name == name);
        found.expect("a link of the graph").delivered
    };
    assert!(delivered("middle") > 1000 && delivered("down") > 500);
    assert_eq!(delivered("middle.reverse"), 0);
    // All go down that come to the router, but for those that are on the link at the end.
    assert!(delivered("right") - delivered("down") < 10);
    // There 1 + 10 + 1 ms, back 1 + 2 x 3 + 1 ms.
    let least = summary.flows[0].rtt_min.expect("samples");
    assert!(
        least > Time::from_millis(20) && least < Time::from_millis(22),
        "{least}"
    );
}
