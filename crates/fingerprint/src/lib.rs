//! Names a backend by its sources, so that a results folder never passes off what an older
//! backend did as what this one does. For build scripts alone.

use std::fs;
use std::path::{Path, PathBuf};

/// The crates whose code decides what a run on a kernel yields.
pub const KERNEL_BACKENDS: [&str; 8] = [
    "units", "packet", "qdisc", "trace", "testbed", "agent", "harvest", "linux",
];

/// Tells cargo to set the variable `name`, for the crate whose build script calls this, to a hash
/// of the sources of `crates`: those whose code decides what a run yields.
///
/// # Panics
/// If a source cannot be read.
pub fn emit(name: &str, crates: &[&str]) {
    let folder = Path::new("..");
    let mut files = Vec::new();
    for name in crates {
        let sources = folder.join(name).join("src");
        println!("cargo:rerun-if-changed={}", sources.display());
        collect(&sources, &mut files);
    }
    files.sort();
    // FNV-1a over names and contents.
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut take = |bytes: &[u8]| {
        for &byte in bytes {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    };
    for file in &files {
        take(file.to_string_lossy().as_bytes());
        take(&fs::read(file).expect("a source file can be read"));
    }
    println!("cargo:rustc-env={name}={:08x}", hash >> 32);
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a source folder can be read") {
        let path = entry.expect("a source folder can be read").path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}
