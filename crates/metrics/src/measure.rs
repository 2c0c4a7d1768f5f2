//! From a trace to the numbers of a run.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use cclab_spec::{Direction, Run};
use cclab_trace::Trace;
use cclab_units::Time;
use serde::de::DeserializeOwned;

use crate::contest::Contest;
use crate::error::MeasureError;
use crate::flow::{FlowMetrics, OfFlow, received, share, window_goodput_bps};
use crate::input::MeasureInput;
use crate::meetings::Meetings;
use crate::run_metrics::{OfRun, RunMetrics};
use crate::warnings;
use crate::window::Window;

/// The numbers of the run that left `trace`.
pub fn measure(trace: &Trace, input: &MeasureInput) -> RunMetrics {
    let run = &trace.summary;
    let steady = Window::steady(run, input.warmup);
    let received = received(trace);
    let ways: Vec<Direction> = (0..run.flows.len()).map(|i| input.direction(i)).collect();
    let back = ways.contains(&Direction::Reverse);
    // Those that go one way share a link; where all go back, there is nobody else to look at.
    let main = match ways.contains(&Direction::Forward) {
        true => Direction::Forward,
        false => Direction::Reverse,
    };
    let forward: Vec<usize> = (0..ways.len()).filter(|&flow| ways[flow] == main).collect();
    let meetings = Meetings::of(input, &ways);
    let fair = Contest::fair(trace, input);
    // One for each set of flows that meet: of a dumbbell one in either direction.
    let mut contests: BTreeMap<&[usize], Contest> = BTreeMap::new();
    for rivals in meetings.all().chain([&forward[..]]) {
        contests
            .entry(rivals)
            .or_insert_with(|| Contest::of(trace, &received, input, &fair, rivals));
    }
    let contest = &contests[&forward[..]];
    let flows = run.flows.iter().enumerate().map(|(index, flow)| {
        let active = Window::active(flow, run.end);
        let warm = active.filter(|_| input.warmup > Time::ZERO);
        OfFlow {
            flow,
            received: &received[index],
            active,
            window: warm.and_then(|active| active.after(input.warmup)),
            direction: ways[index],
            steady,
            group: input.groups.get(index).and_then(Option::as_deref),
            finite: input.finite.contains(&flow.name),
            alone_s: input.paths.as_ref().and_then(|paths| paths.alone_s(index)),
            index,
            contest: &contests[meetings.rivals(index)],
            shared: None,
        }
    });
    let mut flows: Vec<OfFlow<'_>> = flows.collect();
    let shared = meetings.shared(trace, &flows);
    for (flow, shared) in flows.iter_mut().zip(&shared) {
        flow.shared = shared.as_ref();
    }
    let weigh = |way: Direction, weight: &dyn Fn(&OfFlow<'_>) -> Option<f64>| -> Vec<f64> {
        let of_way = flows.iter().filter(|of| of.direction == way);
        of_way.filter_map(weight).collect()
    };
    let weights = |weight: &dyn Fn(&OfFlow<'_>) -> Option<f64>| {
        [weigh(main, weight), weigh(Direction::Reverse, weight)]
    };
    let mut metrics = RunMetrics::measure(&OfRun {
        trace,
        input,
        flows: flows.iter().map(FlowMetrics::measure).collect(),
        shares: weights(&|of| share(of.flow)),
        window_shares: weights(&window_goodput_bps),
        back,
        contest,
    });
    metrics.warnings = warnings::raise(&warnings::Evidence {
        trace,
        metrics: &metrics,
        received: &received,
        steady,
        input,
    });
    metrics
}

/// Beside a trace: which of its files were others when the run was done a second time. Not there: none
/// was, or it was done once.
const DIFFERS: &str = "differs.json";

/// The numbers of the run in `dir`: its trace, and `run.json` beside it.
///
/// # Errors
/// If a file is missing or damaged; the message names it.
pub fn measure_dir(dir: &Path) -> Result<RunMetrics, MeasureError> {
    let run: Run = read(dir.join("run.json"))?;
    let trace = cclab_trace::read(dir)?;
    let differs = dir.join(DIFFERS);
    let input = MeasureInput {
        differs: match differs.exists() {
            true => read(differs)?,
            false => Vec::new(),
        },
        ..MeasureInput::of_run(&run.scenario, &trace.summary.met)
    };
    Ok(measure(&trace, &input))
}

fn read<T: DeserializeOwned>(path: PathBuf) -> Result<T, MeasureError> {
    let text = fs::read_to_string(&path).map_err(|source| MeasureError::Io {
        path: path.clone(),
        source,
    })?;
    serde_json::from_str(&text).map_err(|source| MeasureError::Run { path, source })
}
