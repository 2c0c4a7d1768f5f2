//! From a trace to the numbers of a run.

use std::fs;
use std::path::Path;

use cclab_spec::{Flow, Rates, Run, Scenario};
use cclab_trace::Trace;
use cclab_units::{Rate, Time};

use crate::contest::Contest;
use crate::error::MeasureError;
use crate::flow::{FlowMetrics, OfFlow, received, share};
use crate::paths::Paths;
use crate::run_metrics::{OfRun, RunMetrics};
use crate::warnings;
use crate::window::Window;

/// What metrics need beside the trace.
#[derive(Clone, Debug, Default)]
pub struct MeasureInput {
    /// Left out of steady metrics and of utilization.
    pub warmup: Time,
    /// When the bottleneck's rate first changes; absent if it does not.
    pub rate_changes: Option<Time>,
    /// The largest rate that the bottleneck has before the end; absent: that of its summary.
    pub largest_rate: Option<Rate>,
    /// Names of the flows that are programs, which may do without TCP.
    pub programs: Vec<String>,
    /// Names of the flows whose application is meant to limit them: one that is not bulk, or one
    /// with a rate of writes.
    pub meant_by_application: Vec<String>,
    /// Names of the flows that have a transfer, which have a completion time if it ends.
    pub finite: Vec<String>,
    /// Who shares which link; absent: what depends on it is not measured.
    pub paths: Option<Paths>,
}

impl From<&Scenario> for MeasureInput {
    fn from(scenario: &Scenario) -> MeasureInput {
        MeasureInput {
            warmup: scenario.warmup,
            rate_changes: {
                let schedule = scenario.network.bottleneck.schedule.iter();
                let changes = schedule.filter(|change| change.rate.is_some());
                changes.map(|change| change.at).min()
            },
            largest_rate: {
                let link = &scenario.network.bottleneck;
                let end = scenario.duration.unwrap_or(Time::NEVER);
                Rates::new(link.rate, &link.schedule).largest(end)
            },
            programs: {
                let programs = scenario.flows.iter().filter(|flow| flow.command.is_some());
                programs.map(|flow| flow.name.clone()).collect()
            },
            meant_by_application: {
                let meant =
                    |flow: &&Flow| flow.application.is_some() || flow.writes_per_second.is_some();
                let flows = scenario.flows.iter().filter(meant);
                flows.map(|flow| flow.name.clone()).collect()
            },
            finite: {
                let finite = scenario.flows.iter().filter(|flow| flow.transfer.is_some());
                finite.map(|flow| flow.name.clone()).collect()
            },
            paths: Paths::of(scenario),
        }
    }
}

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
