//! Compilers that are there or not, and where what they make is kept.
//!
//! What the environment says is told to a process of its own: this program, run again for one test.

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use common::{RENO, file};
use tempfile::TempDir;

/// Where the program that is run again finds its file.
const FILE: &str = "CCLAB_TESTED_FILE";
/// What it answers where the file is good.
const TAKEN: &str = "taken";

/// The program that is run again, which the other tests start.
#[test]
fn answer() {
    let Ok(path) = std::env::var(FILE) else {
        return;
    };
    let text = fs::read_to_string(path).expect("its text");
    match cclab_rust::check(&file("mine.rs", &text)) {
        Ok(said) => println!("<{TAKEN} {}>", said.name),
        Err(wrong) => println!("<{}>", wrong[0]),
    }
}

/// A home of its own, with a file in it.
struct Home(TempDir);

impl Home {
    fn new() -> Home {
        let home = Home(TempDir::new().expect("a folder"));
        home.write("mine.rs", RENO);
        fs::create_dir(home.0.path().join("tmp")).expect("a folder");
        home
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.0.path().join(name), text).expect("a file");
    }

    /// A program that is called for the compiler: it writes a line for each call, then does `then`.
    fn program(&self, then: &str) {
        let calls = self.0.path().join("calls");
        self.write(
            "rustc.sh",
            &format!("#!/bin/sh\necho \"$*\" >> {}\n{then}\n", calls.display()),
        );
        let rights = fs::Permissions::from_mode(0o755);
        fs::set_permissions(self.0.path().join("rustc.sh"), rights).expect("rights");
    }

    /// The compiler was called so often to compile since this was asked last.
    fn compiled(&self) -> usize {
        let calls = self.0.path().join("calls");
        let said = fs::read_to_string(&calls).unwrap_or_default();
        let _ = fs::remove_file(calls);
        said.lines()
            .filter(|call| call.contains("--crate-type"))
            .count()
    }

    fn start(&self, environment: &[(&str, &str)]) -> Child {
        let program = std::env::current_exe().expect("this program");
        let path = |name: &str| self.0.path().join(name);
        let mut command = Command::new(program);
        command
            .args(["--exact", "answer", "--nocapture", "--test-threads=1"])
            .env(FILE, path("mine.rs"))
            .env("TMPDIR", path("tmp"))
            .env("XDG_CACHE_HOME", path("cache"))
            .env_remove("RUSTC")
            .envs(environment.iter().copied())
            .stdout(Stdio::piped());
        if path("rustc.sh").exists() {
            command.env("RUSTC", path("rustc.sh"));
        }
        command.spawn().expect("this program runs")
    }

    fn answer(&self, environment: &[(&str, &str)]) -> String {
        said(&self.start(environment).wait_with_output().expect("it ends"))
    }

    /// What is in the folder.
    fn names(&self, folder: &str) -> Vec<String> {
        names(&self.0.path().join(folder))
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder").flatten();
    let mut names: Vec<String> = entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

fn said(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let told = text
        .split_once('<')
        .and_then(|(_, told)| told.rsplit_once('>'));
    told.map_or(text.clone(), |(told, _)| told.to_owned())
}

const GOOD: &str = "taken own-reno";
const INSTALL: &str = "install Rust 1.85 or newer from https://rustup.rs, or rustc by the \
    distribution's packages; RUSTC may name the program";

#[test]
fn without_a_compiler_it_is_told_how_to_get_one() {
    let home = Home::new();
    let told = home.answer(&[("RUSTC", "/nowhere/rustc")]);
    let what = "mine.rs: there is no Rust compiler: /nowhere/rustc was not found";
    assert_eq!(told, format!("{what}; {INSTALL}"));
    home.program("echo 'rustc 1.84.1 (e71f9a9a9 2025-01-27)'; echo 'release: 1.84.1'");
    let what = format!(
        "mine.rs: the Rust compiler {}/rustc.sh",
        home.0.path().display()
    );
    let old = "is too old: rustc 1.84.1 (e71f9a9a9 2025-01-27)";
    assert_eq!(home.answer(&[]), format!("{what} {old}; {INSTALL}"));
    home.program("echo 'no default toolchain' >&2; exit 1");
    assert_eq!(
        home.answer(&[]),
        format!("{what} says: no default toolchain; {INSTALL}")
    );
}

#[test]
fn what_does_not_link_is_told() {
    let home = Home::new();
    home.program(
        "case \"$*\" in *cdylib*) exec rustc -Clinker=/nowhere/cc \"$@\";; esac\nexec rustc \"$@\"",
    );
    let told = home.answer(&[]);
    let what = "mine.rs: linker `/nowhere/cc` not found; install a C compiler";
    assert!(told.starts_with(what), "{told}");
}

#[test]
fn what_was_compiled_is_kept_by_its_content() {
    let home = Home::new();
    home.program("exec rustc \"$@\"");
    let compiled = |expected| {
        assert_eq!(
            (home.answer(&[]).as_str(), home.compiled()),
            (GOOD, expected)
        );
    };
    compiled(2); // the interface and the file
    compiled(0);
    home.write("mine.rs", &format!("{RENO}// changed\n"));
    compiled(1);
    home.write("mine.rs", RENO);
    compiled(0);
    let kept = home.names("cache/cclab/rust");
    assert_eq!(kept.len(), 3, "{kept:?}");
    // What is damaged is made anew.
    for name in kept.iter().filter(|name| name.ends_with(".so")) {
        fs::write(home.0.path().join("cache/cclab/rust").join(name), "torn").expect("a file");
    }
    compiled(1);
    assert_eq!(home.names("tmp"), Vec::<String>::new());
}

#[test]
fn what_was_not_used_for_longest_is_forgotten() {
    let home = Home::new();
    assert_eq!(home.answer(&[]), GOOD);
    let kept = home.0.path().join("cache/cclab/rust");
    let long_ago = std::time::SystemTime::UNIX_EPOCH;
    for number in 0..220 {
        let old = fs::File::create(kept.join(format!("{number}.so"))).expect("a file");
        let times = fs::FileTimes::new().set_modified(long_ago);
        old.set_times(times).expect("a time");
    }
    fs::create_dir(kept.join(".work-left")).expect("a folder");
    let left = fs::File::open(kept.join(".work-left")).expect("a folder");
    left.set_times(fs::FileTimes::new().set_modified(long_ago))
        .expect("a time");
    home.write("mine.rs", &format!("{RENO}// changed\n"));
    assert_eq!(home.answer(&[]), GOOD);
    let names = home.names("cache/cclab/rust");
    assert_eq!(names.len(), 200);
    assert!(!names.contains(&".work-left".to_owned()));
    // The two files' own and the interface are the last used.
    assert_eq!(names.iter().filter(|name| name.len() > 60).count(), 3);
}

#[test]
fn a_home_that_cannot_be_written_leaves_a_passing_folder() {
    let home = Home::new();
    home.write("file", "");
    let cache = home.0.path().join("file");
    let cache = cache.to_str().expect("text");
    for cache in [cache, "/proc/none"] {
        assert_eq!(home.answer(&[("XDG_CACHE_HOME", cache)]), GOOD);
        assert_eq!(home.names("tmp"), Vec::<String>::new());
    }
    // Relative paths are no places, and there may be no home.
    assert_eq!(
        home.answer(&[("XDG_CACHE_HOME", "here"), ("HOME", "")]),
        GOOD
    );
    assert_eq!(home.names("tmp"), Vec::<String>::new());
    let nowhere = [("XDG_CACHE_HOME", "/proc/none"), ("TMPDIR", "/nowhere")];
    let told = home.answer(&nowhere);
    assert!(
        told.starts_with("mine.rs: it cannot be compiled: "),
        "{told}"
    );
    assert!(
        told.ends_with("; set TMPDIR or XDG_CACHE_HOME to a folder with room"),
        "{told}"
    );
}

#[test]
fn several_processes_at_once_disturb_each_other_not() {
    let home = Home::new();
    let children: Vec<Child> = (0..6).map(|_| home.start(&[])).collect();
    for child in children {
        assert_eq!(said(&child.wait_with_output().expect("it ends")), GOOD);
    }
    let kept = home.names("cache/cclab/rust");
    assert_eq!(kept.len(), 2, "{kept:?}");
}
