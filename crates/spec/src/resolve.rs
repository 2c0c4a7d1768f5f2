//! From a study as written to a scenario: defaults, units, and what only shows when keys are
//! seen together.

mod network;

use std::collections::BTreeMap;

use cclab_units::Time;
use network::{PathFacts, access_link, bottleneck_link};

use crate::de::At;
use crate::error::{Problem, unknown};
use crate::names::{DEFAULT_STACK, DEFAULT_VARIANT, Names, Parametric};
use crate::path::default_name;
use crate::scenario::{
    DelayAt, Direction, Flow, Network, Scenario, Start, Topology, TraceOptions, Traffic,
};
use crate::text::{BriefOrFull, TimeText};
use crate::written;

/// IP and TCP headers without options: a packet is at least this much larger than its payload.
const HEADERS: u64 = 40;

/// Distance of the samples of a study that does not say.
const DEFAULT_INTERVAL: Time = Time::from_millis(100);
/// More rows of samples than these in one run are a slip, not a wish.
const MAX_SAMPLES: u64 = 10_000_000;
/// Width of the interval a flow's start is drawn from unless the flow says otherwise: wide
/// enough that repeats differ and flows do not march in step.
const DEFAULT_SPREAD: Time = Time::from_millis(100);

/// The most flows a scenario may have.
const MAX_FLOWS: u64 = 100_000;

/// The largest snap length that packet captures know (tcpdump's).
const MAX_SNAPLEN: u64 = 262_144;

/// Makes the scenario of `study`.
pub(crate) fn resolve(study: &written::Study, names: &Names) -> Result<Scenario, Problem> {
    let duration = study.duration.as_ref().map(positive_time).transpose()?;
    let warmup = study
        .warmup
        .as_ref()
        .map_or(Time::ZERO, |warmup| warmup.value.0);
    if let (Some(end), Some(written)) = (duration, &study.warmup)
        && warmup >= end
    {
        return Err(Problem::new(
            format!("a warm-up of {warmup} leaves nothing of a run of {end}"),
            "choose a shorter warmup or a longer duration",
        )
        .or_at(written.at));
    }
    let stack_names = names.stacks.iter().map(|stack| stack.name.as_str());
    let stack = known("stack", study.stack.as_ref(), DEFAULT_STACK, stack_names)?;
    let packets = names.stacks.iter().find(|known| known.name == stack);
    let (stack_mss, overhead) = packets.map_or((0, 0), |p| (p.mss, p.overhead));

    let bottleneck = &study.network.bottleneck.value;
    let access = study.network.access.clone().unwrap_or_default();
    let one_way = bottleneck.delay.map_or(Time::ZERO, |delay| delay.0)
        + access.delay.map_or(Time::ZERO, |delay| delay.0) * 2;
    let flows = flows(study, names, duration, one_way)?;
    let path = PathFacts {
        max_rtt: flows
            .iter()
            .map(|flow| (one_way + flow.extra_delay) * 2)
            .max()
            .unwrap_or(one_way * 2),
        packet: flows
            .iter()
            .map(|flow| u64::from(flow.mss.unwrap_or(stack_mss)))
            .max()
            .unwrap_or(0)
            + u64::from(overhead),
        limit_is_exclusive: packets.is_some_and(|p| p.limit_is_exclusive),
        duration,
    };
    let network = Network {
        topology: study.network.topology.unwrap_or(Topology::Dumbbell),
        bottleneck: bottleneck_link(bottleneck, &path, names)?,
        access: access_link(&access, &path, names)?,
    };
    let traffic = traffic(study, names)?;
    let trace = trace(study, &flows, &path)?;
    Ok(Scenario {
        duration,
        warmup,
        stack,
        network,
        flows,
        traffic,
        trace,
    })
}

fn known<'a>(
    what: &str,
    written: Option<&At<String>>,
    default: &str,
    names: impl Iterator<Item = &'a str> + Clone,
) -> Result<String, Problem> {
    match written {
        None => Ok(default.to_owned()),
        Some(name) if names.clone().any(|known| known == name.value) => Ok(name.value.clone()),
        Some(name) => Err(unknown(what, &name.value, names).or_at(name.at)),
    }
}

fn positive_time(time: &At<crate::text::TimeText>) -> Result<Time, Problem> {
    match time.value.0 {
        Time::ZERO => {
            Err(Problem::new("the duration is zero", "a duration is positive").or_at(time.at))
        }
        time => Ok(time),
    }
}

/// The parameters of `kind`, checked against the names it takes.
fn params(
    written: &written::Params,
    kinds: &[Parametric],
    kind: &str,
    fields: &[&str],
) -> Result<BTreeMap<String, f64>, Problem> {
    let takes = kinds
        .iter()
        .find(|known| known.name == kind)
        .map_or(&[][..], |known| &known.params);
    for key in written.keys() {
        if !takes.contains(&key.value) {
            let known = takes
                .iter()
                .map(String::as_str)
                .chain(fields.iter().copied());
            return Err(unknown(&format!("parameter of {kind}"), &key.value, known).or_at(key.at));
        }
    }
    Ok(written
        .iter()
        .map(|(key, param)| (key.value.clone(), param.0))
        .collect())
}

fn flows(
    study: &written::Study,
    names: &Names,
    run: Option<Time>,
    one_way: Time,
) -> Result<Vec<Flow>, Problem> {
    let mut taken: Vec<&str> = Vec::new();
    let defaults: Vec<String> = (0..study.flow.len())
        .map(|index| default_name("flow", index))
        .collect();
    let mut flows = Vec::new();
    for (written, default) in study.flow.iter().zip(&defaults) {
        let name = unique_name(written.value.name.as_ref(), default, written.at, &mut taken)?;
        let flow = flow(written, name, names, run, one_way)?;
        let count = written.value.count.as_ref().map_or(1, |count| count.value);
        if count == 0 || count + flows.len() as u64 > MAX_FLOWS {
            let at = written
                .value
                .count
                .as_ref()
                .map_or(written.at, |count| count.at);
            return Err(Problem::new(
                format!("{count} flows cannot be run"),
                format!("count is at least 1, and a study has at most {MAX_FLOWS} flows"),
            )
            .or_at(at));
        }
        if count == 1 {
            flows.push(flow);
        } else {
            flows.extend((1..=count).map(|i| Flow {
                name: format!("{name}.{i}"),
                ..flow.clone()
            }));
        }
    }
    if flows.is_empty() {
        return Err(Problem::new("the study has no flow", "add a [[flow]]"));
    }
    Ok(flows)
}

fn unique_name<'a>(
    written: Option<&'a At<String>>,
    default: &'a str,
    entry: crate::error::Position,
    taken: &mut Vec<&'a str>,
) -> Result<&'a str, Problem> {
    let (name, at) = written.map_or((default, entry), |name| (name.value.as_str(), name.at));
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.is_empty() || name.len() > 64 || !name.chars().all(plain) {
        return Err(Problem::new(
            format!("\"{name}\" cannot be a name"),
            "use up to 64 letters, digits, `-` and `_`",
        )
        .or_at(at));
    }
    if taken.contains(&name) {
        return Err(
            Problem::new(format!("the name `{name}` is taken"), "names are unique").or_at(at),
        );
    }
    taken.push(name);
    Ok(name)
}

fn flow(
    written: &At<written::Flow>,
    name: &str,
    names: &Names,
    run: Option<Time>,
    one_way: Time,
) -> Result<Flow, Problem> {
    let At { at, value: flow } = written;
    let duration = flow.duration.as_ref().map(positive_time).transpose()?;
    if run.is_none() && duration.is_none() && flow.transfer.is_none() && flow.command.is_none() {
        return Err(Problem::new(
            format!("flow `{name}` never ends"),
            "give it a `transfer` or a `duration`, or the study a `duration`",
        )
        .or_at(*at));
    }
    let own_rtt = one_way * 2;
    let extra_delay = match &flow.rtt {
        None => Time::ZERO,
        Some(rtt) if rtt.value.0 >= own_rtt => (rtt.value.0 - own_rtt) / 2,
        Some(rtt) => {
            return Err(Problem::new(
                format!(
                    "a base RTT of {} is shorter than the path's own, {own_rtt}",
                    rtt.value.0
                ),
                format!("write at least \"{own_rtt}\", or shorten the delays of the network"),
            )
            .or_at(rtt.at));
        }
    };
    let start = match &flow.start {
        None => Start {
            at: Time::ZERO,
            spread: DEFAULT_SPREAD,
        },
        Some(BriefOrFull::Brief(at)) => Start {
            at: at.0,
            spread: Time::ZERO,
        },
        Some(BriefOrFull::Full(start)) => Start {
            at: start.at.map_or(Time::ZERO, |at| at.0),
            spread: start.spread.map_or(DEFAULT_SPREAD, |spread| spread.0),
        },
    };
    if let Some(writes) = flow
        .writes_per_second
        .as_ref()
        .filter(|w| !(w.value.is_finite() && w.value > 0.0))
    {
        let problem = Problem::new(
            format!("`{}` writes per second", writes.value),
            "it is positive and finite",
        );
        return Err(problem.or_at(writes.at));
    }
    if let Some(every) = flow.delayed_ack.as_ref().filter(|every| every.value == 0) {
        return Err(Problem::new(
            "an acknowledgement after `0` segments",
            "1 acknowledges every segment",
        )
        .or_at(every.at));
    }
    if let Some(command) = flow
        .command
        .as_ref()
        .filter(|command| command.value.is_empty())
    {
        return Err(
            Problem::new("the command is empty", "list a program and its arguments")
                .or_at(command.at),
        );
    }
    Ok(Flow {
        name: name.to_owned(),
        cc: known(
            "variant",
            flow.cc.as_ref(),
            DEFAULT_VARIANT,
            names.variants.iter().map(String::as_str),
        )?,
        extra_delay,
        start,
        transfer: flow.transfer.map(|transfer| transfer.0),
        duration,
        rwnd: flow.rwnd.map(|rwnd| rwnd.0),
        mss: flow.mss.as_ref().map(mss).transpose()?,
        write_size: flow.write_size.map(|size| size.0),
        writes_per_second: flow.writes_per_second.as_ref().map(|writes| writes.value),
        ecn: flow.ecn.unwrap_or(false),
        delayed_ack: flow.delayed_ack.as_ref().map(|every| every.value),
        direction: flow.direction.unwrap_or(Direction::Forward),
        application: flow.application.clone(),
        command: flow.command.as_ref().map(|command| command.value.clone()),
        delay_at: flow.delay_at.unwrap_or(DelayAt::Router),
        sysctl: flow
            .sysctl
            .iter()
            .map(|(key, value)| (key.clone(), value.0.clone()))
            .collect(),
    })
}

/// IPv4's total length, 16 bits, bounds a segment.
fn mss(written: &At<crate::text::SizeText>) -> Result<u32, Problem> {
    let largest = u64::from(u16::MAX) - HEADERS;
    match u32::try_from(written.value.0) {
        Ok(mss) if u64::from(mss) <= largest => Ok(mss),
        _ => Err(Problem::new(
            format!(
                "a segment of {} bytes does not fit an IP packet",
                written.value.0
            ),
            format!("write at most \"{largest}B\""),
        )
        .or_at(written.at)),
    }
}

fn traffic(study: &written::Study, names: &Names) -> Result<Vec<Traffic>, Problem> {
    let mut taken = Vec::new();
    let defaults: Vec<String> = (0..study.traffic.len())
        .map(|index| default_name("traffic", index))
        .collect();
    let mut all = Vec::new();
    for (written, default) in study.traffic.iter().zip(&defaults) {
        let At { at, value: traffic } = written;
        let name = unique_name(traffic.name.as_ref(), default, *at, &mut taken)?.to_owned();
        let kinds = names.traffic.iter().map(|kind| kind.name.as_str());
        let kind = known("kind of cross traffic", Some(&traffic.kind), "", kinds)?;
        let params = params(&traffic.params, &names.traffic, &kind, &["name", "kind"])?;
        all.push(Traffic { name, kind, params });
    }
    Ok(all)
}

fn trace(
    study: &written::Study,
    flows: &[Flow],
    path: &PathFacts,
) -> Result<TraceOptions, Problem> {
    let trace = study.trace.clone().unwrap_or_default();
    let mut events = trace.events.clone();
    events.sort();
    events.dedup();
    let points = || {
        let ends = flows.iter().flat_map(|flow| {
            [
                format!("{}.sender", flow.name),
                format!("{}.receiver", flow.name),
            ]
        });
        std::iter::once("bottleneck".to_owned()).chain(ends)
    };
    let mut capture: Vec<String> = Vec::new();
    for point in &trace.capture {
        if !points().any(|known| known == point.value) {
            let known: Vec<String> = points().collect();
            let problem = unknown(
                "point of capture",
                &point.value,
                known.iter().map(String::as_str),
            );
            return Err(problem.or_at(point.at));
        }
        if !capture.contains(&point.value) {
            capture.push(point.value.clone());
        }
    }
    let from = match &trace.from {
        None => Time::ZERO,
        Some(At { at, value }) => {
            path.begins("tracing", value.0)
                .map_err(|problem| problem.or_at(*at))?;
            value.0
        }
    };
    let interval = interval(trace.interval.as_ref(), flows.len(), path.duration)?;
    if let Some(until) = trace.until.as_ref().filter(|until| until.value.0 <= from) {
        let problem = Problem::new(
            format!("tracing ends at {} and begins at {from}", until.value.0),
            "`until` lies after `from`",
        );
        return Err(problem.or_at(until.at));
    }
    let snaplen = match &trace.snaplen {
        None => 96,
        Some(At { value, .. }) if value.0 <= MAX_SNAPLEN => value.0 as u32,
        Some(At { at, value }) => {
            let problem = Problem::new(
                format!("a snap length of {} bytes is too large", value.0),
                format!("write at most \"{MAX_SNAPLEN}B\""),
            );
            return Err(problem.or_at(*at));
        }
    };
    Ok(TraceOptions {
        interval,
        events,
        capture,
        snaplen,
        from,
        until: trace.until.map(|until| until.value.0),
    })
}

/// The distance of samples: not so small that they fill the disk.
fn interval(
    written: Option<&At<TimeText>>,
    flows: usize,
    duration: Option<Time>,
) -> Result<Time, Problem> {
    let Some(At { at, value }) = written else {
        return Ok(DEFAULT_INTERVAL);
    };
    let interval = value.0;
    let longest = duration.unwrap_or(Time::from_secs(60));
    if interval == Time::ZERO {
        return Ok(interval);
    }
    let samples = longest.as_nanos() / interval.as_nanos() * flows as u64;
    if samples > MAX_SAMPLES {
        return Err(Problem::new(
            format!("samples every {interval} are {samples} rows a run"),
            format!("choose an interval that makes at most {MAX_SAMPLES}, or \"0s\" for none"),
        )
        .or_at(*at));
    }
    Ok(interval)
}
