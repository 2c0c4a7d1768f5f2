//! From a trace to the numbers of a run.

use std::fs;
use std::path::Path;

use cclab_spec::Run;
use cclab_trace::Trace;

use crate::contest::Contest;
use crate::error::MeasureError;
use crate::flow::{FlowMetrics, OfFlow, received, share};
use crate::input::MeasureInput;
use crate::run_metrics::{OfRun, RunMetrics};
use crate::warnings;
use crate::window::Window;

/// The numbers of the run that left `trace`.
pub fn measure(trace: &Trace, input: &MeasureInput) -> RunMetrics {
    let run = &trace.summary;
    let steady = Window::steady(run, input.warmup);
    let received = received(trace);
    let contest = &Contest::of(trace, &received, input);
    let flows = run.flows.iter().enumerate().map(|(index, flow)| {
        FlowMetrics::measure(&OfFlow {
            flow,
            received: &received[index],
            active: Window::active(flow, run.end),
            steady,
            group: input.groups.get(index).and_then(Option::as_deref),
            finite: input.finite.contains(&flow.name),
            alone_s: input.paths.as_ref().and_then(|paths| paths.alone_s(index)),
            index,
            contest,
        })
    });
    let mut metrics = RunMetrics::measure(&OfRun {
        trace,
        input,
        flows: flows.collect(),
        shares: run.flows.iter().filter_map(share).collect(),
        contest,
    });
    metrics.warnings = warnings::raise(&warnings::Evidence {
        trace,
        metrics: &metrics,
        steady,
        largest_rate: input.largest_rate,
        programs: &input.programs,
        meant_by_application: &input.meant_by_application,
    });
    metrics
}

/// The numbers of the run in `dir`: its trace, and `run.json` beside it.
///
/// # Errors
/// If a file is missing or damaged; the message names it.
pub fn measure_dir(dir: &Path) -> Result<RunMetrics, MeasureError> {
    let path = dir.join("run.json");
    let text = fs::read_to_string(&path).map_err(|source| MeasureError::Io {
        path: path.clone(),
        source,
    })?;
    let run: Run =
        serde_json::from_str(&text).map_err(|source| MeasureError::Run { path, source })?;
    Ok(measure(
        &cclab_trace::read(dir)?,
        &MeasureInput::from(&run.scenario),
    ))
}
