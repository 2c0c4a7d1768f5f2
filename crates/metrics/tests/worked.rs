//! Metrics of a run small enough to be worked out by hand.

use cclab_metrics::Verdict;
use cclab_metrics::{BesideOthers, MeasureInput, RunMetrics, identical_repeats, markdown, measure};
use cclab_trace::schema::{
    Fidelity, FlowSample, FlowSummary, Limited, LinkSummary, QueueSample, RunSummary,
    TrafficSummary,
};
use cclab_trace::{Histogram, Trace};
use cclab_units::{Rate, Time};
use proptest::prelude::*;

fn seconds(s: f64) -> Time {
    Time::from_secs_f64(s)
}

fn histogram(values: &[u64]) -> Histogram {
    let mut histogram = Histogram::new();
    values.iter().for_each(|&v| histogram.record(v));
    histogram
}

/// Two flows over 8 Mbit/s, that is 1,000,000 bytes a second, for 100 s: `long` the whole time,
/// `late` from 20 s on, ended at 90 s. The warm-up is 10 s, so that the steady window is
/// 20 s to 90 s.
fn trace() -> Trace {
    let long = FlowSummary {
        name: "long".into(),
        cc: "reno".into(),
        cc_in_force: "reno".into(),
        started: Some(Time::ZERO),
        first_byte: Some(seconds(0.5)),
        last_byte: Some(seconds(100.0)),
        mss: 1000,
        bytes_received: 59_700_000,
        bytes_acked: 59_600_000,
        segments_sent: 60_000,
        retransmits: 90,
        rtos: 1,
        fast_recoveries: 29,
        limited: Limited {
            cwnd: seconds(80.0),
            rwnd: seconds(15.0),
            ..Limited::default()
        },
        rtt_min: Some(seconds(0.1)),
        srtt_mean: Some(seconds(0.125)),
        cwnd_mean: 75_000.0,
        rtt: histogram(&[100_000_000; 20]),
        ..FlowSummary::default()
    };
    let late = FlowSummary {
        name: "late".into(),
        cc: "cubic".into(),
        cc_in_force: "cubic".into(),
        started: Some(seconds(20.0)),
        first_byte: Some(seconds(20.2)),
        last_byte: Some(seconds(89.9)),
        ended: Some(seconds(90.0)),
        mss: 1000,
        bytes_received: 34_850_000,
        bytes_acked: 34_850_000,
        limited: Limited {
            cwnd: seconds(70.0),
            ..Limited::default()
        },
        srtt_mean: Some(seconds(0.125)),
        ..FlowSummary::default()
    };
    let bottleneck = LinkSummary {
        name: "bottleneck".into(),
        rate: Rate::from_bps(8_000_000),
        offered: 100_000,
        queue_drops: 80,
        random_drops: 15,
        outage_drops: 5,
        marks: 7,
        delivered: 99_900,
        tx_bytes: 97_000_000,
        backlog_max: 100_000,
        sojourn: histogram(&[0, 0, 40_000_000, 40_000_000]),
        ..LinkSummary::default()
    };
    let received = |flow, at, bytes| {
        (
            seconds(at),
            FlowSample {
                flow,
                bytes_received: bytes,
                ..FlowSample::default()
            },
        )
    };
    let transmitted = |at, bytes| {
        (
            seconds(at),
            QueueSample {
                tx_bytes: bytes,
                ..QueueSample::default()
            },
        )
    };
    Trace {
        summary: RunSummary {
            end: seconds(100.0),
            events: 1,
            flows: vec![long, late],
            links: vec![bottleneck],
            ..RunSummary::default()
        },
        flow_samples: vec![
            received(0, 10.0, 9_000_000),
            received(1, 10.0, 0),
            received(0, 20.0, 19_000_000),
            received(1, 20.0, 0),
            received(0, 90.0, 54_000_000),
            received(1, 90.0, 34_850_000),
        ],
        transfers: Vec::new(),
        queue_samples: vec![
            transmitted(10.0, 9_500_000),
            transmitted(20.0, 19_500_000),
            transmitted(90.0, 89_500_000),
            transmitted(100.0, 99_500_000),
        ],
    }
}

const WARMUP: MeasureInput = MeasureInput {
    warmup: Time::from_secs(10),
    rate_changes: None,
    largest_rate: None,
    programs: Vec::new(),
    meant_by_application: Vec::new(),
    finite: Vec::new(),
    paths: None,
};

fn close(value: Option<f64>, expected: f64) {
    let value = value.expect("a measured value");
    assert!(
        (value / expected - 1.0).abs() < 1e-9,
        "{value} for {expected}"
    );
}

fn codes(metrics: &RunMetrics) -> Vec<&str> {
    metrics
        .warnings
        .iter()
        .map(|warning| warning.code.as_str())
        .collect()
}

#[test]
fn flows_by_hand() {
    let metrics = measure(&trace(), &WARMUP);
    let [long, late] = &metrics.flows[..] else {
        panic!("two flows")
    };
    assert_eq!(
        (long.started_s, long.ended_s, long.elapsed_s),
        (Some(0.0), None, Some(100.0))
    );
    close(long.throughput_bps, 59_700_000.0 * 8.0 / 100.0);
    close(long.goodput_bps, 59_700_000.0 * 8.0 / 99.5);
    // 54 MB - 19 MB in 70 s.
    close(long.steady_goodput_bps, 35_000_000.0 * 8.0 / 70.0);
    close(long.cwnd_mean_segments, 75.0);
    close(long.srtt_mean_s, 0.125);
    assert!((long.rtt_p95_s.expect("samples") / 0.1 - 1.0).abs() < 0.008);
    let limited = long.limited.expect("it was active");
    close(Some(limited.cwnd), 0.8);
    close(Some(limited.rwnd), 0.15);
    assert_eq!(limited.pacing, 0.0);

    assert_eq!((late.ended_s, late.elapsed_s), (Some(90.0), Some(70.0)));
    close(late.throughput_bps, 34_850_000.0 * 8.0 / 70.0);
    close(late.goodput_bps, 34_850_000.0 * 8.0 / 69.7);
    close(late.steady_goodput_bps, 34_850_000.0 * 8.0 / 70.0);
    assert_eq!((late.rtt_min_s, late.rtt_p95_s), (None, None));
}

#[test]
fn bottleneck_and_fairness_by_hand() {
    let metrics = measure(&trace(), &WARMUP);
    let bottleneck = metrics.bottleneck;
    // From 10 s to 100 s: 90 MB of 90 MB.
    close(bottleneck.utilization, 1.0);
    assert_eq!((bottleneck.drops, bottleneck.ecn_marks), (100, 7));
    close(bottleneck.drop_rate, 0.001);
    close(bottleneck.queue_delay_mean_s, 0.02);
    assert!((bottleneck.queue_delay_p95_s.expect("samples") / 0.04 - 1.0).abs() < 0.008);
    // Goodputs are 600,000 and 500,000 bytes a second: 1.1^2 / (2 (0.36 + 0.25)).
    close(metrics.jain, 1.21 / 1.22);
}

#[test]
fn an_edge_that_was_not_sampled_is_interpolated() {
    let mut trace = trace();
    let warmup = MeasureInput {
        warmup: seconds(55.0),
        ..WARMUP
    };
    // Half-way between 19 MB and 54 MB at 55 s, then 17.5 MB in 35 s.
    close(
        measure(&trace, &warmup).flows[0].steady_goodput_bps,
        17_500_000.0 * 8.0 / 35.0,
    );
    trace.flow_samples.clear();
    assert_eq!(measure(&trace, &warmup).flows[0].steady_goodput_bps, None);
}

#[test]
fn what_was_not_measured_is_none() {
    let mut trace = trace();
    trace.summary.flows[1] = FlowSummary {
        name: "late".into(),
        ..FlowSummary::default()
    };
    trace.summary.links[0].rate = None;
    let metrics = measure(&trace, &WARMUP);
    let late = &metrics.flows[1];
    assert_eq!(
        (late.throughput_bps, late.goodput_bps, late.limited),
        (None, None, None)
    );
    assert_eq!((late.steady_goodput_bps, late.elapsed_s), (None, None));
    assert_eq!(metrics.bottleneck.utilization, None);
    // A flow that never started neither counts for fairness nor closes the steady window.
    assert_eq!(metrics.jain, Some(1.0));
    close(
        metrics.flows[0].steady_goodput_bps,
        50_700_000.0 * 8.0 / 90.0,
    );

    let nothing = measure(&Trace::default(), &WARMUP);
    assert_eq!((nothing.jain, nothing.bottleneck.drop_rate), (None, None));
    assert!(nothing.flows.is_empty() && nothing.warnings.is_empty());
}

#[test]
fn a_starved_flow_counts_as_zero() {
    let mut trace = trace();
    let late = &mut trace.summary.flows[1];
    (late.bytes_received, late.first_byte, late.last_byte) = (0, None, None);
    let metrics = measure(&trace, &WARMUP);
    assert_eq!(metrics.flows[1].throughput_bps, Some(0.0));
    assert_eq!(metrics.flows[1].goodput_bps, None);
    assert_eq!(metrics.jain, Some(0.5));
}

#[test]
fn an_empty_steady_window_measures_nothing() {
    let metrics = measure(
        &trace(),
        &MeasureInput {
            warmup: seconds(90.0),
            ..WARMUP
        },
    );
    assert!(
        metrics
            .flows
            .iter()
            .all(|flow| flow.steady_goodput_bps.is_none())
    );
}

/// The warnings of the hand-made run after `change`.
fn warned(change: impl Fn(&mut Trace)) -> Vec<String> {
    let mut trace = trace();
    // Give the late flow the whole run, so that nothing is doubtful before the change.
    let late = &mut trace.summary.flows[1];
    (late.started, late.ended) = (Some(Time::ZERO), None);
    (late.fast_recoveries, late.limited.cwnd) = (40, seconds(95.0));
    change(&mut trace);
    codes(&measure(&trace, &WARMUP))
        .into_iter()
        .map(str::to_owned)
        .collect()
}

/// A flow whose application is meant to limit it is as the study wants it; its neighbour is not.
#[test]
fn an_application_that_is_meant_to_limit_is_no_doubt() {
    let mut trace = trace();
    for flow in &mut trace.summary.flows {
        flow.limited = Limited {
            application: seconds(95.0),
            ..Limited::default()
        };
    }
    let names: Vec<String> = trace.summary.flows.iter().map(|f| f.name.clone()).collect();
    let message = |meant: &[String]| {
        let input = MeasureInput {
            meant_by_application: meant.to_vec(),
            ..WARMUP
        };
        let warnings = measure(&trace, &input).warnings;
        let raised = warnings
            .into_iter()
            .find(|w| w.code == "limited-by-application");
        raised.map(|warning| warning.message)
    };
    assert!(message(&[]).is_some_and(|text| text.contains(&names[0])));
    let of_other = message(&names[..1]).expect("the other is not meant to be");
    assert!(of_other.contains(&names[1]) && !of_other.contains(&format!("{} (", names[0])));
    assert_eq!(message(&names), None);
    // Nor is a program that is no TCP; one that is may still be too slow for the network.
    let programs = |in_force: &str| {
        let mut trace = trace.clone();
        for flow in &mut trace.summary.flows {
            flow.cc_in_force = in_force.to_owned();
        }
        let input = MeasureInput {
            programs: names.clone(),
            ..WARMUP
        };
        let codes = measure(&trace, &input).warnings.into_iter().map(|w| w.code);
        codes
            .filter(|code| code == "limited-by-application")
            .count()
    };
    assert_eq!((programs(""), programs("cubic")), (0, 1));
}

#[test]
fn each_doubt_is_raised_alone_by_what_causes_it() {
    assert_eq!(warned(|_| ()), [""; 0]);
    let limit = |set: fn(&mut Limited, Time)| {
        move |trace: &mut Trace| {
            let limited = &mut trace.summary.flows[1].limited;
            *limited = Limited::default();
            set(limited, seconds(51.0));
        }
    };
    assert_eq!(warned(limit(|l, t| l.rwnd = t)), ["limited-by-rwnd"]);
    assert_eq!(
        warned(limit(|l, t| l.application = t)),
        ["limited-by-application"]
    );
    assert_eq!(warned(limit(|l, t| l.sndbuf = t)), ["limited-by-sndbuf"]);
    assert_eq!(warned(limit(|l, t| l.pacing = t)), [""; 0]);
    assert_eq!(
        warned(|t| t.summary.flows[1].started = Some(seconds(11.0))),
        ["partial-overlap"]
    );
    assert_eq!(
        warned(|t| t.summary.flows[1].started = Some(seconds(9.0))),
        [""; 0]
    );
    assert_eq!(
        warned(|t| t.queue_samples[3].1.tx_bytes = 9_500_000 + 80_000_000),
        ["bottleneck-not-full"]
    );
    assert_eq!(
        warned(|t| t.summary.flows[1].srtt_mean = Some(seconds(3.1))),
        ["too-few-round-trips"]
    );
    assert_eq!(
        warned(|t| t.summary.flows[1].srtt_mean = Some(seconds(2.9))),
        [""; 0]
    );
    assert_eq!(
        warned(|t| t.summary.flows[1].fast_recoveries = 19),
        ["too-few-loss-cycles"]
    );
    // Windows of 75 segments: 19 of losses, and one of marks.
    let marked = |echoes| {
        warned(|t| {
            t.summary.flows[0].fast_recoveries = 18;
            t.summary.flows[0].ecn_echoes = echoes;
        })
    };
    assert_eq!(marked(74), ["too-few-loss-cycles"]);
    assert_eq!(marked(75), [""; 0]);
    let stalled = |last_byte, snd_nxt| {
        warned(|t| {
            t.summary.flows[0].last_byte = Some(seconds(last_byte));
            t.summary.flows[0].bytes_received = 9_000_000;
            let last = t.flow_samples.iter_mut().rev();
            let mut last = last.filter(|(_, sample)| sample.flow == 0);
            let (_, sample) = last.next().expect("a sample");
            (sample.snd_una, sample.snd_nxt) = (1000, snd_nxt);
        })
    };
    // Measured from 10 s to 100 s.
    assert_eq!(stalled(77.0, 2000), ["flow-stalled"]);
    assert_eq!(stalled(78.0, 2000), [""; 0]);
    assert_eq!(stalled(77.0, 1000), [""; 0]);
    let silent = |t: &mut Trace| {
        let link = &mut t.summary.links[0];
        (
            link.queue_drops,
            link.random_drops,
            link.outage_drops,
            link.marks,
        ) = (0, 0, 0, 0);
        t.summary.flows[0].retransmits = 0;
    };
    assert_eq!(warned(silent), ["no-congestion-signal"]);
    let echoed = |t: &mut Trace| {
        silent(t);
        t.summary.flows[1].ecn_echoes = 1;
    };
    assert_eq!(warned(echoed), [""; 0]);
    assert_eq!(
        warned(|t| t.summary.flows[1].aborted = true),
        ["incomplete-transfer"]
    );
    assert_eq!(
        warned(|t| t.summary.flows[1].last_byte = Some(seconds(20.2 + 34.0))),
        ["goodput-above-rate"]
    );
    let faster = MeasureInput {
        largest_rate: Rate::from_bps(16_000_000),
        ..WARMUP
    };
    let mut short = trace();
    short.summary.flows[1].last_byte = Some(seconds(20.2 + 34.0));
    let short = measure(&short, &faster);
    assert!(!codes(&short).contains(&"goodput-above-rate"));
    let absent = |t: &mut Trace| {
        t.summary.flows[1] = FlowSummary {
            name: "absent".into(),
            ..FlowSummary::default()
        };
    };
    assert_eq!(warned(absent), ["never-started"]);
}

#[test]
fn a_host_that_did_not_keep_up_is_named_with_what_it_did() {
    let host = |fidelity: Fidelity| warned(|t| t.summary.fidelity = Some(fidelity));
    let late = |timer_late_max_ns| Fidelity {
        timer_late_max_ns,
        ..Fidelity::default()
    };
    assert_eq!(host(late(1_000_000)), [""; 0]);
    assert_eq!(host(late(1_000_001)), ["host-too-slow"]);
    let short_path = |nanos| {
        warned(|t| {
            t.summary.fidelity = Some(late(nanos));
            t.summary.flows[0].srtt_mean = Some(Time::from_millis(4));
        })
    };
    assert_eq!(short_path(400_000), [""; 0]);
    assert_eq!(short_path(400_001), ["host-too-slow"]);
    let busy = |cpu_busy| Fidelity {
        cpu_busy,
        ..Fidelity::default()
    };
    assert_eq!(host(busy(0.9)), [""; 0]);
    assert_eq!(host(busy(0.91)), ["host-too-slow"]);
    let mut all = trace();
    all.summary.fidelity = Some(Fidelity {
        timer_late_max_ns: 2_500_000,
        cpu_busy: 0.95,
        softirq_squeezed: 3,
        softnet_dropped: 4,
        ..Fidelity::default()
    });
    let warning = measure(&all, &WARMUP).warnings.remove(0);
    assert_eq!(
        warning.message,
        "the host did not keep up with real time: timers up to 2.500 ms late, processors busy \
         for 95% of the run, receiving put off 3 times, 4 packets dropped between interfaces"
    );
}

#[test]
fn a_bottleneck_that_misses_its_rate_with_packets_waiting_tells_of_the_host() {
    // Seconds, bytes sent by then, backlog: 1,000,000 bytes a second are due.
    let samples = |rows: &[(f64, u64, u64)]| -> Vec<(Time, QueueSample)> {
        let sample = |&(at, tx_bytes, backlog): &(f64, u64, u64)| {
            let sample = QueueSample {
                tx_bytes,
                backlog,
                ..QueueSample::default()
            };
            (seconds(at), sample)
        };
        rows.iter().map(sample).collect()
    };
    let judged = |rows: &[(f64, u64, u64)], rate_changes: Option<f64>| {
        let mut trace = trace();
        trace.summary.fidelity = Some(Fidelity::default());
        trace.queue_samples = samples(rows);
        let input = MeasureInput {
            rate_changes: rate_changes.map(seconds),
            ..WARMUP
        };
        measure(&trace, &input)
            .fidelity
            .expect("a run in real time")
    };
    let kept = judged(&[(1.0, 0, 500), (2.0, 980_000, 1000)], None);
    assert_eq!(kept.verdict, Verdict::KeptUp);
    assert_eq!(kept.rate_achieved, Some(0.98));
    let missed = judged(&[(1.0, 0, 500), (2.0, 979_000, 1000)], None);
    assert_eq!(missed.verdict, Verdict::TooSlow);
    assert_eq!(
        missed.reasons,
        ["the bottleneck sent at 97.9% of its rate while packets waited"]
    );
    // A queue that was nearly empty, a rate that is another one, too short a time: no verdict.
    let lows = [(1.0, 0, 1000), (2.0, 500_000, 249), (3.0, 900_000, 1000)];
    assert_eq!(judged(&lows, None).rate_achieved, None);
    let changed = [
        (1.0, 0, 1000),
        (2.0, 1_000_000, 1000),
        (3.0, 1_100_000, 1000),
    ];
    assert_eq!(judged(&changed, Some(2.0)).rate_achieved, Some(1.0));
    let short = [(1.0, 0, 1000), (1.4, 100_000, 1000)];
    assert_eq!(judged(&short, None).rate_achieved, None);
    // Not in real time, there is nothing to keep up with.
    let mut simulated = trace();
    simulated.queue_samples = samples(&[(1.0, 0, 500), (2.0, 100_000, 1000)]);
    assert_eq!(measure(&simulated, &WARMUP).fidelity, None);
}

#[test]
fn another_variant_than_the_one_asked_for_is_named() {
    let in_force = |name: &'static str| {
        warned(move |t| {
            let flow = &mut t.summary.flows[1];
            (flow.cc, flow.cc_in_force) = ("bbr".into(), name.into());
        })
    };
    assert_eq!(in_force("bbr"), [""; 0]);
    assert_eq!(in_force(""), [""; 0]);
    assert_eq!(in_force("cubic"), ["variant-not-in-force"]);
}

#[test]
fn a_bottleneck_that_flows_cannot_fill_is_said_once() {
    let codes = warned(|t| {
        t.queue_samples[3].1.tx_bytes = 50_000_000;
        t.summary.flows[1].limited = Limited {
            rwnd: seconds(95.0),
            ..Limited::default()
        };
    });
    assert_eq!(codes, ["limited-by-rwnd"]);
}

#[test]
fn flows_apart_are_a_partial_overlap() {
    let metrics = measure(&trace(), &WARMUP);
    assert!(codes(&metrics).contains(&"partial-overlap"));
    let warning = &metrics.warnings[0];
    assert!(warning.message.contains("70.000 s") && warning.message.contains("long"));
    assert!(!warning.remedy.is_empty());
}

#[test]
fn repeats_are_identical_or_not() {
    let one = measure(&trace(), &WARMUP);
    let mut other = one.clone();
    other.flows[0].retransmits += 1;
    assert_eq!(identical_repeats(&[]), None);
    assert_eq!(identical_repeats(std::slice::from_ref(&one)), None);
    assert_eq!(identical_repeats(&[one.clone(), other.clone()]), None);
    let warning = identical_repeats(&[one.clone(), other, one]).expect("two of three agree");
    assert_eq!(warning.code, "identical-repeats");
    assert!(warning.message.contains("3 repeats") && warning.message.contains("only 2"));
}

#[test]
fn the_catalog_names_exactly_what_is_printed() {
    let mut in_real_time = trace();
    in_real_time.summary.fidelity = Some(Fidelity::default());
    in_real_time.summary.traffic = vec![TrafficSummary {
        started: 1,
        ..TrafficSummary::default()
    }];
    let metrics = measure(&in_real_time, &WARMUP);
    let json = serde_json::to_value(&metrics).expect("plain data");
    let mut printed = Vec::new();
    let object = |value: &serde_json::Value| value.as_object().expect("an object").clone();
    for (key, value) in object(&json["flows"][0]) {
        if key == "limited" {
            printed.extend(
                object(&value)
                    .keys()
                    .map(|inner| format!("flow.limited.{inner}")),
            );
        } else {
            printed.push(format!("flow.{key}"));
        }
    }
    for (key, value) in object(&json["traffic"][0]) {
        if key == "transfers" {
            let keys = object(&value);
            printed.extend(
                keys.keys()
                    .map(|inner| format!("traffic.transfers.{inner}")),
            );
        } else {
            printed.push(format!("traffic.{key}"));
        }
    }
    printed.extend(
        object(&json["bottleneck"])
            .keys()
            .map(|key| format!("bottleneck.{key}")),
    );
    printed.extend(
        object(&json)
            .keys()
            .filter(|key| !["flows", "bottleneck", "traffic", "fidelity"].contains(&key.as_str()))
            .cloned(),
    );
    let beside = serde_json::to_value(BesideOthers::default()).expect("plain data");
    printed.extend(object(&beside).keys().map(|key| format!("flow.{key}")));
    printed.extend(
        object(&json["fidelity"])
            .keys()
            .map(|key| format!("fidelity.{key}")),
    );
    printed.sort();
    let mut named: Vec<_> = cclab_metrics::metrics()
        .map(|metric| metric.name.to_owned())
        .collect();
    named.sort();
    assert_eq!(printed, named);
}

#[test]
fn the_metrics_page_is_the_catalog() {
    assert!(
        include_str!("../../../docs/metrics.md") == markdown(),
        "run `cargo run -p cclab-metrics --example catalog > docs/metrics.md`"
    );
}

#[test]
fn json_comes_back_as_it_was() {
    let metrics = measure(&trace(), &WARMUP);
    let text = serde_json::to_string(&metrics).expect("plain data");
    assert_eq!(
        serde_json::from_str::<RunMetrics>(&text).expect("its own output"),
        metrics
    );
}

proptest! {
    /// Whatever a run was, its numbers agree with each other, are finite, and stay in bounds.
    #[test]
    fn numbers_are_consistent(
        flows in prop::collection::vec(
            (0..50_u64, prop::option::of(0..60_u64), 0..20_000_000_u64, 0..1000_u64), 0..6),
        warmup in 0..70_u64,
    ) {
        let end = seconds(60.0);
        let summaries: Vec<FlowSummary> = flows.iter().map(|&(start, lasts, bytes, delay)| {
            let started = Time::from_secs(start);
            let ended = lasts.map(|s| (started + Time::from_secs(s)).min(end));
            let last = ended.unwrap_or(end);
            let first = (started + Time::from_millis(delay)).min(last);
            FlowSummary {
                started: Some(started),
                ended,
                first_byte: (bytes > 0).then_some(first),
                last_byte: (bytes > 0).then_some(last),
                bytes_received: bytes,
                limited: Limited { cwnd: last - started, ..Limited::default() },
                mss: 1000,
                ..FlowSummary::default()
            }
        }).collect();
        let flow_samples = (0..flows.len() as u32)
            .map(|flow| (Time::ZERO, FlowSample { flow, ..FlowSample::default() }))
            .collect();
        let summary = RunSummary { end, flows: summaries, ..RunSummary::default() };
        let trace = Trace { summary, flow_samples, ..Trace::default() };
        let metrics = measure(&trace, &MeasureInput { warmup: Time::from_secs(warmup), ..MeasureInput::default() });
        prop_assert_eq!(metrics.flows.len(), flows.len());
        for flow in &metrics.flows {
            if let (Some(goodput), Some(throughput)) = (flow.goodput_bps, flow.throughput_bps) {
                prop_assert!(goodput >= throughput * (1.0 - 1e-9));
                prop_assert!(goodput.is_finite());
            }
            if let (Some(throughput), Some(elapsed)) = (flow.throughput_bps, flow.elapsed_s) {
                let bytes = throughput * elapsed / 8.0;
                prop_assert!((bytes - flow.bytes_received as f64).abs() < 1e-3);
            }
            if let Some(steady) = flow.steady_goodput_bps {
                prop_assert!(steady >= 0.0 && steady.is_finite());
            }
            if let Some(limited) = flow.limited {
                prop_assert!((limited.cwnd - 1.0).abs() < 1e-9);
            }
        }
        if let Some(jain) = metrics.jain {
            prop_assert!(jain >= 1.0 / flows.len() as f64 - 1e-9 && jain <= 1.0 + 1e-9);
        }
    }
}
