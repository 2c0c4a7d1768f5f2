//! What probes see of a world: samples, packets, queues, losses, acknowledgements.

use cclab_packet::Packet;
use cclab_spec::Scenario;
use cclab_trace::schema::{AckEvent, DropEvent, DropReason, QueueAction, QueueEvent};
use cclab_trace::{Event, Probe};
use cclab_units::Time;

use super::World;
use crate::calendar::Key;
use crate::foreseen::Sight;
use crate::link::Offered;
use crate::network::BOTTLENECK;
use crate::summary;

/// Which capture points see the packets of each link and host.
#[derive(Default)]
pub(super) struct Captures {
    pub(super) bottleneck: Option<u32>,
    pub(super) senders: Vec<Option<u32>>,
    pub(super) receivers: Vec<Option<u32>>,
}

impl Captures {
    pub(super) fn new(scenario: &Scenario) -> Captures {
        let point = |name: &str| {
            let found = scenario
                .trace
                .capture
                .iter()
                .position(|point| point == name);
            found.map(|index| index as u32)
        };
        let of_host = |host: &str| {
            scenario
                .flows
                .iter()
                .map(|flow| point(&format!("{}.{host}", flow.name)))
                .collect()
        };
        Captures {
            bottleneck: point("bottleneck"),
            senders: of_host("sender"),
            receivers: of_host("receiver"),
        }
    }
}

impl<P: Probe> World<'_, P> {
    /// The index of a packet's flow in a trace: sources of cross traffic follow the flows.
    pub(super) fn traced_flow(&self, packet: &Packet) -> u32 {
        let flows = self.flows.len() as u32;
        match packet.flow < flows {
            true => packet.flow,
            false => flows + self.traffic.source_of(packet.flow),
        }
    }

    /// Everything is to be sampled at `time`, before all acts of that instant; the end of the
    /// run is sampled after them.
    pub(super) fn sample_at(&mut self, time: Time) {
        let key = match time < self.end {
            true => Key::first_of(time),
            false => Key::NEVER,
        };
        self.calendar.set(self.elements.sampler, key);
    }

    /// Samples everything, once an instant.
    pub(super) fn sample(&mut self) {
        let now = self.now;
        if self.sampled == Some(now) {
            return;
        }
        self.sampled = Some(now);
        for (index, flow) in self.flows.iter().enumerate() {
            let sample = summary::flow_sample(index, flow);
            self.probe.record(now, Event::FlowSample(sample));
        }
        for index in 0..2 * self.scenario.network.bottlenecks as usize {
            let sample = summary::queue_sample(index, &self.links[index], now);
            self.probe.record(now, Event::QueueSample(sample));
        }
    }

    pub(super) fn capture(&mut self, point: Option<u32>, packet: &Packet) {
        if let Some(point) = point.filter(|_| self.probe.wants_packets(self.now)) {
            self.probe.record(self.now, Event::Packet(point, packet));
        }
    }

    /// A probe is to see something at `time`.
    pub(super) fn foresee(&mut self, time: Time, sight: Sight) {
        self.foreseen.push(time, sight);
        let next = Key::first_of(self.foreseen.next());
        self.calendar.set(self.elements.observer, next);
    }

    /// Lets the probe see what happens now.
    pub(super) fn observe(&mut self) {
        while let Some(sight) = self.foreseen.pop(self.now) {
            match sight {
                Sight::Departure {
                    link,
                    waited,
                    packet,
                } => {
                    self.trace_departure(link as usize, &packet, waited);
                }
                Sight::Return(packet) => self.capture(self.captures.bottleneck, &packet),
            }
        }
        let next = self.foreseen.next();
        let key = match next {
            Time::NEVER => Key::NEVER,
            next => Key::first_of(next),
        };
        self.calendar.set(self.elements.observer, key);
    }

    pub(super) fn trace_offer(&mut self, index: usize, packet: &Packet, offered: &Offered) {
        match offered {
            Offered::Sent { .. } => {
                self.trace_queue(index, packet, QueueAction::Enqueue, None);
                self.trace_departure(index, packet, Time::ZERO);
            }
            Offered::Foreseen { departs, .. } => {
                self.trace_queue(index, packet, QueueAction::Enqueue, None);
                if index == BOTTLENECK {
                    let sight = Sight::Departure {
                        link: index as u32,
                        waited: *departs - self.now,
                        packet: *packet,
                    };
                    self.foresee(*departs, sight);
                }
            }
            Offered::Passed(leaving) => {
                self.trace_queue(index, packet, QueueAction::Enqueue, None);
                self.trace_departure(index, &leaving.departure.packet, Time::ZERO);
            }
            Offered::Queued => self.trace_queue(index, packet, QueueAction::Enqueue, None),
            Offered::Lost(reason) => self.trace_drop(index, packet, *reason),
        }
        self.trace_thrown_out(index);
    }

    pub(super) fn trace_departure(&mut self, index: usize, packet: &Packet, waited: Time) {
        self.trace_queue(index, packet, QueueAction::Dequeue, Some(waited));
        if index == BOTTLENECK {
            self.capture(self.captures.bottleneck, packet);
        }
    }

    pub(super) fn trace_queue(
        &mut self,
        index: usize,
        packet: &Packet,
        action: QueueAction,
        sojourn: Option<Time>,
    ) {
        if index != BOTTLENECK || !self.probe.wants_queue(self.now) {
            return;
        }
        let event = QueueEvent {
            link: index as u32,
            action,
            flow: self.traced_flow(packet),
            wire_len: u32::from(packet.wire_len),
            backlog: self.links[index].backlog(self.now).bytes,
            sojourn,
        };
        self.probe.record(self.now, Event::Queue(event));
    }

    pub(super) fn trace_thrown_out(&mut self, index: usize) {
        for i in 0..self.links[index].thrown_out().len() {
            let packet = self.links[index].thrown_out()[i].0;
            self.trace_drop(index, &packet, DropReason::Queue);
        }
    }

    pub(super) fn trace_drop(&mut self, index: usize, packet: &Packet, reason: DropReason) {
        if !P::ON || !self.probe.wants_drops(self.now) {
            return;
        }
        let flow = self.traced_flow(packet);
        let sender = self.flows.get(flow as usize).map(|flow| &flow.sender);
        let event = DropEvent {
            link: index as u32,
            reason,
            flow,
            offset: match sender {
                Some(sender) if packet.payload > 0 => sender.offset_of(packet.seq),
                _ => 0,
            },
            wire_len: u32::from(packet.wire_len),
        };
        self.probe.record(self.now, Event::Drop(event));
    }

    pub(super) fn trace_ack(&mut self, index: usize) {
        let sender = &self.flows[index].sender;
        let last = sender.last_ack();
        let event = AckEvent {
            flow: index as u32,
            snd_una: sender.snd_una(),
            snd_nxt: sender.snd_nxt(),
            newly_acked: last.newly_acked,
            cwnd: sender.window(),
            ssthresh: summary::known_ssthresh(sender),
            rtt: last.rtt,
            srtt: summary::known_srtt(sender),
            rto: Some(sender.rtt().rto()),
            in_flight: Some(sender.board().in_flight()),
            rwnd: sender.rwnd(),
            delivery_rate: last.rate.and_then(|rate| rate.rate()),
            in_recovery: Some(sender.in_recovery()),
        };
        self.probe.record(self.now, Event::Ack(event));
    }
}
