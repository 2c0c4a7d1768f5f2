//! Cross traffic against what is known of it without simulation.

mod common;

use cclab_spec::{Direction, Limit, Scenario, Sizes, Topology, Traffic};
use cclab_trace::schema::{RunSummary, Transfer};
use cclab_trace::{Event, Probe};
use cclab_units::Time;

use common::{dumbbell, flow, link, run, run_with, traffic};

fn ms(ms: u64) -> Time {
    Time::from_millis(ms)
}

fn transfers(name: &str, per_second: f64, sizes: Sizes) -> Traffic {
    Traffic {
        cc: Some("reno".into()),
        sizes: Some(sizes),
        ..traffic(name, "poisson", &[("flows_per_second", per_second)])
    }
}

/// Traffic alone on a dumbbell.
fn alone(bps: u64, delay: Time, limit: Limit, seconds: u64, all: Vec<Traffic>) -> Scenario {
    let bottleneck = link(Some(bps), delay, limit);
    let mut scenario = dumbbell("rfc", bottleneck, Vec::new(), Time::from_secs(seconds));
    scenario.traffic = all;
    scenario
}

/// Keeps transfers.
#[derive(Default)]
struct Transfers(Vec<(Time, Transfer)>);

impl Probe for Transfers {
    fn record(&mut self, _: Time, event: Event<'_>) {
        if let Event::Transfer(start, transfer) = event {
            self.0.push((start, transfer));
        }
    }
}

fn transfers_of(scenario: &Scenario, seed: u64) -> (RunSummary, Vec<(Time, Transfer)>) {
    let mut probe = Transfers::default();
    let summary = run_with(scenario, seed, &mut probe);
    (summary, probe.0)
}

/// The mean time in the bottleneck's queue.
fn waited(summary: &RunSummary) -> f64 {
    summary.links[0].sojourn.mean().expect("packets") / 1e9
}

#[test]
fn random_packets_wait_as_in_an_m_d_1_queue() {
    // Pollaczek and Khinchine: W = rho T / (2 (1 - rho)) with service time T.
    for (load, tolerance) in [(0.3, 0.02), (0.6, 0.02), (0.9, 0.08)] {
        let rate = 10e6 * load;
        let source = traffic("r", "random", &[("rate", rate), ("packet_size", 500.0)]);
        let endless = Limit::Packets(1_000_000);
        let summary = run(&alone(10_000_000, ms(1), endless, 600, vec![source]), 3);
        let service = 500.0 * 8.0 / 10e6;
        let expected = load * service / (2.0 * (1.0 - load));
        let found = waited(&summary);
        assert!(
            (found / expected - 1.0).abs() < tolerance,
            "{load}: {found} for {expected}"
        );
    }
}

#[test]
fn random_packets_of_two_sizes_wait_as_in_an_m_g_1_queue() {
    let source = |name: &str, bytes: f64| {
        traffic(name, "random", &[("rate", 3.5e6), ("packet_size", bytes)])
    };
    let both = vec![source("small", 100.0), source("large", 1_500.0)];
    let summary = run(
        &alone(10_000_000, ms(1), Limit::Packets(1_000_000), 600, both),
        1,
    );
    // W = lambda E[S^2] / (2 (1 - rho)); each source has half of the load of 0.7.
    let (small, large) = (100.0 * 8.0 / 10e6, 1_500.0 * 8.0 / 10e6);
    let expected = (0.35 * small + 0.35 * large) / (2.0 * 0.3);
    let found = waited(&summary);
    assert!(
        (found / expected - 1.0).abs() < 0.03,
        "{found} for {expected}"
    );
}

#[test]
fn a_constant_rate_is_kept_exactly_and_waits_for_nothing() {
    let source = traffic(
        "c",
        "constant-rate",
        &[("rate", 3e6), ("packet_size", 1_000.0)],
    );
    let summary = run(
        &alone(10_000_000, ms(5), Limit::Packets(10), 100, vec![source]),
        1,
    );
    let found = &summary.traffic[0];
    // 375 packets a second, the first at the beginning and the last at the very end.
    assert_eq!(found.sent, 37_501);
    assert_eq!(waited(&summary), 0.0);
    let delay = found.delay.mean().expect("packets");
    assert_eq!(delay, 5e6 + 800e3, "propagation and transmission");
}

#[test]
fn on_off_sends_its_rate_while_it_is_on() {
    let params = [
        ("rate", 4e6),
        ("packet_size", 500.0),
        ("on", 0.2),
        ("off", 0.3),
    ];
    let constant = [&params[..], &[("constant", 1.0)]].concat();
    let drawn = [&params[..], &[("constant", 0.0)]].concat();
    for (params, tolerance) in [(constant, 0.001), (drawn, 0.1)] {
        let source = traffic("o", "on-off", &params);
        let summary = run(
            &alone(10_000_000, ms(1), Limit::Packets(100), 400, vec![source]),
            2,
        );
        let mean = summary.traffic[0].sent_bytes as f64 * 8.0 / 400.0;
        // 400 spells and their pauses: a standard error of 3.5%.
        assert!((mean / 1.6e6 - 1.0).abs() < tolerance, "{mean}");
    }
}

#[test]
fn a_ping_flood_has_one_request_on_its_way_on_a_short_path_and_a_hundred_a_second_on_a_long_one() {
    let flood = |delay, seconds| {
        let source = traffic("p", "ping-flood", &[("payload", 56.0), ("interval", 0.01)]);
        run(
            &alone(
                10_000_000,
                delay,
                Limit::Packets(100),
                seconds,
                vec![source],
            ),
            1,
        )
    };
    // 84 bytes take 67.2 us on the bottleneck, each way: one exchange after the other.
    let short = flood(ms(1), 10);
    let rtt = short.traffic[0].rtt.mean().expect("replies") / 1e9;
    assert!((rtt - 2.1344e-3).abs() < 1e-9, "{rtt}");
    let requests = 10.0 / rtt;
    let sent = short.traffic[0].sent as f64;
    assert!((sent - 2.0 * requests).abs() < 4.0, "{sent}");
    // Over paths longer than the interval a request leaves every 10 ms, the replies to earlier ones
    // notwithstanding.
    for delay in [ms(12), ms(50)] {
        let long = flood(delay, 10);
        let requests = long.traffic[0].delay.count();
        assert!((994..=1_001).contains(&requests), "{requests}");
        let under_way = long.traffic[0].sent - long.traffic[0].received;
        assert!(under_way <= 2 * 11, "{under_way}");
    }
}

/// A queue that comes and goes lengthens the path for some time: the flood sends one request every
/// 10 ms at most then, and one after the other again afterwards.
#[test]
fn a_ping_flood_keeps_one_request_on_its_way_after_a_queue_has_gone() {
    let flood = traffic("p", "ping-flood", &[("payload", 56.0), ("interval", 0.01)]);
    let bursts = traffic(
        "o",
        "on-off",
        &[
            ("rate", 2e7),
            ("packet_size", 1_000.0),
            ("on", 0.1),
            ("off", 0.9),
            ("constant", 1.0),
        ],
    );
    let scenario = alone(
        10_000_000,
        ms(1),
        Limit::Packets(100),
        10,
        vec![flood, bursts],
    );
    let summary = run(&scenario, 1);
    // Every second 100 ms of twice the rate, and as long to empty: of a queue of 80 ms at most.
    let requests = summary.traffic[0].delay.count();
    let alone = 10.0 / 2.1344e-3;
    assert!((requests as f64) < 0.9 * alone, "{requests}");
    assert!((requests as f64) > 0.7 * alone, "{requests}");
}

#[test]
fn a_transfer_alone_takes_the_time_of_the_closed_form() {
    for size in [1, 1_448, 14_480, 20_000, 100_000, 1_000_000] {
        for delay in [ms(1), ms(40)] {
            let mut source = transfers("t", 0.02, Sizes::Fixed { bytes: size });
            source.cc = Some("reno".into());
            let mut scenario = alone(20_000_000, delay, Limit::Packets(10_000), 400, vec![source]);
            scenario.network.access = link(Some(1_000_000_000), ms(1), Limit::Packets(10_000));
            scenario.stack = "rfc".into();
            let (_, all) = transfers_of(&scenario, 5);
            let slowdowns: Vec<f64> = all.iter().filter_map(|(_, t)| t.slowdown).collect();
            assert!(slowdowns.len() > 3, "{size}: {all:?}");
            for slowdown in slowdowns {
                // Acknowledgements of every other segment make rounds longer by one transmission;
                // what is left is what those of slow start cost.
                assert!(
                    (0.999..1.25).contains(&slowdown),
                    "{size} over {delay}: {slowdown}"
                );
                if size <= 14_480 {
                    assert!(
                        (slowdown - 1.0).abs() < 1e-6,
                        "{size} over {delay}: {slowdown}"
                    );
                }
            }
        }
    }
}

#[test]
fn transfers_arrive_at_their_rate_and_each_arrives_whole() {
    let sizes = Sizes::Lognormal {
        mean: 20_000.0,
        sigma: 1.0,
    };
    let source = transfers("t", 50.0, sizes);
    let scenario = alone(20_000_000, ms(10), Limit::Packets(200), 200, vec![source]);
    let (summary, all) = transfers_of(&scenario, 1);
    let found = &summary.traffic[0];
    // 10,000 arrivals with a standard deviation of 100.
    assert!(
        (9_600..10_400).contains(&found.started),
        "{}",
        found.started
    );
    assert_eq!(all.len() as u64, found.started);
    let ended: Vec<&(Time, Transfer)> = all.iter().filter(|(_, t)| t.end.is_some()).collect();
    assert_eq!(ended.len() as u64, found.ended);
    assert!(found.started - found.ended < 30);
    let bytes: u64 = ended.iter().map(|(_, transfer)| transfer.size).sum();
    let mean = bytes as f64 / ended.len() as f64;
    assert!((mean / 20_000.0 - 1.0).abs() < 0.06, "{mean}");
    for (start, transfer) in ended {
        assert!(transfer.first_byte > Some(*start) && transfer.end >= transfer.first_byte);
        assert!(
            transfer.slowdown.is_some_and(|slowdown| slowdown > 0.99),
            "{transfer:?}"
        );
    }
}

#[test]
fn slots_are_used_again_under_loss_and_nothing_is_mixed_up() {
    let source = transfers("t", 400.0, Sizes::Fixed { bytes: 5_000 });
    let mut scenario = alone(50_000_000, ms(5), Limit::Packets(50), 60, vec![source]);
    scenario.network.bottleneck.loss = vec![common::loss(cclab_spec::Place::Router, 0.05)];
    let (summary, all) = transfers_of(&scenario, 1);
    assert!(summary.traffic[0].started > 20_000);
    let ended = all
        .iter()
        .filter(|(_, transfer)| transfer.end.is_some())
        .count();
    assert!(all.len() - ended < 1_000, "{} of {}", ended, all.len());
    assert!(all.iter().any(|(_, transfer)| transfer.retransmits > 0));
}

#[test]
fn clients_ask_and_are_answered_one_request_at_a_time() {
    let mut source = traffic(
        "web",
        "request-response",
        &[
            ("clients", 20.0),
            ("think", 0.5),
            ("constant", 0.0),
            ("request", 300.0),
        ],
    );
    source.cc = Some("reno".into());
    source.sizes = Some(Sizes::Fixed { bytes: 10_000 });
    let scenario = alone(
        100_000_000,
        ms(20),
        Limit::Packets(1_000),
        100,
        vec![source],
    );
    let (summary, all) = transfers_of(&scenario, 1);
    let found = &summary.traffic[0];
    // A cycle is 0.5 s of thought and a round trip of 40 ms: 20 clients make 3,700 in 100 s,
    // with a standard deviation of about 60.
    assert!((3_450..3_950).contains(&found.ended), "{}", found.ended);
    assert!(found.started - found.ended <= 20);
    for (start, exchange) in all.iter().filter(|(_, exchange)| exchange.end.is_some()) {
        let took = exchange.end.expect("ended") - *start;
        assert!(took >= ms(40) && took < ms(140), "{took}");
        assert_eq!((exchange.size, exchange.slowdown), (10_000, None));
    }
}

#[test]
fn nagle_joins_keystrokes_that_fall_into_one_round_trip() {
    let packets = |nagle: f64| {
        let mut source = traffic(
            "telnet",
            "telnet",
            &[("clients", 10.0), ("interval", 0.02), ("nagle", nagle)],
        );
        source.cc = Some("reno".into());
        let summary = run(
            &alone(100_000_000, ms(50), Limit::Packets(1_000), 60, vec![source]),
            1,
        );
        summary.traffic[0].sent
    };
    // 50 keystrokes a second and client, or one segment a round trip of 100 ms and more.
    let (with, without) = (packets(1.0), packets(0.0));
    assert!(without > 10 * 60 * 45, "{without}");
    assert!(with < without / 2, "{with} {without}");
}

#[test]
fn traffic_leaves_the_dice_of_others_as_they_were() {
    let arrivals = |more: bool| {
        let first = transfers("t", 20.0, Sizes::Fixed { bytes: 3_000 });
        let mut all = vec![first];
        if more {
            let noise = traffic("n", "random", &[("rate", 1e5), ("packet_size", 64.0)]);
            all.insert(0, noise);
        }
        let scenario = alone(1_000_000_000, ms(5), Limit::Packets(10_000), 20, all);
        let (_, mut found) = transfers_of(&scenario, 9);
        found.sort_by_key(|(start, _)| *start);
        let starts: Vec<Time> = found.into_iter().map(|(start, _)| start).collect();
        starts
    };
    assert_eq!(arrivals(false), arrivals(true));
}

#[test]
fn a_twin_has_the_arrivals_and_sizes_of_the_other_whatever_carries_them() {
    let sizes = Sizes::Lognormal {
        mean: 30_000.0,
        sigma: 1.5,
    };
    let arrivals = |twin_of: Option<&str>| {
        let original = transfers("a", 20.0, sizes.clone());
        let twin = Traffic {
            name: "b".into(),
            cc: Some("cubic".into()),
            extra_delay: ms(40),
            twin_of: twin_of.map(str::to_owned),
            ..original.clone()
        };
        let scenario = alone(
            5_000_000,
            ms(5),
            Limit::Packets(20),
            20,
            vec![original, twin],
        );
        let (_, all) = transfers_of(&scenario, 9);
        [0, 1].map(|source| {
            let own = all.iter().filter(|(_, transfer)| transfer.source == source);
            let mut drawn: Vec<(Time, u64)> = own.map(|(at, one)| (*at, one.size)).collect();
            drawn.sort_unstable();
            drawn
        })
    };
    let [original, twin] = arrivals(Some("a"));
    assert!(original.len() > 300, "{}", original.len());
    assert_eq!(original, twin);
    let [original, other] = arrivals(None);
    assert_ne!(original, other);
}

#[test]
fn a_stop_ends_arrivals_and_packets() {
    let mut source = transfers("t", 100.0, Sizes::Fixed { bytes: 3_000 });
    source.start = Time::from_secs(2);
    source.stop = Some(Time::from_secs(4));
    let mut noise = traffic("n", "random", &[("rate", 1e5), ("packet_size", 100.0)]);
    noise.stop = Some(Time::from_secs(1));
    let scenario = alone(
        100_000_000,
        ms(5),
        Limit::Packets(10_000),
        10,
        vec![source, noise],
    );
    let (summary, all) = transfers_of(&scenario, 1);
    assert!((120..280).contains(&all.len()), "{}", all.len());
    assert!(all.iter().all(|(start, t)| {
        *start >= Time::from_secs(2) && *start < Time::from_secs(4) && t.end.is_some()
    }));
    assert!((80..170).contains(&summary.traffic[1].sent));
    assert_eq!(summary.end, Time::from_secs(10));
}

#[test]
fn traffic_crosses_what_it_says_in_every_topology() {
    for topology in common::TOPOLOGIES {
        let bottleneck = link(Some(10_000_000), ms(10), Limit::Packets(50));
        let mut scenario = dumbbell("rfc", bottleneck, vec![flow("f", "reno")], ms(5_000));
        let mut there = traffic(
            "there",
            "constant-rate",
            &[("rate", 1e6), ("packet_size", 500.0)],
        );
        let mut back = traffic(
            "back",
            "ping-flood",
            &[("payload", 100.0), ("interval", 0.01)],
        );
        back.direction = Direction::Reverse;
        if topology == Topology::ParkingLot {
            there.crosses = Some([2, 3]);
        }
        scenario.traffic = vec![there, back];
        common::rewire(&mut scenario, topology);
        let summary = run(&scenario, 1);
        let [there, back] = &summary.traffic[..] else {
            panic!("two sources");
        };
        assert!(there.received > 1_000, "{topology:?}: {there:?}");
        assert!(back.rtt.count() > 100, "{topology:?}: {back:?}");
    }
}
