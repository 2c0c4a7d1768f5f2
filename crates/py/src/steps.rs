//! Runs that stand still between intervals, for what learns.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use cclab_sim::{FlowStanding, OwnVariants, SimError, Standing, Steered, Steering};
use cclab_spec::Scenario;
use cclab_units::Time;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::error;

/// What a steered flow is called where its variant's name would stand.
const STEERED: &str = "steered";

/// A flow as Python is told of it: see `_core.pyi`.
type Row = (bool, u64, u64, u64, u64, f64, u64, f64, f64, u32, u64, f64);

/// A run on a thread of its own, which waits while it stands still.
#[pyclass(module = "cclab._core")]
pub struct Steps {
    until: Option<Sender<Time>>,
    standing: Mutex<Receiver<Result<Standing, SimError>>>,
    thread: Option<JoinHandle<()>>,
    steering: Vec<Arc<Steering>>,
    now: Time,
    over: bool,
}

#[pymethods]
impl Steps {
    /// The run of `scenario` (JSON) with `seed`, at its beginning; the variants of the flows at the
    /// indices `steered` are replaced by one that `steer` sets.
    #[new]
    fn new(scenario: &str, seed: u64, steered: Vec<usize>) -> PyResult<Steps> {
        let mut scenario: Scenario = serde_json::from_str(scenario).map_err(error::study)?;
        let mut steering = Vec::new();
        let mut variants = Vec::new();
        for (number, index) in steered.into_iter().enumerate() {
            let flow = scenario
                .flows
                .get_mut(index)
                .ok_or_else(|| PyValueError::new_err(format!("there is no flow {index}")))?;
            flow.cc = format!("{STEERED} {number}");
            flow.cc_params.clear();
            let handle = Arc::new(Steering::default());
            variants.push(Steered::of(flow, Arc::clone(&handle)));
            steering.push(handle);
        }
        let own = OwnVariants::new(variants);
        let (until, asked) = channel();
        let (told, standing) = channel();
        let thread = std::thread::spawn(move || {
            let outcome = cclab_sim::in_steps(&scenario, seed, &own, |standing| {
                told.send(Ok(standing.clone())).ok()?;
                asked.recv().ok()
            });
            if let Err(fault) = outcome {
                // Nobody waits for a run that was left.
                let _ = told.send(Err(fault));
            }
        });
        let mut steps = Steps {
            until: Some(until),
            standing: Mutex::new(standing),
            thread: Some(thread),
            steering,
            now: Time::ZERO,
            over: false,
        };
        steps.wait()?;
        Ok(steps)
    }

    /// Virtual seconds that have passed.
    #[getter]
    fn now_s(&self) -> f64 {
        self.now.as_secs_f64()
    }

    /// Whether the run has come to its end.
    #[getter]
    fn over(&self) -> bool {
        self.over
    }

    /// Sets window (segments) and rate (bytes of payload a second; zero: none) of the steered flow
    /// `number`, from its next acknowledgement on.
    fn steer(&self, number: usize, cwnd: u32, pacing_rate: u64) -> PyResult<()> {
        let steering = self
            .steering
            .get(number)
            .ok_or_else(|| PyValueError::new_err(format!("no flow {number} is steered")))?;
        steering.set(cwnd, Some(pacing_rate).filter(|&rate| rate > 0));
        Ok(())
    }

    /// Lets the run go on for `seconds` of virtual time and tells how each flow stands then.
    fn advance(&mut self, py: Python<'_>, seconds: f64) -> PyResult<Vec<Row>> {
        let until = self.now + Time::from_secs_f64(seconds);
        if self.over {
            return Err(error::run("the run is over"));
        }
        let asked = self.until.as_ref().map(|until_of| until_of.send(until));
        if !matches!(asked, Some(Ok(()))) {
            return Err(error::run("the run is over"));
        }
        let standing = py.detach(|| self.wait())?;
        Ok(standing.flows.iter().map(row).collect())
    }
}

impl Steps {
    fn wait(&mut self) -> PyResult<Standing> {
        let told = self.standing.get_mut().map_err(error::run)?.recv();
        let standing = told.map_err(error::run)?;
        let standing = standing.map_err(error::run)?;
        self.now = standing.now;
        self.over = standing.over;
        Ok(standing)
    }
}

impl Drop for Steps {
    fn drop(&mut self) {
        self.until = None; // the thread hears that nobody waits
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn row(flow: &FlowStanding) -> Row {
    (
        flow.runs,
        flow.segments_sent,
        flow.bytes_delivered,
        flow.bytes_lost,
        flow.cwnd,
        flow.pacing_rate.map_or(0.0, |rate| rate.bps() as f64),
        flow.in_flight,
        flow.srtt.as_secs_f64(),
        flow.min_rtt.as_secs_f64(),
        flow.mss,
        flow.acks,
        match flow.rtts {
            0 => f64::NAN,
            rtts => flow.rtt_sum.as_secs_f64() / rtts as f64,
        },
    )
}
