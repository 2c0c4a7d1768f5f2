//! Where a version stands.

use std::fs;
use std::path::{Path, PathBuf};

/// Lines between the name of a registry's entry and its version.
const APART: usize = 4;

/// The field that holds the version of `part`, and its file.
pub fn of(part: &str) -> String {
    let place = match part {
        "core" => "`VERSION` in crates/sim/src/version.rs",
        "testbed" => "`VERSION` in crates/testbed/src/lib.rs",
        "metrics" => "`VERSION` in crates/metrics/src/lib.rs",
        _ => return entry(part).unwrap_or_else(|| "`version` of its entry in a registry".into()),
    };
    place.to_owned()
}

/// The version of the entry called `name` in a registry of variants, disciplines or stacks.
fn entry(name: &str) -> Option<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folders = ["cc", "qdisc", "tcp"].map(|krate| format!("crates/{krate}/src"));
    let mut files = Vec::new();
    for folder in &folders {
        sources(&root.join(folder), &mut files);
    }
    let named = format!("name: \"{name}\"");
    files.iter().find_map(|file| {
        let text = fs::read_to_string(file).ok()?;
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        let is_named = |at: &usize| lines[*at].starts_with(&named);
        let version = (0..lines.len()).filter(is_named).find_map(|at| {
            let near = at..(at + APART).min(lines.len());
            near.into_iter()
                .find(|&at| lines[at].starts_with("version:"))
        })?;
        let file = file.strip_prefix(&root).unwrap_or(file).display();
        Some(format!("`version` in {file}, line {}", version + 1))
    })
}

/// The Rust files in `folder` and below it, in order.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_version_has_a_place() {
        let variants = cclab_cc::VARIANTS.iter().map(|variant| variant.name);
        let disciplines = cclab_qdisc::QDISCS.iter().map(|discipline| discipline.name);
        let stacks = cclab_tcp::profile::PROFILES.iter().map(|stack| stack.name);
        let mut names: Vec<&str> = variants.chain(disciplines).chain(stacks).collect();
        for name in &names {
            let place = super::of(name);
            assert!(place.starts_with("`version` in crates/"), "{name}: {place}");
        }
        // A run's list of versions has each under its name alone.
        names.extend(["core", "testbed", "kernel", "metrics"]);
        names.sort_unstable();
        let twice: Vec<_> = names.windows(2).filter(|pair| pair[0] == pair[1]).collect();
        assert!(twice.is_empty(), "{twice:?}");
    }
}
