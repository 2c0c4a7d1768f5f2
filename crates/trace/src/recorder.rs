//! The probe that writes a trace to a directory.

use std::fs;
use std::path::{Path, PathBuf};

use cclab_interface::StateColumn;
use cclab_spec::{EventKind, TraceOptions};
use cclab_units::Time;
use serde::{Deserialize, Serialize};

use crate::SCHEMA_VERSION;
use crate::capture::CaptureWriter;
use crate::error::TraceError;
use crate::histogram::Histogram;
use crate::parquet_file::TableWriter;
use crate::probe::{Event, Probe};
use crate::schema::{
    AckEvent, DropEvent, Echo, Fidelity, FlowSample, FlowSummary, LinkSummary, Machine,
    ProbeSample, ProbeSummary, QueueEvent, QueueSample, RunSummary, Transfer,
};
use crate::segment::WireOptions;
use crate::states::StatesWriter;
use crate::tables::Bin;

/// What a [`Recorder`] keeps. The default keeps samples and summaries only.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// One row per acknowledgement.
    pub acks: bool,
    /// Two rows per packet at each bottleneck's queue, there and back.
    pub queue: bool,
    /// One row per lost packet.
    pub drops: bool,
    /// The columns of each flow's variant whose inner state is kept, in the scenario's order; empty: of
    /// none.
    pub states: Vec<&'static [StateColumn]>,
    /// Names of the capture points; [`Event::Packet`] carries an index into them.
    pub capture: Vec<String>,
    /// Bytes of each captured packet that are kept; 0 keeps whole packets.
    pub snaplen: u32,
    /// Events and captures begin here.
    pub from: Time,
    /// Events and captures end here; absent: at the run's end.
    pub until: Option<Time>,
    /// What captures of simulated packets say in each flow's SYN, in the scenario's order; empty
    /// where captures hold the packets of a kernel ([`Recorder::frame`]).
    pub wire: Vec<WireOptions>,
}

impl From<&TraceOptions> for Recording {
    /// What a study asks for. It does not know [`Recording::wire`] and
    /// [`Recording::states`].
    fn from(options: &TraceOptions) -> Recording {
        let wants = |kind| options.events.contains(&kind);
        Recording {
            acks: wants(EventKind::Ack),
            queue: wants(EventKind::Queue),
            drops: wants(EventKind::Drop),
            states: Vec::new(),
            capture: options.capture.clone(),
            snaplen: options.snaplen,
            from: options.from,
            until: options.until,
            wire: Vec::new(),
        }
    }
}

/// `summary.json`.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SummaryFile {
    /// [`SCHEMA_VERSION`].
    pub schema: String,
    /// When the run ended.
    pub end_ns: u64,
    /// Events processed by the backend.
    pub events: u64,
    /// Names of the flows.
    pub flows: Vec<String>,
    /// Names of the links.
    pub links: Vec<String>,
    /// Names of the sources of cross traffic.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub traffic: Vec<String>,
    /// Names of the probes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub probes: Vec<String>,
    /// Names of the capture points.
    pub capture: Vec<String>,
    /// The columns of `variant_states` that each flow's variant declares.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub states: Vec<Vec<String>>,
    /// When what changes of links wait for came about; null: never.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub met_ns: Vec<Option<u64>>,
    /// The machines that ran it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub machines: Vec<Machine>,
    /// The one machine of a trace that was written when there was never more than one.
    #[serde(default, skip_serializing)]
    pub kernel: Option<Machine>,
    /// How well the host kept up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fidelity: Option<Fidelity>,
}

/// Writes events as they come, in memory that does not grow with the run.
///
/// An error does not stop the run: the first one is kept, nothing is written after it, and
/// [`Recorder::finish`] returns it.
pub struct Recorder {
    dir: PathBuf,
    recording: Recording,
    flow_samples: TableWriter<(Time, FlowSample)>,
    queue_samples: TableWriter<(Time, QueueSample)>,
    acks: Option<TableWriter<(Time, AckEvent)>>,
    queue: Option<TableWriter<(Time, QueueEvent)>>,
    drops: Option<TableWriter<(Time, DropEvent)>>,
    states: Option<StatesWriter>,
    /// Made at the first transfer.
    transfers: Option<TableWriter<(Time, Transfer)>>,
    captures: Vec<CaptureWriter>,
    error: Option<TraceError>,
}

impl Recorder {
    /// A recorder into the directory `dir`, which it makes if it is not there.
    ///
    /// # Errors
    /// If a file cannot be created.
    pub fn create(dir: &Path, recording: Recording) -> Result<Recorder, TraceError> {
        fs::create_dir_all(dir).map_err(|e| TraceError::io(dir, e))?;
        let flows = recording.wire.len();
        let captures = recording
            .capture
            .iter()
            .map(|point| CaptureWriter::create(dir, point, recording.snaplen, flows))
            .collect::<Result<_, _>>()?;
        Ok(Recorder {
            dir: dir.to_owned(),
            flow_samples: TableWriter::create(dir)?,
            queue_samples: TableWriter::create(dir)?,
            acks: recording
                .acks
                .then(|| TableWriter::create(dir))
                .transpose()?,
            queue: recording
                .queue
                .then(|| TableWriter::create(dir))
                .transpose()?,
            drops: recording
                .drops
                .then(|| TableWriter::create(dir))
                .transpose()?,
            states: StatesWriter::create(dir, &recording.states)?,
            transfers: None,
            captures,
            recording,
            error: None,
        })
    }

    /// Writes what is left, and what the run was: flows, links, histograms, `summary.json`.
    ///
    /// # Errors
    /// The first error since the recorder was created.
    pub fn finish(self, summary: &RunSummary) -> Result<(), TraceError> {
        let Recorder {
            dir,
            recording,
            error,
            ..
        } = self;
        if let Some(error) = error {
            return Err(error);
        }
        self.flow_samples.finish()?;
        self.queue_samples.finish()?;
        self.acks.map_or(Ok(()), TableWriter::finish)?;
        self.queue.map_or(Ok(()), TableWriter::finish)?;
        self.drops.map_or(Ok(()), TableWriter::finish)?;
        self.states.map_or(Ok(()), StatesWriter::finish)?;
        self.transfers.map_or(Ok(()), TableWriter::finish)?;
        self.captures
            .into_iter()
            .try_for_each(CaptureWriter::finish)?;
        write_rows(&dir, &summary.flows)?;
        write_some(&dir, &summary.flows, FlowSummary::ways)?;
        write_some(&dir, &summary.flows, FlowSummary::frame_rows)?;
        write_some(&dir, &summary.flows, |flow| flow.resumption.into_iter())?;
        write_rows(&dir, &summary.links)?;
        write_some(&dir, &summary.links, |link| link.bands.iter().cloned())?;
        if !summary.traffic.is_empty() {
            write_rows(&dir, &summary.traffic)?;
        }
        if !summary.probes.is_empty() {
            write_rows(&dir, &summary.probes)?;
            write_echoes(&dir, &summary.probes)?;
        }
        write_histograms(&dir, summary)?;
        write_summary(&dir, recording, summary)
    }

    /// Takes in `data`, the first bytes of a packet of `len` bytes that passed capture point
    /// `point` at `now`. Calls come in the order of time for each point.
    ///
    /// # Panics
    /// If `point` is not in [`Recording::capture`].
    pub fn frame(&mut self, point: usize, now: Time, len: u32, data: &[u8]) {
        if self.error.is_none() {
            self.error = self.captures[point].push_bytes(now, len, data).err();
        }
    }

    fn wants(&self, on: bool, now: Time) -> bool {
        let until = self.recording.until.unwrap_or(Time::NEVER);
        on && self.recording.from <= now && now <= until
    }

    fn write(&mut self, now: Time, event: Event<'_>) -> Result<(), TraceError> {
        match event {
            Event::FlowSample(row) => self.flow_samples.push(&(now, row)),
            Event::QueueSample(row) => self.queue_samples.push(&(now, row)),
            Event::Ack(row) => self.acks.as_mut().map_or(Ok(()), |t| t.push(&(now, row))),
            Event::State(flow, values) => self
                .states
                .as_mut()
                .map_or(Ok(()), |t| t.push(now, flow, values)),
            Event::Queue(row) => self.queue.as_mut().map_or(Ok(()), |t| t.push(&(now, row))),
            Event::Drop(row) => self.drops.as_mut().map_or(Ok(()), |t| t.push(&(now, row))),
            Event::Transfer(began, row) => {
                let table = match &mut self.transfers {
                    Some(table) => table,
                    none => none.insert(TableWriter::create(&self.dir)?),
                };
                table.push(&(began, row))
            }
            Event::Packet(point, packet) => {
                let wire = &self.recording.wire;
                let options = wire.get(packet.flow as usize).copied().unwrap_or_default();
                self.captures[point as usize].push(now, packet, options)
            }
        }
    }
}

impl Probe for Recorder {
    fn looks_at_packets(&self) -> bool {
        let recording = &self.recording;
        let events = recording.acks || recording.queue || recording.drops;
        events || self.states.is_some() || !self.captures.is_empty()
    }
    fn wants_acks(&self, now: Time) -> bool {
        self.wants(self.recording.acks, now)
    }
    fn wants_states(&self, now: Time) -> bool {
        self.wants(self.states.is_some(), now)
    }
    fn looks_at_queues(&self) -> bool {
        self.recording.queue
    }
    fn wants_queue(&self, now: Time) -> bool {
        self.wants(self.recording.queue, now)
    }
    fn wants_drops(&self, now: Time) -> bool {
        self.wants(self.recording.drops, now)
    }
    fn wants_packets(&self, now: Time) -> bool {
        self.wants(!self.captures.is_empty(), now)
    }

    /// # Panics
    /// If a packet's point is not in [`Recording::capture`].
    fn record(&mut self, now: Time, event: Event<'_>) {
        if self.error.is_none() {
            self.error = self.write(now, event).err();
        }
    }
}

/// The path of `summary.json` in the trace at `dir`.
pub(crate) fn summary_path(dir: &Path) -> PathBuf {
    dir.join("summary.json")
}

fn write_rows<S: Clone>(dir: &Path, rows: &[S]) -> Result<(), TraceError>
where
    (u32, S): crate::table::Row,
{
    let mut table = TableWriter::create(dir)?;
    for (index, row) in (0..).zip(rows) {
        table.push(&(index, row.clone()))?;
    }
    table.finish()
}

/// Writes the `rows` that each of `owners` has, if there are any: a run without needs no file.
fn write_some<'a, O, S, I>(
    dir: &Path,
    owners: &'a [O],
    rows: impl Fn(&'a O) -> I,
) -> Result<(), TraceError>
where
    I: Iterator<Item = S>,
    (u32, S): crate::table::Row,
{
    let owned = (0..).zip(owners);
    let mut all = owned
        .flat_map(|(index, owner)| rows(owner).map(move |row| (index, row)))
        .peekable();
    if all.peek().is_none() {
        return Ok(());
    }
    let mut table = TableWriter::create(dir)?;
    all.try_for_each(|row| table.push(&row))?;
    table.finish()
}

/// The requests of all probes, in the order in which they left.
fn write_echoes(dir: &Path, probes: &[ProbeSummary]) -> Result<(), TraceError> {
    let rows = (0..).zip(probes).flat_map(|(probe, summary)| {
        let echoes = summary.echoes.iter();
        echoes.map(move |&Echo { sent, rtt }| (sent, ProbeSample { probe, rtt }))
    });
    let mut rows: Vec<(Time, ProbeSample)> = rows.collect();
    rows.sort_by_key(|(sent, sample)| (*sent, sample.probe));
    let mut table = TableWriter::create(dir)?;
    for row in &rows {
        table.push(row)?;
    }
    table.finish()
}

fn write_histograms(dir: &Path, summary: &RunSummary) -> Result<(), TraceError> {
    let mut table = TableWriter::create(dir)?;
    for (index, flow) in (0..).zip(&summary.flows) {
        write_bins(&mut table, index, "flow", "rtt", &flow.rtt)?;
        write_bins(&mut table, index, "flow", "warm_rtt", &flow.warm_rtt)?;
        write_bins(&mut table, index, "flow", "delay", &flow.datagrams.delay)?;
        write_bins(&mut table, index, "flow", "delay_back", &flow.back.delay)?;
        let [there, back] = [&flow.warm_datagrams.delay, &flow.warm_back.delay];
        write_bins(&mut table, index, "flow", "warm_delay", there)?;
        write_bins(&mut table, index, "flow", "warm_delay_back", back)?;
        let [all, warm] = [&flow.frame_delay, &flow.warm_frame_delay];
        write_bins(&mut table, index, "flow", "frame_delay", all)?;
        write_bins(&mut table, index, "flow", "warm_frame_delay", warm)?;
    }
    for (index, link) in (0..).zip(&summary.links) {
        let LinkSummary {
            sojourn,
            warm_sojourn,
            ..
        } = link;
        write_bins(&mut table, index, "link", "sojourn", sojourn)?;
        write_bins(&mut table, index, "link", "warm_sojourn", warm_sojourn)?;
    }
    let bands = summary.links.iter().flat_map(|link| &link.bands);
    for (index, band) in (0..).zip(bands) {
        write_bins(&mut table, index, "band", "sojourn", &band.sojourn)?;
        write_bins(
            &mut table,
            index,
            "band",
            "warm_sojourn",
            &band.warm_sojourn,
        )?;
    }
    for (index, source) in (0..).zip(&summary.traffic) {
        write_bins(&mut table, index, "traffic", "delay", &source.delay)?;
        write_bins(&mut table, index, "traffic", "rtt", &source.rtt)?;
    }
    table.finish()
}

fn write_bins(
    table: &mut TableWriter<(u32, Bin)>,
    index: u32,
    element: &str,
    metric: &str,
    histogram: &Histogram,
) -> Result<(), TraceError> {
    // 2^64 ns are 584 years of waiting, summed over all packets.
    let sum = u64::try_from(histogram.sum())
        .map_err(|_| table.unfit("the sum of a histogram passes 2^64 ns"))?;
    for (low, count) in histogram.bins() {
        let bin = Bin {
            element: element.to_owned(),
            metric: metric.to_owned(),
            low,
            count,
            sum,
        };
        table.push(&(index, bin))?;
    }
    Ok(())
}

fn write_summary(dir: &Path, recording: Recording, summary: &RunSummary) -> Result<(), TraceError> {
    let path = summary_path(dir);
    let file = SummaryFile {
        schema: SCHEMA_VERSION.to_owned(),
        end_ns: summary.end.as_nanos(),
        events: summary.events,
        flows: summary.flows.iter().map(|f| f.name.clone()).collect(),
        links: summary.links.iter().map(|l| l.name.clone()).collect(),
        traffic: summary.traffic.iter().map(|t| t.name.clone()).collect(),
        probes: summary.probes.iter().map(|p| p.name.clone()).collect(),
        capture: recording.capture,
        states: recording
            .states
            .iter()
            .map(|own| own.iter().map(|column| column.name.to_owned()).collect())
            .collect(),
        met_ns: summary
            .met
            .iter()
            .map(|met| met.map(Time::as_nanos))
            .collect(),
        machines: summary.machines.clone(),
        kernel: None,
        fidelity: summary.fidelity,
    };
    let mut text = serde_json::to_string_pretty(&file).map_err(|e| TraceError::encode(&path, e))?;
    text.push('\n');
    fs::write(&path, text).map_err(|e| TraceError::io(&path, e))
}
