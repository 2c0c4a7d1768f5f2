//! Prints what a capture holds, as JSON without its table: what benchmarks and profilers run.

use std::path::Path;

use cclab_analyze::{Options, analyze};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args_os().nth(1).ok_or("usage: summary FILE")?;
    let analysis = analyze(Path::new(&path), Options::default(), &mut ())?;
    println!("{} connections", analysis.connections.len() / 2);
    println!("{}", serde_json::to_string(&analysis)?);
    Ok(())
}
