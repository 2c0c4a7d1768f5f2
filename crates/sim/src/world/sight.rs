//! What probes see of a world: samples, packets, queues, losses, acknowledgements.

use cclab_net::Sight;
use cclab_packet::Packet;
use cclab_trace::Event;
use cclab_trace::schema::{AckEvent, DropEvent, DropReason, QueueAction};
use cclab_units::Time;
use cclab_units::hint::unlikely;

use super::World;
use crate::flow::Flow;
use crate::sight::{End, queue_event, traced_flow};
use crate::summary;
use crate::udp_flow::UdpFlow;
use crate::warmup::Counted;

impl<const SEES: bool> World<'_, SEES> {
    fn traced_flow(&self, packet: &Packet) -> u32 {
        traced_flow(self.scenario, &self.hosts.traffic, packet)
    }

    /// Everything is to be sampled at `time`, before all acts of that instant; the end of the
    /// run is sampled after them.
    pub(super) fn sample_at(&mut self, time: Time) {
        let time = if time < self.end { time } else { Time::NEVER };
        self.net.look_at(self.timers.sampler, time);
    }

    /// Samples everything, once an instant.
    pub(super) fn sample(&mut self) {
        let now = self.net.now();
        if self.sampled == Some(now) {
            return;
        }
        self.sampled = Some(now);
        for (index, flow) in self.hosts.flows.iter().enumerate() {
            let sample = summary::flow_sample(index, flow);
            self.probe.record(now, Event::FlowSample(sample));
        }
        let bottlenecks = 2 * self.scenario.network.bottlenecks as usize;
        for index in 0..bottlenecks {
            let sample = self.net.queue_sample(index);
            self.probe.record(now, Event::QueueSample(sample));
        }
        // The end of the warm-up is one of the instants of sampling.
        let warmup = self.scenario.warmup;
        if now == warmup && warmup > Time::ZERO {
            let flows = &self.hosts.flows;
            self.warm = Some(Counted::by_now(flows, &self.net, bottlenecks));
        }
    }

    pub(super) fn capture(&mut self, point: u32, packet: &Packet) {
        let now = self.net.now();
        if self.probe.wants_packets(now) {
            self.probe.record(now, Event::Packet(point, packet));
        }
    }

    /// A packet passes an end of a link.
    fn capture_at(&mut self, link: u32, end: End, packet: &Packet) {
        for index in 0..self.lookout.points(link, end).len() {
            let point = self.lookout.points(link, end)[index];
            self.capture(point, packet);
        }
    }

    /// Tells the probe what the lookout has seen.
    #[inline]
    pub(super) fn tell(&mut self) {
        if unlikely(!self.lookout.seen.is_empty()) {
            self.tell_seen();
        }
    }

    #[inline(never)]
    fn tell_seen(&mut self) {
        let mut seen = std::mem::take(&mut self.lookout.seen);
        for sight in seen.drain(..) {
            match sight {
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
                    let waited = Some(waited);
                    self.trace_queue(link, &packet, QueueAction::Dequeue, backlog, waited);
                    self.capture_at(link, End::Near, &packet);
                }
                Sight::Copied { .. } => {}
                Sight::Arrived { link, packet } => self.capture_at(link, End::Far, &packet),
                Sight::Lost {
                    link,
                    reason,
                    packet,
                } => {
                    if let Some(Flow::Udp(flow)) = self.hosts.flows.get_mut(packet.flow as usize) {
                        flow.lose(&packet);
                    }
                    self.trace_drop(link, &packet, reason);
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
        if !self.lookout.looks_at_queue(link) || !self.probe.wants_queue(now) {
            return;
        }
        let flow = self.traced_flow(packet);
        let event = queue_event(link, action, flow, packet, (backlog, sojourn));
        self.probe.record(now, Event::Queue(event));
    }

    fn trace_drop(&mut self, link: u32, packet: &Packet, reason: DropReason) {
        let now = self.net.now();
        if !self.probe.wants_drops(now) {
            return;
        }
        let flow = self.traced_flow(packet);
        let offset = match self.hosts.flows.get(flow as usize) {
            Some(Flow::Tcp(flow)) if packet.payload > 0 => flow.sender.offset_of(packet.seq),
            Some(Flow::Udp(_)) => UdpFlow::offset_of(packet),
            _ => 0,
        };
        let event = DropEvent {
            link,
            reason,
            flow,
            offset,
            wire_len: u32::from(packet.wire_len),
        };
        self.probe.record(now, Event::Drop(event));
    }

    /// Tells the probe the inner state of a flow's variant, if it is another than before.
    pub(super) fn trace_state(&mut self, index: usize) {
        let now = self.net.now();
        if self.probe.wants_states(now) {
            let flow = &self.hosts.flows[index];
            self.states.tell(index, flow, now, self.probe);
        }
    }

    pub(super) fn trace_ack(&mut self, index: usize) {
        let Some(flow) = self.hosts.flows[index].tcp() else {
            return; // datagrams are not acknowledged
        };
        let sender = &flow.sender;
        let last = sender.last_ack();
        let event = AckEvent {
            flow: index as u32,
            snd_una: sender.snd_una(),
            snd_nxt: sender.snd_nxt(),
            newly_acked: last.newly_acked,
            cwnd: sender.window(),
            ssthresh: summary::known_ssthresh(sender),
            rtt: last.rtt,
            srtt: flow.srtt(),
            rto: Some(sender.rtt().rto()),
            in_flight: Some(sender.board().in_flight()),
            rwnd: sender.rwnd(),
            delivery_rate: last.rate(),
            pacing_rate: sender.kept_rate(),
            in_recovery: Some(sender.in_recovery()),
        };
        self.probe.record(self.net.now(), Event::Ack(event));
    }
}
