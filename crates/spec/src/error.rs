//! What is wrong with a study, and where: one message per problem.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::de::{self, Unexpected};

/// A problem in a study file or in a value given beside it. Its `Display` is the whole
/// message: `FILE:LINE:COLUMN: what is wrong; what would be right`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StudyError {
    /// The file, or the command-line option, that holds the offending text.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What is wrong, with the offending text.
    pub message: String,
    /// What would be right; empty if the message says it all.
    pub help: String,
}

impl fmt::Display for StudyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}:{}:{}: {}",
            self.file, self.line, self.column, self.message
        )?;
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
pub(crate) struct Sources(Vec<(String, String)>);

impl Sources {
    pub fn new(file: &str, text: &str) -> Sources {
        Sources(vec![(file.to_owned(), text.to_owned())])
    }

    /// The folder of the study file.
    pub fn folder(&self) -> PathBuf {
        let file = Path::new(&self.0[0].0);
        file.parent().map(Path::to_owned).unwrap_or_default()
    }

    /// Adds a text and gives its number.
    pub fn add(&mut self, name: &str, text: &str) -> u32 {
        self.0.push((name.to_owned(), text.to_owned()));
        (self.0.len() - 1) as u32
    }

    /// The message for `problem`; one without a place points at the beginning of the file.
    pub fn locate(&self, problem: Problem) -> StudyError {
        let at = problem.at.unwrap_or_default();
        let (file, text) = &self.0[at.source as usize];
        let mut offset = at.offset.min(text.len());
        while !text.is_char_boundary(offset) {
            offset -= 1;
        }
        let before = &text[..offset];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        StudyError {
            file: file.clone(),
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            message: one_line(&problem.message),
            help: one_line(&problem.help),
        }
    }
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
        Problem {
            missing: true,
            ..Problem::new(format!("`{field}` is missing here"), "")
        }
    }

    fn duplicate_field(field: &'static str) -> Problem {
        Problem::new(format!("`{field}` is given twice"), "")
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
