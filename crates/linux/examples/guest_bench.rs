//! What the first run of a study costs in a guest, by which of the kernel's events are on, in turns:
//! `guest_bench --kernel FILE --agent FILE [--repeat N] STUDY.toml [KEY=VALUE]...`
//!
//! Prints one JSON object. Each list of seconds holds one number per turn; a turn is one guest
//! with all events, its harvest, one guest with the events of acknowledgements, and one without.

#![expect(
    clippy::disallowed_methods,
    reason = "measures real time, which is what it is for"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use cclab_linux::{Execution, Kernel, Place, carry_out};
use cclab_spec::{Overrides, Run, Study};
use cclab_testbed::orders::Events;
use cclab_testbed::records::{EVENTS, OUTCOME, Outcome};
use cclab_testbed::{Orders, Target, orders};
use cclab_trace::Progress;
use serde_json::json;

const USAGE: &str = "usage: guest_bench --kernel FILE --agent FILE [--repeat N] STUDY.toml \
                     [KEY=VALUE]...";
const ALL_EVENTS: Events = Events {
    acks: true,
    dequeues: true,
    enqueues: true,
    losses: true,
};
const ACKS: Events = Events {
    acks: true,
    dequeues: false,
    enqueues: false,
    losses: false,
};
const NO_EVENTS: Events = Events {
    acks: false,
    ..ACKS
};
/// No guest here takes this long.
const LIMIT: Duration = Duration::from_secs(600);

type Problem = Box<dyn std::error::Error>;

struct Arguments {
    kernel: PathBuf,
    agent: PathBuf,
    repeat: usize,
    study: String,
    set: Vec<String>,
}

/// One guest, from its start to its end.
struct Turn {
    wall: Duration,
    boot: Duration,
    events_bytes: u64,
    outcome: Outcome,
}

fn main() -> ExitCode {
    let Some(arguments) = parse(std::env::args().skip(1)) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match measure(&arguments) {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprintln!("guest_bench: {problem}");
            ExitCode::from(3)
        }
    }
}

fn parse(mut words: impl Iterator<Item = String>) -> Option<Arguments> {
    let (mut kernel, mut agent, mut repeat) = (None, None, 3);
    let study = loop {
        match words.next()?.as_str() {
            "--kernel" => kernel = Some(PathBuf::from(words.next()?)),
            "--agent" => agent = Some(PathBuf::from(words.next()?)),
            "--repeat" => repeat = words.next()?.parse().ok().filter(|&n| n > 0)?,
            option if option.starts_with("--") => return None,
            study => break study.to_owned(),
        }
    };
    Some(Arguments {
        kernel: kernel?,
        agent: agent?,
        repeat,
        study,
        set: words.collect(),
    })
}

fn measure(arguments: &Arguments) -> Result<serde_json::Value, Problem> {
    let run = first_run(arguments)?;
    let with = |events| Orders {
        events,
        ..orders(&run.scenario, run.seed, Target::Guest)
    };
    let agent = fs::canonicalize(&arguments.agent)?;
    let kernels = [Kernel::at(arguments.kernel.clone())];
    let how = Execution {
        place: Place::Guest { kernels: &kernels },
        agent: &agent,
        limit: LIMIT,
        stall: LIMIT,
        window: None,
    };
    let (mut all, mut acks, mut none) = (Vec::new(), Vec::new(), Vec::new());
    let mut harvests = Vec::new();
    for _ in 0..arguments.repeat {
        let folder = tempfile::tempdir()?;
        let at = |name: &str| folder.path().join(name);
        let traced = with(ALL_EVENTS);
        all.push(turn(&run, &traced, &at("all"), &how)?);
        let began = Instant::now();
        cclab_harvest::harvest(&run.scenario, &traced, None, &at("all"), &at("trace"))?;
        harvests.push(began.elapsed());
        acks.push(turn(&run, &with(ACKS), &at("acks"), &how)?);
        none.push(turn(&run, &with(NO_EVENTS), &at("none"), &how)?);
    }
    let turns = || all.iter().chain(&acks).chain(&none);
    let outcome = &all[0].outcome;
    let same =
        |turn: &Turn| turn.outcome.end == outcome.end && turn.outcome.counters == outcome.counters;
    Ok(json!({
        "virtual_s": outcome.end as f64 / 1e9,
        "same_run": turns().all(same),
        "events_bytes": { "all": all[0].events_bytes, "acks": acks[0].events_bytes },
        "all_s": seconds(all.iter().map(|turn| turn.wall)),
        "acks_s": seconds(acks.iter().map(|turn| turn.wall)),
        "none_s": seconds(none.iter().map(|turn| turn.wall)),
        "harvest_s": seconds(harvests.iter().copied()),
        "boot_s": seconds(turns().map(|turn| turn.boot)),
    }))
}

fn first_run(arguments: &Arguments) -> Result<Run, Problem> {
    let text = fs::read_to_string(&arguments.study)?;
    let overrides = Overrides {
        set: arguments.set.clone(),
        ..Overrides::default()
    };
    let plan =
        Study::load(&text, &arguments.study)?.plan(&overrides, &|_, _| "bench".to_owned())?;
    Ok(plan.runs[0].run.clone())
}

fn turn(run: &Run, orders: &Orders, raw: &Path, how: &Execution<'_>) -> Result<Turn, Problem> {
    let began = Instant::now();
    let boot = carry_out(run, orders, raw, how, &Progress::default())?;
    Ok(Turn {
        wall: began.elapsed(),
        boot,
        events_bytes: fs::metadata(raw.join(EVENTS))?.len(),
        outcome: serde_json::from_slice(&fs::read(raw.join(OUTCOME))?)?,
    })
}

fn seconds(durations: impl Iterator<Item = Duration>) -> Vec<f64> {
    durations.map(|duration| duration.as_secs_f64()).collect()
}
