//! From the records of a run on a Linux kernel to its trace: the same files that a simulation
//! leaves.
//!
//! The order of reading is the order of need: the outcome says whether there was a run at all;
//! one pass over the kernel's events gives queue events, losses, histograms and what summaries
//! need; datagrams that left are found again among those that arrived; samples follow; then, if asked
//! for, a second pass gives the acknowledgements.

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
mod machines;
mod places;
mod probes;
mod records;
mod ring;
mod samples;
mod states;
mod tally;
#[cfg(test)]
mod tests;

use std::fs;
use std::path::Path;

use cclab_layout::Layout;
use cclab_spec::Scenario;
use cclab_testbed::{Machine, Orders, records as testbed_records};
use cclab_trace::schema::{Fidelity, LinkSummary, RunSummary, TrafficSummary};
use cclab_trace::{Recorder, Recording};

pub use error::HarvestError;
pub use machines::Recorded;

use crate::machines::Events;
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

/// Writes the trace of the run of `scenario` that one machine, whose `kernel` may have a name, has
/// carried out by `orders`, and whose records lie in `raw`, into the folder `out`, which it makes if
/// it is not there.
///
/// # Errors
/// If the agent failed, if the kernel lost events or packets, if a record is damaged, or if a
/// file cannot be read or written.
pub fn harvest(
    scenario: &Scenario,
    orders: &Orders,
    kernel: Option<&str>,
    raw: &Path,
    out: &Path,
) -> Result<Kept, HarvestError> {
    let recorder = Recorder::create(out, recording(scenario))?;
    let machine = &Machine::whole(orders.clone());
    let recorded = [Recorded {
        kernel,
        machine,
        raw,
    }];
    complete(scenario, orders, &recorded, raw, out, recorder, None)
}

/// What a kernel can record of what `scenario` asks for.
pub fn recording(scenario: &Scenario) -> Recording {
    Recording {
        states: states::state_columns(scenario),
        ..Recording::from(&scenario.trace)
    }
}

/// As [`harvest`] of a run that several `machines` have carried out, with what `recorder`, that of
/// the folder `out`, has seen of the network `beside` their hosts, and what was seen there of
/// datagrams in the folder `raw`.
///
/// # Errors
/// As [`harvest`].
pub fn complete(
    scenario: &Scenario,
    orders: &Orders,
    machines: &[Recorded<'_>],
    raw: &Path,
    out: &Path,
    mut recorder: Recorder,
    beside: Option<Beside>,
) -> Result<Kept, HarvestError> {
    let outcomes = machines::outcomes(machines)?;
    let outcome = machines::outcome(orders, machines, &outcomes)?;
    let layout = Layout::of(scenario);
    let run = Run {
        scenario,
        layout: &layout,
        orders,
        outcome: &outcome,
        raw,
    };
    let samples = machines::samples(machines)?;
    let events = Events::of(machines)?;
    let tally = match &events {
        Some(events) => Tally::of(&run, events, &mut recorder)?,
        None => Tally::empty(&run),
    };
    let carried = flows::carried(&run, &samples)?;
    let syns: Vec<u64> = tally.flows.iter().map(flows::syns_again).collect();
    samples::record(&run, &samples, &syns, &carried, &mut recorder)
        .map_err(|reason| samples::misfit(&run, reason))?;
    let wants_acks = scenario.trace.events.contains(&cclab_spec::EventKind::Ack);
    if let Some(events) = events.as_ref().filter(|_| wants_acks) {
        acks::record(&run, events, &tally, &carried, &mut recorder)?;
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
        met: Vec::new(),
        machines: machines::described(orders, machines, &outcomes),
        fidelity: outcome.fidelity.as_ref().map(fidelity),
    })?;
    keep(machines, out)
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
fn keep(machines: &[Recorded<'_>], out: &Path) -> Result<Kept, HarvestError> {
    let mut kept = Kept::default();
    for one in machines {
        let flows = one.machine.orders.flows.iter();
        let programs = flows.filter(|flow| is_program(flow));
        for name in programs.flat_map(output_names) {
            let from = one.raw.join(&name);
            if from.is_file() {
                fs::copy(&from, out.join(&name)).map_err(|e| HarvestError::io(&from, e))?;
                kept.programs.push(name);
            }
        }
    }
    Ok(kept)
}
