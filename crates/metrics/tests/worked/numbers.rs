//! The numbers.

use super::*;

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

/// The case of a user: what is asked for after a warm-up is what happened after it.
#[test]
fn the_window_by_hand() {
    let metrics = measure(&trace(), &WARMUP);
    let [long, late] = &metrics.flows[..] else {
        panic!("two flows")
    };
    // 59.7 MB - 9 MB from 10 s to 100 s; the late one in its whole life.
    close(long.window_goodput_bps, 50_700_000.0 * 8.0 / 90.0);
    close(late.window_goodput_bps, 34_850_000.0 * 8.0 / 70.0);
    close(long.window_srtt_mean_s, 0.15);
    assert!((long.window_rtt_p95_s.expect("samples") / 0.2 - 1.0).abs() < 0.008);
    assert_eq!(
        (late.window_srtt_mean_s, late.window_rtt_p95_s),
        (None, None)
    );
    let (x, y) = (50.7 / 90.0, 34.85 / 70.0);
    let sum: f64 = x + y;
    close(metrics.window_jain, sum * sum / (2.0 * (x * x + y * y)));
    close(metrics.window_throughput_ratio, y / x);
    let bottleneck = metrics.bottleneck;
    close(bottleneck.window_queue_delay_mean_s, 0.04);
    for quantile in [
        bottleneck.window_queue_delay_p95_s,
        bottleneck.window_queue_delay_p99_s,
    ] {
        assert!((quantile.expect("samples") / 0.04 - 1.0).abs() < 0.008);
    }

    // One that is over before the warm-up is has no window and weighs nothing in it.
    let late_warmup = MeasureInput {
        warmup: seconds(90.0),
        ..WARMUP
    };
    let metrics = measure(&trace(), &late_warmup);
    close(
        metrics.flows[0].window_goodput_bps,
        5_700_000.0 * 8.0 / 10.0,
    );
    assert_eq!(metrics.flows[1].window_goodput_bps, None);
    assert_eq!(metrics.window_jain, Some(1.0));

    let whole = measure(&trace(), &MeasureInput::default());
    for flow in &whole.flows {
        let window = (
            flow.window_goodput_bps,
            flow.window_srtt_mean_s,
            flow.window_rtt_p95_s,
        );
        assert_eq!(window, (None, None, None));
    }
    assert_eq!(
        (whole.window_jain, whole.window_throughput_ratio),
        (None, None)
    );
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

/// The first flow sent its first SYN at 0.5 s, jumped at 1.7 s and retreated at 2 s.
#[test]
fn a_resumption_is_counted_from_the_first_syn() {
    let mut trace = trace();
    let flow = &mut trace.summary.flows[0];
    flow.started = Some(seconds(0.5));
    flow.resumption = Some(cclab_trace::schema::Resumption {
        jumped: Some(seconds(1.7)),
        validated: None,
        retreated: Some(seconds(2.0)),
    });
    let flows = measure(&trace, &WARMUP).flows;
    let found = flows[0].resumption.expect("it remembers");
    close(found.jump_s, 1.2);
    close(found.retreat_s, 1.5);
    assert_eq!(found.validation_s, None);
    assert!(flows[1].resumption.is_none());
}
