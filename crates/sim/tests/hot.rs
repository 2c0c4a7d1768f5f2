//! `hot.ld`, which names functions for the linker: a name that is no longer there would do no harm, and
//! leave a build as fast as chance has it.

use std::path::Path;

const SCRIPT: &str = include_str!("../hot.ld");

/// The parts of a mangled path, of which each has its length before it.
fn parts(mangled: &str) -> Vec<&str> {
    let mut rest = mangled;
    let mut parts = Vec::new();
    loop {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let Ok(length) = rest[..digits].parse::<usize>() else {
            return parts;
        };
        let Some(part) = rest.get(digits..digits + length) else {
            return parts; // the digest, which is left open
        };
        parts.push(part);
        rest = &rest[digits + length..];
    }
}

fn sources(folder: &Path, all: &mut String) {
    for entry in std::fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, all);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            all.push_str(&std::fs::read_to_string(&path).expect("a source"));
        }
    }
}

#[test]
fn every_function_of_ours_is_still_there() {
    let mut all = String::new();
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for name in ["sim", "net", "tcp", "cc", "qdisc", "trace", "units"] {
        sources(&crates.join(name).join("src"), &mut all);
    }
    let mut named = 0;
    for line in SCRIPT.lines() {
        let Some(mangled) = line.trim().strip_prefix("*(.text._ZN") else {
            continue;
        };
        assert!(
            mangled.ends_with("17h*)"),
            "the digest of one build: {line}"
        );
        let parts = parts(mangled);
        let function = parts.last().expect("a path");
        if parts[0].contains("cclab_") {
            let defined = ["(", "<"].map(|open| format!("fn {function}{open}"));
            assert!(
                defined.iter().any(|start| all.contains(start)),
                "`make layout`: no function {function} ({line})"
            );
            named += 1;
        }
    }
    assert!(named > 30, "{named} functions");
}
