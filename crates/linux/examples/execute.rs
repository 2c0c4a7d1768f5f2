//! Executes the first run of a study on the kernel: `execute --kernel FILE --agent FILE --out DIR
//! STUDY.toml [KEY=VALUE]...`

#![expect(
    clippy::disallowed_methods,
    reason = "tells real time, which no result depends on"
)]

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use cclab_linux::{Execution, Kernel, Place, execute};
use cclab_spec::{Overrides, Study};
use cclab_trace::Progress;

const LIMIT: Duration = Duration::from_secs(600);

type Problem = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    match carry_out() {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("execute: {problem}");
            ExitCode::from(3)
        }
    }
}

fn carry_out() -> Result<(), Problem> {
    let mut words = std::env::args().skip(1);
    let mut file = |option: &str| -> Result<PathBuf, Problem> {
        match (words.next(), words.next()) {
            (Some(word), Some(value)) if word == option => Ok(value.into()),
            _ => Err(format!("{option} FILE comes next").into()),
        }
    };
    let kernels = [Kernel::at(file("--kernel")?)];
    let agent = std::fs::canonicalize(file("--agent")?)?;
    let out = file("--out")?;
    let path = words.next().ok_or("a study comes last")?;
    let set: Vec<String> = words.collect();
    let text = std::fs::read_to_string(&path)?;
    let overrides = Overrides {
        set,
        ..Overrides::default()
    };
    let plan = Study::load(&text, &path)?.plan(&overrides, &|_, _| "example".to_owned())?;
    let run = &plan.runs.first().ok_or("the study has no run")?.run;
    std::fs::create_dir_all(&out)?;
    let how = Execution {
        place: Place::Guest { kernels: &kernels },
        agent: &agent,
        limit: LIMIT,
        stall: Duration::from_secs(60),
        window: None,
    };
    let began = Instant::now();
    execute(run, &out, &how, &Progress::default())?;
    println!("{:.2} s", began.elapsed().as_secs_f64());
    Ok(())
}
