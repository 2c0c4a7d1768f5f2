//! The numbers of the bottleneck.

use cclab_trace::Trace;
use cclab_trace::schema::{LinkSummary, QueueSample};
use cclab_units::Time;

use crate::run_metrics::BottleneckMetrics;
use crate::series::value_at;
use crate::window::Window;

/// The index of the bottleneck among a run's links.
pub(crate) const BOTTLENECK: usize = 0;

/// The numbers of the bottleneck of `trace`; its utilization is taken over `loaded`, and its rate
/// first changes at `rate_changes`, if it does.
pub(crate) fn measure_bottleneck(
    trace: &Trace,
    loaded: Option<Window>,
    rate_changes: Option<Time>,
) -> BottleneckMetrics {
    let Some(link) = trace.summary.links.get(BOTTLENECK) else {
        return BottleneckMetrics::default();
    };
    let drops = link.drops();
    BottleneckMetrics {
        utilization: loaded.and_then(|window| utilization(trace, window)),
        drops,
        drop_rate: (link.offered > 0).then(|| drops as f64 / link.offered as f64),
        ecn_marks: link.marks,
        queue_delay_mean_s: link.sojourn.mean().map(|ns| ns / 1e9),
        queue_delay_p95_s: link.sojourn.quantile(0.95).map(|ns| ns / 1e9),
        queue_delay_p99_s: link.sojourn.quantile(0.99).map(|ns| ns / 1e9),
        queue_max_bytes: link.backlog_max,
        queue_power: match rate_changes {
            None => power(link, trace.summary.end),
            Some(_) => None,
        },
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

/// Bytes that the bottleneck transmitted in `window` over those that it could have; `None` for
/// an infinite rate, or if the window is not covered by samples.
pub(crate) fn utilization(trace: &Trace, window: Window) -> Option<f64> {
    let rate = trace.summary.links.get(BOTTLENECK)?.rate?;
    let gained = |counter: &dyn Fn(&QueueSample) -> Option<u64>| {
        let samples = trace
            .queue_samples
            .iter()
            .filter(|(_, s)| s.link as usize == BOTTLENECK);
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
