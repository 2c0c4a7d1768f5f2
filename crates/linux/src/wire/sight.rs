//! What a trace sees of the network between guests: packets at hosts and at the bottleneck, queues,
//! losses.

use cclab_net::Sight;
use cclab_packet::{Packet, flags};
use cclab_sim::CountedQueues;
use cclab_sim::sight::{queue_event, traced_flow};
use cclab_testbed::records::Seen;
use cclab_trace::schema::{DropEvent, QueueAction};
use cclab_trace::{Event, Probe};
use cclab_units::Time;

use super::world::World;

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
        let points = &self.captures.hosts[side];
        if let Some(&Some(point)) = points.get(packet.flow as usize) {
            self.capture(point, packet);
        }
    }

    fn capture(&mut self, point: u32, packet: &Packet) {
        let now = self.net.now();
        if packet.frame().is_none() || !self.records.recorder.wants_packets(now) {
            return;
        }
        let bytes = self.frames.checked(packet);
        let recorder = &mut self.records.recorder;
        recorder.frame(point as usize, now, bytes.len() as u32, &bytes);
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
                            flow: traced_flow(self.scenario, &self.traffic, &packet),
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
        let flow = traced_flow(self.scenario, &self.traffic, packet);
        let event = queue_event(link, action, flow, packet, (backlog, sojourn));
        self.records.recorder.record(now, Event::Queue(event));
    }
}
