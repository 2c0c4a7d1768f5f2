//! What a trace sees of the network between guests: packets at hosts and at the bottleneck, queues,
//! losses.

use cclab_layout::{BOTTLENECK, BOTTLENECK_REVERSE};
use cclab_net::{ROUTES, Sight, Watch};
use cclab_packet::{Packet, flags};
use cclab_sim::CountedQueues;
use cclab_spec::Scenario;
use cclab_testbed::records::Seen;
use cclab_trace::schema::{DropEvent, QueueAction, QueueEvent};
use cclab_trace::{Event, Probe};
use cclab_units::Time;

use super::world::World;

/// Where packets are captured.
#[derive(Default)]
pub(super) struct Captures {
    pub(super) bottleneck: Option<usize>,
    /// By flow, then by side: that of the sender and that of the receiver.
    pub(super) hosts: Vec<[Option<usize>; 2]>,
}

impl World<'_> {
    /// Queues are to be sampled at `time`, before all acts of that instant; the end of the run is
    /// sampled after them.
    pub(super) fn sample_at(&mut self, time: Time) {
        let time = if time < self.end { time } else { Time::NEVER };
        self.net.look_at(self.timers.sampler, time);
    }

    /// Samples the queues of bottlenecks, once an instant.
    pub(super) fn sample(&mut self) {
        let now = self.net.now();
        if self.sampled.replace(now) == Some(now) {
            return;
        }
        for index in 0..self.bottlenecks {
            let sample = self.net.queue_sample(index);
            let recorder = &mut self.records.recorder;
            recorder.record(now, Event::QueueSample(sample));
        }
        // The end of the warm-up is one of the instants of sampling.
        let warmup = self.scenario.warmup;
        if now == warmup && warmup > Time::ZERO {
            self.warm = Some(CountedQueues::by_now(&self.net, self.bottlenecks));
        }
    }

    /// A packet leaves or reaches a host.
    pub(super) fn see_at_host(&mut self, packet: &Packet, side: usize, seen: Seen) {
        let at = self.records.realtime_zero + self.net.now().as_nanos();
        if packet.has(flags::DATAGRAM) {
            let frame = self.frames.of(packet);
            let datagrams = &mut self.records.datagrams;
            datagrams.see(packet.flow, packet.backward, seen, at, frame);
        }
        let points = self.captures.hosts.get(packet.flow as usize);
        if let Some(point) = points.and_then(|points| points[side]) {
            self.capture(point, packet);
        }
    }

    fn capture(&mut self, point: usize, packet: &Packet) {
        let now = self.net.now();
        if packet.frame().is_none() || !self.records.recorder.wants_packets(now) {
            return;
        }
        let bytes = self.frames.checked(packet);
        let recorder = &mut self.records.recorder;
        recorder.frame(point, now, bytes.len() as u32, &bytes);
    }

    /// The index of a packet's flow in a trace.
    fn traced(&self, packet: &Packet) -> u32 {
        let flows = self.scenario.flows.len() as u32;
        let behind = flows + (ROUTES * self.scenario.traffic.len()) as u32;
        let probes = behind..behind + self.scenario.probes.len() as u32;
        match packet.flow {
            flow if flow < flows => flow,
            flow if probes.contains(&flow) => {
                flows + self.scenario.traffic.len() as u32 + flow - behind
            }
            flow => flows + self.traffic.source_of(flow),
        }
    }

    /// Tells the trace what was seen.
    pub(super) fn tell(&mut self) {
        if self.lookout.seen.is_empty() {
            return;
        }
        let mut seen = std::mem::take(&mut self.lookout.seen);
        for sight in seen.drain(..) {
            match sight {
                Sight::Copied { packet } => self.frames.copy(&packet),
                Sight::Enqueued {
                    link,
                    backlog,
                    packet,
                } => self.trace_queue(link, &packet, QueueAction::Enqueue, backlog, None),
                Sight::Departed {
                    link,
                    waited,
                    backlog,
                    packet,
                } => {
                    self.trace_queue(link, &packet, QueueAction::Dequeue, backlog, Some(waited));
                    if let Some(point) = self.captures.bottleneck {
                        self.capture(point, &packet);
                    }
                }
                Sight::Arrived { packet, .. } => {
                    if let Some(point) = self.captures.bottleneck {
                        self.capture(point, &packet);
                    }
                }
                Sight::Lost {
                    link,
                    reason,
                    packet,
                } => {
                    let now = self.net.now();
                    if self.records.recorder.wants_drops(now) {
                        let event = DropEvent {
                            link,
                            reason,
                            flow: self.traced(&packet),
                            offset: self.frames.offset(&packet),
                            wire_len: u32::from(packet.wire_len),
                        };
                        self.records.recorder.record(now, Event::Drop(event));
                    }
                    self.frames.release(&packet);
                }
            }
        }
        self.lookout.seen = seen;
    }

    fn trace_queue(
        &mut self,
        link: u32,
        packet: &Packet,
        action: QueueAction,
        backlog: u64,
        sojourn: Option<Time>,
    ) {
        let now = self.net.now();
        if !self.records.recorder.wants_queue(now) {
            return;
        }
        let event = QueueEvent {
            link,
            action,
            flow: self.traced(packet),
            wire_len: u32::from(packet.wire_len),
            backlog,
            sojourn,
        };
        self.records.recorder.record(now, Event::Queue(event));
    }
}

/// Looks on at the network.
pub(super) struct Lookout {
    pub(super) seen: Vec<Sight>,
    pub(super) captures: bool,
}

impl Watch for Lookout {
    fn wants_queue(&self, link: usize) -> bool {
        link == BOTTLENECK.index()
    }

    fn wants_arrivals(&self, link: usize) -> bool {
        self.captures && link == BOTTLENECK_REVERSE.index()
    }

    fn see(&mut self, sight: Sight) {
        self.seen.push(sight);
    }
}

impl Captures {
    pub(super) fn new(scenario: &Scenario) -> Captures {
        let point = |name: &str| {
            let points = &scenario.trace.capture;
            points.iter().position(|point| point == name)
        };
        let flows = scenario.flows.iter();
        let hosts = flows
            .map(|flow| ["sender", "receiver"].map(|host| point(&format!("{}.{host}", flow.name))));
        Captures {
            bottleneck: point("bottleneck"),
            hosts: hosts.collect(),
        }
    }
}
