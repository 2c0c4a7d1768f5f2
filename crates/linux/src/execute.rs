//! A run from its description to its trace.

use std::fs;
use std::path::Path;
use std::time::Duration;

use cclab_harvest::Beside;
use cclab_spec::{By, Limit, Run, Scenario};
use cclab_testbed::orders::{SURROUNDINGS, Surroundings};
use cclab_testbed::records::{Failure, OUTCOME, Outcome};
use cclab_testbed::{Orders, Target, Unsupported};
use cclab_trace::{Progress, Recorder, Recording};
use cclab_units::Time;
use serde::Serialize;

use crate::RunError;
use crate::console::Console;
use crate::guest::{self, Guest};
use crate::process::{self, Ended, Limits};
use crate::processor::Pinned;
use crate::wire::{Start, Wire};

/// The folder of orders and records within the run's.
const RAW: &str = "raw";
const MIB: u64 = 1 << 20;

/// What the run happens on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place<'a> {
    /// A kernel in virtual time.
    Guest {
        /// The kernel's program.
        kernel: &'a Path,
    },
    /// This host's kernel, in real time.
    Host,
}

/// How a run is executed.
#[derive(Clone, Copy, Debug)]
pub struct Execution<'a> {
    /// What it happens on.
    pub place: Place<'a>,
    /// The agent's program.
    pub agent: &'a Path,
    /// Real time that it may take.
    pub limit: Duration,
    /// Real time during which it may stand still.
    pub stall: Duration,
    /// The longest time that hosts on our own network run ahead of it; none: as long as it allows.
    /// No result depends on it.
    pub window: Option<Time>,
}

impl Execution<'_> {
    fn limits(&self) -> Limits {
        Limits {
            limit: self.limit,
            stall: self.stall,
        }
    }
}

/// What the backend cannot do of `scenario`.
pub fn unsupported(scenario: &Scenario, guest: bool) -> Vec<Unsupported> {
    let target = target(scenario, guest);
    let mut found = cclab_testbed::unsupported(scenario, target);
    if target == Target::Wire {
        let network = cclab_sim::unsupported_network(scenario).into_iter();
        let beside = network.chain(cclab_sim::unsupported_traffic(scenario));
        found.extend(beside.map(|one| Unsupported {
            path: one.path,
            what: one.what,
        }));
    }
    found
}

/// What determines a run of `scenario` on `kernel` beside its seed: on a network of ours the versions
/// of that, too.
pub fn determinants(scenario: &Scenario, kernel: &str) -> String {
    let own = cclab_testbed::determinants(kernel);
    match scenario.network.by {
        By::Kernel => own,
        By::Simulator => {
            let network = Scenario {
                flows: Vec::new(),
                ..scenario.clone()
            };
            format!("{own}, {}", cclab_sim::determinants(&network))
        }
    }
}

fn target(scenario: &Scenario, guest: bool) -> Target {
    match guest {
        true => Target::in_guest(scenario),
        false => Target::Host,
    }
}

/// Executes `run` and leaves its trace in `dir`, an empty folder.
///
/// # Errors
/// See [`RunError`]. Whatever happens, no process is left; the folder holds what there was.
pub fn execute(
    run: &Run,
    dir: &Path,
    how: &Execution<'_>,
    progress: &Progress,
) -> Result<(), RunError> {
    let scenario = &run.scenario;
    let guest = matches!(how.place, Place::Guest { .. });
    if let Some(Unsupported { path, what }) = unsupported(scenario, guest).into_iter().next() {
        return Err(RunError::Unsupported { path, what });
    }
    let target = target(scenario, guest);
    let orders = cclab_testbed::orders(scenario, run.seed, target);
    let dir = fs::canonicalize(dir).map_err(RunError::io(dir))?;
    let raw = dir.join(RAW);
    if let (Target::Wire, Place::Guest { kernel }) = (target, how.place) {
        let mut recorder = Recorder::create(&dir, Recording::from(&scenario.trace))?;
        let beside = on_wire(run, &orders, &raw, kernel, how, &mut recorder, progress)?;
        cclab_harvest::complete(scenario, &orders, &raw, &dir, recorder, Some(beside))?;
        return fs::remove_dir_all(&raw).map_err(RunError::io(&raw));
    }
    carry_out(run, &orders, &raw, how, progress)?;
    cclab_harvest::harvest(scenario, &orders, &raw, &dir)?;
    fs::remove_dir_all(&raw).map_err(RunError::io(&raw))
}

/// Has `orders`, those of `run`, carried out, and leaves them and the agent's records in `raw`, an
/// absolute path where nothing is yet. Gives the real time from the start of the process to the
/// run's time zero.
///
/// # Errors
/// As [`execute`], but for what the records hold, which is not looked at.
pub fn carry_out(
    run: &Run,
    orders: &Orders,
    raw: &Path,
    how: &Execution<'_>,
    progress: &Progress,
) -> Result<Duration, RunError> {
    hand_over(orders, raw)?;
    let (what, command, _pinned) = match how.place {
        Place::Guest { kernel } => {
            let guest = guest_of(run, orders, kernel, how);
            ("the guest", guest.command(raw)?, Pinned::new())
        }
        Place::Host => {
            let mut command = process::tied(how.agent, how.agent);
            command.arg(raw);
            ("the agent", command, None)
        }
    };
    let ended = process::watch(command, how.limits(), progress);
    guest::tidy(raw);
    let Ended {
        status,
        console,
        first_sign,
    } = ended?;
    check(raw, console, what, &status.to_string())?;
    // A run that came to its end began.
    Ok(first_sign.unwrap_or_default())
}

/// Carries `orders` out in a guest whose network is ours; what the network did.
fn on_wire(
    run: &Run,
    orders: &Orders,
    raw: &Path,
    kernel: &Path,
    how: &Execution<'_>,
    recorder: &mut Recorder,
    progress: &Progress,
) -> Result<Beside, RunError> {
    hand_over(orders, raw)?;
    let guest = guest_of(run, orders, kernel, how);
    let wire = Wire::new(orders, how.window)?;
    let _pinned = Pinned::new();
    let mut command = guest.command(raw)?;
    command.arg(wire.argument());
    let limits = how.limits();
    let carried = wire.carry(
        run,
        orders,
        raw,
        Start { command, limits },
        recorder,
        progress,
    );
    guest::tidy(raw);
    let (
        Ended {
            status, console, ..
        },
        beside,
    ) = carried?;
    check(raw, console, "the guest", &status.to_string())?;
    Ok(beside)
}

/// Makes the folder `raw` with what an agent finds there.
fn hand_over(orders: &Orders, raw: &Path) -> Result<(), RunError> {
    fs::create_dir(raw).map_err(RunError::io(raw))?;
    write(&raw.join("orders.json"), orders)?;
    write(&raw.join(SURROUNDINGS), &surroundings())
}

/// The guest of `run` on `kernel`.
fn guest_of<'a>(run: &Run, orders: &Orders, kernel: &'a Path, how: &Execution<'a>) -> Guest<'a> {
    Guest {
        kernel,
        agent: how.agent,
        seed: run.seed,
        memory_mb: memory_mb(&run.scenario, orders),
    }
}

fn write(file: &Path, content: &impl Serialize) -> Result<(), RunError> {
    let text = serde_json::to_vec_pretty(content).map_err(std::io::Error::from);
    text.and_then(|text| fs::write(file, text))
        .map_err(RunError::io(file))
}

/// What this process finds around it, and programs of flows will.
fn surroundings() -> Surroundings {
    let directory = std::env::current_dir().unwrap_or_else(|_| "/".into());
    Surroundings {
        directory: directory.to_string_lossy().into_owned(),
        path: std::env::var("PATH").unwrap_or_default(),
        version: cclab_testbed::VERSION,
    }
}

/// Whether the agent wrote an outcome, and a good one.
fn check(raw: &Path, console: Console, what: &'static str, status: &str) -> Result<(), RunError> {
    let outcome = fs::read(raw.join(OUTCOME))
        .ok()
        .and_then(|text| serde_json::from_slice::<Outcome>(&text).ok());
    let told: Option<Failure> = outcome.as_ref().and_then(|outcome| outcome.failure.clone());
    match told.or(console.failure.clone()) {
        Some(failure) => Err(RunError::Failed(failure)),
        None if outcome.is_some() && console.done => Ok(()),
        None => Err(RunError::Died {
            what,
            status: status.to_owned(),
            at: console.at,
            console: console.last_lines(),
        }),
    }
}

/// Megabytes that the guest may need: its own, and what flows, queues and captures can fill. The
/// host gives only what is touched.
fn memory_mb(scenario: &Scenario, orders: &Orders) -> u64 {
    // Send and receive buffers at their default limits, with the kernel's overhead.
    let flows = 32 * orders.flows.len() as u64;
    let queue = match scenario.network.bottleneck.queue.limit {
        Limit::Bytes(bytes) => bytes,
        Limit::Packets(packets) => packets.saturating_mul(1514),
    };
    // A packet of 1514 bytes takes some 2300 of memory; what lies on wires comes on top.
    let queued = queue.saturating_mul(4) / MIB;
    let captures = 320 * orders.captures.len() as u64;
    (448 + flows + captures).saturating_add(queued).min(8192)
}
