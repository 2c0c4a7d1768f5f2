//! The user's C compiler.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use crate::message::ModuleError;
use crate::{headers, place};

/// How a module is compiled: what the kernel itself asks of C, but as fast as can be, and
/// position-independent.
/// Nothing but the headers of this crate is found.
const MODULE: [&str; 16] = [
    "-std=gnu11",
    "-O3",
    "-g1",
    "-fPIC",
    "-fvisibility=hidden",
    "-fwrapv",
    "-fno-strict-aliasing",
    "-fno-delete-null-pointer-checks",
    "-fstack-protector-strong",
    "-nostdinc",
    "-Wall",
    "-Werror=implicit-function-declaration",
    "-Werror=implicit-int",
    "-Werror=incompatible-pointer-types",
    "-Werror=int-conversion",
    "-Werror=return-type",
];

/// How many lines of what a compiler says of our own part are told.
const SHOWN: usize = 20;

/// A C compiler.
#[derive(Clone, Debug)]
pub(crate) struct Compiler {
    /// The words that start it.
    words: Vec<String>,
    /// What it says it is.
    pub version: String,
}

/// What a run of the compiler said, and whether it did what it was asked.
pub(crate) struct Said {
    pub done: bool,
    pub text: String,
}

/// What has the compiler call `folder` by another name in what it says of lines.
fn called(folder: &Path, name: &str) -> OsString {
    let mut words = OsString::from("-fdebug-prefix-map=");
    words.push(folder);
    words.push("=");
    words.push(name);
    words
}

impl Compiler {
    /// That of the environment variable CC, else `cc`, for the user's `file`.
    ///
    /// # Errors
    /// There is none.
    pub fn find(file: &str) -> Result<Compiler, ModuleError> {
        let words = std::env::var("CC").unwrap_or_default();
        let mut words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        if words.is_empty() {
            words.push("cc".to_owned());
        }
        let asked = Command::new(&words[0])
            .args(&words[1..])
            .arg("--version")
            .output();
        match asked {
            Ok(output) if output.status.success() => Ok(Compiler {
                version: String::from_utf8_lossy(&output.stdout).into_owned(),
                words,
            }),
            _ => Err(ModuleError::NoCompiler {
                file: file.to_owned(),
                compiler: words.join(" "),
            }),
        }
    }

    /// What decides what comes out, beside the texts.
    pub fn told(&self) -> String {
        format!(
            "{}\0{}\0{}",
            self.words.join(" "),
            self.version,
            MODULE.join(" ")
        )
    }

    /// Compiles the user's `source`, found from `folder`, to `object` with the headers of `ours`.
    pub fn compile(
        &self,
        folder: &Path,
        source: &str,
        ours: &Path,
        object: &Path,
    ) -> Result<Said, ModuleError> {
        let mut command = self.with_headers(folder, ours);
        command.arg(called(folder, place::USERS));
        command.args(["-c", source, "-o"]).arg(object);
        self.run(command)
    }

    /// Compiles the part `source` of `ours` to `object`.
    pub fn part(&self, ours: &Path, source: &str, object: &Path) -> Result<Said, ModuleError> {
        let mut command = self.with_headers(ours, ours);
        command.args(["-c", source, "-o"]).arg(object);
        self.run(command)
    }

    /// The compiler in `folder`, with the headers of `ours`.
    fn with_headers(&self, folder: &Path, ours: &Path) -> Command {
        let mut command = self.command(folder);
        command.args(MODULE).arg(called(ours, place::OURS));
        command.arg("-isystem").arg(ours.join(headers::FOLDER));
        command
    }

    /// Links `objects` to the shared object `made`: nothing may be left to be found later.
    pub fn link(&self, folder: &Path, objects: &[&Path], made: &Path) -> Result<Said, ModuleError> {
        let mut command = self.command(folder);
        command.args(["-shared", "-Wl,-z,defs", "-o"]).arg(made);
        command.args(objects);
        self.run(command)
    }

    /// Makes the program `made` of `source`, with the system's headers.
    pub fn program(&self, source: &Path, made: &Path) -> Result<Said, ModuleError> {
        let mut command = self.command(Path::new("."));
        command
            .args(["-O1", "-o"])
            .arg(made)
            .arg(source)
            .arg("-ldl");
        self.run(command)
    }

    /// What it means that our own part did not compile.
    pub fn ours(&self, said: &Said) -> ModuleError {
        let lines: Vec<&str> = said.text.lines().take(SHOWN).collect();
        ModuleError::Compiler {
            compiler: self.words.join(" "),
            said: lines.join("\n"),
        }
    }

    fn command(&self, folder: &Path) -> Command {
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]).current_dir(folder);
        // What it says is read.
        command.env("LC_ALL", "C").arg("-fno-diagnostics-color");
        command
    }

    fn run(&self, mut command: Command) -> Result<Said, ModuleError> {
        let output = command
            .output()
            .map_err(ModuleError::io(Path::new(&self.words[0])))?;
        Ok(Said {
            done: output.status.success(),
            text: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }
}
