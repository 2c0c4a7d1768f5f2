//! Metrics: of simulated runs of several kinds, and of a trace that nobody simulates.

use cclab_metrics::{MeasureInput, RunMetrics, measure};
use cclab_spec::Scenario;
use cclab_trace::schema::{
    Fidelity, FlowSample, FlowSummary, Limited, LinkSummary, Machine, QueueSample, RunSummary,
};
use cclab_trace::{Histogram, Trace};
use cclab_units::{Rate, Time};

use super::simulated::DATAGRAMS;
use super::{Case, How, scenario};
use crate::digest::{Kept, run};

const CONTEST: &str = r#"
duration = "20s"
warmup = "2s"
trace.interval = "50ms"
[network.bottleneck]
rate = "5Mbit"
delay = "20ms"
queue = { limit = "30p" }
schedule = { at = "12s", rate = "4Mbit" }
[[flow]]
name = "long"
[[flow]]
name = "late"
cc = "reno"
start = "3s"
rtt = "100ms"
[[flow]]
name = "short"
start = "5s"
transfer = "300kB"
[[flow]]
name = "small"
rwnd = "8kB"
[[flow]]
name = "back"
direction = "reverse"
application = { kind = "on-off", rate = "1Mbit" }
[[traffic]]
kind = "poisson"
load = 0.1
sizes = { kind = "lognormal", mean = "15kB", sigma = 1.2 }
[[traffic]]
kind = "ping-flood"
[[traffic]]
kind = "constant-rate"
load = 0.05
"#;

const LOT: &str = r#"
duration = "10s"
trace.interval = "50ms"
[network]
topology = "parking-lot"
bottlenecks = 2
[network.bottleneck]
rate = "4Mbit"
delay = "5ms"
queue = { kind = "codel", limit = "50p" }
loss = "0.5%"
[[flow]]
[[flow]]
crosses = [1, 1]
[[flow]]
crosses = [2, 2]
ecn = true
"#;

pub(super) fn cases() -> Vec<Case> {
    let case = |name: &str, how, text| Case {
        subject: "metrics".to_owned(),
        name: name.to_owned(),
        scenarios: vec![scenario(text)],
        how,
    };
    vec![
        case("of a contest", How::Measured, CONTEST),
        case("of datagrams and echoes", How::Measured, DATAGRAMS),
        case("of a parking lot", How::Measured, LOT),
        case("of a trace written down", How::WrittenDown, LOT),
    ]
}

/// What a simulation of `scenario` is measured as.
pub(super) fn simulated(scenario: &Scenario) -> RunMetrics {
    let mut probe = Kept::default();
    let summary = run(scenario, &mut probe);
    let trace = Trace { summary, ..probe.0 };
    measure(&trace, &MeasureInput::from(scenario))
}

/// What a trace that says all that a trace can is measured as, as one of `scenario`.
pub(super) fn written_down(scenario: &Scenario) -> RunMetrics {
    let end = Time::from_secs(10);
    let flows = scenario.flows.iter().zip(1..);
    let flows = flows.map(|(flow, number)| flow_summary(&flow.name, number));
    let samples = (1..=100).flat_map(|step| (0..3).map(move |flow| (step, flow)));
    let flow_samples = samples.map(|(step, flow)| {
        let received = step * 10_000 * u64::from(flow + 1) + step % 7 * 900;
        let sample = FlowSample {
            flow,
            cwnd: 14_480 * (1 + step % 9),
            srtt: Some(Time::from_millis(20 + step % 11)),
            bytes_received: received,
            retransmits: step / 20,
            ..FlowSample::default()
        };
        (Time::from_millis(100 * step), sample)
    });
    let queue_samples = (1..=100).map(|step| {
        let sample = QueueSample {
            backlog: 1_500 * (step % 13),
            backlog_packets: step % 13,
            tx_bytes: 47_000 * step,
            drops: step / 10,
            marks: step / 30,
            ..QueueSample::default()
        };
        (Time::from_millis(100 * step), sample)
    });
    let links = ["bottleneck", "bottleneck.reverse"].map(|name| LinkSummary {
        name: name.to_owned(),
        rate: Rate::from_bps(4_000_000),
        offered: 4_000,
        queue_drops: 30,
        random_drops: 5,
        marks: 3,
        delivered: 3_960,
        tx_bytes: 4_700_000,
        in_flight: 5,
        backlog_max: 19_500,
        sojourn: histogram((1..300).map(|n| n * 100_000)),
        ..LinkSummary::default()
    });
    let trace = Trace {
        summary: RunSummary {
            end,
            flows: flows.collect(),
            links: links.into(),
            machines: vec![Machine {
                release: "6.12.0".to_owned(),
                version: "#1".to_owned(),
                ..Machine::default()
            }],
            fidelity: Some(Fidelity {
                timer_late_max_ns: 3_000_000,
                timer_late_mean_ns: 40_000,
                cpu_busy: 0.93,
                softirq_squeezed: 4,
                softnet_dropped: 1,
            }),
            ..RunSummary::default()
        },
        flow_samples: flow_samples.collect(),
        queue_samples: queue_samples.collect(),
        transfers: Vec::new(),
    };
    measure(&trace, &MeasureInput::from(scenario))
}

fn flow_summary(name: &str, number: u64) -> FlowSummary {
    FlowSummary {
        name: name.to_owned(),
        cc: "cubic".to_owned(),
        // The last has not what was asked for.
        cc_in_force: if number == 3 { "reno" } else { "cubic" }.to_owned(),
        started: Some(Time::from_millis(number * 10)),
        first_byte: Some(Time::from_millis(number * 10 + 25)),
        last_byte: Some(Time::from_secs(10)),
        mss: 1448,
        bytes_received: 1_000_000 * number,
        bytes_acked: 990_000 * number,
        segments_sent: 700 * number,
        retransmits: 9 * number,
        rtos: number - 1,
        fast_recoveries: 4,
        limited: Limited {
            cwnd: Time::from_secs(6),
            rwnd: Time::from_secs(number),
            application: Time::from_millis(300),
            ..Limited::default()
        },
        rtt_min: Some(Time::from_millis(20)),
        srtt_mean: Some(Time::from_millis(25 + number)),
        cwnd_mean: 30_000.0,
        rtt: histogram((1..200).map(|n| 20_000_000 + n * number * 50_000)),
        ..FlowSummary::default()
    }
}

fn histogram(values: impl Iterator<Item = u64>) -> Histogram {
    let mut histogram = Histogram::new();
    values.for_each(|value| histogram.record(value));
    histogram
}
