//! Fairness over time, by hand.

use cclab_metrics::{MeasureInput, RunMetrics, measure};
use cclab_spec::{Overrides, Study};
use cclab_trace::Trace;
use cclab_trace::schema::{
    FlowSample, FlowSummary, LinkSummary, QueueSample, RunSummary, TrafficSummary,
};
use cclab_units::{Rate, Time};
use proptest::prelude::*;

fn close(value: Option<f64>, expected: f64) {
    let value = value.expect("a measured value");
    assert!(
        (value - expected).abs() < 1e-9 * expected.abs().max(1.0),
        "{value} for {expected}"
    );
}

/// A run in which each flow started at a second and received so many bytes in each second of the
/// run from then on, sampled every `interval`.
fn trace(flows: &[(u64, Vec<u64>)], interval: Time) -> Trace {
    let end = flows
        .iter()
        .map(|(start, bytes)| start + bytes.len() as u64)
        .max();
    let end = Time::from_secs(end.unwrap_or(0));
    let received = |(start, bytes): &(u64, Vec<u64>), at: Time| {
        let passed = at.as_secs_f64() - *start as f64;
        let parts = bytes.iter().enumerate();
        parts
            .map(|(second, &bytes)| (passed - second as f64).clamp(0.0, 1.0) * bytes as f64)
            .sum::<f64>() as u64
    };
    let mut samples = Vec::new();
    let mut at = Time::ZERO;
    while interval > Time::ZERO && at <= end {
        for (flow, did) in (0..).zip(flows) {
            let bytes_received = received(did, at);
            samples.push((
                at,
                FlowSample {
                    flow,
                    bytes_received,
                    ..FlowSample::default()
                },
            ));
        }
        at += interval;
    }
    let summaries = flows.iter().zip('a'..).map(|(did, name)| FlowSummary {
        name: name.to_string(),
        started: Some(Time::from_secs(did.0)),
        first_byte: Some(Time::from_secs(did.0)),
        last_byte: Some(end),
        bytes_received: received(did, end),
        mss: 1000,
        ..FlowSummary::default()
    });
    Trace {
        summary: RunSummary {
            end,
            flows: summaries.collect(),
            ..RunSummary::default()
        },
        flow_samples: samples,
        ..Trace::default()
    }
}

const SAMPLED: Time = Time::from_millis(100);

fn measured(flows: &[(u64, Vec<u64>)]) -> RunMetrics {
    measure(&trace(flows, SAMPLED), &MeasureInput::default())
}

/// What the scenario of a study file says.
fn input(text: &str) -> MeasureInput {
    let study = Study::load(text, "study.toml").expect("a good study");
    let plan = study
        .plan(&Overrides::default(), &|_, _| String::new())
        .expect("a plan");
    MeasureInput::from(&plan.runs[0].run.scenario)
}

/// Two flows over 12.112 Mbit/s, of which full segments of 1448 bytes in packets of 1514 make
/// 11.584 Mbit/s of payload.
const TWO: &str = "duration = \"20s\"\n[network.bottleneck]\nrate = \"12.112Mbit\"\n\
    delay = \"5ms\"\nqueue = { limit = \"100p\" }\n[[flow]]\nname = \"a\"\nrtt = \"20ms\"\n\
    [[flow]]\nname = \"b\"\nrtt = \"20ms\"\n";

#[test]
fn jain_over_time_by_hand() {
    // Shares 3:1 for two seconds, then equal for three: (16/20 x 2 + 1 x 3) / 5.
    let found = measured(&[
        (0, vec![3000, 3000, 2000, 2000, 2000]),
        (0, vec![1000, 1000, 2000, 2000, 2000]),
    ]);
    close(found.jain_min, 0.8);
    close(found.jain_mean, 0.92);
    // Goodputs of 12 kB and 8 kB in five seconds.
    close(found.throughput_ratio, 8.0 / 12.0);
    // Standard deviation 489.9 around 2400.
    close(found.flows[0].goodput_cov, (240_000.0_f64).sqrt() / 2400.0);
    close(found.flows[0].least_share, 0.6);
    close(found.smallest_share, 0.4);
}

#[test]
fn a_late_joiner_converges_when_it_stays_even() {
    // From 10 s on: the joiner has 1/4, 1/2 for a second, 1/3, and from 13 s on a half.
    let joiner = [1000, 2000, 1333].into_iter().chain([2000; 7]).collect();
    let first = [4000; 10]
        .into_iter()
        .chain([3000, 2000, 2667])
        .chain([2000; 7])
        .collect();
    let found = measured(&[(0, first), (10, joiner)]);
    close(found.convergence_s, 3.0);
    // With a setback in the fifth of five even seconds, they begin again behind it.
    let joiner = [2000, 2000, 2000, 2000, 0]
        .into_iter()
        .chain([2000; 5])
        .collect();
    let found = measured(&[(0, vec![2000; 20]), (10, joiner)]);
    close(found.convergence_s, 5.0);
    // Four even seconds at the end are too few, and one flow has none to converge with.
    let joiner = [0; 6].into_iter().chain([2000; 4]).collect();
    assert_eq!(
        measured(&[(0, vec![2000; 20]), (10, joiner)]).convergence_s,
        None
    );
    assert_eq!(measured(&[(0, vec![2000; 20])]).convergence_s, None);
}

#[test]
fn the_smallest_share_is_over_five_seconds_that_slide() {
    // Nothing for three seconds: 2 of 5 seconds with a half of 4000 bytes, beside 16,000.
    let starved = [2000, 2000, 2000, 0, 0, 0, 2000, 2000, 2000, 2000];
    let other = [2000, 2000, 2000, 4000, 4000, 4000, 2000, 2000, 2000, 2000];
    let found = measured(&[(0, starved.to_vec()), (0, other.to_vec())]);
    close(found.smallest_share, 4000.0 / 20_000.0);
    // Four seconds are too few.
    let found = measured(&[(0, starved[..4].to_vec()), (0, other[..4].to_vec())]);
    assert_eq!(found.smallest_share, None);
    assert!(found.jain_min.is_some());
}

#[test]
fn shares_of_what_is_fair() {
    let fair = 5_792_000 / 8;
    let starved: Vec<u64> = (0..20)
        .map(|s| {
            if (5..9).contains(&s) {
                fair / 11
            } else {
                fair / 2
            }
        })
        .collect();
    let found = measure(
        &trace(&[(0, vec![fair; 20]), (0, starved)], SAMPLED),
        &input(TWO),
    );
    let [a, b] = &found.flows[..] else {
        panic!("two flows")
    };
    close(a.max_min_bps, 5_792_000.0);
    close(a.max_min_share, 1.0);
    assert_eq!(a.starved_s, Some(0.0));
    let expected = (16.0 / 2.0 + 4.0 / 11.0) / 20.0;
    assert!(
        (b.max_min_share.expect("known") - expected).abs() < 1e-4,
        "{b:?}"
    );
    assert_eq!(
        (b.starved_s, found.longest_starved_s),
        (Some(4.0), Some(4.0))
    );
    // Without the scenario nothing is known of what is fair.
    assert_eq!(measured(&[(0, vec![fair; 20])]).flows[0].max_min_bps, None);
}

#[test]
fn the_fair_rate_knows_windows_applications_and_cross_traffic() {
    let fair = |text: &str, traffic: Vec<TrafficSummary>| -> Vec<f64> {
        let mut trace = trace(&[(0, vec![1000; 20]), (0, vec![1000; 20])], SAMPLED);
        trace.summary.traffic = traffic;
        let found = measure(&trace, &input(text));
        found
            .flows
            .iter()
            .map(|flow| flow.max_min_bps.expect("known"))
            .collect()
    };
    let near = |found: &[f64], expected: [f64; 2]| {
        for (found, expected) in found.iter().zip(expected) {
            assert!(
                (found / expected - 1.0).abs() < 1e-6,
                "{found} for {expected}"
            );
        }
    };
    // Five segments in 20 ms are 2.896 Mbit/s; what they leave is the other's.
    let windowed = format!("{TWO}rwnd = \"7240B\"\n");
    near(&fair(&windowed, Vec::new()), [8_688_000.0, 2_896_000.0]);
    let typing = format!("{TWO}writes_per_second = 10.0\nwrite_size = \"1kB\"\n");
    near(&fair(&typing, Vec::new()), [11_504_000.0, 80_000.0]);
    // 6.056 Mbit/s of the link for the last 10 of 20 s: 3.028 Mbit/s, a quarter of it.
    let crossed = format!(
        "{TWO}[[traffic]]\nname = \"cbr\"\nkind = \"constant-rate\"\nrate = \"6.056Mbit\"\nstart = \"10s\"\n"
    );
    let sent = TrafficSummary {
        name: "cbr".into(),
        kind: "constant-rate".into(),
        sent_bytes: 6_056_000 / 8 * 10,
        ..TrafficSummary::default()
    };
    near(&fair(&crossed, vec![sent]), [4_344_000.0; 2]);
    // The rate halves for the second half of the run.
    let changing = TWO.replace(
        "[[flow]]\nname = \"a\"",
        "[[network.bottleneck.schedule]]\nat = \"10s\"\nrate = \"6.056Mbit\"\n[[flow]]\nname = \"a\"",
    );
    near(&fair(&changing, Vec::new()), [4_344_000.0; 2]);
}

#[test]
fn in_a_parking_lot_each_link_has_its_own_share() {
    // The long flow shares the first link with one, the second with two others.
    let flow = |name: &str, crosses: &str| {
        format!("[[flow]]\nname = \"{name}\"\nrtt = \"100ms\"\ncrosses = {crosses}\n")
    };
    let text = format!(
        "duration = \"20s\"\n[network]\ntopology = \"parking-lot\"\nbottlenecks = 2\n\
         [network.bottleneck]\nrate = \"12.112Mbit\"\ndelay = \"5ms\"\nqueue = {{ limit = \"100p\" }}\n{}{}{}{}",
        flow("long", "[1, 2]"),
        flow("first", "[1, 1]"),
        flow("second", "[2, 2]"),
        flow("third", "[2, 2]"),
    );
    let flows = vec![(0, vec![1000; 20]); 4];
    let found = measure(&trace(&flows, SAMPLED), &input(&text));
    let third = 11_584_000.0 / 3.0;
    for (flow, expected) in found.flows.iter().zip([third, 2.0 * third, third, third]) {
        close(flow.max_min_bps, expected);
    }
}

#[test]
fn samples_too_far_apart_tell_nothing_of_a_second() {
    let flows = [(0, vec![3_000_000; 8]), (0, vec![1_000_000; 8])];
    let with = |interval| {
        measure(
            &trace(&flows, Time::from_millis(interval)),
            &MeasureInput::default(),
        )
    };
    for interval in [100, 250, 300, 1000] {
        // Between samples a byte is a whole one.
        let found = with(interval).jain_min.expect("known");
        assert!((found - 0.8).abs() < 1e-6, "{interval}: {found}");
    }
    for interval in [1001, 2000, 0] {
        let found = with(interval);
        assert_eq!(
            (found.jain_min, found.jain_mean, found.convergence_s),
            (None, None, None)
        );
        assert_eq!(
            (found.smallest_share, found.flows[0].goodput_cov),
            (None, None)
        );
        close(found.throughput_ratio, 1.0 / 3.0);
    }
}

#[test]
fn power_completion_and_slowdown_by_hand() {
    let mut trace = trace(&[(0, vec![1000; 2])], SAMPLED);
    // 1000 packets of 1250 bytes in 2 s over 10 Mbit/s, each transmitted in 1 ms, waiting for 4.
    let mut sojourn = cclab_trace::Histogram::new();
    (0..1000).for_each(|_| sojourn.record(4_000_000));
    trace.summary.links = vec![LinkSummary {
        rate: Rate::from_bps(10_000_000),
        delivered: 1000,
        tx_bytes: 1_250_000,
        sojourn,
        ..LinkSummary::default()
    }];
    let flow = &mut trace.summary.flows[0];
    flow.srtt_mean = Some(Time::from_millis(50));
    flow.last_byte = Some(Time::from_millis(1500));
    let text = TWO
        .split("[[flow]]\nname = \"b\"")
        .next()
        .expect("the first flow")
        .to_owned()
        + "transfer = \"14480B\"\n";
    let input = input(&text);
    let found = measure(&trace, &input);
    close(found.bottleneck.queue_power, 5e6 / 0.005);
    close(found.flows[0].power, 2000.0 * 8.0 / 1.5 / 0.05);
    assert!((found.bottleneck.queue_delay_p99_s.expect("samples") / 0.004 - 1.0).abs() < 0.008);
    // Not ended: no completion time.
    assert_eq!(
        (found.flows[0].fct_s, found.flows[0].slowdown),
        (None, None)
    );
    trace.summary.flows[0].ended = Some(Time::from_secs(2));
    let found = measure(&trace, &input);
    close(found.flows[0].fct_s, 1.5);
    // Ten segments fit the initial window: a handshake, a way of 10 ms, ten transmissions of 1 ms.
    let alone = 1.5 / found.flows[0].slowdown.expect("known");
    assert!((alone - 0.040).abs() < 0.0005, "{alone}");
    // A flow that only stopped has none.
    let endless = measure(&trace, &MeasureInput::default());
    assert_eq!(
        (endless.flows[0].fct_s, endless.flows[0].slowdown),
        (None, None)
    );
}

#[test]
fn routers_that_limit_packets_leave_the_fair_rate_open() {
    let text = TWO.replace(
        "[network.bottleneck]",
        "[network]\nrouter_packet_rate = 10000\n[network.bottleneck]",
    );
    let input = input(&text);
    assert!(input.paths.is_some());
    let found = measure(
        &trace(&[(0, vec![1000; 5]), (0, vec![1000; 5])], SAMPLED),
        &input,
    );
    assert_eq!(found.flows[0].max_min_bps, None);
}

#[test]
fn paths_are_known_of_what_only_a_kernel_runs() {
    let text = format!(
        "backend = \"linux\"\n{TWO}command = [\"iperf3\", \"-c\", \"{{dst}}\"]\ncc = \"nv\"\n"
    );
    let found = measure(
        &trace(&[(0, vec![1000; 5]), (0, vec![1000; 5])], SAMPLED),
        &input(&text),
    );
    close(found.flows[1].max_min_bps, 5_792_000.0);
}

proptest! {
    /// Whatever flows received, what is told of it agrees with itself.
    #[test]
    fn numbers_over_time_are_consistent(
        flows in prop::collection::vec((0..6_u64, prop::collection::vec(0..100_000_u64, 20)), 1..5),
    ) {
        let flows: Vec<(u64, Vec<u64>)> = flows.into_iter()
            .map(|(start, bytes)| (start, bytes[..20 - start as usize].to_vec())).collect();
        let found = measured(&flows);
        let n = flows.len() as f64;
        if let (Some(least), Some(mean)) = (found.jain_min, found.jain_mean) {
            prop_assert!(1.0 / n - 1e-9 <= least && least <= mean + 1e-12 && mean <= 1.0 + 1e-9);
        }
        if let Some(ratio) = found.throughput_ratio {
            prop_assert!((0.0..=1.0).contains(&ratio));
            // Equal exactly where Jain's index is.
            prop_assert_eq!(ratio > 1.0 - 1e-9, found.jain.expect("known as well") > 1.0 - 1e-9);
        }
        let shares: Vec<f64> = found.flows.iter().filter_map(|flow| flow.least_share).collect();
        prop_assert!(shares.iter().sum::<f64>() <= 1.0 + 1e-9);
        if let Some(took) = found.convergence_s {
            prop_assert!(flows.len() > 1 && (0.0..=15.0).contains(&took));
        }
        // The order of flows is no matter.
        let reversed: Vec<_> = flows.iter().rev().cloned().collect();
        let again = measured(&reversed);
        prop_assert_eq!(again.convergence_s, found.convergence_s);
        prop_assert_eq!(again.smallest_share, found.smallest_share);
    }
}

/// 80 Mbit/s on a link of 100 beside 16 on its way back of 20: neither is held against the other.
#[test]
fn directions_are_apart() {
    let text = TWO.replace(
        "rate = \"12.112Mbit\"",
        "rate = \"100Mbit\"\nreverse = { rate = \"20Mbit\" }",
    ) + "direction = \"reverse\"\n[[flow]]\nname = \"c\"\ndirection = \"reverse\"\n";
    let flows = [
        (0, vec![10_000_000; 10]),
        (0, vec![1_500_000; 10]),
        (0, vec![500_000; 10]),
    ];
    let mut trace = trace(&flows, SAMPLED);
    let link = |name: &str, bps| LinkSummary {
        name: name.into(),
        rate: Rate::from_bps(bps),
        ..LinkSummary::default()
    };
    trace.summary.links = vec![
        link("bottleneck", 100_000_000),
        link("bottleneck.reverse", 20_000_000),
    ];
    let sent = |link, at, bytes| {
        let sample = QueueSample {
            link,
            tx_bytes: bytes,
            ..QueueSample::default()
        };
        (Time::from_secs(at), sample)
    };
    trace.queue_samples = vec![
        sent(0, 0, 0),
        sent(1, 0, 0),
        sent(0, 10, 118_750_000),
        sent(1, 10, 23_750_000),
    ];
    let input = input(&text);
    let found = measure(&trace, &input);
    let ways: Vec<&str> = found
        .flows
        .iter()
        .map(|flow| flow.direction.as_str())
        .collect();
    assert_eq!(ways, ["forward", "reverse", "reverse"]);
    // Alone on its way; 3 to 1 on the other.
    assert_eq!(
        (found.jain, found.jain_mean, found.throughput_ratio),
        (Some(1.0), Some(1.0), Some(1.0))
    );
    close(found.reverse_jain, 0.8);
    assert_eq!(found.flows[0].least_share, Some(1.0));
    close(found.flows[1].least_share, 0.75);
    close(found.bottleneck.utilization, 0.95);
    close(found.bottleneck.reverse_utilization, 0.95);
    let codes: Vec<&str> = found.warnings.iter().map(|w| w.code.as_str()).collect();
    assert!(!codes.contains(&"goodput-above-rate") && !codes.contains(&"bottleneck-not-full"));

    // Each is held against its own.
    trace.summary.flows[1].bytes_received = 30_000_000;
    trace.queue_samples[3].1.tx_bytes = 10_000_000;
    let found = measure(&trace, &input);
    let message = |code: &str| {
        let warning = found.warnings.iter().find(|warning| warning.code == code);
        warning.map_or("", |warning| warning.message.as_str())
    };
    assert!(message("goodput-above-rate").contains("on the way: b;"));
    assert!(
        message("bottleneck-not-full")
            .starts_with("the bottleneck's way back was used to 40.0% only in")
    );

    // All go back: they are the rivals, as they ever were.
    let back = text.replace("name = \"a\"", "name = \"a\"\ndirection = \"reverse\"");
    let found = measure(&trace, &self::input(&back));
    assert_eq!(found.jain, found.reverse_jain);
    assert!(found.jain.expect("three flows") < 0.9);
}

/// Flows that all go one way are measured as if there were no other.
#[test]
fn one_direction_has_no_numbers_of_the_other() {
    let found = measure(
        &trace(&[(0, vec![1000; 3]), (0, vec![1000; 3])], SAMPLED),
        &input(TWO),
    );
    assert_eq!((found.jain, found.reverse_jain), (Some(1.0), None));
    let bottleneck = found.bottleneck;
    assert_eq!(
        (bottleneck.reverse_utilization, bottleneck.reverse_drops),
        (None, None)
    );
}
