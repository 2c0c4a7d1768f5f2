//! A run that a process does alone: users' code that crashes, loops or ends ends nothing else.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use cclab_spec::{Run, Scenario};
use nix::sys::prctl;
use nix::sys::signal::{Signal, kill};
use nix::time::{ClockId, clock_gettime};
use nix::unistd::{Pid, getppid};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::error;
use crate::variant::{self, Class, Failure, Watch};

/// How often progress is told, and whoever does not come back looked for.
const TICK: Duration = Duration::from_millis(100);

/// What flows call a variant, its hook, and the exception that this raised.
type Raised = (String, &'static str, Py<PyAny>);

/// Has this process end with the process `parent` that started it.
#[pyfunction]
pub fn end_with(parent: i32) -> PyResult<()> {
    prctl::set_pdeathsig(Signal::SIGKILL).map_err(|errno| error::system(errno.into()))?;
    // A parent that ended before that is not told of.
    match getppid().as_raw() == parent {
        true => Ok(()),
        false => Err(PyRuntimeError::new_err("whoever started it is gone")),
    }
}

/// Has a call of a C or Rust file's code that crashes or does not come back within `limit_s` seconds of the
/// processor, or `wall_s` on a clock, end this process, with a word on file and hook to the descriptor
/// `report`.
#[pyfunction]
pub fn guard(report: i32, limit_s: f64, wall_s: f64) -> PyResult<()> {
    let [limit, wall] = [limit_s, wall_s].map(Duration::from_secs_f64);
    cclab_module::guard::install(report, limit, wall).map_err(error::system)
}

/// This process was forked by users' code: it does not go on with the run, which is its parent's.
#[pyfunction]
pub fn forked() {
    variant::FORKED.store(true, Ordering::Relaxed);
}

/// What is wrong with the C and Rust files of `scenario` (JSON), if anything is: they are compiled and
/// loaded, and their code begins to run.
#[pyfunction]
pub fn wrong_files(scenario: &str) -> PyResult<Option<String>> {
    let scenario: Scenario = serde_json::from_str(scenario).map_err(error::study)?;
    Ok(cclab_backends::of_files(&scenario).err())
}

/// Simulates the run `run_json`, the variants of whose Python files are `classes`, as `execute` does,
/// in this thread: no other one runs Python meanwhile, but while a class lets it. How far it is goes to
/// the pipe `told` as lines of JSON; when that is closed, the process ends. In a call of users' code
/// that takes more than `limit_s` seconds of the processor, the process gets `SIGXCPU`, in one that takes
/// `wall_s` seconds `SIGUSR2`.
///
/// Gives None, or what failed; where users' code raised an exception, what flows call the variant, the hook's name, and it.
#[pyfunction]
pub fn execute_alone(
    py: Python<'_>,
    run_json: &str,
    directory: PathBuf,
    classes: Vec<Class>,
    told: i32,
    limit_s: f64,
    wall_s: f64,
) -> PyResult<(Option<String>, Option<Raised>)> {
    let run: Run = serde_json::from_str(run_json).map_err(error::study)?;
    let progress = cclab_backends::Progress::default();
    let failure = Failure::of(progress.told());
    let watch = Watch::default();
    let own = match variant::own(&run.scenario, classes, &failure, &watch) {
        Ok(own) => own,
        Err(wrong) => return Ok((Some(wrong), None)),
    };
    // The descriptor stays Python's.
    let told = OpenOptions::new()
        .write(true)
        .open(format!("/proc/self/fd/{told}"))
        .map_err(error::system)?;
    let over = AtomicBool::new(false);
    let limits = [
        Limit {
            clock: ClockId::CLOCK_PROCESS_CPUTIME_ID,
            limit_s,
            signal: Signal::SIGXCPU,
            of: " of the processor",
        },
        Limit {
            clock: ClockId::CLOCK_MONOTONIC,
            limit_s: wall_s,
            signal: Signal::SIGUSR2,
            of: "",
        },
    ];
    let failed = thread::scope(|scope| {
        scope.spawn(|| attend(&told, &progress, &watch, &limits, &over));
        let _ends = Ends(&over);
        cclab_backends::simulate(&run, &directory.join(&run.id), &progress, &own).err()
    });
    let raised = failure.take().map(|raised| {
        (
            raised.label,
            raised.hook,
            raised.error.into_value(py).into_any(),
        )
    });
    Ok((failed, raised))
}

/// Tells the thread beside the run that it is over, however it ends: a panic is one way.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// How long a call of users' code may take.
struct Limit {
    clock: ClockId,
    limit_s: f64,
    /// What the process gets.
    signal: Signal,
    /// What the seconds are of.
    of: &'static str,
}

impl Limit {
    /// Seconds on the clock.
    fn now_s(&self) -> f64 {
        clock_gettime(self.clock).map_or(0.0, |time| {
            time.tv_sec() as f64 + time.tv_nsec() as f64 * 1e-9
        })
    }
}

/// Tells how far the run is, and sees to it that users' code comes back, until the run is `over`.
fn attend(
    mut told: &File,
    progress: &cclab_backends::Progress,
    watch: &Watch,
    limits: &[Limit; 2],
    over: &AtomicBool,
) {
    let mut call = None;
    let mut since_s = [0.0; 2];
    let mut warned = [false; 2];
    while !over.load(Ordering::Relaxed) {
        thread::park_timeout(TICK);
        let line = format!(
            "{{\"now_s\": {:?}, \"fraction\": {:?}}}\n",
            progress.now_s(),
            progress.fraction()
        );
        if told.write_all(line.as_bytes()).is_err() {
            std::process::exit(1);
        }
        let now = watch.under_way();
        if now.is_none() || now != call {
            call = now;
            since_s = limits.each_ref().map(Limit::now_s);
            warned = [false; 2];
            continue;
        }
        for ((limit, since_s), warned) in limits.iter().zip(&mut since_s).zip(&mut warned) {
            let now_s = limit.now_s();
            if now_s - *since_s <= limit.limit_s {
                continue;
            }
            if *warned {
                // Python could not say where: it does not get its turn.
                let hook = now.map_or("", |(_, hook)| hook);
                let Limit { limit_s, of, .. } = limit;
                let line = format!("{{\"stuck\": \"{hook}\", \"limit\": \"{limit_s} s{of}\"}}\n");
                let _ = told.write_all(line.as_bytes());
                std::process::exit(1);
            }
            *warned = true;
            *since_s = now_s - limit.limit_s / 2.0;
            // To the process: the system gives it to the main thread, which alone heeds signals in Python.
            let _ = kill(Pid::this(), limit.signal);
        }
    }
}
