//! What is printed, and that it agrees with itself.

use super::*;
use cclab_trace::schema::{BandSummary, ProbeSummary, Resumption};
use proptest::prelude::*;

/// The paths of what is printed, of a list its first member's; `rows` end where a row stands.
fn paths(value: &serde_json::Value, path: &str, rows: &[&str], found: &mut Vec<String>) {
    use serde_json::Value::{Array, Object};
    let below = |key: &str| match path {
        "" => key.to_owned(),
        _ => format!("{path}.{key}"),
    };
    match value {
        _ if rows.contains(&path) => found.push(path.to_owned()),
        Array(members) => members
            .iter()
            .take(1)
            .for_each(|member| paths(member, path.trim_end_matches('s'), rows, found)),
        Object(entries) => entries
            .iter()
            .for_each(|(key, value)| paths(value, &below(key), rows, found)),
        _ => found.push(path.to_owned()),
    }
}

/// A name ends with the unit of its number.
#[test]
fn names_end_with_their_units() {
    let ends = [("bit/s", "_bps"), ("s", "_s"), ("segment", "_segments")];
    for row in cclab_metrics::metrics().filter(|row| row.quantity.is_number()) {
        for (unit, end) in ends {
            assert_eq!(
                row.quantity.unit() == unit,
                row.name.ends_with(end),
                "{}",
                row.name
            );
        }
    }
}

#[test]
fn the_rows_are_exactly_what_is_printed() {
    let mut in_real_time = trace();
    in_real_time.summary.fidelity = Some(Fidelity::default());
    in_real_time.summary.traffic = vec![TrafficSummary {
        started: 1,
        ..TrafficSummary::default()
    }];
    in_real_time.summary.flows[0].resumption = Some(Resumption::default());
    let over_udp = &mut in_real_time.summary.flows[1];
    over_udp.transport = cclab_trace::schema::Carrier::Udp;
    (over_udp.back.sent, over_udp.frames.sent) = (1, 1);
    in_real_time.summary.links[0].bands = vec![BandSummary::default()];
    in_real_time.summary.probes = vec![ProbeSummary::default()];
    let in_a_group = MeasureInput {
        groups: vec![Some("both".to_owned()); 2],
        ..WARMUP
    };
    let metrics = measure(&in_real_time, &in_a_group);
    let json = serde_json::to_value(&metrics).expect("plain data");
    let in_runs = cclab_metrics::metrics().filter(|metric| !metric.of_summary);
    let mut named: Vec<&str> = in_runs.map(|metric| metric.name).collect();
    let mut printed = Vec::new();
    paths(&json, "", &named, &mut printed);
    let beside = serde_json::to_value(BesideOthers::default()).expect("plain data");
    paths(&beside, "flow", &named, &mut printed);
    // What only one transport has is null of the other.
    paths(&json["flows"][1], "flow", &named, &mut printed);
    let is_null = |path: &str| {
        let group = path.strip_prefix("flow.").unwrap_or(path);
        let group = group.strip_prefix("window_").unwrap_or(group);
        ["datagrams", "back", "frames", "limited", "resumption"].contains(&group)
    };
    printed.retain(|path| !is_null(path));
    // Rows of what the bottleneck's queues did are named without it.
    for path in &mut printed {
        if let Some(of_band) = path.strip_prefix("bottleneck.band.") {
            *path = format!("band.{of_band}");
        }
    }
    printed.sort();
    printed.dedup();
    named.sort_unstable();
    assert_eq!(printed, named);
}

#[test]
fn the_schema_of_results_is_made_of_the_rows() {
    assert!(
        include_str!("../../../../docs/results.schema.json") == cclab_metrics::results_schema(),
        "run `cargo run -p cclab-metrics --example results-schema > docs/results.schema.json`"
    );
}

#[test]
fn numbers_have_names_of_their_own() {
    let numbers = cclab_metrics::metrics().flat_map(|metric| metric.numbers());
    let mut names: Vec<String> = numbers
        .map(|number| format!("{}.{}", number.metric.subject(), number.name()))
        .collect();
    let count = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), count);
}

#[test]
fn the_metrics_page_is_the_catalog() {
    assert!(
        include_str!("../../../../docs/metrics.md") == markdown(),
        "run `cargo run -p cclab-metrics --example catalog > docs/metrics.md`"
    );
}

/// Short names stand among those that checks take: a number that no check takes has none there.
#[test]
fn the_page_gives_short_names_to_numbers_of_checks_alone() {
    let page = markdown();
    let (_, short) = page.split_once("| short names |").expect("a table");
    let (short, _) = short.split_once("## Warnings").expect("the next part");
    let flows = short.lines().find(|line| line.contains("`flow.FLOW.NAME`"));
    let taken = |name: &str| {
        cclab_metrics::metrics()
            .filter(|metric| metric.subject() == "flow" && metric.is_expectable())
            .flat_map(|metric| metric.numbers())
            .any(|number| number.short().as_deref() == Some(name))
    };
    // Between back quotes; the first is how a study writes them.
    let names = flows
        .expect("flows have some")
        .split('`')
        .skip(3)
        .step_by(2);
    let refused: Vec<&str> = names.filter(|name| !taken(name)).collect();
    assert_eq!(refused, [""; 0]);
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
