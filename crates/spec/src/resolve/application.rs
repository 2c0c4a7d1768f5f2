//! What writes to a flow.

use cclab_units::Time;

use crate::de::At;
use crate::error::{Problem, unknown};
use crate::kinds::{APPLICATIONS, Kind};
use crate::scenario::Application;
use crate::text::{BriefOrFull, TimeText};
use crate::written;

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
        other => {
            let names = APPLICATIONS.iter().map(|kind| kind.name);
            return Err(unknown("application", other, names).or_at(at));
        }
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
        ("rate", written.rate.is_some()),
        ("on", written.on.is_some()),
        ("off", written.off.is_some()),
        ("think", written.think.is_some()),
        ("response", written.response.is_some()),
        ("constant", written.constant),
        ("interval", written.interval.is_some()),
        ("nagle", written.nagle.is_some()),
    ];
    let Some(own) = APPLICATIONS.iter().find(|known| known.name == kind) else {
        return Ok(());
    };
    for (name, _) in given.into_iter().filter(|&(_, is_given)| is_given) {
        let takes = |kind: &&Kind| kind.keys.iter().any(|key| key.name == name);
        if takes(&own) {
            continue;
        }
        let owners: Vec<&str> = APPLICATIONS
            .iter()
            .filter(takes)
            .map(|kind| kind.name)
            .collect();
        return Err(Problem::new(
            format!("`{name}` of the application {kind}"),
            format!("it belongs to {}", owners.join(" and ")),
        ));
    }
    Ok(())
}
