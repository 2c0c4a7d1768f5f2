//! The agent's folder, read and checked.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, ErrorKind};
use std::path::Path;

use cclab_layout::Layout;
use cclab_spec::Scenario;
use cclab_testbed::orders::{Flow, Work};
use cclab_testbed::records::{
    EVENT_FORMATS, EVENTS, EventFormats, OUTCOME, Outcome, SAMPLES, SCHEMA, Sample, TcpInfo,
};
use cclab_testbed::{Orders, records};
use cclab_units::Time;

use crate::error::HarvestError;
use crate::event::Decoder;
use crate::ring::{PageFormat, Ring};

/// A run: what was asked, what was ordered, and where the records lie.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// What was asked.
    pub scenario: &'a Scenario,
    /// Its links by the ids that orders and traces have.
    pub layout: &'a Layout,
    /// What the agent was told.
    pub orders: &'a Orders,
    /// What it came to.
    pub outcome: &'a Outcome,
    /// The agent's folder.
    pub raw: &'a Path,
}

impl Run<'_> {
    /// When the run ended.
    pub fn end(&self) -> Time {
        Time::from_nanos(self.outcome.end)
    }

    /// What an event's clock shows as time of the run; `None` before its beginning or after its
    /// end.
    pub fn at_monotonic(&self, clock: u64) -> Option<Time> {
        self.within(clock.checked_sub(self.outcome.monotonic_zero)?)
    }

    /// As [`Run::at_monotonic`], of the clock of packets.
    pub fn at_realtime(&self, clock: u64) -> Option<Time> {
        self.within(clock.checked_sub(self.outcome.realtime_zero)?)
    }

    fn within(&self, nanos: u64) -> Option<Time> {
        (nanos <= self.outcome.end).then(|| Time::from_nanos(nanos))
    }

    /// The bytes that the only connection of flow `index` sent; `None` if it had several, or
    /// the run says nothing of it.
    pub fn data_of(&self, index: usize) -> Option<u64> {
        match self.outcome.flows[index].sender.as_slice() {
            [info] if info.bytes_sent > 0 => Some(sent(info)),
            _ => None,
        }
    }
}

/// Bytes that a connection sent, each counted once. The kernel counts payload alone here.
pub fn sent(info: &TcpInfo) -> u64 {
    info.bytes_sent.saturating_sub(info.bytes_retrans)
}

/// Bytes of payload acknowledged: the kernel counts the SYN, and the FIN once it is acknowledged
/// too (`tcp_snd_una_update`).
pub fn acked(info: &TcpInfo) -> u64 {
    info.bytes_acked.saturating_sub(1).min(sent(info))
}

/// Payload of the bytes that receivers counted on so many `connections`: the kernel counts each
/// FIN too, which comes after all `sent` data.
pub fn payload(counted: u64, sent: u64, connections: usize) -> u64 {
    match counted.checked_sub(sent) {
        Some(fins) if fins <= connections as u64 => sent,
        _ => counted,
    }
}

/// Whether the flow is a program, which may open any number of connections.
pub fn is_program(flow: &Flow) -> bool {
    matches!(flow.work, Work::Command { .. })
}

/// Reads the outcome of a run and checks that it is one to go on with.
///
/// # Errors
/// If there is none, if it is a failure, or if anything was lost on the way.
pub fn outcome(orders: &Orders, raw: &Path) -> Result<Outcome, HarvestError> {
    let path = raw.join(OUTCOME);
    let text = match fs::read(&path) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Err(HarvestError::NoOutcome(path)),
        read => read.map_err(|e| HarvestError::io(&path, e))?,
    };
    let outcome: Outcome =
        serde_json::from_slice(&text).map_err(|e| HarvestError::damaged(&path, e))?;
    if outcome.schema != SCHEMA {
        let reason = format!("schema {:?} is not {SCHEMA:?}", outcome.schema);
        return Err(HarvestError::damaged(&path, reason));
    }
    if let Some(failure) = outcome.failure {
        return Err(HarvestError::Failed {
            step: failure.step,
            problem: failure.problem,
        });
    }
    if outcome.flows.len() != orders.flows.len() {
        let (found, asked) = (outcome.flows.len(), orders.flows.len());
        return Err(HarvestError::damaged(
            &path,
            format!("{found} flows of {asked}"),
        ));
    }
    if outcome.probes.len() != orders.probes.len() {
        let (found, asked) = (outcome.probes.len(), orders.probes.len());
        return Err(HarvestError::damaged(
            &path,
            format!("{found} probes of {asked}"),
        ));
    }
    if outcome.events_lost > 0 {
        return Err(HarvestError::EventsLost(Some(outcome.events_lost)));
    }
    for (capture, &lost) in orders.captures.iter().zip(&outcome.packets_lost) {
        if lost > 0 {
            let point = capture.point.clone();
            return Err(HarvestError::PacketsLost { point, lost });
        }
    }
    Ok(outcome)
}

/// All samples, in the order of time.
///
/// # Errors
/// If the file cannot be read, or a line of it is none.
pub fn samples(raw: &Path) -> Result<Vec<Sample>, HarvestError> {
    let path = raw.join(SAMPLES);
    let file = File::open(&path).map_err(|e| HarvestError::io(&path, e))?;
    let mut samples = Vec::new();
    for (number, line) in BufReader::new(file).lines().enumerate() {
        let line = line.map_err(|e| HarvestError::io(&path, e))?;
        let sample = serde_json::from_str(&line)
            .map_err(|e| HarvestError::damaged(&path, format!("line {}: {e}", number + 1)))?;
        samples.push(sample);
    }
    Ok(samples)
}

/// The kernel's events and how to read them; `None` if none were recorded.
///
/// # Errors
/// If a file cannot be read or is damaged.
pub fn events(raw: &Path) -> Result<Option<(Ring, Decoder)>, HarvestError> {
    let path = raw.join(EVENT_FORMATS);
    let text = match fs::read(&path) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
        read => read.map_err(|e| HarvestError::io(&path, e))?,
    };
    let formats: EventFormats =
        serde_json::from_slice(&text).map_err(|e| HarvestError::damaged(&path, e))?;
    let fault = |reason: String| HarvestError::damaged(&path, reason);
    let pages = PageFormat::new(formats.page_size, &formats.header_page).map_err(fault)?;
    let decoder = Decoder::new(&formats).map_err(fault)?;
    let ring = Ring::open(&raw.join(EVENTS), pages)?;
    Ok(Some((ring, decoder)))
}

/// The names that a program's output may have in the agent's folder.
pub fn output_names(flow: &Flow) -> [String; 4] {
    ["stdout", "stderr", "server.stdout", "server.stderr"]
        .map(|kind| format!("{}.{kind}", flow.name))
}

/// The file of capture point `index`.
pub fn capture_path(raw: &Path, index: usize) -> std::path::PathBuf {
    raw.join(records::capture_file(index))
}
