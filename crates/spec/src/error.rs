//! What is wrong with a study, and where: one message per problem.

use std::fmt;
use std::path::{Path, PathBuf};

use cclab_units::shown_path;
use serde::de::{self, Unexpected};

/// A problem in a study file or in a value given beside it. Its `Display` is the whole
/// message: `FILE:LINE:COLUMN: what is wrong; what would be right`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StudyError {
    /// The file, or the command-line option, that holds the offending text.
    pub file: String,
    /// Line, from 1; 0 where `file` is an argument as a whole.
    pub line: usize,
    /// Column in characters, from 1; 0 likewise.
    pub column: usize,
    /// What is wrong, with the offending text.
    pub message: String,
    /// What would be right; empty if the message says it all.
    pub help: String,
}

impl StudyError {
    /// `FILE:LINE:COLUMN`, or the argument.
    pub fn place(&self) -> String {
        match self.line {
            0 => self.file.clone(),
            line => format!("{}:{line}:{}", self.file, self.column),
        }
    }
}

impl fmt::Display for StudyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place(), self.message)?;
        if self.help.is_empty() {
            Ok(())
        } else {
            write!(f, "; {}", self.help)
        }
    }
}

impl std::error::Error for StudyError {}

/// A place in one of the [`Sources`] of a study.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Position {
    pub source: u32,
    pub offset: usize,
}

/// The texts a study was read from: the file first, then overrides.
#[derive(Clone, Debug)]
pub(crate) struct Sources {
    folder: PathBuf,
    texts: Vec<Source>,
}

#[derive(Clone, Debug)]
struct Source {
    name: String,
    /// `None`: nobody typed more than the name.
    text: Option<String>,
}

impl Sources {
    pub fn new(file: &Path, text: &str) -> Sources {
        let mut sources = Sources {
            folder: file.parent().map(Path::to_owned).unwrap_or_default(),
            texts: Vec::new(),
        };
        sources.add(&shown_path(file), text);
        sources
    }

    /// The folder of the study file.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Adds a text and gives its number.
    pub fn add(&mut self, name: &str, text: &str) -> u32 {
        self.push(name, Some(text.to_owned()))
    }

    /// Adds an argument that stands for a text which nobody typed, and gives its number.
    pub fn add_argument(&mut self, argument: &str) -> u32 {
        self.push(argument, None)
    }

    fn push(&mut self, name: &str, text: Option<String>) -> u32 {
        let name = name.to_owned();
        self.texts.push(Source { name, text });
        (self.texts.len() - 1) as u32
    }

    /// The message for `problem`; one without a place points at the beginning of the file.
    pub fn locate(&self, problem: Problem) -> StudyError {
        let at = problem.at.unwrap_or_default();
        let Source { name, text } = &self.texts[at.source as usize];
        let (line, column) = text
            .as_deref()
            .map_or((0, 0), |text| line_of(text, at.offset));
        StudyError {
            file: name.clone(),
            line,
            column,
            message: one_line(&problem.message),
            help: one_line(&problem.help),
        }
    }
}

/// Line and column of what stands `offset` bytes into `text`.
fn line_of(text: &str, offset: usize) -> (usize, usize) {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    let before = &text[..offset];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let column = before[line_start..].chars().count() + 1;
    (before.matches('\n').count() + 1, column)
}

/// Offending text may hold control characters; a message is one line all the same.
fn one_line(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

/// A problem before its place is turned into file, line and column.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Problem {
    pub at: Option<Position>,
    pub message: String,
    pub help: String,
    /// Whether the problem is a key that is not there.
    pub missing: bool,
}

impl Problem {
    pub fn new(message: impl Into<String>, help: impl Into<String>) -> Problem {
        Problem {
            at: None,
            message: message.into(),
            help: help.into(),
            missing: false,
        }
    }

    /// The same problem, placed at `at` unless it already has a place.
    pub fn or_at(mut self, at: Position) -> Problem {
        self.at.get_or_insert(at);
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if self.help.is_empty() {
            Ok(())
        } else {
            write!(f, "; {}", self.help)
        }
    }
}

impl std::error::Error for Problem {}

/// What `serde` finds wrong, in the words of this crate. The lists of names it passes are the
/// fields of the structs in `written`: the one owner of the study file's keys.
impl de::Error for Problem {
    fn custom<T: fmt::Display>(text: T) -> Problem {
        let text = text.to_string();
        match text.split_once("; ") {
            Some((message, help)) => Problem::new(message, help),
            None => Problem::new(text, ""),
        }
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn de::Expected) -> Problem {
        let expected = expected.to_string();
        let expected = match expected.as_str() {
            "u64" | "u32" => "a whole number from zero up",
            "f64" => "a number",
            "a boolean" => "true or false",
            "a string" => "a text",
            "a sequence" => "a list",
            "a map" => "a table",
            other => other,
        };
        Problem::new(
            format!("expected {expected}, found {}", describe(found)),
            "",
        )
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn de::Expected) -> Problem {
        Problem::invalid_type(found, expected)
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Problem {
        unknown(
            "key",
            field,
            expected
                .iter()
                .copied()
                .filter(|name| *name != crate::de::PARAMS),
        )
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Problem {
        unknown("value", variant, expected.iter().copied())
    }

    fn missing_field(field: &'static str) -> Problem {
        missing(field)
    }

    fn duplicate_field(field: &'static str) -> Problem {
        Problem::new(format!("`{field}` is given twice"), "")
    }
}

/// What a key that must be there is given like, where its name tells.
const EXAMPLES: [(&str, &str); 4] = [
    ("every", "every = [\"0.8ms\", \"5ms\"]"),
    ("limit", "limit = \"100p\""),
    ("network", "[network.bottleneck]"),
    ("rate", "rate = \"10Mbit\""),
];

/// The problem of a key that must be there and is not.
pub(crate) fn missing(field: &str) -> Problem {
    let known = EXAMPLES.iter().find(|(name, _)| *name == field);
    let help = known.map_or_else(String::new, |(_, example)| format!("such as `{example}`"));
    Problem {
        missing: true,
        ..Problem::new(format!("`{field}` is missing here"), help)
    }
}

fn describe(found: Unexpected<'_>) -> String {
    match found {
        Unexpected::Bool(value) => format!("`{value}`"),
        Unexpected::Unsigned(value) => format!("`{value}`"),
        Unexpected::Signed(value) => format!("`{value}`"),
        Unexpected::Float(value) => format!("`{value}`"),
        Unexpected::Str(value) => format!("\"{value}\""),
        Unexpected::Seq => "a list".to_owned(),
        Unexpected::Map => "a table".to_owned(),
        other => other.to_string(),
    }
}

/// The problem of a `what` called `name` that is none of `known`.
pub(crate) fn unknown<'a>(
    what: &str,
    name: &str,
    known: impl Iterator<Item = &'a str> + Clone,
) -> Problem {
    let help = match nearest(name, known.clone()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => {
            let known: Vec<String> = known.map(|name| format!("`{name}`")).collect();
            match known.len() {
                0 => String::new(),
                1 => format!("the only one is {}", known[0]),
                _ => format!("one of {}", known.join(", ")),
            }
        }
    };
    Problem::new(format!("unknown {what} `{name}`"), help)
}

/// The name of `known` that `name` most likely stands for, if one is near enough: within a
/// third of its letters, at least one, transpositions counting once.
pub(crate) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let lower = name.to_lowercase();
    known
        .map(|candidate| {
            (
                strsim::damerau_levenshtein(&lower, &candidate.to_lowercase()),
                candidate,
            )
        })
        .filter(|(distance, candidate)| {
            *distance <= (candidate.chars().count().max(name.chars().count()) / 3).max(1)
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}
