//! Reading a trace back.

use std::fs;
use std::path::Path;

use cclab_units::Time;

use crate::SCHEMA_VERSION;
use crate::error::TraceError;
use crate::histogram::Histogram;
use crate::parquet_file::{read_table, table_path};
use crate::recorder::{SummaryFile, summary_path};
use crate::schema::{
    AckEvent, BandSummary, DropEvent, Echo, FlowSample, FlowSummary, FramesRow, LinkSummary,
    Machine, ProbeSample, ProbeSummary, QueueEvent, QueueSample, Resumption, RunSummary,
    TrafficSummary, Transfer, WayRow,
};
use crate::table::{Row, Table};
use crate::tables::Bin;

/// What metrics are made of.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    /// What the run was.
    pub summary: RunSummary,
    /// States of the flows, in the order of time.
    pub flow_samples: Vec<(Time, FlowSample)>,
    /// States of the bottleneck, in the order of time.
    pub queue_samples: Vec<(Time, QueueSample)>,
    /// Transfers of cross traffic, with their beginnings, in the order of their ends.
    pub transfers: Vec<(Time, Transfer)>,
}

/// Reads summary and samples of the trace at `dir`.
///
/// # Errors
/// If a file is missing, damaged or of another version; the message names it.
pub fn read(dir: &Path) -> Result<Trace, TraceError> {
    Ok(Trace {
        summary: read_summary(dir)?,
        flow_samples: read_table(dir)?,
        queue_samples: read_table(dir)?,
        transfers: read_transfers(dir)?,
    })
}

/// The transfers of cross traffic; none if there is no file of them.
fn read_transfers(dir: &Path) -> Result<Vec<(Time, Transfer)>, TraceError> {
    match table_path(dir, &<(Time, Transfer)>::TABLE).exists() {
        true => read_table(dir),
        false => Ok(Vec::new()),
    }
}

/// Reads the acknowledgements of the trace at `dir`.
///
/// # Errors
/// As [`read`]; the file is missing also if the run did not record them.
pub fn read_acks(dir: &Path) -> Result<Vec<(Time, AckEvent)>, TraceError> {
    read_table(dir)
}

/// Reads the queue events of the trace at `dir`.
///
/// # Errors
/// As [`read`]; the file is missing also if the run did not record them.
pub fn read_queue_events(dir: &Path) -> Result<Vec<(Time, QueueEvent)>, TraceError> {
    read_table(dir)
}

/// Reads the drops of the trace at `dir`.
///
/// # Errors
/// As [`read`]; the file is missing also if the run did not record them.
pub fn read_drops(dir: &Path) -> Result<Vec<(Time, DropEvent)>, TraceError> {
    read_table(dir)
}

/// Reads what the run at `dir` was, without its samples.
///
/// # Errors
/// As [`read`].
pub fn read_summary(dir: &Path) -> Result<RunSummary, TraceError> {
    let path = summary_path(dir);
    let text = fs::read_to_string(&path).map_err(|e| TraceError::io(&path, e))?;
    let file: SummaryFile =
        serde_json::from_str(&text).map_err(|e| TraceError::damaged(&path, e))?;
    if file.schema != SCHEMA_VERSION {
        let reason = format!("schema {:?} is not {SCHEMA_VERSION:?}", file.schema);
        return Err(TraceError::damaged(&path, reason));
    }
    let mut flows: Vec<FlowSummary> = read_indexed(dir, file.flows.len())?;
    let mut links: Vec<LinkSummary> = read_indexed(dir, file.links.len())?;
    let mut traffic: Vec<TrafficSummary> = match file.traffic.len() {
        0 => Vec::new(),
        count => read_indexed(dir, count)?,
    };
    let probes = match file.probes.len() {
        0 => Vec::new(),
        count => read_probes(dir, count)?,
    };
    let mut bands: Vec<(u32, BandSummary)> = read_some(dir)?;
    for (index, WayRow { back, warm, way }) in read_some(dir)? {
        *of_flow(dir, &mut flows, index, <(u32, WayRow)>::TABLE)?.way_mut(back, warm) = way;
    }
    for (index, FramesRow { warm, frames }) in read_some(dir)? {
        let flow = of_flow(dir, &mut flows, index, <(u32, FramesRow)>::TABLE)?;
        *match warm {
            true => &mut flow.warm_frames,
            false => &mut flow.frames,
        } = frames;
    }
    for (index, resumption) in read_some(dir)? {
        let flow = of_flow(dir, &mut flows, index, <(u32, Resumption)>::TABLE)?;
        flow.resumption = Some(resumption);
    }
    let path = table_path(dir, &<(u32, Bin)>::TABLE);
    for (index, first, histogram) in read_histograms(dir)? {
        let (element, metric) = (first.element.as_str(), first.metric.as_str());
        let flow = flows.get_mut(index);
        let link = links.get_mut(index);
        let band = bands.get_mut(index).map(|(_, band)| band);
        let source = traffic.get_mut(index);
        let slot = match (element, metric) {
            ("flow", "rtt") => flow.map(|flow| &mut flow.rtt),
            ("flow", "warm_rtt") => flow.map(|flow| &mut flow.warm_rtt),
            ("flow", "delay") => flow.map(|flow| &mut flow.datagrams.delay),
            ("flow", "delay_back") => flow.map(|flow| &mut flow.back.delay),
            ("flow", "warm_delay") => flow.map(|flow| &mut flow.warm_datagrams.delay),
            ("flow", "warm_delay_back") => flow.map(|flow| &mut flow.warm_back.delay),
            ("flow", "frame_delay") => flow.map(|flow| &mut flow.frame_delay),
            ("flow", "warm_frame_delay") => flow.map(|flow| &mut flow.warm_frame_delay),
            ("link", "sojourn") => link.map(|link| &mut link.sojourn),
            ("link", "warm_sojourn") => link.map(|link| &mut link.warm_sojourn),
            ("band", "sojourn") => band.map(|band| &mut band.sojourn),
            ("band", "warm_sojourn") => band.map(|band| &mut band.warm_sojourn),
            ("traffic", "delay") => source.map(|source| &mut source.delay),
            ("traffic", "rtt") => source.map(|source| &mut source.rtt),
            _ => {
                let reason = format!("no histogram {metric:?} of {element:?} is known");
                return Err(TraceError::damaged(&path, reason));
            }
        };
        *slot.ok_or_else(|| {
            TraceError::damaged(&path, format!("{element} {index} does not exist"))
        })? = histogram;
    }
    for (link, band) in bands {
        let link = links.get_mut(link as usize).ok_or_else(|| {
            let path = table_path(dir, &<(u32, BandSummary)>::TABLE);
            TraceError::damaged(&path, format!("link {link} does not exist"))
        })?;
        link.bands.push(band);
    }
    let alone = file.kernel.map(|kernel| Machine {
        flows: file.flows,
        ..kernel
    });
    let mut machines = file.machines;
    machines.extend(alone);
    Ok(RunSummary {
        end: Time::from_nanos(file.end_ns),
        events: file.events,
        flows,
        links,
        traffic,
        probes,
        machines,
        fidelity: file.fidelity,
    })
}

/// The rows of a table that is there only if it has some, with their keys.
fn read_some<S>(dir: &Path) -> Result<Vec<(u32, S)>, TraceError>
where
    (u32, S): Row,
{
    match table_path(dir, &<(u32, S)>::TABLE).exists() {
        true => read_table(dir),
        false => Ok(Vec::new()),
    }
}

/// The flow that a row of `table` is of.
fn of_flow<'a>(
    dir: &Path,
    flows: &'a mut [FlowSummary],
    index: u32,
    table: Table,
) -> Result<&'a mut FlowSummary, TraceError> {
    flows.get_mut(index as usize).ok_or_else(|| {
        TraceError::damaged(
            &table_path(dir, &table),
            format!("flow {index} does not exist"),
        )
    })
}

/// The `count` probes, with their requests.
fn read_probes(dir: &Path, count: usize) -> Result<Vec<ProbeSummary>, TraceError> {
    let mut probes: Vec<ProbeSummary> = read_indexed(dir, count)?;
    let rows: Vec<(Time, ProbeSample)> = read_table(dir)?;
    for (sent, ProbeSample { probe, rtt }) in rows {
        let Some(probe) = probes.get_mut(probe as usize) else {
            let path = table_path(dir, &<(Time, ProbeSample)>::TABLE);
            let reason = format!("probe {probe} does not exist");
            return Err(TraceError::damaged(&path, reason));
        };
        probe.echoes.push(Echo { sent, rtt });
    }
    Ok(probes)
}

/// The rows of a table whose key counts them; there must be `count`.
fn read_indexed<S>(dir: &Path, count: usize) -> Result<Vec<S>, TraceError>
where
    (u32, S): Row,
{
    let rows: Vec<(u32, S)> = read_table(dir)?;
    let complete = rows.len() == count && (0..).zip(&rows).all(|(i, row)| row.0 == i);
    if !complete {
        let path = table_path(dir, &<(u32, S)>::TABLE);
        let reason = format!("not one row for each of {count} names in summary.json");
        return Err(TraceError::damaged(&path, reason));
    }
    Ok(rows.into_iter().map(|(_, row)| row).collect())
}

/// Histograms, each with its index and a bin of it that says what it is of.
fn read_histograms(dir: &Path) -> Result<Vec<(usize, Bin, Histogram)>, TraceError> {
    let bins: Vec<(u32, Bin)> = read_table(dir)?;
    fn of((index, bin): &(u32, Bin)) -> (u32, &str, &str) {
        (*index, &bin.element, &bin.metric)
    }
    let chunks = bins.chunk_by(|a, b| of(a) == of(b));
    Ok(chunks
        .map(|bins| {
            let (index, first) = &bins[0];
            let cells = bins.iter().map(|(_, bin)| (bin.low, bin.count));
            let histogram = Histogram::from_bins(cells, u128::from(first.sum));
            (*index as usize, first.clone(), histogram)
        })
        .collect())
}
