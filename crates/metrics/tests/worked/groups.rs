//! Groups of flows, and named queues of a discipline.

use cclab_metrics::{GroupMetrics, MeasureInput, RunMetrics, measure};
use cclab_trace::schema::{BandSummary, FlowSummary, LinkSummary, RunSummary};
use cclab_trace::{Histogram, Trace};
use cclab_units::Time;

use super::close;

/// A transfer of `bytes` from `start` that arrived between the other two milliseconds.
fn transfer(name: &str, bytes: u64, [start, first, last]: [u64; 3]) -> FlowSummary {
    FlowSummary {
        name: name.to_owned(),
        cc: "dctcp".to_owned(),
        started: Some(Time::from_millis(start)),
        first_byte: Some(Time::from_millis(first)),
        last_byte: Some(Time::from_millis(last)),
        ended: Some(Time::from_millis(last + 1)),
        bytes_received: bytes,
        retransmits: 3,
        ..FlowSummary::default()
    }
}

fn measured(flows: Vec<FlowSummary>, groups: &[Option<&str>]) -> RunMetrics {
    let finite = flows.iter().map(|flow| flow.name.clone()).collect();
    let trace = Trace {
        summary: RunSummary {
            end: Time::from_secs(1),
            flows,
            ..RunSummary::default()
        },
        ..Trace::default()
    };
    let input = MeasureInput {
        finite,
        groups: groups
            .iter()
            .map(|group| group.map(str::to_owned))
            .collect(),
        ..MeasureInput::default()
    };
    measure(&trace, &input)
}

/// Four transfers of 1000 bytes and one flow beside them.
fn incast() -> RunMetrics {
    let flow = |name, last| transfer(name, 1000, [0, 10, last]);
    let cut = FlowSummary {
        ended: None,
        cc: "cubic".to_owned(),
        ..flow("s.4", 90)
    };
    measured(
        vec![
            flow("s.1", 20),
            flow("s.2", 30),
            flow("alone", 500),
            flow("s.3", 50),
            cut,
        ],
        &[Some("s"), Some("s"), None, Some("s"), Some("s")],
    )
}

#[test]
fn a_group_has_what_its_flows_have_together() {
    let found = incast();
    let [group] = &found.groups[..] else {
        panic!("{:?}", found.groups)
    };
    assert_eq!((group.name.as_str(), group.flows, group.ended), ("s", 4, 3));
    assert_eq!(group.variants, ["dctcp", "cubic"]);
    // 4000 bytes between 10 ms and 90 ms.
    close(group.goodput_sum_bps, 400_000.0);
    // 8000 bits in 10, 20, 40 and 80 ms: 800, 400, 200 and 100 kbit/s.
    close(group.goodput_mean_bps, 375_000.0);
    // 15^2 / (4 (8^2 + 4^2 + 2^2 + 1)).
    close(group.jain, 225.0 / 340.0);
    assert_eq!(group.retransmits, Some(12));
    // 20, 30 and 50 ms; the fourth did not end.
    close(group.fct_mean_s, 0.1 / 3.0);
    close(group.fct_p50_s, 0.03);
    close(group.fct_p95_s, 0.05);
    close(group.fct_p99_s, 0.05);
    let of: Vec<_> = found
        .flows
        .iter()
        .map(|flow| flow.group.as_deref())
        .collect();
    assert_eq!(of, [Some("s"), Some("s"), None, Some("s"), Some("s")]);
}

#[test]
fn a_flow_that_got_nothing_weighs_as_nothing() {
    let starved = FlowSummary {
        started: Some(Time::ZERO),
        name: "b.2".to_owned(),
        ..FlowSummary::default()
    };
    let late = FlowSummary {
        name: "b.3".to_owned(),
        ..FlowSummary::default()
    };
    let found = measured(
        vec![transfer("b.1", 1000, [0, 10, 20]), starved, late],
        &[Some("b"); 3],
    );
    let group: &GroupMetrics = &found.groups[0];
    close(group.goodput_mean_bps, 400_000.0);
    close(group.jain, 0.5);
    assert_eq!((group.flows, group.ended), (3, 1));
}

#[test]
fn without_groups_nothing_is_said_of_them() {
    let found = measured(vec![transfer("a", 1000, [0, 10, 20])], &[None]);
    let text = serde_json::to_value(&found).expect("JSON");
    assert!(text.get("groups").is_none());
    assert_eq!(text["flows"][0]["group"], serde_json::Value::Null);
}

#[test]
fn each_named_queue_has_numbers_of_its_own() {
    let waited = |milliseconds: &[u64]| {
        let mut histogram = Histogram::new();
        for ms in milliseconds {
            histogram.record(Time::from_millis(*ms).as_nanos());
        }
        histogram
    };
    let band = |name: &str, packets, drops, marks, sojourn| BandSummary {
        name: name.to_owned(),
        packets,
        drops,
        marks,
        sojourn,
        warm_packets: packets / 2,
        warm_drops: drops / 2,
        warm_marks: marks,
        warm_sojourn: waited(&[2]),
    };
    let trace = Trace {
        summary: RunSummary {
            end: Time::from_secs(1),
            links: vec![LinkSummary {
                sojourn: waited(&[1, 1, 16, 18]),
                bands: vec![
                    band("L", 2, 0, 1, waited(&[1, 1])),
                    band("C", 2, 3, 0, waited(&[16, 18])),
                ],
                ..LinkSummary::default()
            }],
            ..RunSummary::default()
        },
        ..Trace::default()
    };
    let found = measure(&trace, &MeasureInput::default()).bottleneck;
    close(found.queue_delay_mean_s, 0.009);
    let [l, c] = &found.bands[..] else {
        panic!("{:?}", found.bands)
    };
    assert_eq!(
        (l.name.as_str(), l.packets, l.drops, l.ecn_marks),
        ("L", 2, 0, 1)
    );
    assert_eq!(
        (c.name.as_str(), c.packets, c.drops, c.ecn_marks),
        ("C", 2, 3, 0)
    );
    close(l.queue_delay_mean_s, 0.001);
    close(c.queue_delay_mean_s, 0.017);
    close(l.mark_rate, 0.5);
    let p99 = c.queue_delay_p99_s.expect("packets left");
    assert!((p99 - 0.018).abs() < 0.008 * 0.018, "{p99}");
    assert_eq!(
        (c.window_packets, c.window_queue_delay_mean_s),
        (None, None)
    );
    // After a warm-up the same is told of the time after it.
    let warm = MeasureInput {
        warmup: Time::from_millis(500),
        ..MeasureInput::default()
    };
    let found = measure(&trace, &warm).bottleneck;
    let [l, c] = &found.bands[..] else {
        panic!("{:?}", found.bands)
    };
    assert_eq!((c.window_packets, c.window_drops), (Some(1), Some(1)));
    assert_eq!((l.window_ecn_marks, c.window_ecn_marks), (Some(1), Some(0)));
    close(l.window_mark_rate, 1.0);
    close(c.window_queue_delay_mean_s, 0.002);
    close(c.queue_delay_mean_s, 0.017);
}
