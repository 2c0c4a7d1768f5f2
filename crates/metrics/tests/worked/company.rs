//! Warnings about what flows are to each other, and to the queue that they meet at.

use super::*;

/// The hand-made run with both flows all the time, samples each second, and `share` of what arrives
/// in each of the seconds from 10 s to 100 s that the second has.
fn shared(share: impl Fn(u64) -> f64) -> Trace {
    let mut trace = trace();
    let late = &mut trace.summary.flows[1];
    (late.started, late.ended) = (Some(Time::ZERO), None);
    (late.fast_recoveries, late.limited.cwnd) = (40, seconds(95.0));
    trace.flow_samples.clear();
    let mut got = [0.0; 2];
    for second in 10..=100 {
        for flow in [0, 1] {
            let sample = FlowSample {
                flow,
                bytes_received: got[flow as usize] as u64,
                ..FlowSample::default()
            };
            trace.flow_samples.push((Time::from_secs(second), sample));
        }
        let share = share(second - 10);
        got[0] += 1e6 * (1.0 - share);
        got[1] += 1e6 * share;
    }
    for (flow, got) in trace.summary.flows.iter_mut().zip(got) {
        flow.bytes_received = got as u64;
    }
    trace
}

fn sampled() -> MeasureInput {
    MeasureInput {
        sampled_every: Time::from_secs(1),
        ..WARMUP
    }
}

fn raised(trace: &Trace, input: &MeasureInput, code: &str) -> Option<(String, String)> {
    let warnings = measure(trace, input).warnings.into_iter();
    let mut found = warnings.filter(|warning| warning.code == code);
    found
        .next()
        .map(|warning| (warning.message, warning.remedy))
}

#[test]
fn shares_that_drift_are_not_settled() {
    let drifting = |trace: &Trace| raised(trace, &sampled(), "not-converged");
    let rising = shared(|second| 0.2 + 0.3 * second as f64 / 90.0);
    let (message, remedy) = drifting(&rising).expect("it rises by 30 percentage points");
    // Means of the first and the last third, of either flow.
    assert!(
        message.contains("is 25%") || message.contains("is 75%"),
        "{message}"
    );
    assert!(
        message.contains("and 45% in") || message.contains("and 55% in"),
        "{message}"
    );
    assert!(remedy.contains("`duration`, to 500s"), "{remedy}");
    // A saw of two teeth or more, chance, a drift of three points, and an even split are not.
    assert_eq!(
        drifting(&shared(|second| 0.3 + 0.01 * (second % 45) as f64)),
        None
    );
    assert_eq!(
        drifting(&shared(
            |second| 0.3 + 0.1 * (second * 7919 % 13) as f64 / 13.0
        )),
        None
    );
    assert_eq!(
        drifting(&shared(|second| 0.3 + 0.03 * second as f64 / 90.0)),
        None
    );
    assert_eq!(drifting(&shared(|_| 0.5)), None);
    // Where the parts are a few round trips, that is what is wrong.
    let mut slow = rising.clone();
    slow.summary.flows[0].srtt_mean = Some(seconds(1.0));
    assert_eq!(drifting(&slow), None);
    // Samples at the edges alone show no course.
    assert_eq!(raised(&rising, &WARMUP, "not-converged"), None);
}

#[test]
fn repeats_are_no_remedy_for_a_transient() {
    let remedy = |mut trace: Trace| {
        trace.summary.flows[1].fast_recoveries = 2;
        let few = raised(&trace, &sampled(), "too-few-loss-cycles");
        few.expect("two cycles").1
    };
    assert!(remedy(shared(|_| 0.5)).contains("`repeat`"));
    let rising = shared(|second| 0.2 + 0.3 * second as f64 / 90.0);
    assert!(!remedy(rising).contains("`repeat`"));
}

#[test]
fn a_variant_that_counts_marks_is_named_where_there_are_none() {
    let told = |echoes: u64, retransmits: u64| {
        let mut trace = trace();
        let flow = &mut trace.summary.flows[0];
        (flow.cc, flow.cc_in_force) = ("dctcp".into(), "dctcp".into());
        (flow.ecn_echoes, flow.retransmits) = (echoes, retransmits);
        raised(&trace, &WARMUP, "without-marks")
    };
    let (message, remedy) = told(0, 9).expect("it is Reno");
    assert!(message.ends_with("long (dctcp)"), "{message}");
    assert!(remedy.starts_with("choose a queue that marks"), "{remedy}");
    assert_eq!(told(1, 9), None);
    // Nothing was lost: it had nothing to react to.
    assert_eq!(told(0, 0), None);
}

#[test]
fn a_flow_without_ecn_beside_one_with_is_named() {
    let told = |marked: u64, dropped: u64, ecn: [bool; 2]| {
        let mut trace = trace();
        trace.summary.flows[0].ecn_echoes = marked;
        trace.summary.flows[1].retransmits = dropped;
        let input = MeasureInput {
            ecn: ecn.to_vec(),
            ..WARMUP
        };
        raised(&trace, &input, "ecn-of-some")
    };
    let (message, _) = told(5, 3, [true, false]).expect("late is dropped");
    assert!(message.ends_with("dropped: late"), "{message}");
    assert_eq!(told(5, 3, [true, true]), None);
    assert_eq!(told(0, 3, [true, false]), None);
    assert_eq!(told(5, 0, [true, false]), None);
    // Who counts marks negotiates ECN whatever `ecn` says.
    let mut trace = trace();
    trace.summary.flows[0].ecn_echoes = 5;
    (
        trace.summary.flows[1].cc,
        trace.summary.flows[1].retransmits,
    ) = ("dctcp".into(), 3);
    trace.summary.flows[1].cc_in_force = "dctcp".into();
    let input = MeasureInput {
        ecn: vec![true, false],
        ..WARMUP
    };
    assert_eq!(raised(&trace, &input, "ecn-of-some"), None);
}

#[test]
fn what_leaves_room_on_purpose_is_not_told_to_mend_the_network() {
    let told = |names: [&str; 2], changes: Option<Time>| {
        let mut trace = shared(|_| 0.5);
        trace.queue_samples[3].1.tx_bytes = 50_000_000;
        for (flow, name) in trace.summary.flows.iter_mut().zip(names) {
            (flow.cc, flow.cc_in_force) = (name.into(), name.into());
        }
        let input = MeasureInput {
            rate_changes: changes,
            ..WARMUP
        };
        raised(&trace, &input, "bottleneck-not-full").expect("half of it was used")
    };
    let (_, remedy) = told(["reno", "vegas"], None);
    assert!(remedy.contains("[network.access]"), "{remedy}");
    let (message, remedy) = told(["copa", "vegas"], None);
    assert!(message.contains("long (copa), late (vegas)"), "{message}");
    assert!(
        remedy.starts_with("compare a variant that keeps a queue"),
        "{remedy}"
    );
    let (message, remedy) = told(["copa", "vegas"], Some(seconds(50.0)));
    assert!(message.contains("its rate changes"), "{message}");
    assert!(!remedy.contains("[network.access]"), "{remedy}");
    // It would have changed after the end.
    let (message, _) = told(["reno", "cubic"], Some(seconds(200.0)));
    assert!(!message.contains("its rate changes"), "{message}");
}

#[test]
fn a_link_that_routes_leave_is_not_told_to_have_another_rate() {
    let mut trace = shared(|_| 0.5);
    trace.queue_samples[3].1.tx_bytes = 50_000_000;
    let told = |routes_change: Option<Time>| {
        let input = MeasureInput {
            routes_change,
            ..WARMUP
        };
        raised(&trace, &input, "bottleneck-not-full").expect("half of it was used")
    };
    let (message, remedy) = told(Some(seconds(50.0)));
    assert!(message.contains("routes change"), "{message}");
    assert!(!remedy.contains("[network.access]"), "{remedy}");
    let (message, _) = told(Some(seconds(200.0)));
    assert!(!message.contains("routes change"), "{message}");
}

#[test]
fn repeats_that_a_clock_alone_tells_apart_are_identical() {
    let repeat = |factor: f64| {
        let mut run = measure(&trace(), &WARMUP);
        for flow in &mut run.flows {
            flow.goodput_bps = flow.goodput_bps.map(|bps| bps * factor);
        }
        run
    };
    let warned = |factor| identical_repeats(&[repeat(1.0), repeat(factor)]).is_some();
    assert!(warned(1.0 + 2e-9));
    assert!(!warned(1.0 + 1e-4));
}
