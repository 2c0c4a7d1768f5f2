//! Hashes of what was asked for and of what came of it.

use std::fmt::{Arguments, Write};

use cclab_sim::OwnVariants;
use cclab_spec::Scenario;
use cclab_trace::schema::RunSummary;
use cclab_trace::{Event, Histogram, Probe, Trace};
use cclab_units::Time;
use serde::Serialize;
use sha2::{Digest, Sha256};

/// A hash of lines.
#[derive(Default)]
pub struct Hash(Sha256);

impl Hash {
    /// Takes in a line.
    pub fn line(&mut self, line: Arguments<'_>) {
        struct Into<'a>(&'a mut Sha256);
        impl Write for Into<'_> {
            fn write_str(&mut self, text: &str) -> std::fmt::Result {
                self.0.update(text.as_bytes());
                Ok(())
            }
        }
        writeln!(Into(&mut self.0), "{line}").expect("a hash takes everything");
    }

    /// Takes in `value` as JSON.
    pub fn json(&mut self, value: &impl Serialize) {
        let text = serde_json::to_string(value).expect("what is hashed is JSON");
        self.line(format_args!("{text}"));
    }

    /// Its first `digits` hexadecimal digits.
    pub fn digits(self, digits: usize) -> String {
        let bytes = self.0.finalize();
        let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        text[..digits].to_owned()
    }
}

/// A probe that takes the hash of every event, but captured packets.
#[derive(Default)]
pub struct Digested(pub Hash);

impl Probe for Digested {
    fn wants_acks(&self, _: Time) -> bool {
        true
    }
    fn wants_queue(&self, _: Time) -> bool {
        true
    }
    fn wants_drops(&self, _: Time) -> bool {
        true
    }
    fn record(&mut self, now: Time, event: Event<'_>) {
        if let Event::Ack(mut ack) = event {
            // Digests are older than the rate beside the windows, which samples have as well.
            ack.pacing_rate = None;
            let text = format!("{:?}", Event::Ack(ack)).replace("pacing_rate: None, ", "");
            return self.0.line(format_args!("{now:?} {text}"));
        }
        self.0.line(format_args!("{now:?} {event:?}"));
    }
}

/// A probe that keeps what metrics are measured from.
#[derive(Default)]
pub struct Kept(pub Trace);

impl Probe for Kept {
    fn looks_at_packets(&self) -> bool {
        false
    }
    fn record(&mut self, now: Time, event: Event<'_>) {
        match event {
            Event::FlowSample(sample) => self.0.flow_samples.push((now, sample)),
            Event::QueueSample(sample) => self.0.queue_samples.push((now, sample)),
            Event::Transfer(begun, transfer) => self.0.transfers.push((begun, transfer)),
            Event::Ack(_)
            | Event::State(..)
            | Event::Queue(_)
            | Event::Drop(_)
            | Event::Packet(..) => {}
        }
    }
}

/// Runs `scenario` before `probe`.
pub fn run(scenario: &Scenario, probe: &mut impl Probe) -> RunSummary {
    run_with(scenario, probe, &OwnVariants::default())
}

/// Runs `scenario`, the variants of whose files are `own`, before `probe`. How many steps the simulator
/// took is no behaviour.
pub fn run_with(scenario: &Scenario, probe: &mut impl Probe, own: &OwnVariants) -> RunSummary {
    let progress = cclab_sim::Progress::default();
    let summary = cclab_sim::run_with(scenario, 1, probe, &progress, own);
    let summary = summary.unwrap_or_else(|why| panic!("{why}: {scenario:?}"));
    RunSummary {
        events: 0,
        ..summary
    }
}

/// The summary of a simulation in the words that digests are made of, which another spelling of what
/// only kernels have does not change.
pub fn told(summary: &RunSummary) -> String {
    let RunSummary {
        end,
        events,
        flows,
        links,
        traffic,
        probes,
        ..
    } = summary;
    // Digests are older than delays of frames, and than what flows remember.
    let none = format!("{:?}", Histogram::default());
    let flows = format!("{flows:?}");
    let flows = flows.replace(", resumption: None", "");
    let flows = flows.replace(
        &format!(", frame_delay: {none}, warm_frame_delay: {none}"),
        "",
    );
    format!(
        "RunSummary {{ end: {end:?}, events: {events:?}, flows: {flows}, links: {links:?}, \
         traffic: {traffic:?}, probes: {probes:?}, kernel: None, fidelity: None }}"
    )
}
