//! What is wrong with a file, and where.

use std::fmt;

/// What is wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The file, by its path from the folder of the variant's file.
    pub file: String,
    /// Its line, from one.
    pub line: Option<u32>,
    /// The column in it, from one.
    pub column: Option<u32>,
    /// What is wrong.
    pub text: String,
}

impl fmt::Display for Message {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.file)?;
        for number in [self.line, self.column].into_iter().flatten() {
            write!(out, ":{number}")?;
        }
        write!(out, ": {}", self.text)
    }
}

/// Why a file is no module of the simulator.
#[derive(Debug, thiserror::Error)]
pub enum ModuleError {
    /// What is wrong is in the file: a line for each, none of them empty.
    #[error("{}", lines(.0))]
    Wrong(Vec<Message>),
    /// There is no compiler.
    #[error(
        "compiling {file} needs a C compiler, and `{compiler}` is none: install one (Debian: apt \
         install gcc libc6-dev), or name yours in the environment variable CC"
    )]
    NoCompiler {
        /// The user's file.
        file: String,
        /// What was tried.
        compiler: String,
    },
    /// The compiler does not compile what is not the user's.
    #[error("`{compiler}` does not compile the simulator's part of a module:\n{said}")]
    Compiler {
        /// The compiler.
        compiler: String,
        /// What it says.
        said: String,
    },
    /// There is nowhere to compile.
    #[error("it cannot be compiled: {0}; set TMPDIR or XDG_CACHE_HOME to a folder with room")]
    Unwritable(std::io::Error),
    /// Files cannot be written or read.
    #[error("{place}: {why}")]
    Io {
        /// What was read or written.
        place: String,
        /// Why not.
        why: std::io::Error,
    },
}

fn lines(messages: &[Message]) -> String {
    let lines: Vec<String> = messages.iter().map(Message::to_string).collect();
    lines.join("\n")
}

impl ModuleError {
    /// What is wrong with `file` as a whole.
    pub(crate) fn of(file: &str, text: impl Into<String>) -> ModuleError {
        ModuleError::Wrong(vec![Message {
            file: file.to_owned(),
            line: None,
            column: None,
            text: text.into(),
        }])
    }

    pub(crate) fn unwritable(why: std::io::Error) -> ModuleError {
        ModuleError::Unwritable(why)
    }

    pub(crate) fn io(place: &std::path::Path) -> impl FnOnce(std::io::Error) -> ModuleError {
        let place = place.display().to_string();
        move |why| ModuleError::Io { place, why }
    }
}

/// The errors among what compiler and linker `said` of the user's `file`; the headers are in
/// folders that begin with `ours`.
pub(crate) fn errors(said: &str, file: &str, ours: &str) -> Vec<Message> {
    let mut found: Vec<Message> = Vec::new();
    let mut add = |message: Message| {
        if !found.contains(&message) {
            found.push(message);
        }
    };
    for line in said.lines() {
        if let Some(name) = missing(line) {
            let (at, number) = match at(line) {
                Some((at, number, _, _)) => (at.to_owned(), Some(number)),
                None => (file.to_owned(), None),
            };
            add(Message {
                file: at,
                line: number,
                column: None,
                text: format!("the simulator has no {name}, which the file calls"),
            });
        } else if let Some((at, line, column, rest)) = at(line)
            && let Some(text) = rest
                .strip_prefix("error: ")
                .or_else(|| rest.strip_prefix("fatal error: "))
            && !at.starts_with(ours)
        {
            add(Message {
                file: at.to_owned(),
                line: Some(line),
                column,
                text: explained(text),
            });
        }
    }
    found
}

/// `FILE:LINE[:COLUMN]: REST`.
fn at(line: &str) -> Option<(&str, u32, Option<u32>, &str)> {
    let (file, rest) = line.split_once(':')?;
    // As Clang calls what is included.
    let file = file.strip_prefix("./").unwrap_or(file);
    let (number, rest) = rest.split_once(':')?;
    let number = number.parse().ok()?;
    match rest.split_once(':') {
        Some((column, after)) if column.parse::<u32>().is_ok() => {
            Some((file, number, column.parse().ok(), after.trim_start()))
        }
        _ => Some((file, number, None, rest.trim_start())),
    }
}

/// The name that the linker does not find.
fn missing(line: &str) -> Option<&str> {
    let quoted = |c: char| c == '`' || c == '\'' || c == '‘' || c == '’';
    let (_, rest) = line
        .split_once("undefined reference to ")
        .or_else(|| line.split_once("undefined symbol: "))?;
    Some(rest.trim_matches(quoted))
}

/// Adds to `text` what the compiler cannot know.
fn explained(text: &str) -> String {
    let why = if text.contains("No such file or directory") {
        "the simulator's headers are those that congestion controls of Linux include"
    } else if text.contains("implicit declaration of function") {
        "the simulator has what congestion controls of Linux call"
    } else if text.contains("has no member named") {
        "the simulator has the fields that congestion controls of Linux use"
    } else {
        return text.to_owned();
    };
    format!("{text} ({why}; under backend linux all of the kernel is there)")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> Vec<String> {
        let found = errors(text, "tcp_foo.c", "/cache/");
        found.iter().map(Message::to_string).collect()
    }

    #[test]
    fn errors_have_file_line_and_column() {
        let text = "In file included from tcp_foo.c:3:\n\
            tcp_foo.h:4:9: error: unknown type name 'u33'\n\
            tcp_foo.c:12:5: warning: unused variable 'x' [-Wunused-variable]\n\
            tcp_foo.c:14:7: error: expected ';' before '}' token\n   14 |   x\n      |    ^\n\
            tcp_foo.c:14:7: note: here\n";
        assert_eq!(
            said(text),
            [
                "tcp_foo.h:4:9: unknown type name 'u33'",
                "tcp_foo.c:14:7: expected ';' before '}' token",
            ]
        );
    }

    #[test]
    fn what_is_included_has_its_own_name() {
        let text = "In file included from tcp_foo.c:3:\n\
            ./parts/own.h:1:41: error: use of undeclared identifier 'none'\n1 error generated.\n";
        assert_eq!(
            said(text),
            ["parts/own.h:1:41: use of undeclared identifier 'none'"]
        );
    }

    #[test]
    fn what_is_not_ours_to_have_is_told_once() {
        let text = "/usr/bin/ld: a.o: in function `foo_init':\n\
            tcp_foo.c:9: undefined reference to `tcp_v4_connect'\n\
            tcp_foo.c:9: undefined reference to `tcp_v4_connect'\n";
        assert_eq!(
            said(text),
            ["tcp_foo.c:9: the simulator has no tcp_v4_connect, which the file calls"]
        );
    }
}
