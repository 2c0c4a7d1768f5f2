//! The numbers of the bottleneck.

use cclab_trace::Trace;
use cclab_units::Time;

use crate::run_metrics::BottleneckMetrics;
use crate::series::value_at;
use crate::window::Window;

/// The index of the bottleneck among a run's links.
pub(crate) const BOTTLENECK: usize = 0;

/// The numbers of the bottleneck of `trace`; its utilization is taken over `loaded`.
pub(crate) fn measure_bottleneck(trace: &Trace, loaded: Option<Window>) -> BottleneckMetrics {
    let Some(link) = trace.summary.links.get(BOTTLENECK) else {
        return BottleneckMetrics::default();
    };
    let drops = link.queue_drops + link.random_drops + link.outage_drops;
    BottleneckMetrics {
        utilization: loaded.and_then(|window| utilization(trace, window)),
        drops,
        drop_rate: (link.offered > 0).then(|| drops as f64 / link.offered as f64),
        ecn_marks: link.marks,
        queue_delay_mean_s: link.sojourn.mean().map(|ns| ns / 1e9),
        queue_delay_p95_s: link.sojourn.quantile(0.95).map(|ns| ns / 1e9),
        queue_max_bytes: link.backlog_max,
    }
}

/// Bits that the bottleneck transmitted in `window` over those that its rate allows; `None` for
/// an infinite rate, or if the window is not covered by samples.
pub(crate) fn utilization(trace: &Trace, window: Window) -> Option<f64> {
    let rate = trace.summary.links.get(BOTTLENECK)?.rate?;
    let samples = trace
        .queue_samples
        .iter()
        .filter(|(_, s)| s.link as usize == BOTTLENECK);
    let points: Vec<(Time, u64)> = samples.map(|(at, sample)| (*at, sample.tx_bytes)).collect();
    let bytes = value_at(&points, window.to)? - value_at(&points, window.from)?;
    Some(bytes * 8.0 / (rate.bps() as f64 * window.seconds()))
}
