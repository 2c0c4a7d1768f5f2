//! `corpus DIR` writes what the fuzzers of captures start from: DIR/TARGET/seed-N.

use std::path::PathBuf;

#[path = "../tests/wire/mod.rs"]
#[expect(dead_code, reason = "shared with the tests")]
mod wire;

fn main() -> std::io::Result<()> {
    let Some(folder) = std::env::args_os().nth(1).map(PathBuf::from) else {
        eprintln!("usage: corpus DIR");
        std::process::exit(2);
    };
    for (number, seed) in (1..).zip(wire::seeds::seeds()) {
        let target = folder.join(seed.target);
        std::fs::create_dir_all(&target)?;
        std::fs::write(target.join(format!("seed-{number}")), seed.data)?;
    }
    Ok(())
}
