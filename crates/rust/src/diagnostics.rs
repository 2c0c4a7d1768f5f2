//! What `rustc` says with `--error-format=json`
//! (<https://doc.rust-lang.org/rustc/json.html>).

use cclab_spec::{StudyError, VariantFile};
use serde::Deserialize;

use crate::of_file;

/// Errors that are told; the rest follow from them more often than not.
const MOST: usize = 20;

#[derive(Deserialize)]
struct Diagnostic {
    message: String,
    #[serde(default)]
    level: String,
    #[serde(default)]
    spans: Vec<Span>,
    #[serde(default)]
    children: Vec<Diagnostic>,
}

#[derive(Deserialize)]
struct Span {
    file_name: String,
    line_start: usize,
    column_start: usize,
    is_primary: bool,
    label: Option<String>,
    suggested_replacement: Option<String>,
    expansion: Option<Box<Expansion>>,
}

#[derive(Deserialize)]
struct Expansion {
    span: Span,
}

/// The errors in what the compiler `said` of `file`.
pub(crate) fn errors(file: &VariantFile, said: &str) -> Vec<StudyError> {
    let lines = said.lines().filter(|line| line.starts_with('{'));
    let told = lines.filter_map(|line| serde_json::from_str::<Diagnostic>(line).ok());
    let errors = told.filter(|told| told.level.starts_with("error"));
    let mut found: Vec<StudyError> = errors.filter_map(|told| error(file, told)).collect();
    found.truncate(MOST);
    found
}

/// One error; `None` if it only counts the others.
fn error(file: &VariantFile, told: Diagnostic) -> Option<StudyError> {
    let primary = told.spans.iter().find(|span| span.is_primary);
    let at = primary.and_then(|span| within(file, span));
    if at.is_none() && told.message.starts_with("aborting due to") {
        return None;
    }
    if told.message.starts_with("linker `") {
        let help = "install a C compiler, whose linker rustc calls: the package gcc";
        return Some(of_file(file, (told.message, help.to_owned())));
    }
    let label = primary.and_then(|span| span.label.as_deref());
    let message = match label {
        // It says the same more often than not, without marks.
        Some(label) if !plain(&told.message).contains(&plain(label)) => {
            format!("{}: {label}", told.message)
        }
        _ => told.message,
    };
    let help: Vec<String> = told.children.iter().filter_map(help).collect();
    let (line, column) = at.map_or((0, 0), |span| (span.line_start, span.column_start));
    Some(StudyError {
        file: at.map_or(&file.file, |span| &span.file_name).clone(),
        line,
        column,
        message,
        help: help.join("; "),
    })
}

/// What the compiler says without the marks around names.
fn plain(said: &str) -> String {
    said.replace('`', "")
}

/// Where in the texts of `file` the span is; of what a macro wrote, where the macro stands.
fn within<'a>(file: &VariantFile, span: &'a Span) -> Option<&'a Span> {
    let mut span = span;
    while !file.texts.contains_key(&span.file_name) {
        span = &span.expansion.as_ref()?.span;
    }
    Some(span)
}

/// What a note or a suggestion says, in one line.
fn help(told: &Diagnostic) -> Option<String> {
    if !["help", "note"].contains(&&*told.level) {
        return None;
    }
    let mut said = told
        .message
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    let instead = told
        .spans
        .iter()
        .find_map(|span| span.suggested_replacement.as_deref());
    if let Some(instead) = instead.map(str::trim).filter(|instead| !instead.is_empty()) {
        said.push_str(&format!(": `{instead}`"));
    }
    Some(said)
}
