//! Probes against what is known of them without simulation.

mod common;

use cclab_packet::address;
use cclab_spec::{Direction, Limit, Loss, Place, Probe, ProbeKind, Scenario, Topology};
use cclab_trace::schema::{Echo, RunSummary};
use cclab_units::{Rate, Time};

use common::log::Log;
use common::{dumbbell, flow, link, run};

fn ms(ms: u64) -> Time {
    Time::from_millis(ms)
}

/// A probe from the beginning to the end, forward, with an echo every 50 ms.
fn probe(name: &str) -> Probe {
    Probe {
        name: name.into(),
        kind: ProbeKind::Ping,
        interval: ms(50),
        payload: 56,
        extra_delay: Time::ZERO,
        direction: Direction::Forward,
        crosses: None,
        from: None,
        to: None,
        start: Time::ZERO,
        stop: None,
    }
}

/// 10 Mbit/s with 20 ms each way, a queue of `limit`, and the flows called so.
fn scenario(flows: &[&str], limit: Limit, seconds: u64) -> Scenario {
    let bottleneck = link(Some(10_000_000), ms(20), limit);
    let flows = flows.iter().map(|name| flow(name, "reno")).collect();
    dumbbell("linux-6.12", bottleneck, flows, Time::from_secs(seconds))
}

fn echoes(summary: &RunSummary) -> &[Echo] {
    &summary.probes[0].echoes
}

#[test]
fn on_an_idle_path_the_round_trip_is_the_closed_form_to_the_nanosecond() {
    // 56 bytes of data, 28 of headers, 14 of Ethernet: 98 bytes, 78.4 us at 10 Mbit/s each way;
    // there are 40 ms of propagation, and 2 x 3 ms more that the path is made longer by.
    let expected = ms(46) + Time::from_nanos(2 * 78_400);
    for topology in [Topology::Dumbbell, Topology::Chain] {
        for (kind, direction) in [
            (ProbeKind::Ping, Direction::Forward),
            (ProbeKind::Udp, Direction::Reverse),
        ] {
            let mut scenario = scenario(&[], Limit::Packets(100), 10);
            scenario.network.topology = topology;
            scenario.probes = vec![Probe {
                kind,
                direction,
                extra_delay: ms(3),
                ..probe("p")
            }];
            let summary = run(&scenario, 1);
            let found = echoes(&summary);
            assert_eq!(found.len(), 200);
            for (index, echo) in (0..).zip(found) {
                assert_eq!(echo.sent, ms(50) * index);
                let answered = echo.sent + expected <= Time::from_secs(10);
                assert_eq!(echo.rtt, answered.then_some(expected), "{echo:?}");
            }
        }
    }
}

#[test]
fn in_a_full_queue_the_round_trip_is_the_base_and_the_queue() {
    let mut scenario = scenario(&["a"], Limit::Packets(100), 60);
    scenario.probes = vec![probe("p")];
    let summary = run(&scenario, 1);
    let base = ms(40) + Time::from_nanos(2 * 78_400);
    // A queue of 100 full packets of 1514 bytes, and the one that is being sent.
    let full = Time::from_nanos(101 * 1_211_200);
    let rtts: Vec<Time> = echoes(&summary)
        .iter()
        .filter_map(|echo| echo.rtt)
        .collect();
    let (least, most) = (rtts.iter().min(), rtts.iter().max());
    let (least, most) = (*least.expect("answers"), *most.expect("answers"));
    assert!(least >= base, "{least}");
    assert!(
        most > base + full / 10 * 9 && most <= base + full,
        "{most} of {base} and {full}"
    );
    // Packets of Reno wait as long on average, but for the slow start's beginning.
    let mean = rtts.iter().map(|rtt| rtt.as_secs_f64()).sum::<f64>() / rtts.len() as f64;
    let waited = summary.links[0].sojourn.mean().expect("packets") / 1e9;
    let ratio = (mean - base.as_secs_f64()) / waited;
    assert!(
        (0.9..1.1).contains(&ratio),
        "{mean} s of round trip, {waited} s of queue"
    );
}

#[test]
fn echoes_leave_at_the_interval_from_start_to_stop() {
    let mut scenario = scenario(&["a"], Limit::Packets(20), 10);
    scenario.probes = vec![Probe {
        start: ms(1_005),
        stop: Some(ms(1_205)),
        ..probe("p")
    }];
    let sent: Vec<Time> = echoes(&run(&scenario, 1))
        .iter()
        .map(|echo| echo.sent)
        .collect();
    assert_eq!(sent, [1_005, 1_055, 1_105, 1_155].map(ms));
}

#[test]
fn a_probe_takes_no_more_than_its_own_bytes() {
    // Long enough that the sawtooth of one Reno flow does not matter. The queue is deep, so that the
    // link is never idle: what the flow loses is what the probe takes.
    let goodput = |probes: Vec<Probe>| {
        let mut scenario = scenario(&["a"], Limit::Packets(200), 600);
        scenario.probes = probes;
        let summary = run(&scenario, 1);
        (
            summary.flows[0].bytes_received as f64 * 8.0 / 600.0,
            summary,
        )
    };
    let (alone, _) = goodput(Vec::new());
    let both = vec![
        Probe {
            interval: ms(10),
            ..probe("there")
        },
        Probe {
            interval: ms(10),
            direction: Direction::Reverse,
            ..probe("back")
        },
    ];
    let (beside, summary) = goodput(both);
    let bytes = f64::from(summary.probes[0].packet_bytes);
    assert_eq!(bytes, 98.0);
    // Each puts its bytes on the bottleneck once an interval, as requests or as answers.
    let taken = 2.0 * bytes * 8.0 / 0.01;
    let lost = alone - beside;
    assert!(lost > 0.0, "{alone} alone, {beside} beside them");
    assert!(
        lost < 1.02 * taken,
        "{lost} bit/s of goodput went, {taken} were sent"
    );
}

#[test]
fn a_probe_changes_nothing_that_it_does_not_meet() {
    // Two parking-lot flows, of which the second crosses what no probe does: it and its dice stay.
    let mut scenario = scenario(&["a", "b"], Limit::Packets(20), 20);
    scenario.network.topology = Topology::ParkingLot;
    scenario.network.bottlenecks = 2;
    scenario.flows[0].crosses = Some([1, 1]);
    scenario.flows[1].crosses = Some([2, 2]);
    for flow in &mut scenario.flows {
        flow.start.spread = ms(100);
    }
    let before = run(&scenario, 7);
    scenario.probes = vec![Probe {
        crosses: Some([1, 1]),
        ..probe("p")
    }];
    let after = run(&scenario, 7);
    assert_eq!(before.flows[1], after.flows[1]);
    assert_eq!(before.flows[0].started, after.flows[0].started);
    assert_ne!(before.flows[0], after.flows[0], "the probe met nobody");
}

#[test]
fn a_run_ends_as_it_would_without_a_probe() {
    let mut scenario = scenario(&["a"], Limit::Packets(20), 60);
    scenario.flows[0].transfer = Some(100_000);
    let before = run(&scenario, 1);
    scenario.probes = vec![Probe {
        start: ms(59_000),
        ..probe("p")
    }];
    let after = run(&scenario, 1);
    assert_eq!((before.end, &before.flows), (after.end, &after.flows));
    assert_eq!(echoes(&after), []);
}

#[test]
fn events_and_captures_name_a_probe() {
    let mut scenario = scenario(&["a"], Limit::Packets(20), 1);
    scenario.flows[0].transfer = Some(10_000_000);
    scenario.trace.capture = vec!["bottleneck".into()];
    scenario.probes = vec![probe("p")];
    let log = Log::of(&scenario, 1);
    let of_probe = |event: &&(Time, String)| event.1.starts_with("p: QueueEvent");
    assert!(log.events.iter().filter(of_probe).count() > 20);
    // Every backend gives the hosts of a probe the addresses that follow those of flows.
    assert_eq!(address(1, false).to_string(), "10.0.0.2");
}

#[test]
fn lost_requests_stay_unanswered() {
    let mut scenario = scenario(&[], Limit::Packets(100), 100);
    scenario.network.bottleneck.loss = vec![Loss::random(Place::Router, 0.2)];
    scenario.probes = vec![probe("p")];
    let summary = run(&scenario, 1);
    let lost = echoes(&summary)
        .iter()
        .filter(|echo| echo.rtt.is_none())
        .count();
    assert_eq!(lost as u64, summary.links[0].random_drops);
    assert!((300..500).contains(&lost), "{lost} of 2000");
    assert_eq!(summary.links[0].rate, Rate::from_bps(10_000_000));
}
