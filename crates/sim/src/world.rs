//! The event loop.
//!
//! Packets arrive and elements act in the order of (time, sequence). Elements are the
//! transmitters of links, the timers of every flow, and the sampler. What one act causes is scheduled with a later sequence, so that the order of the
//! acts of an instant is the order in which they were caused. What only looks on, for a trace,
//! comes before all acts of its instant and changes nothing.

mod passage;
#[cfg(test)]
mod tests;

use cclab_packet::{Packet, flags};
use cclab_spec::Scenario;
use cclab_tcp::profile;
use cclab_tcp::sender::State;
use cclab_trace::schema::{AckEvent, DropEvent, DropReason, QueueAction, QueueEvent, RunSummary};
use cclab_trace::{Event, Probe};
use cclab_units::Time;
use cclab_units::memory::{prefetch, with_room_on_large_pages};

use crate::calendar::{Calendar, Key};
use crate::flow::Flow;
use crate::foreseen::{Foreseen, Sight};
use crate::forwarding::{Forwarding, HOST, MIXED};
use crate::link::{Leaving, Link, Offered};
use crate::sampler::Sampler;
use crate::stack::Profiles;
use crate::topology::{self, BOTTLENECK, BOTTLENECK_REVERSE, Network};
use crate::traffic::Traffic;
use crate::wires::{AHEAD, Wires};
use crate::{Progress, SimError, summary};

/// Events between two looks at the progress.
const EVENTS_PER_REPORT: u64 = 8192;

/// What so many flows and their links touch, some kilobytes each, is more than the cache next to a
/// processor holds.
const FLOWS_BEYOND_THE_CACHE: usize = 150;

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
    wires: Wires,
    sequence: u64,
    elements: Elements,
    captures: Captures,
    sampler: Sampler,
    foreseen: Foreseen,
    traffic: Traffic<'a>,
    /// When everything was last sampled.
    sampled: Option<Time>,
    /// Flows that are not over.
    active: usize,
    /// A flow whose variant returned nonsense.
    faulty: Option<usize>,
    end: Time,
}

/// Which element of the calendar is what.
#[derive(Clone, Copy)]
struct Elements {
    /// Links come before; the timers of each flow's two hosts begin here.
    flows: u32,
    /// What probes see at its time.
    observer: u32,
    sampler: u32,
    traffic: u32,
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
            links: built,
            mut forwarding,
            paths,
            ways,
        } = topology::build(scenario, profile, seed);
        let mut links = with_room_on_large_pages(built.len());
        links.extend(built);
        let mut profiles = Profiles::default();
        let mut flows = with_room_on_large_pages(paths.len());
        flows.extend(
            paths
                .into_iter()
                .enumerate()
                .map(|(index, path)| Flow::new(scenario, index, path, seed, &mut profiles)),
        );
        let elements = Elements {
            flows: links.len() as u32,
            observer: (links.len() + flows.len()) as u32,
            sampler: (links.len() + flows.len()) as u32 + 1,
            traffic: (links.len() + flows.len()) as u32 + 2,
        };
        let traffic = Traffic::new(scenario, &links, ways, seed, P::ON, &mut forwarding);
        // Cross traffic goes on until the run's end, if that is set.
        let lasting = usize::from(!scenario.traffic.is_empty() && scenario.duration.is_some());
        let end = scenario.duration.unwrap_or(Time::NEVER);
        let sampler = Sampler::new(scenario, &flows, end);
        let mut world = World {
            scenario,
            links,
            now: Time::ZERO,
            events: 0,
            probe,
            forwarding,
            calendar: Calendar::new(elements.traffic as usize + 1),
            wires: Wires::new(
                elements.flows as usize,
                flows.len() >= FLOWS_BEYOND_THE_CACHE,
            ),
            sequence: 0,
            elements,
            captures: Captures::new(scenario),
            sampler,
            foreseen: Foreseen::default(),
            sampled: None,
            active: flows.len() + lasting,
            traffic,
            faulty: None,
            end,
            flows,
        };
        for index in 0..world.flows.len() {
            let start = world.flows[index].start;
            if start < end {
                world.schedule(elements.flows + index as u32, start);
            }
        }
        if P::ON {
            world.sample_at(world.sampler.next());
        }
        world.wake_by(elements.traffic, world.traffic.deadline());
        world
    }

    /// Runs to the end.
    pub fn run(mut self, progress: &Progress) -> Result<RunSummary, SimError> {
        loop {
            let (key, element) = self.calendar.next();
            let arrival = self.wires.next();
            let arrives = arrival < key;
            let time = if arrives { arrival } else { key }.time();
            if time > self.end || time == Time::NEVER {
                break;
            }
            debug_assert!(time >= self.now, "time runs forward");
            self.now = time;
            match arrives {
                true => {
                    if self.wires.looks_ahead() {
                        self.look_ahead();
                    }
                    self.on_arrival();
                }
                false => self.act(element),
            }
            self.events += 1;
            if self.events.is_multiple_of(EVENTS_PER_REPORT) && progress.report(self.now) {
                return Err(SimError::Cancelled { at: self.now });
            }
            if self.active == 0 || self.faulty.is_some() {
                break;
            }
        }
        if let Some(error) = self.faulty.and_then(|index| self.variant_error(index)) {
            return Err(error);
        }
        if self.end != Time::NEVER && self.active > 0 {
            self.now = self.end;
        }
        if P::ON {
            self.sample();
            for (began, transfer) in self.traffic.unfinished() {
                self.probe
                    .record(self.now, Event::Transfer(began, transfer));
            }
        }
        progress.report(self.now);
        self.settle();
        summary::check_conservation(&self.links)?;
        Ok(RunSummary {
            end: self.now,
            events: self.events,
            flows: summary::flow_summaries(self.flows, &self.scenario.flows, self.now),
            links: summary::link_summaries(self.links, self.now),
            traffic: self.traffic.summaries(),
            kernel: None,
            fidelity: None,
        })
    }

    /// What is wrong with the variant of the flow at `index`.
    fn variant_error(&self, index: usize) -> Option<SimError> {
        let Some(flow) = self.flows.get(index) else {
            return self.traffic.fault.clone();
        };
        let spec = &self.scenario.flows[index];
        let fault = flow.sender.fault()?;
        Some(SimError::Variant {
            flow: spec.name.clone(),
            variant: spec.cc.clone(),
            what: fault.to_string(),
        })
    }

    fn act(&mut self, element: u32) {
        let Elements {
            flows,
            observer,
            sampler,
            traffic,
        } = self.elements;
        if element < flows {
            self.on_link(element as usize);
        } else if element < observer {
            self.on_timers((element - flows) as usize);
        } else if element < sampler {
            self.observe();
        } else if element == traffic {
            self.calendar.set(element, Key::NEVER);
            self.traffic.act(self.now, &mut self.forwarding);
            self.pump_traffic();
        } else {
            self.sample();
            let next = self.sampler.advance(self.now);
            self.sample_at(next);
        }
    }

    /// Lets the counters of links, some of which run ahead, tell what has happened by now.
    fn settle(&mut self) {
        let mut on_wires = self.wires.remaining();
        // Those of one link stay in the order of their arrival.
        on_wires.sort_by_key(|arrival| arrival.link);
        let mut rest = on_wires.iter().peekable();
        for index in 0..self.links.len() {
            let link = &mut self.links[index];
            link.finish(self.now);
            let own = std::iter::from_fn(|| rest.next_if(|one| one.link as usize == index));
            let taken_back = link.finish_wire(own, self.now);
            if let Some(feeder) = link.fed_by {
                self.links[feeder as usize].not_yet_there(taken_back);
            }
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

    /// The next packet comes to the far end of a link.
    #[inline]
    fn on_arrival(&mut self) {
        if let Some(arrival) = self.wires.take() {
            let index = arrival.link as usize;
            self.links[index].deliver();
            self.arrive(index, &arrival.packet, arrival.since);
        }
    }

    /// Has the memory fetched that the next packets will touch, in the order in which one place
    /// tells of another.
    #[inline]
    fn look_ahead(&self) {
        if let Some((link, _)) = self.wires.ahead(3 * AHEAD / 4) {
            prefetch(&self.links[link as usize]);
        }
        if let Some((link, packet)) = self.wires.ahead(AHEAD / 2) {
            let next = self.next_hop(link as usize, packet);
            if next != HOST {
                let fed = match self.links[next as usize].feeds_ahead() {
                    true => self.next_hop(next as usize, packet),
                    false => next,
                };
                prefetch(&self.links[fed as usize]);
            } else if let Some(flow) = self.flows.get(packet.flow as usize) {
                prefetch(&flow.path);
                match packet.backward {
                    true => prefetch(&flow.sender),
                    false => prefetch(&flow.receiver),
                }
            }
        }
        if let Some((link, packet)) = self.wires.ahead(AHEAD / 4)
            && self.next_hop(link as usize, packet) == HOST
            && let Some(flow) = self.flows.get(packet.flow as usize)
        {
            let link = match packet.backward {
                true => {
                    flow.fetch_parts();
                    flow.path.data
                }
                false => flow.path.acks,
            };
            prefetch(&self.links[link as usize]);
        }
    }

    /// The transmitter of a link asks its queue.
    fn on_link(&mut self, index: usize) {
        let link = &mut self.links[index];
        if link.follows_trace() {
            return self.on_opportunity(index);
        }
        let leaving = link.on_transmitter_free(self.now, &mut self.sequence);
        let key = link.key();
        self.calendar.set(index as u32, key);
        if let Some(Leaving { departure, arrives }) = &leaving {
            self.send(index, &departure.packet, self.now, *arrives);
            if P::ON {
                let waited = self.now - departure.enqueued;
                self.trace_departure(index, &departure.packet, waited);
            }
        }
        if P::ON {
            self.trace_thrown_out(index);
        }
        self.links[index].clear_thrown_out();
    }

    /// A packet leaves a link at `departs` and reaches its far end at `arrives`.
    #[inline]
    fn send(&mut self, index: usize, packet: &Packet, departs: Time, arrives: Time) {
        let mut wire = index;
        let (mut since, mut there) = (departs, arrives);
        if self.links[index].feeds_ahead() {
            self.links[index].deliver();
            wire = self.next_hop(index, packet) as usize;
            since = arrives;
            there = self.links[wire].take_ahead(packet, arrives);
            if P::ON && index == BOTTLENECK_REVERSE && self.captures.bottleneck.is_some() {
                self.foresee(arrives, Sight::Return(*packet));
            }
        }
        let arrives = self.links[wire].arrival(there);
        self.sequence += 1;
        let key = Key::new(arrives, self.sequence);
        self.wires.put(key, wire as u32, since, packet);
    }

    /// Where a packet goes from the far end of a link.
    #[inline]
    fn next_hop(&self, index: usize, packet: &Packet) -> u32 {
        match self.links[index].leads_to {
            MIXED => self.forwarding.next(index, packet.flow, packet.backward),
            only => only,
        }
    }

    /// A packet reaches the far end of a link.
    #[inline]
    fn arrive(&mut self, index: usize, packet: &Packet, since: Time) {
        if self.links[index].fittings.is_some() && self.is_lost_at_exit(index, packet) {
            return;
        }
        if P::ON && index == BOTTLENECK_REVERSE {
            self.capture(self.captures.bottleneck, packet);
        }
        match self.next_hop(index, packet) {
            HOST if packet.is_corrupt() => {
                self.lose_arrived(index, packet, DropReason::Corrupt);
            }
            HOST => self.receive(packet),
            next => self.offer(next as usize, packet, since),
        }
    }

    /// A packet comes to a link, from a transmission that began at `since`.
    #[inline]
    fn offer(&mut self, index: usize, packet: &Packet, since: Time) {
        if self.links[index].fittings.is_some() {
            return self.pass_entry(index, packet, since);
        }
        self.admit(index, packet, since);
    }

    /// A packet comes to the queue of a link.
    #[inline]
    fn admit(&mut self, index: usize, packet: &Packet, since: Time) {
        let link = &mut self.links[index];
        let offered = link.offer(packet, since, self.now, &mut self.sequence);
        match &offered {
            Offered::Sent { arrives } => self.send(index, packet, self.now, *arrives),
            Offered::Foreseen { departs, arrives } => self.send(index, packet, *departs, *arrives),
            Offered::Passed(leaving) => {
                self.send(index, &leaving.departure.packet, self.now, leaving.arrives);
            }
            Offered::Queued | Offered::Lost(_) => {}
        }
        if P::ON {
            self.trace_offer(index, packet, &offered);
        }
        self.after_queueing(index, &offered);
    }

    /// A queue that is asked may wait for its transmitter now, and may have thrown packets out.
    #[inline]
    fn after_queueing(&mut self, index: usize, offered: &Offered) {
        if matches!(offered, Offered::Sent { .. } | Offered::Foreseen { .. }) {
            return;
        }
        let link = &mut self.links[index];
        link.clear_thrown_out();
        let key = link.key();
        if key < self.calendar.key(index as u32) {
            self.calendar.set(index as u32, key);
        }
    }

    fn receive(&mut self, packet: &Packet) {
        let index = packet.flow as usize;
        if index >= self.flows.len() {
            return self.receive_traffic(packet);
        }
        if packet.backward {
            if P::ON {
                self.capture(self.captures.senders[index], packet);
            }
            let flow = &mut self.flows[index];
            flow.sender.on_packet(self.now, packet);
            if flow.application.is_interactive() {
                flow.application.on_acked(self.now, flow.sender.snd_una());
            }
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
            let flow = &mut self.flows[index];
            flow.receiver.on_packet(self.now, packet);
            if flow.application.is_interactive()
                && flow.application.is_answered(flow.receiver.bytes_received())
            {
                flow.receiver.acknowledge_now();
            }
            self.pump_receiver(index);
        }
    }

    /// Out of the way of the flows' packets, which are the most.
    #[cold]
    #[inline(never)]
    fn receive_traffic(&mut self, packet: &Packet) {
        self.traffic.receive(self.now, packet);
        self.pump_traffic();
    }

    /// Lets cross traffic send what it has.
    fn pump_traffic(&mut self) {
        let packets = self.traffic.take_packets();
        for (link, packet) in &packets {
            self.offer(*link as usize, packet, self.now);
        }
        self.traffic.reuse(packets);
        if P::ON {
            for (began, transfer) in self.traffic.ended() {
                self.probe
                    .record(self.now, Event::Transfer(began, transfer));
            }
        }
        if self.traffic.fault.is_some() {
            self.faulty = Some(self.flows.len());
        }
        self.wake_by(self.elements.traffic, self.traffic.deadline());
    }

    /// The index of a packet's flow in a trace: sources of cross traffic follow the flows.
    fn traced_flow(&self, packet: &Packet) -> u32 {
        let flows = self.flows.len() as u32;
        match packet.flow < flows {
            true => packet.flow,
            false => flows + self.traffic.source_of(packet.flow),
        }
    }

    /// Lets a sender send what it may.
    fn pump_sender(&mut self, index: usize) {
        let first = self.flows[index].path.data as usize;
        while let Some(packet) = self.flows[index].sender.poll_transmit(self.now) {
            if P::ON {
                self.capture(self.captures.senders[index], &packet);
            }
            self.offer(first, &packet, self.now);
        }
        let flow = &mut self.flows[index];
        if !flow.over && matches!(flow.sender.state(), State::Finished | State::Aborted) {
            flow.over = true;
            if flow.sender.fault().is_some() {
                self.faulty = Some(index);
            }
            flow.ended = (flow.sender.state() == State::Finished).then_some(self.now);
            self.active -= 1;
            if P::ON && self.sampler.on_end() {
                self.sample();
            }
        }
        let deadline = self.flows[index].sender_deadline();
        self.wake_by(self.elements.flows + index as u32, deadline);
    }

    fn pump_receiver(&mut self, index: usize) {
        let first = self.flows[index].path.acks as usize;
        while let Some(packet) = self.flows[index].receiver.poll_transmit(self.now) {
            if P::ON {
                self.capture(self.captures.receivers[index], &packet);
            }
            self.offer(first, &packet, self.now);
        }
        let deadline = self.flows[index].receiver.deadline();
        if deadline != Time::NEVER {
            self.wake_by(self.elements.flows + index as u32, deadline);
        }
    }

    /// Something may be due at the hosts of a flow.
    fn on_timers(&mut self, index: usize) {
        let element = self.elements.flows + index as u32;
        self.calendar.set(element, Key::NEVER);
        if !self.flows[index].over {
            self.on_sender_timer(index);
        }
        if self.flows[index].receiver.deadline() <= self.now {
            self.flows[index].receiver.on_timer(self.now);
        }
        self.pump_receiver(index);
    }

    fn on_sender_timer(&mut self, index: usize) {
        let now = self.now;
        let flow = &mut self.flows[index];
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

    /// Samples everything, once an instant.
    /// Everything is to be sampled at `time`, before all acts of that instant; the end of the
    /// run is sampled after them.
    fn sample_at(&mut self, time: Time) {
        let key = match time < self.end {
            true => Key::first_of(time),
            false => Key::NEVER,
        };
        self.calendar.set(self.elements.sampler, key);
    }

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
        for index in 0..2 * self.scenario.network.bottlenecks as usize {
            let sample = summary::queue_sample(index, &self.links[index], now);
            self.probe.record(now, Event::QueueSample(sample));
        }
    }

    fn capture(&mut self, point: Option<u32>, packet: &Packet) {
        if let Some(point) = point.filter(|_| self.probe.wants_packets(self.now)) {
            self.probe.record(self.now, Event::Packet(point, packet));
        }
    }

    /// A probe is to see something at `time`.
    fn foresee(&mut self, time: Time, sight: Sight) {
        self.foreseen.push(time, sight);
        let next = Key::first_of(self.foreseen.next());
        self.calendar.set(self.elements.observer, next);
    }

    /// Lets the probe see what happens now.
    fn observe(&mut self) {
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

    fn trace_offer(&mut self, index: usize, packet: &Packet, offered: &Offered) {
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
            flow: self.traced_flow(packet),
            wire_len: u32::from(packet.wire_len),
            backlog: self.links[index].backlog(self.now).bytes,
            sojourn,
        };
        self.probe.record(self.now, Event::Queue(event));
    }

    fn trace_thrown_out(&mut self, index: usize) {
        for i in 0..self.links[index].thrown_out().len() {
            let packet = self.links[index].thrown_out()[i].0;
            self.trace_drop(index, &packet, DropReason::Queue);
        }
    }

    fn trace_drop(&mut self, index: usize, packet: &Packet, reason: DropReason) {
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
