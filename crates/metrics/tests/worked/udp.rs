//! Flows over UDP, and programs of which nothing was seen.

use cclab_trace::Histogram;
use cclab_trace::schema::{Carrier, Datagrams, Frames};

use super::*;

/// The hand-made run with its second flow over UDP: 1,000 datagrams, of which 40 are lost and 10 are on
/// their way at the end.
fn with_datagrams() -> Trace {
    let mut trace = trace();
    let flow = &mut trace.summary.flows[1];
    let mut delay = Histogram::new();
    (0..950).for_each(|number| delay.record(if number < 900 { 20_000_000 } else { 80_000_000 }));
    *flow = FlowSummary {
        name: "video".into(),
        transport: Carrier::Udp,
        started: Some(Time::ZERO),
        first_byte: Some(seconds(1.0)),
        last_byte: Some(seconds(96.0)),
        bytes_received: 950_000,
        segments_sent: 1_000,
        datagrams: Datagrams {
            sent: 1_000,
            sent_bytes: 1_000_000,
            received: 950,
            received_bytes: 950_000,
            in_flight: 10,
            duplicates: 3,
            reordered: 4,
            first: Some(seconds(1.0)),
            last: Some(seconds(96.0)),
            jitter: Some(Time::from_millis(2)),
            delay,
        }
        .into(),
        frames: Frames {
            sent: 100,
            complete: 95,
            late: 5,
            lost: 4,
            shown: 90,
            freezes: 1,
            frozen: Time::from_millis(400),
        },
        ..FlowSummary::default()
    };
    trace
}

#[test]
fn datagrams_by_hand() {
    let metrics = measure(&with_datagrams(), &WARMUP);
    let flow = &metrics.flows[1];
    assert_eq!(flow.transport.as_deref(), Some("udp"));
    close(flow.goodput_bps, 80_000.0);
    let found = flow.datagrams.as_ref().expect("it is UDP");
    assert_eq!((found.sent, found.received, found.lost), (1_000, 950, 40));
    // Of the 990 of which it is known.
    close(found.loss, 40.0 / 990.0);
    assert_eq!((found.duplicates, found.reordered), (3, 4));
    close(found.goodput_bps, 80_000.0);
    // (900 * 20 + 50 * 80) / 950 ms.
    close(found.delay_mean_s, 22.0 / 950.0);
    for (value, expected) in [
        (found.delay_p50_s, 0.02),
        (found.delay_p95_s, 0.08),
        (found.delay_p99_s, 0.08),
    ] {
        assert!((value.expect("samples") / expected - 1.0).abs() < 0.008);
    }
    close(found.jitter_s, 0.002);
    assert!(flow.back.is_none());
    let frames = flow.frames.as_ref().expect("it is a video");
    assert_eq!((frames.late, frames.lost, frames.freezes), (5, 4, 1));
    assert_eq!(frames.frozen_s, 0.4);
}

/// What waits in a queue when the last datagram leaves arrives after the flow's window, and was not
/// its rate.
#[test]
fn goodput_after_a_warm_up_is_of_what_arrived_while_the_source_sent() {
    let mut trace = with_datagrams();
    trace.summary.flows[1].ended = Some(seconds(50.0));
    trace.flow_samples.retain(|(_, sample)| sample.flow == 0);
    for (at, bytes_received) in [(10.0, 100_000), (50.0, 500_000), (60.0, 950_000)] {
        let sample = FlowSample {
            flow: 1,
            bytes_received,
            ..FlowSample::default()
        };
        trace.flow_samples.push((seconds(at), sample));
    }
    let metrics = measure(&trace, &WARMUP);
    // 400,000 bytes in 40 s.
    close(metrics.flows[1].window_goodput_bps, 80_000.0);
    let (x, y) = (metrics.flows[0].window_goodput_bps.expect("some"), 80_000.0);
    close(
        metrics.window_jain,
        (x + y) * (x + y) / (2.0 * (x * x + y * y)),
    );
    close(metrics.flows[1].window_bottleneck_goodput_bps, x + y);
    // A transfer over TCP got all of it by its end, wherever the samples lie.
    let mut trace = self::trace();
    trace.summary.flows[1].ended = Some(seconds(89.0));
    let flow = &measure(&trace, &WARMUP).flows[1];
    close(flow.window_goodput_bps, 34_850_000.0 * 8.0 / 69.0);
}

#[test]
fn what_tcp_alone_has_is_not_measured() {
    let metrics = measure(&with_datagrams(), &WARMUP);
    let flow = &metrics.flows[1];
    assert_eq!((&flow.cc, &flow.cc_in_force), (&None, &None));
    assert_eq!((flow.bytes_acked, flow.segments_sent), (None, None));
    assert_eq!((flow.retransmits, flow.rtos), (None, None));
    assert_eq!((flow.srtt_mean_s, flow.cwnd_mean_segments), (None, None));
    assert_eq!(flow.limited, None);
    let tcp = &metrics.flows[0];
    assert_eq!(tcp.transport.as_deref(), Some("tcp"));
    assert!(tcp.retransmits.is_some() && tcp.limited.is_some());
    assert!(tcp.datagrams.is_none() && tcp.frames.is_none());
    // Both are in the index: 4.8 Mbit/s and 80 kbit/s.
    let (x, y) = (tcp.goodput_bps.expect("it got some"), 80_000.0);
    close(metrics.jain, (x + y) * (x + y) / (2.0 * (x * x + y * y)));
}

#[test]
fn no_warning_asks_datagrams_for_what_they_lack() {
    let mut trace = with_datagrams();
    trace.summary.flows[1].last_byte = Some(seconds(30.0));
    for (at, sample) in &mut trace.flow_samples {
        // It sends, nothing of it is acknowledged.
        sample.snd_nxt = at.as_nanos();
    }
    let of_udp = measure(&trace, &WARMUP).warnings.into_iter();
    let told: Vec<String> = of_udp
        .filter(|one| one.message.contains("video"))
        .map(|one| one.code)
        .collect();
    assert_eq!(told, [""; 0]);
    // That nothing arrived is a doubt of any flow.
    trace.summary.flows[1].bytes_received = 0;
    let metrics = measure(&trace, &WARMUP);
    assert!(codes(&metrics).contains(&"incomplete-transfer"));
}

#[test]
fn a_program_of_which_nothing_was_seen_is_told_and_in_no_share() {
    let mut trace = trace();
    let alone = {
        let mut trace = trace.clone();
        trace.summary.flows.truncate(1);
        measure(&trace, &WARMUP).jain
    };
    trace.summary.flows[1] = FlowSummary {
        name: "silent".into(),
        transport: Carrier::Nothing,
        cc: "cubic".into(),
        started: Some(Time::ZERO),
        ..FlowSummary::default()
    };
    let input = MeasureInput {
        programs: vec!["silent".into()],
        ..WARMUP
    };
    let metrics = measure(&trace, &input);
    assert_eq!(metrics.jain, alone);
    let flow = &metrics.flows[1];
    assert_eq!((&flow.transport, &flow.cc), (&None, &None));
    assert_eq!((flow.throughput_bps, flow.steady_goodput_bps), (None, None));
    assert!(codes(&metrics).contains(&"nothing-seen"));
    assert!(!codes(&metrics).contains(&"incomplete-transfer"));
}

#[test]
fn after_a_warm_up_datagrams_and_frames_are_of_those_that_left_in_it() {
    let mut trace = with_datagrams();
    let flow = &mut trace.summary.flows[1];
    let mut delay = Histogram::new();
    (0..800).for_each(|_| delay.record(20_000_000));
    flow.warm_datagrams = Datagrams {
        sent: 900,
        received: 800,
        in_flight: 10,
        jitter: Some(Time::from_millis(1)),
        delay,
        ..Datagrams::default()
    }
    .into();
    flow.warm_frames = Frames {
        sent: 90,
        late: 2,
        freezes: 0,
        ..flow.frames
    };
    // A frame in ten takes 200 ms, the others 40 ms; after the warm-up all take 30 ms.
    (0..10).for_each(|nth| {
        let ms = if nth == 0 { 200 } else { 40 };
        flow.frame_delay.record(ms * 1_000_000);
        flow.warm_frame_delay.record(30_000_000);
    });
    let of = |trace: &Trace, input: &MeasureInput| measure(trace, input).flows.remove(1);
    let found = of(&trace, &WARMUP);
    let warm = found.window_datagrams.expect("it is UDP");
    assert_eq!((warm.sent, warm.received, warm.lost), (900, 800, 90));
    close(warm.loss, 90.0 / 890.0);
    close(warm.delay_mean_s, 0.02);
    close(warm.jitter_s, 0.001);
    assert!(found.window_back.is_none());
    let frames = found.window_frames.expect("it is a video");
    assert_eq!((frames.sent, frames.late, frames.freezes), (90, 2, 0));
    close(frames.delay_mean_s, 0.03);
    let whole = found.frames.expect("it is a video");
    close(whole.delay_mean_s, 0.056);
    // Within 0.8%.
    let near = |value: Option<f64>, to: f64| (value.expect("frames") / to - 1.0).abs() < 0.008;
    assert!(
        near(whole.delay_p95_s, 0.2) && near(whole.delay_max_s, 0.2),
        "{whole:?}"
    );
    // Those of the whole run stay what they are.
    close(found.datagrams.expect("it is UDP").loss, 40.0 / 990.0);
    // Nothing is after a warm-up that there was not, or that the flow did not see the end of.
    let none = of(&trace, &MeasureInput::default());
    assert!(none.window_datagrams.is_none() && none.window_frames.is_none());
    trace.summary.flows[1].ended = Some(seconds(9.0));
    assert!(of(&trace, &WARMUP).window_datagrams.is_none());
}

#[test]
fn what_of_datagrams_is_after_the_warm_up_stands_for_the_whole_in_tables() {
    let numbers = |name: &str| {
        let mut all = cclab_metrics::metrics().filter(|row| row.name == name);
        all.next().expect("a row").numbers()[0]
    };
    for (window, whole, short) in [
        (
            "flow.window_datagrams.loss",
            "datagrams_loss",
            "datagrams_loss",
        ),
        (
            "flow.window_datagrams.delay_mean_s",
            "datagrams_delay_mean_s",
            "datagrams_delay_mean",
        ),
        ("flow.window_frames.late", "frames_late", "frames_late"),
        ("flow.window_back.jitter_s", "back_jitter_s", "back_jitter"),
        (
            "band.window_queue_delay_mean_s",
            "queue_delay_mean_s",
            "queue_delay_mean",
        ),
    ] {
        let number = numbers(window);
        assert_eq!(number.window_of().as_deref(), Some(whole), "{window}");
        assert_eq!(number.short().as_deref(), Some(short));
    }
    // Each number of the one has its like in the other.
    for (window, whole) in [
        ("flow.window_datagrams.", "flow.datagrams."),
        ("flow.window_back.", "flow.back."),
        ("flow.window_frames.", "flow.frames."),
    ] {
        let keys = |path: &str| -> Vec<&str> {
            let rows = cclab_metrics::metrics().filter_map(|row| row.name.strip_prefix(path));
            rows.collect()
        };
        assert_eq!(keys(window), keys(whole));
    }
}
