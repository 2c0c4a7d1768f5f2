//! Conservation and completion over random small networks.

mod common;

use cclab_spec::{Direction, Flow, Limit, Link, Loss, Outage, Place, Scenario, Start, Topology};
use cclab_trace::schema::RunSummary;
use cclab_trace::{Event, Probe};
use cclab_units::Time;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use common::{STACKS, capture_everywhere, dumbbell, flow, link, loss, outage};

const CASES: u32 = 96;
/// Far more than any transfer here needs, even at a timeout per segment.
const PATIENCE: Time = Time::from_secs(40_000);

/// Counts packets at the hosts' own interfaces, and losses anywhere.
#[derive(Default)]
struct Ledger {
    points: Vec<String>,
    sent: u64,
    received: u64,
    dropped: u64,
}

impl Probe for Ledger {
    fn wants_acks(&self, _: Time) -> bool {
        false
    }
    fn wants_queue(&self, _: Time) -> bool {
        false
    }
    fn wants_drops(&self, _: Time) -> bool {
        true
    }
    fn wants_packets(&self, _: Time) -> bool {
        true
    }
    fn record(&mut self, _: Time, event: Event<'_>) {
        match event {
            Event::Drop(_) => self.dropped += 1,
            Event::Packet(point, packet) => {
                let point = &self.points[point as usize];
                if point == "bottleneck" {
                    return;
                }
                if point.ends_with(".sender") == packet.backward {
                    self.received += 1;
                } else {
                    self.sent += 1;
                }
            }
            _ => {}
        }
    }
}

/// Runs `scenario` and checks that no packet appears or vanishes, on any link and in all.
fn run_by_the_book(scenario: &Scenario, seed: u64) -> RunSummary {
    let mut ledger = Ledger {
        points: scenario.trace.capture.clone(),
        ..Ledger::default()
    };
    let summary = common::run_with(scenario, seed, &mut ledger);
    for l in &summary.links {
        let dropped = l.queue_drops + l.random_drops + l.outage_drops;
        assert_eq!(l.offered, l.delivered + dropped + l.in_flight, "{}", l.name);
    }
    let sum = |count: fn(&cclab_trace::schema::LinkSummary) -> u64| -> u64 {
        summary.links.iter().map(count).sum()
    };
    let dropped = sum(|l| l.queue_drops + l.random_drops + l.outage_drops);
    let in_flight = sum(|l| l.in_flight);
    assert!(ledger.sent > 0);
    assert_eq!(dropped, ledger.dropped, "drops traced and counted");
    assert_eq!(ledger.sent, ledger.received + dropped + in_flight);
    for f in &summary.flows {
        assert!(f.bytes_acked <= f.bytes_received, "{}", f.name);
        assert!(f.retransmits <= f.segments_sent, "{}", f.name);
        let full = u64::from(f.mss);
        let originals = f.segments_sent - f.retransmits;
        assert!(originals >= f.bytes_received.div_ceil(full), "{}", f.name);
        assert_eq!(f.srtt_mean.is_some(), f.rtt_min.is_some(), "{}", f.name);
        assert!(f.rtt_min <= f.srtt_mean, "{}: {f:?}", f.name);
    }
    for l in &summary.links {
        let most = l.rate.map_or(u64::MAX, |rate| rate.bytes_in(summary.end));
        assert!(l.tx_bytes <= most, "{} carries more than its rate", l.name);
    }
    summary
}

fn millis(range: std::ops::Range<u64>) -> impl Strategy<Value = Time> {
    range.prop_map(Time::from_millis)
}

fn place() -> impl Strategy<Value = Place> {
    select(vec![Place::Sender, Place::Router, Place::Receiver])
}

/// Room for at least two of the largest packets.
fn limit() -> impl Strategy<Value = Limit> {
    prop_oneof![
        (2_u64..60).prop_map(Limit::Packets),
        (20_000_u64..200_000).prop_map(Limit::Bytes),
    ]
}

fn losses() -> impl Strategy<Value = Vec<Loss>> {
    prop::collection::vec((place(), 0.0..0.1_f64), 0..4)
        .prop_map(|all| all.into_iter().map(|(at, p)| loss(at, p)).collect())
}

fn outages() -> impl Strategy<Value = Vec<Outage>> {
    let one = (place(), millis(0..5_000), millis(1..3_000));
    prop::collection::vec(one, 0..3).prop_map(|all| {
        all.into_iter()
            .map(|(at, start, duration)| outage(at, start, duration))
            .collect()
    })
}

fn bottleneck() -> impl Strategy<Value = Link> {
    let rates = prop::option::weighted(0.9, 200_000_u64..50_000_000);
    (rates, millis(0..60), limit(), losses(), outages()).prop_map(
        |(bps, delay, limit, loss, outage)| Link {
            loss,
            outage,
            ..link(bps, delay, limit)
        },
    )
}

fn access() -> impl Strategy<Value = Link> {
    let rates = prop::option::of(1_000_000_u64..200_000_000);
    (rates, millis(0..5), limit()).prop_map(|(bps, delay, limit)| link(bps, delay, limit))
}

/// A flow with `transfer` bytes to send; its name is given later.
fn any_flow(transfer: impl Strategy<Value = Option<u64>>) -> impl Strategy<Value = Flow> {
    let variants: Vec<&str> = cclab_cc::VARIANTS.iter().map(|v| v.name).collect();
    let sizes = (
        transfer,
        prop::option::of(1_000_u64..100_000),
        prop::option::of(100_u32..9_000),
        prop::option::of((1_u64..5_000, 1.0..500.0_f64)),
    );
    let manner = (
        prop::option::of(1_u32..4),
        any::<bool>(),
        any::<bool>(),
        (millis(0..2_000), millis(0..500)),
        millis(0..50),
    );
    (select(variants), sizes, manner).prop_map(|(cc, sizes, manner)| {
        let (transfer, rwnd, mss, writes) = sizes;
        let (delayed_ack, ecn, reverse, (at, spread), extra_delay) = manner;
        Flow {
            transfer,
            rwnd,
            mss,
            write_size: writes.map(|(size, _)| size),
            writes_per_second: writes.map(|(_, per_second)| per_second),
            delayed_ack,
            ecn,
            direction: match reverse {
                true => Direction::Reverse,
                false => Direction::Forward,
            },
            start: Start { at, spread },
            extra_delay,
            ..flow("", cc)
        }
    })
}

fn network(
    transfer: impl Strategy<Value = Option<u64>>,
    duration: impl Strategy<Value = Time>,
) -> impl Strategy<Value = Scenario> {
    let stacks: Vec<&str> = STACKS.iter().map(|s| s.0).collect();
    let topologies = select(vec![Topology::Chain, Topology::Dumbbell]);
    let flows = prop::collection::vec(any_flow(transfer), 1..5);
    (
        select(stacks),
        topologies,
        bottleneck(),
        access(),
        flows,
        duration,
    )
        .prop_map(
            |(stack, topology, bottleneck, access, mut flows, duration)| {
                for (i, flow) in flows.iter_mut().enumerate() {
                    flow.name = format!("f{i}");
                }
                let mut scenario = dumbbell(stack, bottleneck, flows, duration);
                scenario.network.topology = topology;
                scenario.network.access = access;
                capture_everywhere(&mut scenario);
                scenario
            },
        )
}

/// The same cases at every run; a failing one is printed, smallest first, and kept nowhere.
fn check(strategy: impl Strategy<Value = (Scenario, u64)>, law: impl Fn(&Scenario, u64)) {
    let config = Config {
        cases: CASES,
        failure_persistence: None,
        max_shrink_iters: 200,
        ..Config::default()
    };
    let mut runner =
        TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let outcome = runner.run(&strategy, |(scenario, seed)| {
        law(&scenario, seed);
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
}

#[test]
fn finite_transfers_arrive_whole_whatever_the_losses() {
    let transfer = (1_u64..150_000).prop_map(Some);
    let networks = network(transfer, Just(PATIENCE));
    check((networks, any::<u64>()), |scenario, seed| {
        let summary = run_by_the_book(scenario, seed);
        for (flow, spec) in summary.flows.iter().zip(&scenario.flows) {
            assert!(flow.ended.is_some(), "{} never ended: {flow:?}", flow.name);
            assert_eq!(Some(flow.bytes_received), spec.transfer, "{}", flow.name);
            assert_eq!(Some(flow.bytes_acked), spec.transfer, "{}", flow.name);
        }
    });
}

#[test]
fn a_run_cut_short_conserves_packets_too() {
    let networks = network(Just(None), millis(2_500..6_000));
    check((networks, any::<u64>()), |scenario, seed| {
        run_by_the_book(scenario, seed);
    });
}

#[test]
fn a_flow_whose_time_is_up_closes_in_order() {
    let networks = (network(Just(None), Just(PATIENCE)), millis(1..4_000));
    let networks = networks.prop_map(|(mut scenario, duration)| {
        for flow in &mut scenario.flows {
            flow.duration = Some(duration);
        }
        scenario
    });
    check((networks, any::<u64>()), |scenario, seed| {
        let summary = run_by_the_book(scenario, seed);
        for flow in &summary.flows {
            assert!(flow.ended.is_some(), "{} never ended: {flow:?}", flow.name);
            assert_eq!(flow.bytes_received, flow.bytes_acked, "{}", flow.name);
        }
    });
}
