//! A probe that keeps every event of a run, to be compared with those of another.

use cclab_packet::Packet;
use cclab_spec::Scenario;
use cclab_trace::{Event, Probe};
use cclab_units::Time;

/// Every event as text, with the name of its flow or source in place of its index, and without
/// what names a place in the tables of one network.
#[derive(Debug)]
pub struct Log {
    /// Of flows, then of sources of cross traffic, then of probes.
    names: Vec<String>,
    flows: usize,
    points: Vec<String>,
    /// When, and what.
    pub events: Vec<(Time, String)>,
}

impl Log {
    /// A log of `scenario` before it runs.
    pub fn empty(scenario: &Scenario) -> Log {
        let flows = scenario.flows.iter().map(|flow| flow.name.clone());
        let sources = scenario.traffic.iter().map(|source| source.name.clone());
        let probes = scenario.probes.iter().map(|probe| probe.name.clone());
        Log {
            names: flows.chain(sources).chain(probes).collect(),
            flows: scenario.flows.len(),
            points: scenario.trace.capture.clone(),
            events: Vec::new(),
        }
    }

    /// The log of a run.
    pub fn of(scenario: &Scenario, seed: u64) -> Log {
        let mut log = Log::empty(scenario);
        super::run_with(scenario, seed, &mut log);
        log
    }

    fn name(&self, flow: u32) -> &str {
        &self.names[flow as usize]
    }

    /// Whose a captured packet is. Connections of cross traffic bear numbers that are used again.
    fn owner(&self, packet: &Packet) -> &str {
        match (packet.flow as usize) < self.flows {
            true => self.name(packet.flow),
            false => "cross traffic",
        }
    }

    /// The events of all flows but the one called `name`.
    pub fn without(&self, name: &str) -> Vec<&(Time, String)> {
        let mark = format!("{name}: ");
        let others = |event: &&(Time, String)| !event.1.starts_with(&mark);
        self.events.iter().filter(others).collect()
    }
}

impl Probe for Log {
    fn wants_acks(&self, _: Time) -> bool {
        true
    }
    fn wants_queue(&self, _: Time) -> bool {
        true
    }
    fn wants_drops(&self, _: Time) -> bool {
        true
    }
    fn wants_packets(&self, _: Time) -> bool {
        true
    }
    fn record(&mut self, now: Time, event: Event<'_>) {
        let text = match event {
            Event::FlowSample(mut sample) => {
                let name = self.name(sample.flow).to_string();
                sample.flow = 0;
                format!("{name}: {sample:?}")
            }
            Event::QueueSample(sample) => format!("queue: {sample:?}"),
            Event::Ack(mut ack) => {
                let name = self.name(ack.flow).to_string();
                ack.flow = 0;
                format!("{name}: {ack:?}")
            }
            Event::State(flow, values) => format!("{}: {values:?}", self.name(flow)),
            Event::Queue(mut queue) => {
                let name = self.name(queue.flow).to_string();
                queue.flow = 0;
                format!("{name}: {queue:?}")
            }
            Event::Drop(mut drop) => {
                let name = self.name(drop.flow).to_string();
                (drop.flow, drop.link) = (0, 0);
                format!("{name}: {drop:?}")
            }
            Event::Transfer(began, mut transfer) => {
                let name = self.name(self.flows as u32 + transfer.source).to_string();
                transfer.source = 0;
                format!("{name}: transfer from {began}: {transfer:?}")
            }
            Event::Packet(point, packet) => {
                let mut packet = *packet;
                let name = self.owner(&packet).to_string();
                packet.flow = 0;
                format!("{name}: at {} {packet:?}", self.points[point as usize])
            }
        };
        self.events.push((now, text));
    }
}
