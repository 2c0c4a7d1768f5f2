//! Programs that run in place of a bulk flow.

use crate::de::At;
use crate::error::{Position, Problem, unknown};
use crate::placeholder::{PLACEHOLDERS, Piece, pieces};
use crate::text::Command;
use crate::written;

/// The programs of a flow; none: the flow is bulk.
pub(super) struct Program {
    /// The sender's program and its arguments.
    pub client: Option<Vec<String>>,
    /// The receiver's.
    pub server: Option<Vec<String>>,
}

/// The programs of `flow`; `ends` tells whether the study or the flow has a duration.
pub(super) fn program(flow: &written::Flow, ends: bool) -> Result<Program, Problem> {
    let check = |what: &str, written: &Option<At<Command>>| {
        let check = |command: &At<Command>| arguments(what, command, ends);
        written.as_ref().map(check).transpose()
    };
    let client = check("command", &flow.command)?;
    let server = check("server", &flow.server)?;
    if let (None, Some(server)) = (&client, &flow.server) {
        let problem = Problem::new(
            "a `server` without a `command`",
            "give the sender's program as `command`, or leave the server out",
        );
        return Err(problem.or_at(server.at));
    }
    if client.is_some()
        && let Some((key, at)) = conflict(flow)
    {
        let problem = Problem::new(
            format!("`{key}` beside a `command`"),
            "a program decides itself what it sends: say it by the program's own arguments",
        );
        return Err(problem.or_at(at));
    }
    Ok(Program { client, server })
}

/// The first key that says what a flow sends, where a program does.
fn conflict(flow: &written::Flow) -> Option<(&'static str, Position)> {
    [
        ("transfer", flow.transfer.as_ref().map(|value| value.at)),
        ("write_size", flow.write_size.as_ref().map(|value| value.at)),
        (
            "writes_per_second",
            flow.writes_per_second.as_ref().map(|value| value.at),
        ),
        (
            "application",
            flow.application.as_ref().map(|value| value.at),
        ),
    ]
    .into_iter()
    .find_map(|(key, at)| at.map(|at| (key, at)))
}

/// A program and its arguments, as written: their placeholders are known ones.
fn arguments(what: &str, written: &At<Command>, ends: bool) -> Result<Vec<String>, Problem> {
    let list = &written.value.0;
    let program = list.first().filter(|first| !first.value.is_empty());
    if program.is_none() {
        let problem = Problem::new(
            format!("the {what} is empty"),
            "list a program and its arguments",
        );
        return Err(problem.or_at(written.at));
    }
    for argument in list {
        if argument.value.contains('\0') {
            let problem = Problem::new("an argument holds a zero byte", "no program can read it");
            return Err(problem.or_at(argument.at));
        }
        for piece in pieces(&argument.value) {
            let Piece::Placeholder(name) = piece else {
                continue;
            };
            if !PLACEHOLDERS.contains(&name) {
                let problem = unknown("placeholder", name, PLACEHOLDERS.into_iter());
                let help = format!("{}; write {{{{{name}}}}} for braces", problem.help);
                return Err(Problem { help, ..problem }.or_at(argument.at));
            }
            if name == "duration" && !ends {
                let problem = Problem::new(
                    "`{duration}` of a flow that has none",
                    "give the flow or the study a `duration`",
                );
                return Err(problem.or_at(argument.at));
            }
        }
    }
    let texts = list.iter().map(|argument| argument.value.clone());
    Ok(texts.collect())
}
