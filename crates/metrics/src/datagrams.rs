//! What datagrams of flows over UDP did on either way, and what became of frames.

use cclab_trace::Histogram;
use cclab_trace::schema::{Datagrams, Frames};
use cclab_units::Time;
use serde::{Deserialize, Serialize};

use crate::table::Quantity::{Count, Delay, Duration, Percentage, Rate, Size};
use crate::table::{measured, row};
use crate::window::Window;

/// Bits per byte.
const BITS: f64 = 8.0;

/// Declares the numbers of one way in a span of time: they are the same for all, under names of their
/// own.
macro_rules! one_way {
    ($(#[$meta:meta])* $name:ident as $path:literal in $span:literal, $loss:expr, $delay:expr, $p95:expr) => {
        measured! {
            $(#[$meta])*
            #[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
            pub struct $name as $path of &Datagrams {
                sent: u64 = |way| way.sent,
                    "Datagrams that left.",
                    row(Count, $span, "sender");

                received: u64 = |way| way.received,
                    "Datagrams that arrived, each counted once.",
                    row(Count, $span, "receiver");

                lost: u64 = Datagrams::lost,
                    "Datagrams that left and never arrive: sent - received - those on their way at the end of the run.",
                    row(Count, $span, "receiver").lower();

                loss: Option<f64> = loss,
                    "lost / (sent - those on their way at the end of the run).",
                    $loss;

                duplicates: u64 = |way| way.duplicates,
                    "Arrivals of a datagram that had arrived before.",
                    row(Count, $span, "receiver").lower();

                reordered: u64 = |way| way.reordered,
                    "Datagrams that arrived after one that left later.",
                    row(Count, $span, "receiver").lower().source("RFC 4737, section 3");

                bytes_sent: u64 = |way| way.sent_bytes,
                    "Payload that left.",
                    row(Size, $span, "sender");

                bytes_received: u64 = |way| way.received_bytes,
                    "Payload that arrived, each datagram counted once.",
                    row(Size, $span, "receiver");

                goodput_bps: Option<f64> = goodput_bps,
                    "8 bytes_received / (last - first arrival); null if all arrived at one instant.",
                    row(Rate, "first to last arrival", "receiver").higher();

                delay_mean_s: Option<f64> = |way| way.delay.mean().map(seconds),
                    "Mean of the one-way delays: from when a datagram left its host to when it reached the other.",
                    $delay;

                delay_p50_s: Option<f64> = |way| way.delay.quantile(0.5).map(seconds),
                    "Median of the one-way delays, within 0.8% (histogram of 64 bins per octave).",
                    row(Delay, $span, "receiver").lower();

                delay_p95_s: Option<f64> = |way| way.delay.quantile(0.95).map(seconds),
                    "95th percentile of the same.",
                    $p95;

                delay_p99_s: Option<f64> = |way| way.delay.quantile(0.99).map(seconds),
                    "99th percentile of the same.",
                    row(Delay, $span, "receiver").lower();

                jitter_s: Option<f64> = |way| way.jitter.map(Time::as_secs_f64),
                    "Interarrival jitter J after the last arrival: J += (|D| - J) / 16 at each, with D the difference of its one-way delay from that of the arrival before.",
                    row(Delay, $span, "receiver").lower().source("RFC 3550, section 6.4.1");
            }
        }
    };
}

one_way! {
    /// What datagrams did on the way of a flow's data.
    DatagramMetrics as "flow.datagrams." in "run",
    row(Percentage, "run", "receiver").lower().compared(35).queried().column_if_measured("loss", 2),
    row(Delay, "run", "receiver").lower().compared(45).queried().column_if_measured("one-way delay", 1),
    row(Delay, "run", "receiver").lower().column_if_measured("one-way delay p95", 2)
}

one_way! {
    /// What datagrams did on the way back.
    BackMetrics as "flow.back." in "run",
    row(Percentage, "run", "receiver").lower(),
    row(Delay, "run", "receiver").lower(),
    row(Delay, "run", "receiver").lower()
}

one_way! {
    /// What those did on the way of a flow's data that left after the warm-up.
    WindowDatagramMetrics as "flow.window_datagrams." in "left in the flow's window",
    row(Percentage, "left in the flow's window", "receiver").lower(),
    row(Delay, "left in the flow's window", "receiver").lower(),
    row(Delay, "left in the flow's window", "receiver").lower()
}

one_way! {
    /// What those did on the way back that left after the warm-up.
    WindowBackMetrics as "flow.window_back." in "left in the flow's window",
    row(Percentage, "left in the flow's window", "receiver").lower(),
    row(Delay, "left in the flow's window", "receiver").lower(),
    row(Delay, "left in the flow's window", "receiver").lower()
}

/// Declares the numbers of a video's frames in a span of time.
macro_rules! frames {
    (
        $(#[$meta:meta])* $name:ident as $path:literal in $span:literal,
        $late:expr, $lost:expr, $shown:expr, $freezes:expr, $frozen:expr, $delay:expr
    ) => {
        measured! {
            $(#[$meta])*
            #[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
            pub struct $name as $path of (&Frames, &Histogram) {
                sent: u64 = |(frames, _)| frames.sent,
                    "Frames made: over UDP all of them are sent, on a connection some may be left out.",
                    row(Count, $span, "sender");

                complete: u64 = |(frames, _)| frames.complete,
                    "Frames of which every datagram arrived, or on a connection every byte.",
                    row(Count, $span, "receiver").higher();

                late: u64 = |(frames, _)| frames.late,
                    "Those of them that were complete after their deadline only.",
                    $late;

                lost: u64 = |(frames, _)| frames.lost,
                    "Frames of which a datagram never arrives; on a connection those that were left out.",
                    $lost;

                shown: u64 = |(frames, _)| frames.shown,
                    "Frames shown at their deadline: complete by then, as every frame of their group before them.",
                    row(Count, $span, "receiver").higher();

                shown_share: Option<f64> = |(frames, _)| (frames.sent > 0).then(|| frames.shown as f64 / frames.sent as f64),
                    "shown / sent; null if none was sent.",
                    $shown;

                freezes: u64 = |(frames, _)| frames.freezes,
                    "Intervals between shown frames of at least max(3 d, d + 150 ms), where d is the mean of the last 30 intervals (docs/traffic.md); one is of the frame that ends it.",
                    $freezes.source("W3C, Identifiers for WebRTC's Statistics API, freezeCount");

                frozen_s: f64 = |(frames, _)| frames.frozen.as_secs_f64(),
                    "Sum of these intervals.",
                    $frozen.source("W3C, the same, totalFreezesDuration");

                delay_mean_s: Option<f64> = |(_, delay)| delay.mean().map(seconds),
                    "Mean of the delays of complete frames on a connection: from when a frame was made to when its last byte reached the receiving application; null over UDP.",
                    $delay;

                delay_p95_s: Option<f64> = |(_, delay)| delay.quantile(0.95).map(seconds),
                    "95th percentile of the same, within 0.8% (histogram of 64 bins per octave).",
                    row(Delay, $span, "receiver").lower();

                delay_max_s: Option<f64> = |(_, delay)| delay.quantile(1.0).map(seconds),
                    "Largest of the same, within 0.8%.",
                    row(Delay, $span, "receiver").lower();
            }
        }
    };
}

frames! {
    /// What became of the frames of a video.
    FrameMetrics as "flow.frames." in "run",
    row(Count, "run", "receiver").lower().column_if_measured("late frames", 0),
    row(Count, "run", "receiver").lower().column_if_measured("lost frames", 0),
    row(Percentage, "run", "receiver").higher().column_if_measured("frames shown", 1),
    row(Count, "run", "receiver").lower().column_if_measured("freezes", 0),
    row(Duration, "run", "receiver").lower().column_if_measured("frozen", 1),
    row(Delay, "run", "receiver").lower().column_if_measured("frame delay", 1)
}

frames! {
    /// What became of those that were made after the warm-up.
    WindowFrameMetrics as "flow.window_frames." in "made in the flow's window",
    row(Count, "made in the flow's window", "receiver").lower(),
    row(Count, "made in the flow's window", "receiver").lower(),
    row(Percentage, "made in the flow's window", "receiver").higher(),
    row(Count, "made in the flow's window", "receiver").lower(),
    row(Duration, "made in the flow's window", "receiver").lower(),
    row(Delay, "made in the flow's window", "receiver").lower()
}

fn seconds(ns: f64) -> f64 {
    ns / 1e9
}

fn loss(way: &Datagrams) -> Option<f64> {
    let decided = way.received + way.lost();
    (decided > 0).then(|| way.lost() as f64 / decided as f64)
}

fn goodput_bps(way: &Datagrams) -> Option<f64> {
    let window = Window::new(way.first?, way.last?)?;
    Some(way.received_bytes as f64 * BITS / window.seconds())
}
