//! The event loop: one network, the hosts around it, and what a trace is to see of both.

mod hosts;
mod sight;
#[cfg(test)]
pub(crate) mod tests;

use cclab_layout::Layout;
use cclab_net::{Counting, Host, Network, Next, ROUTES, ports};
use cclab_packet::Packet;
use cclab_spec::Scenario;
use cclab_tcp::profile;
use cclab_trace::schema::RunSummary;
use cclab_trace::{Event, Probe};
use cclab_units::Time;
use cclab_units::hint::unlikely;
use cclab_units::memory::with_room_on_large_pages;

use crate::flow::Flow;
use crate::own::OwnVariants;
use crate::probe::Probes;
use crate::sampler::Sampler;
use crate::sight::{Captures, Lookout};
use crate::stack::Profiles;
use crate::states::States;
use crate::traffic::Traffic;
use crate::triggers::Triggers;
use crate::warmup::Counted;
use crate::{Progress, SimError, summary};
use hosts::Hosts;

/// Events between two looks at the progress.
const EVENTS_PER_REPORT: u64 = 8192;

/// What so many flows and their links touch, some kilobytes each, is so much more than the cache next to
/// a processor holds that it pays to have it fetched ahead. With 1,000 flows that costs more than what
/// is fetched saves, with 2,000 less, where that cache has 2 MB.
const FLOWS_BEYOND_THE_CACHE: usize = 1_500;

/// A running simulation. What packets do is told only if it `SEES` them.
pub struct World<'a, const SEES: bool> {
    scenario: &'a Scenario,
    net: Network,
    hosts: Hosts<'a>,
    timers: Timers,
    probe: &'a mut dyn Probe,
    /// Whether the probe is on: the state of flows and queues is sampled.
    samples: bool,
    lookout: Lookout<SEES>,
    captures: Captures,
    sampler: Sampler,
    states: States,
    triggers: Triggers<'a>,
    /// When everything was last sampled.
    sampled: Option<Time>,
    /// What had been counted when the warm-up ended.
    warm: Option<Counted>,
    /// Flows that are not over.
    active: usize,
    /// A flow whose variant returned nonsense.
    faulty: Option<usize>,
    /// Whether no flow is active, or one is faulty.
    halts: bool,
    /// How much has happened.
    events: u64,
    end: Time,
}

/// Which timer of the network is whose; those of the flows are the first.
#[derive(Clone, Copy)]
struct Timers {
    sampler: u32,
    traffic: u32,
    probes: u32,
}

impl<'a, const SEES: bool> World<'a, SEES> {
    /// The world of `scenario` at its beginning; `own` are the variants of its files.
    pub fn new(
        scenario: &'a Scenario,
        seed: u64,
        probe: &'a mut dyn Probe,
        own: &OwnVariants,
    ) -> World<'a, SEES> {
        let profile =
            profile::find(&scenario.stack).expect("unknown stacks are refused before a run");
        let counting = Counting {
            framing: profile.wire.framing,
            limit_is_exclusive: profile.queue_limit_is_exclusive,
        };
        let samples = probe.is_on();
        let layout = Layout::of(scenario);
        let count = layout.flows.len();
        let fetches = count >= FLOWS_BEYOND_THE_CACHE;
        let net = Network::of(&layout, counting, seed, count + 3, fetches);
        let timers = Timers {
            sampler: count as u32,
            traffic: count as u32 + 1,
            probes: count as u32 + 2,
        };
        let traffic = Traffic::new(scenario, &layout, seed, samples, own);
        let behind_traffic = (count + ROUTES * scenario.traffic.len()) as u32;
        let probes = Probes::new(scenario, &layout, behind_traffic, counting.framing);
        let lookout = Lookout::new(scenario, &layout, probe);
        // Many flows take much memory: what was laid out for them makes room.
        let entries: Vec<_> = layout.flows.iter().map(ports).collect();
        drop(layout);
        let mut profiles = Profiles::new(own.clone());
        let mut flows = with_room_on_large_pages(count);
        flows.extend(
            (0..)
                .zip(entries)
                .map(|(index, ports)| Flow::new(scenario, index, ports, seed, &mut profiles)),
        );
        // Cross traffic goes on until the run's end, if that is set. A run with flows ends with
        // probes when it would without them.
        let goes_on = !scenario.traffic.is_empty() || count == 0;
        let lasting = usize::from(goes_on && scenario.duration.is_some());
        let end = scenario.duration.unwrap_or(Time::NEVER);
        let mut world = World {
            scenario,
            net,
            timers,
            lookout,
            probe,
            samples,
            captures: Captures::new(scenario),
            sampler: Sampler::new(scenario, flows.iter().map(Flow::start), end),
            states: States::default(),
            triggers: Triggers::new(scenario, &flows),
            sampled: None,
            warm: None,
            active: count + lasting,
            faulty: None,
            halts: count + lasting == 0,
            events: 0,
            end,
            hosts: Hosts {
                flows,
                traffic,
                probes,
            },
        };
        for like in world.hosts.traffic.new_flows() {
            world.net.add_flow_like(like);
        }
        for index in 0..count {
            let start = world.hosts.flows[index].start();
            if start < end {
                world.net.wake_by(index as u32, start);
            }
        }
        if samples {
            world.sample_at(world.sampler.next());
        }
        let deadline = world.hosts.traffic.deadline(0);
        world.net.wake_by(timers.traffic, deadline);
        let deadline = world.hosts.probes.deadline(0);
        world.net.wake_by(timers.probes, deadline);
        world
    }

    /// Runs to the end.
    pub fn run(mut self, progress: &Progress) -> Result<RunSummary, SimError> {
        self.advance(self.end, progress)?;
        self.finish(progress)
    }

    /// Runs until everything has happened that happens up to `until`, or the run is over; returns
    /// whether it is.
    pub(crate) fn advance(&mut self, until: Time, progress: &Progress) -> Result<bool, SimError> {
        let until = until.min(self.end);
        let last = until.min(Time::NEVER - Time::from_nanos(1));
        let mut over = loop {
            let (time, next) = self.net.next();
            if time > last {
                break time == Time::NEVER;
            }
            self.net.pass_time(time);
            match next {
                Next::Arrival => self.on_arrival(),
                Next::Act(element) => self.on_act(element),
            }
            self.events += 1;
            if unlikely(self.events.is_multiple_of(EVENTS_PER_REPORT)) && progress.report(time) {
                return Err(SimError::Cancelled { at: time });
            }
            if unlikely(self.halts) {
                break true;
            }
        };
        if let Some(error) = self.faulty.and_then(|index| self.variant_error(index)) {
            return Err(error);
        }
        if !over && until < self.end {
            self.net.pass_time(until);
        }
        over |= until == self.end;
        Ok(over)
    }

    /// Virtual time.
    pub(crate) fn now(&self) -> Time {
        self.net.now()
    }

    /// The flows, as they stand.
    pub(crate) fn flows(&self) -> &[Flow] {
        &self.hosts.flows
    }

    /// The run is over: what it was.
    pub(crate) fn finish(mut self, progress: &Progress) -> Result<RunSummary, SimError> {
        if self.end != Time::NEVER && self.active > 0 {
            self.net.pass_time(self.end);
        }
        let now = self.net.now();
        if self.samples {
            self.sample();
            for (began, transfer) in self.hosts.traffic.unfinished() {
                self.probe.record(now, Event::Transfer(began, transfer));
            }
        }
        progress.report(now);
        let warm = self.warm.as_ref();
        // Flows go before the rows of links come: of thousands, both together would be the most
        // that the run ever has in memory.
        let flows = summary::flow_summaries(
            self.hosts.flows,
            &self.scenario.flows,
            warm,
            [self.scenario.warmup, now],
        );
        let mut links = self.net.finish()?;
        if let Some(warm) = warm {
            warm.queues.complete(&mut links);
        }
        Ok(RunSummary {
            end: now,
            events: self.events,
            flows,
            links,
            traffic: self.hosts.traffic.summaries(),
            probes: self.hosts.probes.summaries(),
            met: self.triggers.met(),
            machines: Vec::new(),
            fidelity: None,
        })
    }

    /// What is wrong with the variant of the flow at `index`.
    fn variant_error(&self, index: usize) -> Option<SimError> {
        let Some(flow) = self.hosts.flows.get(index) else {
            return self.hosts.traffic.fault.clone();
        };
        let spec = &self.scenario.flows[index];
        let fault = flow.tcp()?.sender.fault()?;
        Some(SimError::Variant {
            flow: spec.name.clone(),
            variant: spec.cc.clone(),
            what: fault.to_string(),
        })
    }

    /// The next packet comes to the far end of a link.
    #[inline]
    fn on_arrival(&mut self) {
        if unlikely(self.net.looks_ahead()) {
            self.look_ahead();
        }
        let held = self.net.arrive(&mut self.lookout);
        if SEES {
            self.tell();
        }
        if let Some(held) = held {
            self.receive(held);
        }
    }

    /// A link acts, or a timer is due.
    #[inline]
    fn on_act(&mut self, element: u32) {
        let timer = self.net.act(element, &mut self.lookout);
        if SEES {
            self.tell();
        }
        match timer {
            None => {}
            Some(timer) if timer < self.timers.sampler => self.on_flow_timer(timer as usize),
            Some(timer) if timer == self.timers.traffic => self.on_traffic_timer(),
            Some(timer) if timer == self.timers.probes => self.on_probe_timer(),
            Some(_) => {
                self.sample();
                let next = self.sampler.advance(self.net.now());
                self.sample_at(next);
            }
        }
    }

    /// Has the memory fetched that the next packets will touch.
    #[inline]
    fn look_ahead(&self) {
        let flows = &self.hosts.flows;
        let soon = |packet: &Packet| {
            if let Some(flow) = flows.get(packet.flow as usize) {
                flow.fetch(packet);
            }
        };
        let now = |packet: &Packet| flows.get(packet.flow as usize)?.fetch_parts(packet);
        self.net.look_ahead(soon, now);
    }
}
