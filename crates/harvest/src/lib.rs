//! From the records of a run on a Linux kernel to its trace: the same files that a simulation
//! leaves.
//!
//! The order of reading is the order of need: the outcome says whether there was a run at all;
//! one pass over the kernel's events gives queue events, losses, histograms and what summaries
//! need; datagrams that left are found again among those that arrived; samples follow; then, if asked for, a second pass gives the acknowledgements.

mod acks;
mod addresses;
mod captures;
mod connection;
mod datagrams;
mod error;
mod event;
mod flows;
mod format;
mod limits;
mod links;
mod places;
mod probes;
mod records;
mod ring;
mod samples;
mod tally;
#[cfg(test)]
mod tests;

use std::fs;
use std::path::Path;

use cclab_layout::Layout;
use cclab_spec::Scenario;
use cclab_testbed::records::Outcome;
use cclab_testbed::{Orders, records as testbed_records};
use cclab_trace::schema::{Fidelity, Kernel, LinkSummary, RunSummary, TrafficSummary};
use cclab_trace::{Recorder, Recording};

pub use error::HarvestError;

use crate::records::{Run, is_program, output_names};
use crate::tally::Tally;

/// What was kept beside the trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// Names of the files that programs printed: `FLOW.stdout`, `FLOW.server.stderr`, ...
    pub programs: Vec<String>,
}

/// What a network did that was no kernel's, and that a recorder has seen.
#[derive(Clone, Debug, Default)]
pub struct Beside {
    /// Its links.
    pub links: Vec<LinkSummary>,
    /// Its cross traffic.
    pub traffic: Vec<TrafficSummary>,
    /// What happened in it.
    pub events: u64,
}

/// Writes the trace of the run of `scenario` by `orders` whose records lie in `raw` into the
/// folder `out`, which it makes if it is not there.
///
/// # Errors
/// If the agent failed, if the kernel lost events or packets, if a record is damaged, or if a
/// file cannot be read or written.
pub fn harvest(
    scenario: &Scenario,
    orders: &Orders,
    raw: &Path,
    out: &Path,
) -> Result<Kept, HarvestError> {
    let recorder = Recorder::create(out, Recording::from(&scenario.trace))?;
    complete(scenario, orders, raw, out, recorder, None)
}

/// As [`harvest`], with what `recorder`, that of the folder `out`, has seen of the network `beside`
/// the hosts of the orders.
///
/// # Errors
/// As [`harvest`].
pub fn complete(
    scenario: &Scenario,
    orders: &Orders,
    raw: &Path,
    out: &Path,
    mut recorder: Recorder,
    beside: Option<Beside>,
) -> Result<Kept, HarvestError> {
    let outcome = records::outcome(orders, raw)?;
    let layout = Layout::of(scenario);
    let run = Run {
        scenario,
        layout: &layout,
        orders,
        outcome: &outcome,
        raw,
    };
    let samples = records::samples(raw)?;
    let events = records::events(raw)?;
    let tally = match &events {
        Some((ring, decoder)) => Tally::of(&run, ring, decoder, &mut recorder)?,
        None => Tally::empty(&run),
    };
    let carried = flows::carried(&run, &samples)?;
    let syns: Vec<u64> = tally.flows.iter().map(flows::syns_again).collect();
    samples::record(&run, &samples, &syns, &carried, &mut recorder)
        .map_err(|reason| samples::misfit(&run, reason))?;
    let wants_acks = scenario.trace.events.contains(&cclab_spec::EventKind::Ack);
    if let Some((ring, decoder)) = events.as_ref().filter(|_| wants_acks) {
        acks::record(&run, ring, decoder, &tally, &carried, &mut recorder)?;
    }
    captures::record(&run, &mut recorder)?;
    let beside = beside.unwrap_or_else(|| Beside {
        links: links::summaries(&run, &samples, &tally),
        ..Beside::default()
    });
    recorder.finish(&RunSummary {
        end: run.end(),
        events: tally.events + beside.events,
        flows: flows::summaries(&run, &samples, &tally, carried),
        links: beside.links,
        traffic: beside.traffic,
        probes: probes::summaries(&run),
        kernel: Some(kernel(&outcome)),
        fidelity: outcome.fidelity.as_ref().map(fidelity),
    })?;
    keep(orders, raw, out)
}

fn kernel(outcome: &Outcome) -> Kernel {
    let kernel = &outcome.kernel;
    Kernel {
        release: kernel.release.clone(),
        version: kernel.version.clone(),
        config_sha256: kernel.config_sha256.clone(),
    }
}

fn fidelity(seen: &testbed_records::Fidelity) -> Fidelity {
    Fidelity {
        timer_late_max_ns: seen.timer_late_max,
        timer_late_mean_ns: seen.timer_late_mean,
        cpu_busy: seen.cpu_busy,
        softirq_squeezed: seen.softirq_squeezed,
        softnet_dropped: seen.softnet_dropped,
    }
}

/// Copies what programs printed.
fn keep(orders: &Orders, raw: &Path, out: &Path) -> Result<Kept, HarvestError> {
    let programs = orders.flows.iter().filter(|flow| is_program(flow));
    let mut kept = Kept::default();
    for name in programs.flat_map(output_names) {
        let from = raw.join(&name);
        if from.is_file() {
            fs::copy(&from, out.join(&name)).map_err(|e| HarvestError::io(&from, e))?;
            kept.programs.push(name);
        }
    }
    Ok(kept)
}
