//! Prints the orders of the first run of a study as JSON:
//! `cargo run -p cclab-testbed --example orders -- STUDY.toml [KEY=VALUE]...`

use std::process::ExitCode;

use cclab_spec::{Overrides, Study};
use cclab_testbed::{Target, orders, unsupported};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(path) = arguments.next() else {
        eprintln!("usage: orders STUDY.toml [KEY=VALUE]...");
        return ExitCode::from(2);
    };
    match print(&path, arguments.collect()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}

fn print(path: &str, set: Vec<String>) -> Result<(), String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    let overrides = Overrides {
        set,
        ..Overrides::default()
    };
    let plan = Study::load(&text, path)
        .and_then(|study| study.plan(&overrides, &|_, _| "example".to_owned()))
        .map_err(|error| error.to_string())?;
    let run = &plan.runs[0].run;
    let refused = unsupported(&run.scenario, Target::Guest);
    if !refused.is_empty() {
        let lines: Vec<String> = refused
            .iter()
            .map(|refused| format!("{}: {}", refused.path, refused.what))
            .collect();
        return Err(lines.join("\n"));
    }
    let orders = orders(&run.scenario, run.seed, Target::Guest);
    let json = serde_json::to_string_pretty(&orders).map_err(|error| error.to_string())?;
    println!("{json}");
    Ok(())
}
