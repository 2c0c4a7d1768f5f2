//! What writes to a flow.

use std::borrow::Cow;

use cclab_units::Time;

use super::datagrams::video;
use super::positive_time;
use crate::application::{Application, Media, PaceChange};
use crate::de::At;
use crate::error::{Problem, unknown};
use crate::kinds::{APPLICATIONS, Kind};
use crate::text::{BriefOrFull, OneOrMany, TimeText};
use crate::written;

/// The applications of TCP.
pub(super) const OF_TCP: &[&str] = &[
    "bulk",
    "scheduled",
    "frames",
    "on-off",
    "request-response",
    "telnet",
];
/// Those of UDP.
pub(super) const OF_UDP: &[&str] = &["constant-rate", "on-off", "video"];

/// Means of times that a study does not give.
pub(super) const DEFAULT_SPELL: Time = Time::from_millis(500);
const DEFAULT_THINK: Time = Time::from_secs(1);

/// The application of `flow` over TCP in a study that ends at `run`, if it says so; none: bulk.
pub(super) fn application(
    flow: &written::Flow,
    run: Option<Time>,
) -> Result<Option<Application>, Problem> {
    let Some(At { at, value }) = &flow.application else {
        return Ok(None);
    };
    let at = *at;
    let written = &full(value);
    let kind = written.kind.as_str();
    foreign(written, kind, OF_TCP).map_err(|problem| problem.or_at(at))?;
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
        "frames" => Application::Frames(media(flow, written)?),
        "scheduled" if written.schedule.0.is_empty() => return Err(needs("schedule")),
        "scheduled" => Application::Scheduled {
            schedule: schedule(&written.schedule.0, run)?,
        },
        other => return Err(not_over(other, "TCP", OF_TCP).or_at(at)),
    };
    let zero = match application {
        Application::OnOff { on, .. } => on == Time::ZERO,
        Application::Telnet { interval, .. } => interval == Time::ZERO,
        Application::RequestResponse { .. }
        | Application::Frames(_)
        | Application::Scheduled { .. } => false,
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

/// Frames on a connection.
fn media(flow: &written::Flow, written: &written::Application) -> Result<Media, Problem> {
    let video = video(flow, written, u32::MAX)?;
    let skip_after = written.skip_after.as_ref();
    Ok(Media {
        frame_rate: video.frame_rate,
        i_frame: video.i_frame,
        p_frame: video.p_frame,
        group: video.group,
        deadline: video.deadline,
        skip_after: skip_after.map(positive_time).transpose()?,
    })
}

/// The changes of an application's pace, in the order of time.
fn schedule(
    written: &[written::PaceChange],
    run: Option<Time>,
) -> Result<Vec<PaceChange>, Problem> {
    let mut changes: Vec<PaceChange> = Vec::new();
    for change in written {
        let At { at: place, value } = &change.at;
        let at = value.0;
        if let Some(end) = run.filter(|&end| at >= end) {
            let problem = Problem::new(
                format!("this change begins at {at}, but the run ends at {end}"),
                "let it begin earlier or the run last longer",
            );
            return Err(problem.or_at(*place));
        }
        if changes.iter().any(|earlier| earlier.at == at) {
            let problem = Problem::new(
                format!("another change of this schedule is at {at} too"),
                "an application does one thing at a time: leave one of them out",
            );
            return Err(problem.or_at(*place));
        }
        changes.push(PaceChange::new(at, change.rate.0));
    }
    changes.sort_by_key(|change| change.at);
    Ok(changes)
}

/// The application as a table.
pub(super) fn full(
    written: &BriefOrFull<String, written::Application>,
) -> Cow<'_, written::Application> {
    match written {
        BriefOrFull::Full(written) => Cow::Borrowed(written),
        BriefOrFull::Brief(kind) => Cow::Owned(of_kind(kind)),
    }
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
        payload: None,
        frame_rate: None,
        i_frame: None,
        p_frame: None,
        group: None,
        deadline: None,
        skip_after: None,
        schedule: OneOrMany::default(),
    }
}

/// What is wrong with the application `kind`, which none of `own` is.
pub(super) fn not_over(kind: &str, transport: &str, own: &[&str]) -> Problem {
    if !APPLICATIONS.iter().any(|known| known.name == kind) {
        return unknown("application", kind, own.iter().copied());
    }
    let (other, key) = match transport {
        "TCP" => ("UDP", "write transport = \"udp\" beside it"),
        _ => ("TCP", "leave `transport` out"),
    };
    let own = own.join(", ");
    Problem::new(
        format!("the application {kind} over {transport}"),
        format!("it is one of {other}: {key}, or choose among {own}"),
    )
}

/// A parameter of another application is a slip. `over` are those of the same transport.
pub(super) fn foreign(
    written: &written::Application,
    kind: &str,
    over: &[&str],
) -> Result<(), Problem> {
    let given = [
        ("rate", written.rate.is_some()),
        ("on", written.on.is_some()),
        ("off", written.off.is_some()),
        ("think", written.think.is_some()),
        ("response", written.response.is_some()),
        ("constant", written.constant),
        ("interval", written.interval.is_some()),
        ("nagle", written.nagle.is_some()),
        ("payload", written.payload.is_some()),
        ("frame_rate", written.frame_rate.is_some()),
        ("i_frame", written.i_frame.is_some()),
        ("p_frame", written.p_frame.is_some()),
        ("group", written.group.is_some()),
        ("deadline", written.deadline.is_some()),
        ("skip_after", written.skip_after.is_some()),
        ("schedule", !written.schedule.0.is_empty()),
    ];
    let Some(own) = APPLICATIONS.iter().find(|known| known.name == kind) else {
        return Ok(());
    };
    // Every source of datagrams has a payload, and none of TCP.
    let datagrams = over == OF_UDP;
    for (name, _) in given.into_iter().filter(|&(_, is_given)| is_given) {
        let takes = |kind: &&Kind| kind.keys.iter().any(|key| key.name == name);
        if takes(&own) || (datagrams && name == "payload") {
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
