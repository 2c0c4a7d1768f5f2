//! A run carried out: its files in a folder of its own.

use std::fs;
use std::path::Path;

use cclab_linux::Execution;
use cclab_sim::OwnVariants;
use cclab_spec::{EventKind, Run};
use cclab_testbed::{Target, orders};
use cclab_trace::{Recorder, Recording};
use cclab_units::shown_path;
use serde_json::json;

use crate::progress::Progress;

/// Simulates `run`, the variants of whose files are `own`, and writes its run.json and its trace
/// into the new folder `folder`.
///
/// # Errors
/// Why it failed, or that it was cancelled.
pub fn simulate(
    run: &Run,
    folder: &Path,
    progress: &Progress,
    own: &OwnVariants,
) -> Result<(), String> {
    // A scenario that the simulator refuses must not reach what relies on its names.
    let refused = cclab_sim::unsupported_beside(&run.scenario, own);
    if let Some(reason) = refused.into_iter().next() {
        return Err(format!(
            "the simulator does not do {} ({})",
            reason.what, reason.path
        ));
    }
    let told = progress.begin(run.scenario.duration);
    fs::create_dir(folder).map_err(|e| format!("{}: {e}", shown_path(folder)))?;
    say_what_runs(run, folder)?;
    let wants_states = run.scenario.trace.events.contains(&EventKind::State);
    let recording = Recording {
        wire: cclab_sim::wire_options(&run.scenario),
        states: match wants_states {
            true => cclab_sim::state_columns(&run.scenario, own),
            false => Vec::new(),
        },
        ..Recording::from(&run.scenario.trace)
    };
    let mut recorder = Recorder::create(folder, recording).map_err(|e| e.to_string())?;
    let summary = cclab_sim::run_with(&run.scenario, run.seed, &mut recorder, told, own)
        .map_err(|e| e.to_string())?;
    recorder.finish(&summary).map_err(|e| e.to_string())?;
    progress.end();
    Ok(())
}

/// Executes `run` on a kernel, and writes its run.json and its trace into `folder`, which is there.
///
/// # Errors
/// Why it failed, or that it was cancelled.
pub fn on_kernel(
    run: &Run,
    folder: &Path,
    progress: &Progress,
    how: &Execution<'_>,
) -> Result<(), String> {
    let told = progress.begin(run.scenario.duration);
    say_what_runs(run, folder)?;
    cclab_linux::execute(run, folder, how, told).map_err(|e| e.to_string())?;
    progress.end();
    Ok(())
}

fn say_what_runs(run: &Run, folder: &Path) -> Result<(), String> {
    let text = serde_json::to_string(run).map_err(|e| e.to_string())?;
    let file = folder.join("run.json");
    fs::write(&file, text + "\n").map_err(|e| format!("{}: {e}", shown_path(&file)))
}

/// The metrics of the run whose trace is in `folder`, as JSON.
///
/// # Errors
/// Why they cannot be told.
pub fn measure(folder: &Path) -> Result<String, String> {
    let metrics = cclab_metrics::measure_dir(folder).map_err(|e| e.to_string())?;
    serde_json::to_string(&metrics).map_err(|e| e.to_string())
}

/// What `run` needs of this host to run on its kernel, as JSON.
pub fn needs(run: &Run) -> String {
    let needs = cclab_testbed::needs(&orders(&run.scenario, run.seed, Target::Host));
    let told = json!({
        "qdiscs": needs.qdiscs,
        "parts": needs.parts,
        "variants": needs.variants,
        "programs": needs.programs,
        "iptables": needs.iptables,
    });
    told.to_string()
}
