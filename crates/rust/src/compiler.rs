//! From a file to the tables of its variant: `rustc`, twice at most.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use cclab_module::kept::Kept;
use cclab_spec::{StudyError, VariantFile};
use include_dir::{Dir, include_dir};
use sha2::{Digest, Sha256};

use crate::loaded::Tables;
use crate::{diagnostics, loaded, of_file};

/// The source of the interface: what is compiled into cclab, and what files are compiled against.
static INTERFACE: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../interface/src");
/// The edition of the interface and of files.
const EDITION: &str = "2024";
/// The first release that knows the edition.
const LEAST: (u32, u32) = (1, 85);
/// How both are compiled: as cclab is.
const OPTIMISED: [&str; 4] = [
    "-Copt-level=3",
    "-Ccodegen-units=1",
    "-Cpanic=unwind",
    "-Cstrip=symbols",
];
/// How files are compiled beside that: what overflows is a mistake more often than it is meant.
const CHECKED: &str = "-Coverflow-checks=on";
/// Compiled files that stay.
const KEPT: usize = 200;
/// What would be right where there is no compiler that will do.
const INSTALL: &str = "install Rust 1.85 or newer from https://rustup.rs, or rustc by the \
    distribution's packages; RUSTC may name the program";

/// A message, and what would be right.
type Why = (String, String);

/// A Rust compiler.
pub(crate) struct Compiler {
    program: OsString,
    /// What it says of itself (`rustc -vV`).
    version: String,
}

impl Compiler {
    /// The one that RUSTC names, or else `rustc`.
    pub(crate) fn find() -> Result<Compiler, Why> {
        let named = std::env::var_os("RUSTC").filter(|name| !name.is_empty());
        let program = named.unwrap_or_else(|| "rustc".into());
        let shown = program.to_string_lossy().into_owned();
        // Not from where studies are: rustup chooses a compiler by the folder.
        let said = Command::new(&program)
            .arg("-vV")
            .current_dir("/")
            .stdin(Stdio::null())
            .output();
        let said = said.map_err(|error| {
            let what = match error.kind() {
                io::ErrorKind::NotFound => {
                    format!("there is no Rust compiler: {shown} was not found")
                }
                _ => format!("the Rust compiler {shown} cannot be run: {error}"),
            };
            (what, INSTALL.to_owned())
        })?;
        if !said.status.success() {
            let what = format!(
                "the Rust compiler {shown} says: {}",
                first_lines(&said.stderr)
            );
            return Err((what, INSTALL.to_owned()));
        }
        let version = String::from_utf8_lossy(&said.stdout).into_owned();
        match release(&version) {
            Some(release) if release >= LEAST => Ok(Compiler { program, version }),
            _ => {
                let line = version.lines().next().unwrap_or_default();
                let what = format!("the Rust compiler {shown} is too old: {line}");
                Err((what, INSTALL.to_owned()))
            }
        }
    }

    /// The tables of the variant of `file`, which is loaded from now on.
    pub(crate) fn tables(&self, file: &VariantFile) -> Result<Tables, Vec<StudyError>> {
        let whole = |why: Why| vec![of_file(file, why)];
        let interface = format!(
            "libcclab-{}.rlib",
            self.key(sources(&INTERFACE).into_iter())
        );
        let key = self.key(
            [("", interface.as_str()), ("", &file.file)]
                .into_iter()
                .chain(file.texts.iter().map(|(name, text)| (&**name, &**text))),
        );
        let object = format!("{key}.so");
        let cache = Kept::of("rust", KEPT);
        if let Some(path) = cache.find(&object) {
            match loaded::tables(&path) {
                Err(loaded::Refused::Damaged(_)) => cache.discard(&path),
                known => return known.map_err(|refused| whole(refused.why())),
            }
        }
        let failed = |error: io::Error| {
            let what = format!("it cannot be compiled: {error}");
            whole((
                what,
                "set TMPDIR or XDG_CACHE_HOME to a folder with room".to_owned(),
            ))
        };
        let work = cache.begin().map_err(failed)?;
        let rlib = match cache.find(&interface) {
            Some(path) => path,
            None => {
                let made = self.interface(work.path(), &interface).map_err(failed)?;
                work.keep(made.map_err(whole)?, &interface)
            }
        };
        let made = self
            .variant(file, work.path(), &rlib, &object)
            .map_err(failed)?;
        let path = work.keep(made?, &object);
        loaded::tables(&path).map_err(|refused| whole(refused.why()))
    }

    /// A name for what is made of `texts`.
    fn key<'a>(&'a self, texts: impl Iterator<Item = (&'a str, &'a str)>) -> String {
        let mut hash = Sha256::new();
        let made_by = [self.version.as_str(), EDITION, CHECKED];
        let how = made_by.into_iter().chain(OPTIMISED).map(|how| ("", how));
        for (name, text) in how.chain(texts) {
            hash.update(format!("{}\0{}\0{name}\0{text}\0", name.len(), text.len()));
        }
        let digest = hash.finalize();
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Compiles the interface in `work`.
    fn interface(&self, work: &Path, name: &str) -> io::Result<Result<PathBuf, Why>> {
        let folder = work.join("interface");
        fs::create_dir(&folder)?;
        INTERFACE.extract(&folder)?;
        let made = work.join(name);
        let said = self
            .command(&folder)
            .args([
                "--crate-name=cclab",
                "--crate-type=rlib",
                "--cap-lints=allow",
                "-o",
            ])
            .arg(&made)
            .args(["--", "lib.rs"])
            .output()?;
        Ok(match said.status.success() {
            true => Ok(made),
            false => Err((
                format!(
                    "the interface of cclab does not compile: {}",
                    first_lines(&said.stderr)
                ),
                INSTALL.to_owned(),
            )),
        })
    }

    /// Compiles `file` in `work` against the interface `rlib`.
    fn variant(
        &self,
        file: &VariantFile,
        work: &Path,
        rlib: &Path,
        name: &str,
    ) -> io::Result<Result<PathBuf, Vec<StudyError>>> {
        let folder = work.join("variant");
        for (name, text) in &file.texts {
            let path = folder.join(name);
            fs::create_dir_all(path.parent().unwrap_or(&folder))?;
            fs::write(path, text)?;
        }
        let made = work.join(name);
        let mut interface = OsString::from("cclab=");
        interface.push(rlib);
        let said = self
            .command(&folder)
            .args(["--crate-name=variant", "--crate-type=cdylib", CHECKED])
            .args(["--error-format=json", "--extern"])
            .args([interface, "-o".into(), made.clone().into()])
            .args(["--", &file.file])
            .output()?;
        Ok(match said.status.success() {
            true => Ok(made),
            false => Err(errors(file, &said)),
        })
    }

    fn command(&self, folder: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command
            .current_dir(folder)
            .stdin(Stdio::null())
            .arg(format!("--edition={EDITION}"))
            .args(OPTIMISED);
        command
    }
}

/// What the compiler says of `file`.
fn errors(file: &VariantFile, said: &Output) -> Vec<StudyError> {
    let told = diagnostics::errors(file, &String::from_utf8_lossy(&said.stderr));
    if !told.is_empty() {
        return told;
    }
    let what = match first_lines(&said.stderr) {
        nothing if nothing.is_empty() => format!("the Rust compiler ended with {}", said.status),
        lines => format!("the Rust compiler says: {lines}"),
    };
    vec![of_file(file, (what, String::new()))]
}

/// The files of the interface below `folder`, by their paths.
fn sources<'a>(folder: &'a Dir<'static>) -> Vec<(&'a str, &'a str)> {
    let mut found = Vec::new();
    for file in folder.files() {
        let (name, text) = (file.path().to_str(), file.contents_utf8());
        found.push((name.unwrap_or_default(), text.unwrap_or_default()));
    }
    found.extend(folder.dirs().flat_map(sources));
    found
}

/// Major and minor of the release that `rustc -vV` tells.
fn release(version: &str) -> Option<(u32, u32)> {
    let told = version
        .lines()
        .find_map(|line| line.strip_prefix("release: "))?;
    let mut parts = told.split('.').map(|part| part.parse().ok());
    Some((parts.next()??, parts.next()??))
}

/// The first lines of what a program said.
fn first_lines(said: &[u8]) -> String {
    let said = String::from_utf8_lossy(said);
    let lines: Vec<&str> = said.trim().lines().take(10).collect();
    lines.join("\n")
}
