//! How flows that are active together share the network over time.

use cclab_trace::Trace;
use cclab_units::Time;

use crate::buckets::Buckets;
use crate::measure::MeasureInput;
use crate::run_metrics::{FlowMetrics, RunMetrics};
use crate::window::Window;

/// Writes into `metrics` what the flows of `trace`, of which `received` is known, had of each
/// other.
pub(crate) fn measure_contest(
    metrics: &mut RunMetrics,
    trace: &Trace,
    received: &[Vec<(Time, u64)>],
    input: &MeasureInput,
) {
    let run = &trace.summary;
    let started: Vec<usize> = (0..run.flows.len())
        .filter(|&flow| run.flows[flow].started.is_some())
        .collect();
    let fill =
        |window: Window| Buckets::fill(started.iter().map(|&flow| &received[flow][..]), window);
    // From the last start on, the warm-up included: convergence is what a warm-up waits for.
    let together = Window::steady(run, Time::ZERO);
    let steady = Window::steady(run, input.warmup);
    let since_start = together.and_then(fill);
    let buckets = match steady == together {
        true => since_start.clone(),
        false => steady.and_then(fill),
    };

    if started.len() > 1 {
        let converged = since_start.and_then(|buckets| buckets.converged());
        let took = converged.zip(together).map(|(at, window)| at - window.from);
        metrics.convergence_s = took.map(Time::as_secs_f64);
    }
    let indices: Vec<f64> = buckets.iter().flat_map(|b| b.jain().flatten()).collect();
    metrics.jain_min = indices.iter().copied().reduce(f64::min);
    metrics.jain_mean = metrics
        .jain_min
        .map(|_| indices.iter().sum::<f64>() / indices.len() as f64);

    let fair = match (&input.paths, steady) {
        (Some(paths), Some(window)) => paths.allocation(run, window),
        _ => vec![None; run.flows.len()],
    };
    for (flow, &fair) in metrics.flows.iter_mut().zip(&fair) {
        flow.max_min_bps = fair;
        let share = |got: f64, fair: f64| (fair > 0.0).then(|| got / fair);
        flow.max_min_share = flow
            .steady_goodput_bps
            .zip(fair)
            .and_then(|(g, f)| share(g, f));
    }
    if let Some(buckets) = buckets {
        let least = buckets.least_shares();
        for (row, &index) in started.iter().enumerate() {
            let flow = &mut metrics.flows[index];
            flow.least_share = least[row];
            flow.starved_s = fair[index].map(|fair| buckets.starved_s(row, fair));
            flow.goodput_cov = buckets.variation(row);
        }
    }
    let over_flows = |value: fn(&FlowMetrics) -> Option<f64>, choose: fn(f64, f64) -> f64| {
        metrics.flows.iter().filter_map(value).reduce(choose)
    };
    metrics.smallest_share = over_flows(|flow| flow.least_share, f64::min);
    metrics.longest_starved_s = over_flows(|flow| flow.starved_s, f64::max);
}
