//! The event loop.
//!
//! Elements act in the order of (time, sequence): links, the two hosts of every flow, and the
//! sampler. What one act causes is scheduled with a later sequence, so that the order of the
//! acts of an instant is the order in which they were caused.

use cclab_packet::{Packet, flags};
use cclab_spec::Scenario;
use cclab_tcp::profile;
use cclab_tcp::sender::State;
use cclab_trace::schema::{AckEvent, DropEvent, DropReason, QueueAction, QueueEvent, RunSummary};
use cclab_trace::{Event, Probe};
use cclab_units::Time;

use crate::calendar::{Calendar, Key};
use crate::flow::Flow;
use crate::forwarding::{Forwarding, HOST};
use crate::link::{Link, Offered};
use crate::sampler::Sampler;
use crate::topology::{self, BOTTLENECK, BOTTLENECK_REVERSE, Network};
use crate::{Progress, SimError, summary};

/// Events between two looks at the progress.
const EVENTS_PER_REPORT: u64 = 8192;

/// A running simulation.
pub struct World<'a, P> {
    scenario: &'a Scenario,
    links: Vec<Link>,
    flows: Vec<Flow>,
    now: Time,
    events: u64,
    probe: &'a mut P,
    forwarding: Forwarding,
    calendar: Calendar,
    sequence: u64,
    elements: Elements,
    captures: Captures,
    sampler: Sampler,
    /// When everything was last sampled.
    sampled: Option<Time>,
    /// Flows that are not over.
    active: usize,
    end: Time,
}

/// Which element of the calendar is what.
#[derive(Clone, Copy)]
struct Elements {
    senders: u32,
    receivers: u32,
    sampler: u32,
}

/// Which capture points see the packets of each link and host.
#[derive(Default)]
struct Captures {
    bottleneck: Option<u32>,
    senders: Vec<Option<u32>>,
    receivers: Vec<Option<u32>>,
}

impl Captures {
    fn new(scenario: &Scenario) -> Captures {
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

impl<'a, P: Probe> World<'a, P> {
    /// The world of `scenario` at its beginning.
    pub fn new(scenario: &'a Scenario, seed: u64, probe: &'a mut P) -> World<'a, P> {
        let profile =
            profile::find(&scenario.stack).expect("unknown stacks are refused before a run");
        let Network {
            links,
            forwarding,
            paths,
        } = topology::build(scenario, profile, seed);
        let flows: Vec<Flow> = paths
            .into_iter()
            .enumerate()
            .map(|(index, path)| Flow::new(scenario, index, path, seed))
            .collect();
        let senders = links.len() as u32;
        let receivers = senders + flows.len() as u32;
        let sampler_element = receivers + flows.len() as u32;
        let end = scenario.duration.unwrap_or(Time::NEVER);
        let sampler = Sampler::new(scenario, &flows, end);
        let mut world = World {
            scenario,
            links,
            now: Time::ZERO,
            events: 0,
            probe,
            forwarding,
            calendar: Calendar::new(sampler_element as usize + 1),
            sequence: 0,
            elements: Elements {
                senders,
                receivers,
                sampler: sampler_element,
            },
            captures: Captures::new(scenario),
            sampler,
            sampled: None,
            active: flows.len(),
            end,
            flows,
        };
        for index in 0..world.flows.len() {
            let start = world.flows[index].start;
            if start < end {
                world.schedule(senders + index as u32, start);
            }
        }
        if P::ON {
            world.schedule(sampler_element, world.sampler.next());
        }
        world
    }

    /// Runs to the end.
    pub fn run(mut self, progress: &Progress) -> Result<RunSummary, SimError> {
        loop {
            let (key, element) = self.calendar.next();
            let time = key.time();
            if time > self.end || time == Time::NEVER {
                break;
            }
            debug_assert!(time >= self.now, "time runs forward");
            self.now = time;
            self.act(element);
            self.events += 1;
            if self.events.is_multiple_of(EVENTS_PER_REPORT) && progress.report(self.now) {
                return Err(SimError::Cancelled { at: self.now });
            }
            if self.active == 0 {
                break;
            }
        }
        if self.end != Time::NEVER && self.active > 0 {
            self.now = self.end;
        }
        if P::ON {
            self.sample();
        }
        progress.report(self.now);
        summary::check_conservation(&self.links)?;
        Ok(RunSummary {
            end: self.now,
            events: self.events,
            flows: summary::flow_summaries(&self.flows, &self.scenario.flows, self.now),
            links: summary::link_summaries(&self.links, self.now),
            kernel: None,
            fidelity: None,
        })
    }

    fn act(&mut self, element: u32) {
        let Elements {
            senders,
            receivers,
            sampler,
        } = self.elements;
        if element < senders {
            self.on_link(element as usize);
        } else if element < receivers {
            self.on_sender_timer((element - senders) as usize);
        } else if element < sampler {
            self.on_receiver_timer((element - receivers) as usize);
        } else {
            self.sample();
            let next = self.sampler.advance(self.now);
            self.schedule(sampler, next);
        }
    }

    fn schedule(&mut self, element: u32, time: Time) {
        self.sequence += 1;
        self.calendar.set(element, Key::new(time, self.sequence));
    }

    /// Sees to it that `element` acts at `deadline` or before: an earlier wake-up finds nothing
    /// due and asks again, which is cheaper than moving a timer at every packet.
    #[inline]
    fn wake_by(&mut self, element: u32, deadline: Time) {
        if deadline < self.calendar.key(element).time() {
            self.schedule(element, deadline);
        }
    }

    fn on_link(&mut self, index: usize) {
        let link = &mut self.links[index];
        if link.arrives_next() {
            let packet = link.arrive();
            let key = link.key();
            self.calendar.set(index as u32, key);
            if let Some(packet) = packet {
                self.arrive(index, packet);
            }
        } else {
            let departure = link.on_transmitter_free(self.now, &mut self.sequence);
            let key = link.key();
            self.calendar.set(index as u32, key);
            if P::ON {
                if let Some(departure) = departure {
                    let waited = self.now - departure.enqueued;
                    self.trace_departure(index, &departure.packet, waited);
                }
                self.trace_thrown_out(index);
            }
            self.links[index].thrown_out.clear();
        }
    }

    /// A packet reaches the far end of a link.
    #[inline]
    fn arrive(&mut self, index: usize, packet: Packet) {
        if let Some(reason) = self.links[index].exit.judge(self.now) {
            self.links[index].count_loss(reason);
            self.links[index].counters.delivered -= 1;
            self.trace_drop(index, &packet, reason);
            return;
        }
        if P::ON && index == BOTTLENECK_REVERSE {
            self.capture(self.captures.bottleneck, &packet);
        }
        match self.forwarding.next(index, packet.flow) {
            HOST => self.receive(&packet),
            next => self.offer(next as usize, &packet),
        }
    }

    #[inline]
    fn offer(&mut self, index: usize, packet: &Packet) {
        let link = &mut self.links[index];
        let offered = link.offer(packet, self.now, &mut self.sequence);
        let key = link.key();
        if key < self.calendar.key(index as u32) {
            self.calendar.set(index as u32, key);
        }
        if P::ON {
            self.trace_offer(index, packet, offered);
        }
        if !self.links[index].thrown_out.is_empty() {
            self.links[index].thrown_out.clear();
        }
    }

    fn receive(&mut self, packet: &Packet) {
        let index = packet.flow as usize;
        if packet.backward {
            if P::ON {
                self.capture(self.captures.senders[index], packet);
            }
            let flow = &mut self.flows[index];
            flow.sender.on_packet(self.now, packet);
            if let Some(rtt) = flow.sender.last_ack().rtt {
                flow.rtt.record(rtt.as_nanos());
            }
            if let Some(srtt) = summary::known_srtt(&flow.sender) {
                flow.srtt_sum += u128::from(srtt.as_nanos());
                flow.srtt_count += 1;
            }
            self.pump_sender(index);
            if P::ON && !packet.has(flags::SYN) && self.probe.wants_acks(self.now) {
                self.trace_ack(index);
            }
        } else {
            if P::ON {
                self.capture(self.captures.receivers[index], packet);
            }
            self.flows[index].receiver.on_packet(self.now, packet);
            self.pump_receiver(index);
        }
    }

    /// Lets a sender send what it may.
    fn pump_sender(&mut self, index: usize) {
        let first = self.flows[index].path.data as usize;
        while let Some(packet) = self.flows[index].sender.poll_transmit(self.now) {
            if P::ON {
                self.capture(self.captures.senders[index], &packet);
            }
            self.offer(first, &packet);
        }
        let flow = &mut self.flows[index];
        if !flow.over && matches!(flow.sender.state(), State::Finished | State::Aborted) {
            flow.over = true;
            flow.ended = (flow.sender.state() == State::Finished).then_some(self.now);
            self.active -= 1;
            if P::ON && self.sampler.on_end() {
                self.sample();
            }
        }
        let deadline = self.flows[index].sender_deadline();
        self.wake_by(self.elements.senders + index as u32, deadline);
    }

    fn pump_receiver(&mut self, index: usize) {
        let first = self.flows[index].path.acks as usize;
        while let Some(packet) = self.flows[index].receiver.poll_transmit(self.now) {
            if P::ON {
                self.capture(self.captures.receivers[index], &packet);
            }
            self.offer(first, &packet);
        }
        let deadline = self.flows[index].receiver.deadline();
        self.wake_by(self.elements.receivers + index as u32, deadline);
    }

    fn on_sender_timer(&mut self, index: usize) {
        let element = self.elements.senders + index as u32;
        self.calendar.set(element, Key::NEVER);
        let now = self.now;
        let flow = &mut self.flows[index];
        if flow.over {
            return;
        }
        if flow.started.is_none() {
            flow.started = Some(now);
            flow.sender.connect(now);
        }
        if flow.application.deadline() <= now {
            let act = flow.application.act(now);
            flow.sender.write(act.written);
            if act.done {
                flow.sender.close();
            }
            if act.stop {
                flow.sender.close_now();
            }
        }
        if flow.sender.deadline() <= now {
            flow.sender.on_timer(now);
        }
        self.pump_sender(index);
    }

    fn on_receiver_timer(&mut self, index: usize) {
        let element = self.elements.receivers + index as u32;
        self.calendar.set(element, Key::NEVER);
        let receiver = &mut self.flows[index].receiver;
        if receiver.deadline() <= self.now {
            receiver.on_timer(self.now);
        }
        self.pump_receiver(index);
    }

    /// Samples everything, once an instant.
    fn sample(&mut self) {
        let now = self.now;
        if self.sampled == Some(now) {
            return;
        }
        self.sampled = Some(now);
        for (index, flow) in self.flows.iter().enumerate() {
            let sample = summary::flow_sample(index, flow);
            self.probe.record(now, Event::FlowSample(sample));
        }
        for index in [BOTTLENECK, BOTTLENECK_REVERSE] {
            let sample = summary::queue_sample(index, &self.links[index], now);
            self.probe.record(now, Event::QueueSample(sample));
        }
    }

    fn capture(&mut self, point: Option<u32>, packet: &Packet) {
        if let Some(point) = point.filter(|_| self.probe.wants_packets(self.now)) {
            self.probe.record(self.now, Event::Packet(point, packet));
        }
    }

    fn trace_offer(&mut self, index: usize, packet: &Packet, offered: Offered) {
        match offered {
            Offered::Sent => {
                self.trace_queue(index, packet, QueueAction::Enqueue, None);
                self.trace_departure(index, packet, Time::ZERO);
            }
            Offered::Queued => self.trace_queue(index, packet, QueueAction::Enqueue, None),
            Offered::Lost(reason) => self.trace_drop(index, packet, reason),
        }
        self.trace_thrown_out(index);
    }

    fn trace_departure(&mut self, index: usize, packet: &Packet, waited: Time) {
        self.trace_queue(index, packet, QueueAction::Dequeue, Some(waited));
        if index == BOTTLENECK {
            self.capture(self.captures.bottleneck, packet);
        }
    }

    fn trace_queue(
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
            flow: packet.flow,
            wire_len: u32::from(packet.wire_len),
            backlog: self.links[index].backlog().bytes,
            sojourn,
        };
        self.probe.record(self.now, Event::Queue(event));
    }

    fn trace_thrown_out(&mut self, index: usize) {
        for i in 0..self.links[index].thrown_out.len() {
            let packet = self.links[index].thrown_out[i].0;
            self.trace_drop(index, &packet, DropReason::Queue);
        }
    }

    fn trace_drop(&mut self, index: usize, packet: &Packet, reason: DropReason) {
        if !P::ON || !self.probe.wants_drops(self.now) {
            return;
        }
        let sender = &self.flows[packet.flow as usize].sender;
        let event = DropEvent {
            link: index as u32,
            reason,
            flow: packet.flow,
            offset: if packet.payload > 0 {
                sender.offset_of(packet.seq)
            } else {
                0
            },
            wire_len: u32::from(packet.wire_len),
        };
        self.probe.record(self.now, Event::Drop(event));
    }

    fn trace_ack(&mut self, index: usize) {
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
