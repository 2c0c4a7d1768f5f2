//! What writes to a flow.

use cclab_units::Time;

use crate::de::At;
use crate::error::{Problem, unknown};
use crate::scenario::Application;
use crate::text::{BriefOrFull, TimeText};
use crate::written;

/// Every application.
const APPLICATIONS: [&str; 4] = ["bulk", "on-off", "request-response", "telnet"];

/// Means of times that a study does not give.
const DEFAULT_SPELL: Time = Time::from_millis(500);
const DEFAULT_THINK: Time = Time::from_secs(1);

/// The application of `flow`; none: bulk.
pub(super) fn application(flow: &written::Flow) -> Result<Option<Application>, Problem> {
    let Some(At { at, value }) = &flow.application else {
        return Ok(None);
    };
    let at = *at;
    let plain;
    let written = match value {
        BriefOrFull::Full(written) => written,
        BriefOrFull::Brief(kind) => {
            plain = of_kind(kind);
            &plain
        }
    };
    let kind = written.kind.as_str();
    foreign(written, kind).map_err(|problem| problem.or_at(at))?;
    let needs = |what: &str| {
        let problem = Problem::new(
            format!("the application {kind} without a `{what}`"),
            format!("write it as a table with a `{what}`"),
        );
        problem.or_at(at)
    };
    let time = |written: Option<TimeText>, default| written.map_or(default, |time| time.0);
    let application = match kind {
        "bulk" => return Ok(None),
        "on-off" => Application::OnOff {
            rate: written.rate.ok_or_else(|| needs("rate"))?.0,
            on: time(written.on, DEFAULT_SPELL),
            off: time(written.off, DEFAULT_SPELL),
            constant: written.constant,
        },
        "request-response" => Application::RequestResponse {
            think: time(written.think, DEFAULT_THINK),
            constant: written.constant,
            response: written.response.ok_or_else(|| needs("response"))?.0,
        },
        "telnet" => Application::Telnet {
            interval: time(written.interval, DEFAULT_SPELL),
            nagle: written.nagle.unwrap_or(true),
        },
        other => return Err(unknown("application", other, APPLICATIONS.into_iter()).or_at(at)),
    };
    let zero = match application {
        Application::OnOff { on, .. } => on == Time::ZERO,
        Application::Telnet { interval, .. } => interval == Time::ZERO,
        Application::RequestResponse { .. } => false,
    };
    if zero {
        let problem = Problem::new(format!("a time of zero of {kind}"), "it is positive");
        return Err(problem.or_at(at));
    }
    let paced = flow.write_size.is_some() || flow.writes_per_second.is_some();
    if paced {
        let problem = Problem::new(
            format!("sizes or a rate of writes beside the application {kind}"),
            "the application decides what it writes",
        );
        return Err(problem.or_at(at));
    }
    Ok(Some(application))
}

/// An application with nothing said about it.
fn of_kind(kind: &str) -> written::Application {
    written::Application {
        kind: kind.to_owned(),
        rate: None,
        on: None,
        off: None,
        think: None,
        response: None,
        constant: false,
        interval: None,
        nagle: None,
    }
}

/// A parameter of another application is a slip.
fn foreign(written: &written::Application, kind: &str) -> Result<(), Problem> {
    let given = [
        ("rate", written.rate.is_some(), "on-off"),
        ("on", written.on.is_some(), "on-off"),
        ("off", written.off.is_some(), "on-off"),
        ("think", written.think.is_some(), "request-response"),
        ("response", written.response.is_some(), "request-response"),
        ("interval", written.interval.is_some(), "telnet"),
        ("nagle", written.nagle.is_some(), "telnet"),
    ];
    match given
        .into_iter()
        .find(|&(_, is_given, of)| is_given && of != kind)
    {
        Some((key, _, of)) if APPLICATIONS.contains(&kind) => Err(Problem::new(
            format!("`{key}` of the application {kind}"),
            format!("it belongs to {of}"),
        )),
        _ => Ok(()),
    }
}
