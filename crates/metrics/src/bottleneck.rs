//! The numbers of the bottleneck.

use cclab_trace::schema::{LinkSummary, QueueSample};
use cclab_trace::{Histogram, Trace};
use cclab_units::Time;
use serde::{Deserialize, Serialize};

use crate::band::{BandMetrics, OfBand};
use crate::input::MeasureInput;
use crate::series::value_at;
use crate::table::Quantity::{Count, Delay, Percentage, Power, Size};
use crate::table::{group, measured, row};
use crate::window::Window;

/// The index of the bottleneck among a run's links.
pub(crate) const BOTTLENECK: usize = 0;
/// That of its way back.
pub(crate) const REVERSE: usize = 1;

/// A run with a bottleneck.
pub(crate) struct OfBottleneck<'a> {
    /// Its trace.
    trace: &'a Trace,
    /// The bottleneck.
    link: &'a LinkSummary,
    /// Its way back, if data of flows go there.
    back: Option<&'a LinkSummary>,
    /// What is known beside the trace.
    input: &'a MeasureInput,
}

measured! {
    /// The numbers of the bottleneck.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    pub struct BottleneckMetrics as "bottleneck." of &OfBottleneck<'_> {
        utilization: Option<f64> = |of| loaded(of, BOTTLENECK),
            "8 bytes transmitted, headers and framing included / (rate x length of the window); null if the rate is infinite.",
            // A packet at the window's edge counts as a whole.
            row(Percentage, "loaded", "bottleneck's transmitter").within(0.0, f64::INFINITY)
                .higher().compared(140).queried().column("utilization", 1);

        drops: u64 = |of| of.link.drops(),
            "Packets lost in its queue, at random and in outages.",
            row(Count, "run", "bottleneck").lower();

        drop_rate: Option<f64> = |of| drop_rate(of.link),
            "drops / packets offered; null if none was offered.",
            row(Percentage, "run", "bottleneck").lower().compared(160);

        ecn_marks: u64 = |of| of.link.marks,
            "Packets ECN-marked.",
            row(Count, "run", "bottleneck's queue");

        queue_delay_mean_s: Option<f64> = |of| of.link.sojourn.mean().map(|ns| ns / 1e9),
            "Mean of the time from arrival to departure for the link, over packets that left; exact. On a kernel that does not report packets (docs/netns.md): backlog / rate, over the samples.",
            row(Delay, "run", "bottleneck's queue").lower().compared(150).column("queue delay", 1);

        queue_delay_p95_s: Option<f64> = |of| of.link.sojourn.quantile(0.95).map(|ns| ns / 1e9),
            "95th percentile of the same, within 0.8%.",
            row(Delay, "run", "bottleneck's queue").lower();

        queue_delay_p99_s: Option<f64> = |of| of.link.sojourn.quantile(0.99).map(|ns| ns / 1e9),
            "99th percentile of the same, within 0.8%.",
            row(Delay, "run", "bottleneck's queue").lower();

        window_queue_delay_mean_s: Option<f64> = |of| of.link.warm_sojourn.mean().map(|ns| ns / 1e9),
            "queue_delay_mean_s over packets that left after the warm-up; null without one, as all that begins with `window_`.",
            row(Delay, "after warm-up", "bottleneck's queue").lower();

        window_queue_delay_p95_s: Option<f64> = |of| of.link.warm_sojourn.quantile(0.95).map(|ns| ns / 1e9),
            "95th percentile of the same, within 0.8%.",
            row(Delay, "after warm-up", "bottleneck's queue").lower();

        window_queue_delay_p99_s: Option<f64> = |of| of.link.warm_sojourn.quantile(0.99).map(|ns| ns / 1e9),
            "99th percentile of the same, within 0.8%.",
            row(Delay, "after warm-up", "bottleneck's queue").lower();

        queue_max_bytes: u64 = |of| of.link.backlog_max,
            "Largest backlog.",
            row(Size, "run", "bottleneck's queue").lower();

        queue_power: Option<f64> = queue_power,
            "Throughput / delay: 8 bytes transmitted / length of the run, over queue_delay_mean_s + the mean time to transmit a packet; null if the rate changes or is infinite.",
            row(Power, "run", "bottleneck's transmitter and queue").higher()
                .source("Kleinrock, Power and Deterministic Rules of Thumb (ICC 1979)");

        reverse_utilization: Option<f64> = |of| of.back.and_then(|_| loaded(of, REVERSE)),
            "utilization of the bottleneck's way back, where data of flows go there (see Directions); else null, as all that begins with `reverse_`.",
            row(Percentage, "loaded", "transmitter of the way back").within(0.0, f64::INFINITY).higher();

        reverse_drops: Option<u64> = |of| of.back.map(LinkSummary::drops),
            "Packets lost in its queue, at random and in outages.",
            row(Count, "run", "way back").lower();

        reverse_drop_rate: Option<f64> = |of| drop_rate(of.back?),
            "reverse_drops / packets offered; null if none was offered.",
            row(Percentage, "run", "way back").lower();

        reverse_ecn_marks: Option<u64> = |of| of.back.map(|link| link.marks),
            "Packets ECN-marked.",
            row(Count, "run", "queue of the way back");

        reverse_queue_delay_mean_s: Option<f64> = |of| Some(waits(of, of.back?).mean()? / 1e9),
            "queue_delay_mean_s of the way back, after the warm-up if there is one.",
            row(Delay, "after warm-up", "queue of the way back").lower();

        reverse_queue_delay_p95_s: Option<f64> = |of| Some(waits(of, of.back?).quantile(0.95)? / 1e9),
            "95th percentile of the same, within 0.8%.",
            row(Delay, "after warm-up", "queue of the way back").lower();

        reverse_queue_delay_p99_s: Option<f64> = |of| Some(waits(of, of.back?).quantile(0.99)? / 1e9),
            "99th percentile of the same, within 0.8%.",
            row(Delay, "after warm-up", "queue of the way back").lower();

        reverse_queue_max_bytes: Option<u64> = |of| of.back.map(|link| link.backlog_max),
            "Largest backlog.",
            row(Size, "run", "queue of the way back").lower();
        #[serde(default)]
        bands: Vec<BandMetrics> = bands,
            "One per named queue of its discipline, in the discipline's order; empty of a single queue, and where a kernel does not tell.",
            group(&[BandMetrics::ROWS]);
    }
}

/// The numbers of the bottleneck of `trace`; none without one. `back`: data of flows go its way
/// back.
pub(crate) fn measure(trace: &Trace, input: &MeasureInput, back: bool) -> BottleneckMetrics {
    let links = &trace.summary.links;
    let Some(link) = links.get(BOTTLENECK) else {
        return BottleneckMetrics::default();
    };
    BottleneckMetrics::measure(&OfBottleneck {
        trace,
        link,
        back: links.get(REVERSE).filter(|_| back),
        input,
    })
}

/// The utilization of the link at `index` while there is load.
fn loaded(of: &OfBottleneck<'_>, index: usize) -> Option<f64> {
    let window = Window::loaded(&of.trace.summary, of.input.warmup)?;
    utilization(of.trace, window, index)
}

/// How long packets waited for `link` after the warm-up, if there is one.
fn waits<'a>(of: &OfBottleneck<'_>, link: &'a LinkSummary) -> &'a Histogram {
    match of.input.warmup {
        Time::ZERO => &link.sojourn,
        _ => &link.warm_sojourn,
    }
}

fn bands(of: &OfBottleneck<'_>) -> Vec<BandMetrics> {
    let warm = of.input.warmup > Time::ZERO;
    let bands = of.link.bands.iter();
    bands
        .map(|band| BandMetrics::measure(&OfBand { band, warm }))
        .collect()
}

fn drop_rate(link: &LinkSummary) -> Option<f64> {
    (link.offered > 0).then(|| link.drops() as f64 / link.offered as f64)
}

fn queue_power(of: &OfBottleneck<'_>) -> Option<f64> {
    match of.input.rate_changes {
        None => power(of.link, of.trace.summary.end),
        Some(_) => None,
    }
}

/// Throughput over delay (L. Kleinrock, Power and Deterministic Rules of Thumb for Probabilistic
/// Problems in Computer Communications, ICC 1979): what `link` transmitted until `end` over the mean
/// time that a packet waits and is transmitted.
fn power(link: &LinkSummary, end: Time) -> Option<f64> {
    let (rate, packets) = (link.rate?, link.delivered);
    if packets == 0 || end == Time::ZERO {
        return None;
    }
    let bits = link.tx_bytes as f64 * 8.0;
    let transmission = bits / packets as f64 / rate.bps() as f64;
    let delay = link.sojourn.mean()? / 1e9 + transmission;
    (delay > 0.0).then(|| bits / end.as_secs_f64() / delay)
}

/// Bytes that the link at `index` transmitted in `window` over those that it could have; `None`
/// for an infinite rate, or if the window is not covered by samples.
pub(crate) fn utilization(trace: &Trace, window: Window, index: usize) -> Option<f64> {
    let rate = trace.summary.links.get(index)?.rate?;
    let gained = |counter: &dyn Fn(&QueueSample) -> Option<u64>| {
        let samples = trace
            .queue_samples
            .iter()
            .filter(|(_, s)| s.link as usize == index);
        let points: Vec<(Time, u64)> = samples
            .filter_map(|(at, sample)| Some((*at, counter(sample)?)))
            .collect();
        Some(value_at(&points, window.to)? - value_at(&points, window.from)?)
    };
    let sent = gained(&|sample| Some(sample.tx_bytes))?;
    // Only a link whose rate changes counts what it could have sent.
    let possible = gained(&|sample| sample.capacity)
        .unwrap_or_else(|| rate.bps() as f64 * window.seconds() / 8.0);
    Some(sent / possible)
}
