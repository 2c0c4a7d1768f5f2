//! What a trace sees of the network between guests: packets at hosts and on links, queues,
//! losses.

use cclab_net::{ROUTES, Sight};
use cclab_packet::{Packet, flags};
use cclab_sim::CountedQueues;
use cclab_sim::sight::{End, queue_event, traced_flow};
use cclab_testbed::records::Seen;
use cclab_trace::schema::{DropEvent, DropReason, QueueAction};
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
            self.record(Event::QueueSample(self.net.queue_sample(index)));
        }
        // The end of the warm-up is one of the instants of sampling.
        let warmup = self.scenario.warmup;
        if now == warmup && warmup > Time::ZERO {
            self.warm = Some(CountedQueues::by_now(&self.net, self.bottlenecks));
        }
    }

    /// Something happens now.
    pub(super) fn record(&mut self, event: Event) {
        if let Some(records) = &mut self.records {
            records.recorder.record(self.net.now(), event);
        }
    }

    /// A packet leaves or reaches a host.
    pub(super) fn see_at_host(&mut self, packet: &Packet, side: usize, seen: Seen) {
        let Some(records) = &mut self.records else {
            return;
        };
        if packet.flags == flags::DATAGRAM {
            let at = records.realtime_zero + self.net.now().as_nanos();
            let frame = self.frames.whole(packet);
            let datagrams = &mut records.datagrams;
            datagrams.see(packet.flow, packet.backward, seen, at, frame);
        }
        let points = &self.captures.hosts[side];
        if let Some(&Some(point)) = points.get(packet.flow as usize) {
            self.capture(point, packet);
        }
    }

    fn capture(&mut self, point: u32, packet: &Packet) {
        let now = self.net.now();
        let flow = self.addressed(packet.flow);
        let Some(records) = &mut self.records else {
            return;
        };
        let recorder = &mut records.recorder;
        if !recorder.wants_packets(now) {
            return;
        }
        if packet.frame().is_some() {
            let bytes = self.frames.checked(packet);
            recorder.frame(point as usize, now, bytes.len() as u32, &bytes);
        } else {
            recorder.record(now, Event::Packet(point, &Packet { flow, ..*packet }));
        }
    }

    /// The number by which simulated packets of `flow`, which is cross traffic, have addresses: those
    /// of its sources come behind those of probes, whose hosts a kernel has.
    fn addressed(&self, flow: u32) -> u32 {
        let flows = self.scenario.flows.len() as u32;
        let routes = ROUTES as u32 * self.scenario.traffic.len() as u32;
        match flow < flows + routes {
            true => flow + self.scenario.probes.len() as u32,
            false => flow,
        }
    }

    /// A packet passes an end of a link.
    fn capture_at(&mut self, link: u32, end: End, packet: &Packet) {
        for index in 0..self.lookout.points(link, end).len() {
            let point = self.lookout.points(link, end)[index];
            self.capture(point, packet);
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
                    self.capture_at(link, End::Near, &packet);
                }
                Sight::Arrived { link, packet } => self.capture_at(link, End::Far, &packet),
                Sight::Lost {
                    link,
                    reason,
                    packet,
                } => {
                    self.trace_drop(link, reason, &packet);
                    self.frames.release(&packet);
                }
            }
        }
        self.lookout.seen = seen;
    }

    fn trace_drop(&mut self, link: u32, reason: DropReason, packet: &Packet) {
        let now = self.net.now();
        if let Some(records) = &mut self.records
            && records.recorder.wants_drops(now)
        {
            let event = DropEvent {
                link,
                reason,
                flow: traced_flow(self.scenario, &self.traffic, packet),
                offset: self.frames.offset(packet),
                wire_len: u32::from(packet.wire_len),
            };
            records.recorder.record(now, Event::Drop(event));
        }
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
        if let Some(records) = &mut self.records
            && self.lookout.looks_at_queue(link)
            && records.recorder.wants_queue(now)
        {
            let flow = traced_flow(self.scenario, &self.traffic, packet);
            let event = queue_event(link, action, flow, packet, (backlog, sojourn));
            records.recorder.record(now, Event::Queue(event));
        }
    }
}
