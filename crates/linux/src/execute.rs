//! A run from its description to its trace.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cclab_harvest::{Beside, Recorded};
use cclab_spec::{Limit, Run, Scenario};
use cclab_testbed::orders::{SURROUNDINGS, Surroundings};
use cclab_testbed::records::{Failure, OUTCOME, Outcome};
use cclab_testbed::{Machine, Orders, Target, Unsupported};
use cclab_trace::{Progress, Recorder};
use cclab_units::Time;
use serde::Serialize;

use crate::console::Console;
use crate::guest::{self, Guest};
use crate::kernels::{Kernel, machines};
use crate::memory;
use crate::process::{self, Ended, Limits};
use crate::processor::Pinned;
use crate::wire::{self, Part, Start, Wire};
use crate::{Fault, RunError};

/// The folder of orders and records within the run's.
const RAW: &str = "raw";
const MIB: u64 = 1 << 20;
/// What stands for a kernel that is not there.
const ABSENT: &str = "none";

/// What the run happens on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place<'a> {
    /// Kernels in virtual time.
    Guest {
        /// Those that its hosts have, among others.
        kernels: &'a [Kernel],
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
        let beside = network.chain(cclab_sim::unsupported_traffic(
            scenario,
            &cclab_sim::OwnVariants::default(),
        ));
        found.extend(beside.map(|one| Unsupported {
            path: one.path,
            what: one.what,
        }));
    }
    found
}

/// What determines a run of `scenario` in a guest or on this host beside its seed, given what each
/// kernel is made of by what a scenario calls it: the kernels that it uses, and on a network of ours
/// the versions of that, too.
pub fn determinants(
    scenario: &Scenario,
    kernels: &BTreeMap<Option<String>, String>,
    guest: bool,
) -> String {
    let mut used = scenario.kernels();
    used.sort_unstable();
    let own = cclab_testbed::determinants(used.into_iter().map(|called| {
        let key = kernels.get(&called.map(str::to_owned));
        (called, key.map_or(ABSENT, String::as_str))
    }));
    match target(scenario, guest) {
        Target::Guest | Target::Host => own,
        Target::Wire => format!("{own}, {}", cclab_sim::determinants_of_network(scenario)),
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
    executed(run, dir, how, progress).map_err(|error| error.blaming(&run.scenario))
}

fn executed(
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
    if let (Target::Wire, Place::Guest { kernels }) = (target, how.place) {
        let mut recorder = Recorder::create(&dir, cclab_harvest::recording(scenario))?;
        let machines = machines(scenario, &orders, kernels).map_err(RunError::NoKernel)?;
        fs::create_dir(&raw).map_err(RunError::io(&raw))?;
        let folders: Vec<PathBuf> = (0..machines.len())
            .map(|index| raw.join(index.to_string()))
            .collect();
        let machines: Vec<_> = machines.iter().zip(&folders).collect();
        let beside = on_wire(run, &orders, &machines, &raw, how, &mut recorder, progress)?;
        let recorded = machines.iter().map(|((kernel, machine), raw)| Recorded {
            kernel: Some(&kernel.name),
            machine,
            raw,
        });
        let recorded: Vec<Recorded<'_>> = recorded.collect();
        let beside = Some(beside);
        cclab_harvest::complete(scenario, &orders, &recorded, &raw, &dir, recorder, beside)?;
        return fs::remove_dir_all(&raw).map_err(RunError::io(&raw));
    }
    carry_out(run, &orders, &raw, how, progress)?;
    let kernel = match how.place {
        Place::Guest { kernels } => Some(only_kernel(scenario, kernels)?.name.as_str()),
        Place::Host => None,
    };
    cclab_harvest::harvest(scenario, &orders, kernel, &raw, &dir)?;
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
        Place::Guest { kernels } => {
            let kernel = only_kernel(&run.scenario, kernels)?;
            let flows: Vec<usize> = (0..orders.flows.len()).collect();
            let guest = guest_of(run, orders, &flows, &kernel.path, how);
            (
                called(kernel, &run.scenario, &flows),
                guest.command(raw, None)?,
                Pinned::new(),
            )
        }
        Place::Host => {
            let mut command = process::tied(how.agent, how.agent);
            command.arg(raw);
            ("the agent".to_owned(), command, None)
        }
    };
    let ended = process::watch(&what, command, how.limits(), progress);
    guest::tidy(raw);
    let Ended {
        status,
        console,
        first_sign,
        what,
    } = ended?;
    check(raw, console, what, &status.to_string())?;
    // A run that came to its end began.
    Ok(first_sign.unwrap_or_default())
}

/// The kernel of a run of `scenario` that has no other.
fn only_kernel<'a>(scenario: &Scenario, kernels: &'a [Kernel]) -> Result<&'a Kernel, RunError> {
    let called = scenario.kernels()[0];
    let found = kernels.iter().find(|one| one.called.as_deref() == called);
    found.ok_or_else(|| RunError::NoKernel(called.map(str::to_owned)))
}

/// What the guest of `kernel` that has `flows` of `scenario` is called in messages.
fn called(kernel: &Kernel, scenario: &Scenario, flows: &[usize]) -> String {
    let files = flows.iter().filter_map(|&index| {
        let file = scenario.variant_file(&scenario.flows[index].cc)?;
        Some(format!("{} of {}", file.label, file.file))
    });
    let files: BTreeSet<String> = files.collect();
    let with = match files.len() {
        0 => String::new(),
        1 => " with the module ".to_owned(),
        _ => " with the modules ".to_owned(),
    };
    let files: Vec<String> = files.into_iter().collect();
    format!(
        "the guest of kernel {}{with}{}",
        kernel.name,
        files.join(", ")
    )
}

/// Carries `run` out in the guests of `machines`, each with its folder, whose network is ours; what
/// the network did.
fn on_wire(
    run: &Run,
    orders: &Orders,
    machines: &[(&(&Kernel, Machine), &PathBuf)],
    raw: &Path,
    how: &Execution<'_>,
    recorder: &mut Recorder,
    progress: &Progress,
) -> Result<Beside, RunError> {
    let _pinned = Pinned::new();
    let mut parts = Vec::new();
    for &((kernel, machine), raw) in machines {
        hand_over(&machine.orders, raw)?;
        let guest = guest_of(run, &machine.orders, &machine.flows, &kernel.path, how);
        let wire = Wire::new(&machine.orders)?;
        let command = guest.command(raw, Some(&wire.path()))?;
        let start = Start {
            what: called(kernel, &run.scenario, &machine.flows),
            command,
            limits: how.limits(),
        };
        parts.push(Part {
            machine,
            wire,
            start,
        });
    }
    let carried = wire::carry(run, orders, parts, how.window, raw, recorder, progress);
    machines.iter().for_each(|(_, raw)| guest::tidy(raw));
    let (ended, beside) = carried?;
    for (one, (_, raw)) in ended.into_iter().zip(machines) {
        let status = one.status.to_string();
        check(raw, one.console, one.what, &status)?;
    }
    Ok(beside)
}

/// Makes the folder `raw` with what an agent finds there.
fn hand_over(orders: &Orders, raw: &Path) -> Result<(), RunError> {
    fs::create_dir(raw).map_err(RunError::io(raw))?;
    write(&raw.join("orders.json"), orders)?;
    write(&raw.join(SURROUNDINGS), &surroundings())
}

/// The guest of `run` on `kernel` that has `flows` of it.
fn guest_of<'a>(
    run: &Run,
    orders: &Orders,
    flows: &[usize],
    kernel: &'a Path,
    how: &Execution<'a>,
) -> Guest<'a> {
    Guest {
        kernel,
        agent: how.agent,
        seed: run.seed,
        arguments: cclab_testbed::boot_arguments(&run.scenario, flows),
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
        directory: directory.into_os_string().into(),
        path: std::env::var_os("PATH").unwrap_or_default().into(),
        version: cclab_testbed::VERSION,
    }
}

/// Whether the agent wrote an outcome, and a good one.
fn check(raw: &Path, console: Console, what: String, status: &str) -> Result<(), RunError> {
    let outcome = fs::read(raw.join(OUTCOME))
        .ok()
        .and_then(|text| serde_json::from_slice::<Outcome>(&text).ok());
    let told: Option<Failure> = outcome.as_ref().and_then(|outcome| outcome.failure.clone());
    let good = outcome.is_some() && told.is_none() && console.done;
    if !good && let Some(error) = console.without_memory(&what) {
        return Err(error);
    }
    match told.or(console.failure.clone()) {
        Some(failure) => Err(RunError::Failed { what, failure }),
        None if outcome.is_some() && console.done => Ok(()),
        None => Err(RunError::Died {
            what,
            status: status.to_owned(),
            at: console.at,
            fault: Fault::In(console.functions.clone().into()),
            console: console.last_lines(),
        }),
    }
}

/// Megabytes that the guest may need: its own, and what flows, queues and captures can fill. The
/// host gives only what is touched.
fn memory_mb(scenario: &Scenario, orders: &Orders) -> u64 {
    // Send and receive buffers at their default limits, with the kernel's overhead.
    let flows = memory::FLOW_MB * orders.flows.len() as u64;
    let queue = match scenario.network.bottleneck.queue.limit {
        Limit::Bytes(bytes) => bytes,
        Limit::Packets(packets) => packets.saturating_mul(1514),
    };
    // A packet of 1514 bytes takes some 2300 of memory; what lies on wires comes on top.
    let queued = queue.saturating_mul(4) / MIB;
    let captures = memory::CAPTURE_MB * orders.captures.len() as u64;
    (memory::OWN_MB + flows + captures)
        .saturating_add(queued)
        .min(memory::MOST_MB)
}
