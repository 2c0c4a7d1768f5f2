//! From a study as written to a scenario: defaults, units, and what only shows when keys are
//! seen together.

mod application;
mod change;
mod datagrams;
mod files;
mod flow;
mod graph;
mod jitter;
mod layout;
mod link;
mod network;
mod params;
mod probe;
mod program;
mod receiver;
mod relations;
mod remark;
mod remembered;
mod traffic;
mod variant;

use cclab_units::Time;
pub(crate) use files::Files;
use flow::{Around, flows, kernel_name};
use layout::Layout;
use link::Links;
use network::{NoFlow, PathFacts, bottlenecks};
use serde::de::Error as _;

use crate::de::At;
use crate::error::{Problem, unknown};
use crate::names::{DEFAULT_STACK, Names};
use crate::path::default_name;
use crate::points::Points;
use crate::scenario::{Network, Scenario, Topology, TraceOptions};
use crate::text::TimeText;
use crate::written;

/// Distance of the samples of a study that does not say.
const DEFAULT_INTERVAL: Time = Time::from_millis(100);
/// More rows of samples than these in one run are a slip, not a wish.
pub const MAX_SAMPLES: u64 = 10_000_000;
/// The largest snap length that packet captures know (tcpdump's).
const MAX_SNAPLEN: u64 = 262_144;

/// Makes the scenario of `study`.
pub(crate) fn resolve(
    study: &written::Study,
    names: &Names,
    files: &mut Files<'_>,
) -> Result<Scenario, Problem> {
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

    let written = &study.network.value;
    let bottleneck = written.bottleneck.as_ref().map(|written| &written.value);
    let access = written.access.as_ref().map(|access| &access.value);
    let access_delay = access.and_then(|access| access.delay);
    let topology = written.topology.unwrap_or(Topology::Dumbbell);
    let bottlenecks = bottlenecks(written.bottlenecks.as_ref(), topology)?;
    let there = bottleneck.and_then(|link| link.delay);
    let back = bottleneck.and_then(|link| link.reverse.as_ref());
    let back = back.and_then(|reverse| reverse.value.delay);
    let link_names = graph::link_names(written);
    let layout = Layout {
        bottleneck: there.map_or(Time::ZERO, |delay| delay.0),
        back: back.or(there).map_or(Time::ZERO, |delay| delay.0),
        access: access_delay.map_or(Time::ZERO, |delay| delay.0),
        bottlenecks,
        topology,
        graph: graph::routes(written, &link_names, topology)?,
    };
    let kernel = study.kernel.as_ref().map(kernel_name).transpose()?;
    let mut around = Around {
        names,
        stack: &stack,
        overhead,
        run: duration,
        layout: &layout,
        kernel: kernel.as_deref(),
        files,
    };
    let (flows, max_rtt) = flows(study, &mut around)?;
    let path = PathFacts {
        max_rtt: match (flows.is_empty(), study.flow.is_empty()) {
            (false, _) => Ok(max_rtt),
            (true, true) => Err(NoFlow::Written),
            (true, false) => Err(NoFlow::Left),
        },
        packet: flows
            .iter()
            .map(|flow| u64::from(flow.mss.unwrap_or(stack_mss)))
            .max()
            .unwrap_or(0)
            + u64::from(overhead),
        limit_is_exclusive: packets.is_some_and(|p| p.limit_is_exclusive),
        duration,
    };
    let mut links = Links {
        path,
        names,
        study,
        flows: &flows,
        files,
    };
    let graph = match topology {
        Topology::Graph => {
            let graph = graph::graph(written, &link_names, &mut links);
            Some(graph.map_err(|problem| problem.or_at(study.network.at))?)
        }
        _ => None,
    };
    let network = Network {
        topology,
        by: written.by,
        bottleneck: match (&graph, &written.bottleneck) {
            (Some(graph), _) => graph.links[graph.bottleneck as usize].link.clone(),
            (None, Some(written)) => links.bottleneck(written)?,
            (None, None) => {
                return Err(Problem::missing_field("bottleneck").or_at(study.network.at));
            }
        },
        access: links.access()?,
        bottlenecks,
        graph,
        router: link::router(written)?,
    };
    let mut beside = traffic::Beside {
        names,
        layout: &layout,
        path: &links.path,
        rate: network.bottleneck.rate,
        files: &mut *links.files,
    };
    let traffic = traffic::traffic(study, &mut beside, &flows)?;
    let probes = probe::probes(study, &layout, &links.path, &flows, &traffic)?;
    let sources = traffic.iter().map(|source| source.name.as_str());
    let others = sources.chain(probes.iter().map(|probe| probe.name.as_str()));
    let points = Points {
        network: &network,
        flows: flows.iter().map(|flow| flow.name.as_str()).collect(),
        others: others.collect(),
    };
    let trace = trace(study, &points, &links.path)?;
    let variant_files = links.files.variant_files(&flows, &traffic);
    Ok(Scenario {
        duration,
        warmup,
        stack,
        kernel,
        network,
        flows,
        traffic,
        probes,
        variant_files,
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

fn trace(
    study: &written::Study,
    points: &Points<'_>,
    path: &PathFacts,
) -> Result<TraceOptions, Problem> {
    let trace = study.trace.clone().unwrap_or_default();
    let mut events = trace.events.clone();
    events.sort();
    events.dedup();
    let capture = capture(study, &trace.capture, points)?;
    let from = match &trace.from {
        None => Time::ZERO,
        Some(At { at, value }) => {
            path.begins("tracing", value.0)
                .map_err(|problem| problem.or_at(*at))?;
            value.0
        }
    };
    let interval = interval(trace.interval.as_ref(), points.flows.len(), path.duration)?;
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

/// The points of capture that are `written`, each once, but those of flows of which there are none.
fn capture(
    study: &written::Study,
    written: &[At<String>],
    points: &Points<'_>,
) -> Result<Vec<String>, Problem> {
    let mut capture: Vec<String> = Vec::new();
    if written.is_empty() {
        return Ok(capture);
    }
    let known = points.all();
    let flows = study.flow.iter().enumerate();
    let names = flows
        .filter(|(_, written)| written.value.count.as_ref().is_some_and(|c| c.value == 0))
        .map(|(index, written)| match &written.value.name {
            Some(name) => name.value.clone(),
            None => default_name("flow", index),
        });
    let names: Vec<String> = names.collect();
    let absent = Points {
        flows: names.iter().map(String::as_str).collect(),
        others: Vec::new(),
        ..*points
    };
    let absent = absent.all();
    for At { at, value: point } in written {
        if known.contains(point) {
            if !capture.contains(point) {
                capture.push(point.clone());
            }
        } else if !absent.contains(point) {
            return Err(points.unknown(point).or_at(*at));
        }
    }
    Ok(capture)
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
            format!(
                "choose an interval or a `duration` that makes at most {MAX_SAMPLES}, or \"0s\" for \
                 none"
            ),
        )
        .or_at(*at));
    }
    Ok(interval)
}
