//! `hot.ld`, which names functions for the linker: a name that is no longer there would do no harm, and
//! leave a build as fast as chance has it.

use std::path::{Path, PathBuf};

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

/// The file that a path such as `cclab_net::wires::Wires::take` is written in, of one to a type or to
/// functions: the modules come before what begins with another letter than a small one.
fn source(path: &[&str]) -> PathBuf {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let own = path[0].trim_start_matches("cclab_");
    let modules = path[1..]
        .iter()
        .take_while(|part| part.starts_with(|first: char| first.is_ascii_lowercase()));
    let place = crates
        .join(own)
        .join("src")
        .join(modules.collect::<PathBuf>());
    let alone = place.with_extension("rs");
    if alone.exists() {
        alone
    } else {
        place.join("mod.rs")
    }
}

#[test]
fn every_function_of_ours_is_still_there() {
    let mut named = 0;
    for line in SCRIPT.lines() {
        let Some(mangled) = line.trim().strip_prefix("*(.text*._ZN") else {
            assert!(!line.contains("_ZN"), "another pattern: {line}");
            continue;
        };
        assert!(
            mangled.ends_with("17h*)"),
            "the digest of one build: {line}"
        );
        let mut path = parts(mangled);
        let function = path.pop().expect("a path");
        // `<a::B as c::D>::function` has the path of its type in one part.
        let of_type = path[0].trim_start_matches("_?LT?");
        let of_type = of_type.split("?u20?as?u20?").next().expect("a type");
        if of_type != path[0] {
            path = of_type.split("..").collect();
        }
        if !path[0].starts_with("cclab_") {
            continue;
        }
        let file = source(&path);
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        let defined = ["(", "<"].map(|open| format!("fn {function}{open}"));
        assert!(
            defined.iter().any(|start| text.contains(start)),
            "`make layout`: no function {function} in {} ({line})",
            file.display()
        );
        named += 1;
    }
    assert!(named > 30, "{named} functions");
}
