//! Metrics of a run small enough to be worked out by hand.

mod company;
mod doubts;
mod groups;
mod numbers;
mod printed;
mod programs;
mod udp;

use cclab_metrics::Verdict;
use cclab_metrics::{BesideOthers, MeasureInput, RunMetrics, identical_repeats, markdown, measure};
use cclab_spec::Start;
use cclab_trace::schema::{
    Fidelity, FlowSample, FlowSummary, Limited, LinkSummary, Machine, QueueSample, RunSummary,
    TrafficSummary,
};
use cclab_trace::{Histogram, Trace};
use cclab_units::{Rate, Time};

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
        warm_srtt_mean: Some(seconds(0.15)),
        warm_rtt: histogram(&[200_000_000; 10]),
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
        warm_sojourn: histogram(&[40_000_000, 40_000_000]),
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
    routes_change: None,
    largest_rates: Vec::new(),
    sampled_every: Time::ZERO,
    ecn: Vec::new(),
    programs: Vec::new(),
    nearby: Vec::new(),
    slower_slots: Vec::new(),
    starts: Vec::new(),
    never_met: Vec::new(),
    kernels: Vec::new(),
    variant_files: Vec::new(),
    groups: Vec::new(),
    meant_by_application: Vec::new(),
    finite: Vec::new(),
    differs: Vec::new(),
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
