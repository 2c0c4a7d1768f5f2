//! The event loop.
//!
//! Packets arrive and elements act in the order of (time, sequence). Elements are the
//! transmitters of links, the timers of every flow, and the sampler. What one act causes is scheduled with a later sequence, so that the order of the
//! acts of an instant is the order in which they were caused. What only looks on, for a trace,
//! comes before all acts of its instant and changes nothing.

mod hosts;
mod passage;
mod sight;
#[cfg(test)]
mod tests;

use cclab_layout::Layout;
use cclab_packet::Packet;
use cclab_spec::Scenario;
use cclab_tcp::profile;
use cclab_trace::schema::{DropReason, RunSummary};
use cclab_trace::{Event, Probe};
use cclab_units::Time;
use cclab_units::memory::{prefetch, with_room_on_large_pages};

use crate::calendar::{Calendar, Key};
use crate::flow::Flow;
use crate::foreseen::{Foreseen, Sight};
use crate::forwarding::{Forwarding, HOST, MIXED};
use crate::link::{Leaving, Link, Offered};
use crate::network::{self, BOTTLENECK_REVERSE, Counting, Network, Path};
use crate::sampler::Sampler;
use crate::stack::Profiles;
use crate::traffic::Traffic;
use crate::wires::{AHEAD, Held, Taken, Wires};
use crate::{Progress, SimError, summary};
use sight::Captures;

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

impl<'a, P: Probe> World<'a, P> {
    /// The world of `scenario` at its beginning.
    pub fn new(scenario: &'a Scenario, seed: u64, probe: &'a mut P) -> World<'a, P> {
        let profile =
            profile::find(&scenario.stack).expect("unknown stacks are refused before a run");
        let counting = Counting {
            framing: profile.wire.framing,
            limit_is_exclusive: profile.queue_limit_is_exclusive,
        };
        let layout = Layout::of(scenario);
        let Network {
            links,
            mut forwarding,
        } = network::build(&layout, counting, seed);
        let mut profiles = Profiles::default();
        let mut flows = with_room_on_large_pages(layout.flows.len());
        let paths = layout.flows.iter().map(Path::of).enumerate();
        flows.extend(
            paths.map(|(index, path)| Flow::new(scenario, index, path, seed, &mut profiles)),
        );
        let elements = Elements {
            flows: links.len() as u32,
            observer: (links.len() + flows.len()) as u32,
            sampler: (links.len() + flows.len()) as u32 + 1,
            traffic: (links.len() + flows.len()) as u32 + 2,
        };
        let traffic = Traffic::new(scenario, &layout, seed, P::ON, &mut forwarding);
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
        if let Some(Taken {
            packet,
            link,
            since,
        }) = self.wires.take()
        {
            self.links[link as usize].deliver();
            self.arrive(link as usize, packet, since);
        }
    }

    /// Has the memory fetched that the next packets will touch, in the order in which one place
    /// tells of another.
    #[inline]
    fn look_ahead(&self) {
        if let Some((link, _)) = self.wires.ahead(3 * AHEAD / 4) {
            self.links[link as usize].fetch();
        }
        if let Some((link, packet)) = self.wires.ahead(AHEAD / 2) {
            let next = self.next_hop(link as usize, packet);
            if next != HOST {
                let fed = match self.links[next as usize].feeds_ahead() {
                    true => self.next_hop(next as usize, packet),
                    false => next,
                };
                self.links[fed as usize].fetch();
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
            self.links[link as usize].fetch();
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
            let packet = self.wires.hold(&departure.packet);
            self.send(index, packet, self.now, *arrives);
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
    fn send(&mut self, index: usize, held: Held, departs: Time, arrives: Time) {
        let packet = self.wires.packet(&held);
        let mut wire = index;
        let (mut since, mut there) = (departs, arrives);
        if self.links[index].feeds_ahead() {
            self.links[index].deliver();
            wire = self.next_hop(index, packet) as usize;
            since = arrives;
            there = self.links[wire].take_ahead(packet, arrives);
            if P::ON && index == BOTTLENECK_REVERSE && self.captures.bottleneck.is_some() {
                let packet = *packet;
                self.foresee(arrives, Sight::Return(packet));
            }
        }
        let arrives = self.links[wire].arrival(there);
        self.sequence += 1;
        let key = Key::new(arrives, self.sequence);
        self.wires.put(key, wire as u32, since, held);
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
    fn arrive(&mut self, index: usize, held: Held, since: Time) {
        if self.links[index].fittings.is_some() && self.is_lost_at_exit(index, &held) {
            return self.wires.release(held);
        }
        if P::ON && index == BOTTLENECK_REVERSE {
            let packet = *self.wires.packet(&held);
            self.capture(self.captures.bottleneck, &packet);
        }
        let packet = self.wires.packet(&held);
        match self.next_hop(index, packet) {
            HOST if packet.is_corrupt() => {
                let packet = *packet;
                self.lose_arrived(index, &packet, DropReason::Corrupt);
                self.wires.release(held);
            }
            HOST => self.receive(held),
            next => self.offer(next as usize, held, since),
        }
    }

    /// A packet comes to a link, from a transmission that began at `since`.
    #[inline]
    fn offer(&mut self, index: usize, packet: Held, since: Time) {
        if self.links[index].fittings.is_some() {
            return self.pass_entry(index, packet, since);
        }
        self.admit(index, packet, since);
    }

    /// A packet comes to the queue of a link.
    #[inline]
    fn admit(&mut self, index: usize, held: Held, since: Time) {
        let packet = self.wires.packet(&held);
        let seen = P::ON.then_some(*packet);
        let link = &mut self.links[index];
        let offered = link.offer(packet, since, self.now, &mut self.sequence);
        match &offered {
            Offered::Sent { arrives } => self.send(index, held, self.now, *arrives),
            Offered::Foreseen { departs, arrives } => self.send(index, held, *departs, *arrives),
            Offered::Passed(leaving) => {
                *self.wires.packet_mut(&held) = leaving.departure.packet;
                self.send(index, held, self.now, leaving.arrives);
            }
            Offered::Queued | Offered::Lost(_) => self.wires.release(held),
        }
        if let Some(packet) = &seen {
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
}
