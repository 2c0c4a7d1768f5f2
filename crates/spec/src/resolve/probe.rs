//! Probes: where they run, how often they send, and how much.

use cclab_units::Time;

use super::flow::unique_name;
use super::layout::{self, Layout};
use super::network::PathFacts;
use crate::de::At;
use crate::error::Problem;
use crate::flow::Flow;
use crate::path::default_name;
use crate::probe::{MAX_PAYLOAD, MIN_UDP_PAYLOAD, Probe, ProbeKind};
use crate::scenario::Traffic;
use crate::text::{SizeText, TimeText};
use crate::written;

/// The distance of the echoes of a probe that does not say.
const DEFAULT_INTERVAL: Time = Time::from_millis(200);
/// Echoes nearer to each other than this load a path, they do not probe it.
const LEAST_INTERVAL: Time = Time::from_micros(10);
/// Data of an echo that does not say, as `ping` has them.
const DEFAULT_PAYLOAD: u16 = 56;
/// More echoes of one probe in one run are a slip, not a wish.
const MAX_ECHOES: u64 = 10_000_000;

/// All probes of `study`, beside its `flows` and its `traffic`.
pub(super) fn probes(
    study: &written::Study,
    layout: &Layout<'_>,
    path: &PathFacts,
    flows: &[Flow],
    traffic: &[Traffic],
) -> Result<Vec<Probe>, Problem> {
    let others = flows.iter().map(|flow| flow.name.as_str());
    let others = others.chain(traffic.iter().map(|source| source.name.as_str()));
    let mut taken: Vec<&str> = others.collect();
    let defaults: Vec<String> = (0..study.probe.len())
        .map(|index| default_name("probe", index))
        .collect();
    study
        .probe
        .iter()
        .zip(&defaults)
        .map(|(written, default)| {
            let name = unique_name(written.value.name.as_ref(), default, written.at, &mut taken)?;
            one(written, name, layout, path)
        })
        .collect()
}

fn one(
    written: &At<written::Probe>,
    name: &str,
    layout: &Layout<'_>,
    path: &PathFacts,
) -> Result<Probe, Problem> {
    let At { at, value } = written;
    let ends = layout.ends(&layout::Written {
        at: *at,
        name,
        what: "probe",
        keys: value.place(),
    })?;
    let (start, stop) = path.span("this probe", value.start.as_ref(), value.stop.as_ref())?;
    let kind = value.kind.unwrap_or_default();
    let until = stop.into_iter().chain(path.duration).min();
    Ok(Probe {
        name: name.to_owned(),
        kind,
        interval: interval(value.interval.as_ref(), until.map(|until| until - start))?,
        payload: payload(value.payload.as_ref(), kind)?,
        extra_delay: ends.extra_delay,
        direction: ends.direction,
        crosses: ends.crosses,
        from: ends.from,
        to: ends.to,
        start,
        stop,
    })
}

/// The distance of echoes that are sent for the time `span`, if that is known.
fn interval(written: Option<&At<TimeText>>, span: Option<Time>) -> Result<Time, Problem> {
    let Some(At { at, value }) = written else {
        return Ok(DEFAULT_INTERVAL);
    };
    let interval = value.0;
    if interval < LEAST_INTERVAL {
        return Err(Problem::new(
            format!("a probe every {interval} is a flood"),
            format!(
                "write at least \"{LEAST_INTERVAL}\", or load the path by [[traffic]] of kind \
                 \"constant-rate\""
            ),
        )
        .or_at(*at));
    }
    let echoes = span.map_or(0, |span| span.as_nanos() / interval.as_nanos());
    if echoes > MAX_ECHOES {
        return Err(Problem::new(
            format!("a probe every {interval} is {echoes} rows a run"),
            format!("choose an interval that makes at most {MAX_ECHOES}"),
        )
        .or_at(*at));
    }
    Ok(interval)
}

fn payload(written: Option<&At<SizeText>>, kind: ProbeKind) -> Result<u16, Problem> {
    let Some(At { at, value }) = written else {
        return Ok(DEFAULT_PAYLOAD);
    };
    let bytes = value.0;
    let least = match kind {
        ProbeKind::Ping => 0,
        ProbeKind::Udp => MIN_UDP_PAYLOAD,
    };
    if bytes > u64::from(MAX_PAYLOAD) {
        return Err(Problem::new(
            format!("a payload of {bytes} bytes does not fit one packet"),
            format!("write at most \"{MAX_PAYLOAD}B\""),
        )
        .or_at(*at));
    }
    if bytes < u64::from(least) {
        return Err(Problem::new(
            format!("a payload of {bytes} bytes cannot say which echo it is"),
            format!("write at least \"{least}B\""),
        )
        .or_at(*at));
    }
    Ok(bytes as u16)
}
