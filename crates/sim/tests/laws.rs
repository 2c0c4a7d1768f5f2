//! Conservation and completion over random small networks.

mod common;

use std::num::NonZero;

use cclab_sim::fuzzing::audit;
use cclab_spec::{
    Change, Codepoint, Direction, Ecn, Flow, Forwarder, GilbertElliott, Jitter, Limit, Link,
    ListedPackets, Loss, LossModel, Opportunities, Outage, Place, Remark, Reorder, Scenario, Sizes,
    Slots, Start, TRAFFIC_KINDS, Topology, Traffic,
};
use cclab_trace::schema::RunSummary;
use cclab_units::Time;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use common::{STACKS, TOPOLOGIES, dumbbell, flow, link, outage, rewire};

const CASES: u32 = 96;
/// Far more than any transfer here needs, even at a timeout per segment.
const PATIENCE: Time = Time::from_secs(40_000);

/// Runs `scenario` and audits its books: no packet appears or vanishes, on any link and in all.
fn run_by_the_book(scenario: &Scenario, seed: u64) -> RunSummary {
    let summary = audit(scenario, seed).unwrap_or_else(|broken| panic!("{broken}"));
    assert!(summary.links.iter().any(|link| link.offered > 0));
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

fn listed() -> impl Strategy<Value = LossModel> {
    let packets = prop::collection::btree_set(1_u64..300, 1..20);
    (packets, any::<bool>()).prop_map(|(packets, of_one)| {
        LossModel::Packets(ListedPackets {
            packets: packets.into_iter().collect(),
            flow: of_one.then(|| "f0".to_owned()),
        })
    })
}

fn bursts() -> impl Strategy<Value = LossModel> {
    (0.0..0.02_f64, 0.5..1.0_f64, 0.0..0.02_f64, 0.5..1.0_f64)
        .prop_map(|(p, r, good, bad)| LossModel::GilbertElliott(GilbertElliott { p, r, good, bad }))
}

fn losses() -> impl Strategy<Value = Vec<Loss>> {
    let model = prop_oneof![
        (0.0..0.06_f64).prop_map(LossModel::Random),
        bursts(),
        listed()
    ];
    let one = (place(), model).prop_map(|(at, model)| Loss { at, model });
    prop::collection::vec(one, 0..4)
}

/// Jitter, slots, packets held back, copies and corruption, each of them or none.
type Disturbance = (
    Option<Jitter>,
    Option<Slots>,
    Option<Reorder>,
    [Option<f64>; 2],
);

fn disturbance() -> impl Strategy<Value = Disturbance> {
    let jitter = prop_oneof![
        (millis(1..20), any::<bool>()).prop_map(|(max, reorder)| Jitter::Uniform { max, reorder }),
        (millis(1..20), any::<bool>()).prop_map(|(max, reorder)| Jitter::Normal { max, reorder }),
        (millis(1..40), any::<bool>())
            .prop_map(|(average, reorder)| Jitter::Wifi { average, reorder }),
    ];
    let reorder = (0.0..0.1_f64, millis(1..30));
    (
        prop::option::weighted(0.3, jitter),
        prop::option::weighted(0.3, slots()),
        prop::option::weighted(0.3, reorder),
        prop::option::weighted(0.3, 0.0..0.1_f64),
        prop::option::weighted(0.3, 0.0..0.05_f64),
    )
        .prop_map(|(jitter, slots, reorder, duplicate, corrupt)| {
            // Packets that overtook each other wait for no slots.
            let slots = slots.filter(|_| !jitter.is_some_and(Jitter::reorders));
            let reorder = reorder.map(|(probability, delay)| Reorder { probability, delay });
            (jitter, slots, reorder, [duplicate, corrupt])
        })
}

fn slots() -> impl Strategy<Value = Slots> {
    let packets = prop::option::of((1..20_u64).prop_map(NonZero::new));
    let bytes = prop::option::of((1..20_000_u64).prop_map(NonZero::new));
    (millis(0..5), millis(0..10), packets, bytes).prop_map(|(shortest, more, packets, bytes)| {
        Slots {
            every: [shortest, shortest + more],
            packets: packets.flatten(),
            bytes: bytes.flatten(),
        }
    })
}

/// Changes in the order of time; none of the rate of a link that has none.
fn schedule() -> impl Strategy<Value = Vec<Change>> {
    let change = (
        millis(0..5_000),
        prop::option::of(300_000_u64..20_000_000),
        prop::option::of(millis(0..50)),
        prop::option::of(0.0..0.05_f64),
        prop::option::of(millis(0..30)),
    );
    prop::collection::vec(change, 0..4).prop_map(|changes| {
        let mut changes: Vec<Change> = changes
            .into_iter()
            .map(|(at, bps, delay, loss, jitter)| Change {
                at,
                rate: bps.map(common::rate),
                delay,
                loss,
                jitter,
                ..Change::default()
            })
            .collect();
        changes.sort_by_key(|change| change.at);
        changes
    })
}

/// A trace of some opportunities in half a second.
fn opportunities() -> impl Strategy<Value = Option<Opportunities>> {
    let instants = prop::collection::vec(0_u32..500, 20..300);
    prop::option::weighted(0.2, instants).prop_map(|instants| {
        let mut instants = instants?;
        instants.push(500);
        instants.sort_unstable();
        let lines: Vec<String> = instants.iter().map(u32::to_string).collect();
        Some(Opportunities::parse(&lines.join("\n")).expect("a good trace"))
    })
}

/// Adds impairments of every kind to `link`.
fn impaired(link: Link) -> impl Strategy<Value = Link> {
    let parts = (
        losses(),
        outages(),
        disturbance(),
        schedule(),
        opportunities(),
        remarks(),
    );
    parts.prop_map(
        move |(loss, outage, disturbance, mut schedule, trace, remark)| {
            let (jitter, slots, reorder, [duplicate, corrupt]) = disturbance;
            if jitter.is_none() {
                schedule.iter_mut().for_each(|change| change.jitter = None);
            }
            // Where there are changes, slots begin with the first, and end with the last of several.
            let begin_later = slots.filter(|_| !schedule.is_empty());
            if let Some(first) = schedule.first_mut() {
                first.slots = slots;
            }
            if let [_, .., last] = schedule.as_mut_slice() {
                last.slots = slots.map(|slots| Slots {
                    every: [Time::ZERO; 2],
                    ..slots
                });
            }
            if link.rate.is_none() || trace.is_some() {
                schedule.iter_mut().for_each(|change| change.rate = None);
            }
            Link {
                loss,
                outage,
                jitter,
                slots: slots.xor(begin_later),
                reorder,
                duplicate,
                corrupt,
                remark,
                schedule,
                trace: trace.filter(|_| link.rate.is_some()),
                ..link.clone()
            }
        },
    )
}

/// Any codepoint may become any other.
fn remarks() -> impl Strategy<Value = Vec<Remark>> {
    let all = [
        Codepoint::NotEct,
        Codepoint::Ect1,
        Codepoint::Ect0,
        Codepoint::Ce,
    ];
    let to = prop::collection::btree_map(select(all.to_vec()), select(all.to_vec()), 1..4);
    let one = (place(), to, 0.0..1.0_f64).prop_map(|(at, to, probability)| Remark {
        at,
        to,
        probability,
    });
    prop::collection::vec(one, 0..2)
}

fn outages() -> impl Strategy<Value = Vec<Outage>> {
    let one = (place(), millis(0..5_000), millis(1..3_000));
    prop::collection::vec(one, 0..3).prop_map(|all| {
        all.into_iter()
            .map(|(at, start, duration)| outage(at, start, duration))
            .collect()
    })
}

/// A link of some rate up to `fastest`, without impairments.
fn plain(slowest: u64, fastest: u64, delay: u64) -> impl Strategy<Value = Link> {
    let rates = prop::option::weighted(0.9, slowest..fastest);
    (rates, millis(0..delay), limit()).prop_map(|(bps, delay, limit)| link(bps, delay, limit))
}

fn bottleneck() -> impl Strategy<Value = Link> {
    let one = || plain(200_000, 50_000_000, 60).prop_flat_map(impaired);
    (one(), prop::option::weighted(0.3, one())).prop_map(|(link, reverse)| Link {
        reverse: reverse.map(Box::new),
        ..link
    })
}

/// Mostly without impairments: those of bottlenecks are more telling.
fn access() -> impl Strategy<Value = Link> {
    let plain = || plain(1_000_000, 200_000_000, 5);
    prop_oneof![4 => plain(), 1 => plain().prop_flat_map(impaired)]
}

fn ecn() -> impl Strategy<Value = Ecn> {
    select(vec![Ecn::Off, Ecn::Classic, Ecn::Accurate])
}

/// A flow with `transfer` bytes to send; its name is given later.
fn any_flow(transfer: impl Strategy<Value = Option<u64>>) -> impl Strategy<Value = Flow> {
    let variants: Vec<&str> = cclab_cc::simulated().map(|v| v.name).collect();
    let sizes = (
        transfer,
        prop::option::of(1_000_u64..100_000),
        prop::option::of(100_u32..9_000),
        prop::option::of((1_u64..5_000, 1.0..500.0_f64)),
    );
    let manner = (
        prop::option::of(1_u32..4),
        (ecn(), prop::option::weighted(0.3, ecn()), any::<bool>()),
        any::<bool>(),
        (millis(0..2_000), millis(0..500)),
        millis(0..50),
    );
    (select(variants), sizes, manner).prop_map(|(cc, sizes, manner)| {
        let (transfer, rwnd, mss, writes) = sizes;
        let (delayed_ack, (ecn, receiver_ecn, nodelay), reverse, (at, spread), extra_delay) =
            manner;
        flow("", cc).with(|flow| {
            flow.transfer = transfer;
            flow.rwnd = rwnd;
            flow.mss = mss;
            flow.write_size = writes.map(|(size, _)| size);
            flow.writes_per_second = writes.map(|(_, per_second)| per_second);
            flow.delayed_ack = delayed_ack;
            flow.ecn = ecn;
            flow.receiver_ecn = receiver_ecn;
            flow.nodelay = nodelay;
            flow.direction = match reverse {
                true => Direction::Reverse,
                false => Direction::Forward,
            };
            flow.start = Start { at, spread };
            flow.extra_delay = extra_delay;
        })
    })
}

/// Processors of routers and of hosts that are fast enough not to stop everything.
fn processors() -> impl Strategy<Value = (Option<Forwarder>, Option<u64>)> {
    let router = (1_000_u64..100_000, 5_u64..500).prop_map(|(packet_rate, backlog)| Forwarder {
        packet_rate,
        backlog,
    });
    (
        prop::option::weighted(0.2, router),
        prop::option::weighted(0.2, 1_000_u64..100_000),
    )
}

/// Cross traffic of any kind for the first two seconds; its name is given later.
fn any_traffic() -> impl Strategy<Value = Traffic> {
    let kinds: Vec<&str> = TRAFFIC_KINDS.iter().map(|kind| kind.name).collect();
    let numbers = (
        40.0..1_400.0_f64,
        1e4..2e6_f64,
        0.001..0.5_f64,
        1_u64..30_000,
    );
    (select(kinds), numbers, any::<bool>(), millis(0..30)).prop_map(
        |(kind, (packet_size, rate, seconds, bytes), reverse, extra_delay)| {
            let direction = match reverse {
                true => Direction::Reverse,
                false => Direction::Forward,
            };
            traffic_of(
                kind,
                packet_size,
                rate,
                seconds,
                bytes,
                direction,
                extra_delay,
            )
        },
    )
}

fn traffic_of(
    kind: &str,
    packet_size: f64,
    rate: f64,
    seconds: f64,
    bytes: u64,
    direction: Direction,
    extra_delay: Time,
) -> Traffic {
    let params = [
        ("rate", rate),
        ("packet_size", packet_size.round()),
        ("on", seconds),
        ("off", seconds),
        ("constant", 0.0),
        ("payload", packet_size.round()),
        ("interval", seconds),
        ("flows_per_second", 2.0 / seconds),
        ("clients", 3.0),
        ("think", seconds),
        ("request", packet_size.round()),
        ("nagle", 1.0),
    ];
    Traffic {
        name: String::new(),
        kind: kind.into(),
        extra_delay,
        direction,
        crosses: None,
        from: None,
        to: None,
        start: Time::from_millis(100),
        stop: Some(Time::from_secs(2)),
        cc: Some("cubic".into()),
        cc_params: Default::default(),
        sizes: Some(Sizes::Fixed { bytes }),
        twin_of: None,
        params: params.map(|(name, value)| (name.to_owned(), value)).into(),
    }
}

fn network(
    transfer: impl Strategy<Value = Option<u64>>,
    duration: impl Strategy<Value = Time>,
) -> impl Strategy<Value = Scenario> {
    let stacks: Vec<&str> = STACKS.iter().map(|s| s.0).collect();
    let topologies = select(TOPOLOGIES.to_vec());
    let flows = prop::collection::vec(any_flow(transfer), 1..5);
    let traffic = prop::collection::vec(any_traffic(), 0..3);
    (
        select(stacks),
        topologies,
        bottleneck(),
        access(),
        (flows, traffic),
        duration,
        processors(),
    )
        .prop_map(
            |(
                stack,
                topology,
                bottleneck,
                access,
                (mut flows, mut traffic),
                duration,
                processors,
            )| {
                let (router, packet_rate) = processors;
                let shares = topology == Topology::Chain && flows.len() + traffic.len() > 1;
                let shared = shares || topology == Topology::Graph;
                for (i, source) in traffic.iter_mut().enumerate() {
                    source.name = format!("t{i}");
                }
                for (i, flow) in flows.iter_mut().enumerate() {
                    flow.name = format!("f{i}");
                    flow.packet_rate = packet_rate.filter(|_| !shared);
                }
                let mut scenario = dumbbell(stack, bottleneck, flows, duration);
                scenario.network.access = access;
                scenario.network.router = router.filter(|_| topology != Topology::Graph);
                scenario.traffic = traffic;
                rewire(&mut scenario, topology);
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
        let summary = run_by_the_book(scenario, seed);
        assert_eq!(
            run_by_the_book(scenario, seed),
            summary,
            "the same run again"
        );
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
