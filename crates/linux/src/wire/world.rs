//! The event loop: guests and cross traffic around one network, and what a trace sees of it.

use cclab_harvest::Beside;
use cclab_layout::{Journey, Layout, LinkId};
use cclab_net::{Coming, Counting, Host, Network, Next, Port, ROUTES, ports};
use cclab_packet::{Packet, address};
use cclab_sim::sight::{Captures, Lookout};
use cclab_sim::traffic::Traffic;
use cclab_sim::{CountedQueues, Sampler};
use cclab_spec::Scenario;
use cclab_testbed::orders::News;
use cclab_testbed::records::{LAST_WORDS, Seen};
use cclab_trace::{Event, Progress, Recorder};
use cclab_units::Time;

use super::datagrams::Datagrams;
use super::frames::{ETHERNET, Frames, Route};
use super::guest::{Guest, Left};
use super::memory::Frame;
use crate::RunError;

/// Windows between two looks at what guests print.
const WINDOWS_PER_LOOK: u64 = 64;

/// Where what the network does is recorded.
pub struct Records<'a> {
    /// What is seen of packets.
    pub recorder: &'a mut Recorder,
    /// What is seen of datagrams.
    pub datagrams: Datagrams,
    /// CLOCK_REALTIME of guests at the run's time zero.
    pub realtime_zero: u64,
}

/// Where frames come from and go to.
#[derive(Clone, Copy)]
pub struct Place {
    /// The guest.
    pub guest: usize,
    /// Its device.
    pub device: u32,
}

/// The hosts around a network, in several guests.
pub struct Hosts {
    /// Those of each flow, its sender's and its receiver's; then those of each probe.
    pub places: Vec<[Place; 2]>,
    /// The device by which each guest is told of others; none of a guest that is alone.
    pub news: Vec<Option<u32>>,
    /// How many guests have flows.
    pub with_flows: usize,
}

/// The hosts of a flow or probe: its sender's and its receiver's.
struct Ends {
    places: [Place; 2],
    ports: [Port; 2],
}

/// Guests around a network.
pub struct World<'a> {
    pub(super) scenario: &'a Scenario,
    pub(super) net: Network,
    guests: &'a mut [Guest],
    pub(super) traffic: Traffic<'a>,
    pub(super) frames: Frames,
    /// None once the run is over.
    pub(super) records: Option<Records<'a>>,
    pub(super) lookout: Lookout<true>,
    pub(super) captures: Captures,
    news: Vec<Option<u32>>,
    /// How many guests have flows that go on.
    busy: usize,
    one_has_ended: bool,
    /// By the number of flows and probes; none for cross traffic.
    ends: Vec<Option<Ends>>,
    /// Room for what guests are to be told of.
    coming: Vec<Coming>,
    /// When each guest is to act, as the network knows it.
    asked: Vec<Time>,
    /// How long before a frame reaches a host it is known at least.
    lookahead: Time,
    /// The least time from any host to any other.
    way: Time,
    /// The longest window.
    window: Time,
    sampler: Sampler,
    /// When queues were last sampled.
    pub(super) sampled: Option<Time>,
    pub(super) timers: Timers,
    /// What queues had counted when the warm-up ended.
    pub(super) warm: Option<CountedQueues>,
    pub(super) bottlenecks: usize,
    pub(super) end: Time,
}

#[derive(Clone, Copy)]
pub(super) struct Timers {
    pub(super) sampler: u32,
    traffic: u32,
}

impl<'a> World<'a> {
    /// The world of `scenario`, whose `hosts` are in these guests, which stand at time zero.
    pub fn new(
        scenario: &'a Scenario,
        layout: &Layout,
        seed: u64,
        guests: &'a mut [Guest],
        hosts: &Hosts,
        records: Records<'a>,
    ) -> World<'a> {
        let counting = Counting {
            framing: ETHERNET as u16,
            limit_is_exclusive: false,
        };
        let timers = Timers {
            sampler: guests.len() as u32,
            traffic: guests.len() as u32 + 1,
        };
        let mut net = Network::of(layout, counting, seed, guests.len() + 2, false);
        let flows = layout.flows.len();
        let behind_traffic = flows + ROUTES * layout.traffic.len();
        let journeys = layout.flows.iter().enumerate();
        let probes = (behind_traffic..).zip(&layout.probes);
        let mut ends: Vec<Option<Ends>> = Vec::new();
        ends.resize_with(behind_traffic + layout.probes.len(), || None);
        let mut routes = Vec::new();
        let mut last_links = Vec::new();
        let addressed = (0..).zip(journeys.chain(probes));
        for (number, (flow, journey)) in addressed {
            ends[flow] = Some(Ends {
                places: hosts.places[number],
                ports: ports(journey),
            });
            let [from, to] = [false, true].map(|receiver| address(number as u32, receiver));
            let spec = scenario.flows.get(number);
            for (ends, backward) in [((from, to), false), ((to, from), true)] {
                let route = Route {
                    flow: flow as u32,
                    backward,
                    programs: spec.is_some_and(|flow| flow.command.is_some()),
                };
                routes.push((ends, route));
            }
            last_links.extend(last_of(journey));
        }
        last_links.sort_unstable();
        last_links.dedup();
        let ahead = last_links.into_iter().map(|link| net.announce(link));
        let lookahead = ahead.min().unwrap_or(Time::ZERO);
        let way = least_way(layout);
        let traffic = Traffic::new(
            scenario,
            layout,
            seed,
            true,
            &cclab_sim::OwnVariants::default(),
        );
        let bottlenecks = 2 * layout.bottlenecks.len();
        let end = scenario.duration.unwrap_or(Time::NEVER);
        let starts = scenario.flows.iter().map(|flow| flow.start_time(seed));
        let mut world = World {
            sampler: Sampler::new(scenario, starts, end),
            sampled: None,
            lookout: Lookout::new(scenario, layout, records.recorder),
            frames: Frames::new(routes),
            scenario,
            net,
            guests,
            traffic,
            records: Some(records),
            captures: Captures::new(scenario),
            news: hosts.news.clone(),
            busy: hosts.with_flows,
            one_has_ended: false,
            ends,
            coming: Vec::new(),
            asked: vec![Time::NEVER; timers.sampler as usize],
            lookahead,
            way,
            window: Time::NEVER,
            timers,
            warm: None,
            bottlenecks,
            end,
        };
        for like in world.traffic.new_flows() {
            world.net.add_flow_like(like);
        }
        world.ask();
        let deadline = world.traffic.deadline(0);
        world.net.wake_by(timers.traffic, deadline);
        world.sample_at(world.sampler.next());
        world
    }

    /// Has guests run ahead of the network no longer than `window`.
    pub fn move_at_most(&mut self, window: Time) {
        self.window = window;
    }

    /// Runs to the end.
    ///
    /// # Errors
    /// If a guest dies or stands still, if the run is cancelled, or if a variant of cross traffic
    /// returns nonsense.
    pub fn run(mut self, progress: &Progress) -> Result<(Beside, Datagrams), RunError> {
        let events = self.carry(progress)?;
        if self.end != Time::NEVER {
            self.net.pass_time(self.end);
        }
        let now = self.net.now();
        self.sample();
        for (began, transfer) in self.traffic.unfinished() {
            self.record(Event::Transfer(began, transfer));
        }
        let traffic = self.traffic.summaries();
        let mut links = self.net.finish().map_err(RunError::NotConserved)?;
        if let Some(warm) = &self.warm {
            warm.complete(&mut links);
        }
        let beside = Beside {
            links,
            traffic,
            events,
        };
        let records = self.records.take().expect("they are taken once");
        if self
            .scenario
            .flows
            .iter()
            .any(|flow| flow.command.is_some())
        {
            // Nothing of what programs still say to each other is recorded.
            self.end = now + LAST_WORDS;
            self.carry(progress)?;
        }
        Ok((beside, records.datagrams))
    }

    /// Goes on to the end; how many events there were.
    fn carry(&mut self, progress: &Progress) -> Result<u64, RunError> {
        let mut events = 0;
        let mut windows: u64 = 0;
        loop {
            let (time, next) = self.net.next();
            if time > self.end || time == Time::NEVER {
                return Ok(events);
            }
            self.net.pass_time(time);
            events += 1;
            match next {
                Next::Arrival => {
                    let held = self.net.arrive(&mut self.lookout);
                    self.tell();
                    if let Some(held) = held {
                        let packet = *self.net.packet(&held);
                        self.net.release(held);
                        self.receive(&packet)?;
                    }
                }
                Next::Act(element) => {
                    let timer = self.net.act(element, &mut self.lookout);
                    self.tell();
                    match timer {
                        None => {}
                        Some(timer) if timer == self.timers.sampler => {
                            self.sample();
                            let next = self.sampler.advance(time);
                            self.sample_at(next);
                        }
                        Some(timer) if timer == self.timers.traffic => {
                            self.traffic.act(time, time);
                            self.pump_traffic()?;
                        }
                        Some(guest) => {
                            self.asked[guest as usize] = Time::NEVER;
                            self.act(guest as usize, progress)?;
                            windows += 1;
                            if windows.is_multiple_of(WINDOWS_PER_LOOK) {
                                self.guests[guest as usize].look(progress)?;
                            }
                        }
                    }
                }
            }
            self.announce();
            self.ask();
            if self.records.is_none() && self.guests.iter().all(Guest::has_ended) {
                return Ok(events);
            }
        }
    }

    /// A guest moves, and what it has sent by now enters the network.
    fn act(&mut self, index: usize, progress: &Progress) -> Result<(), RunError> {
        let now = self.net.now();
        let (others, _) = self.net.next();
        // Nothing reaches a host unannounced before something else acts, or what the guest sends
        // from now on has gone its way.
        let horizon = (now + self.lookahead).max(others.min(now + self.way));
        let horizon = horizon.min(now + self.window);
        self.guests[index].run(now, horizon, progress)?;
        while let Some(left) = self.guests[index].next_sent(now) {
            match left {
                Left::Frame(mut frame) => {
                    if let Some(packet) = self.frames.keep(&mut frame) {
                        self.send(&packet);
                    }
                    self.guests[index].reuse(frame);
                }
                Left::Mark if self.one_has_ended => {}
                Left::Mark => {
                    self.one_has_ended = true;
                    self.sample();
                    self.spread(News::OneHasEnded(now));
                }
                Left::End => {
                    self.busy -= 1;
                    if self.busy == 0 {
                        self.end_when_all_know();
                    }
                }
            }
        }
        Ok(())
    }

    /// The last flow has ended. Until all guests can know it they go on, and so do the network and what
    /// is recorded: the run ends for all of them at one instant.
    fn end_when_all_know(&mut self) {
        let over = self.net.now() + self.ahead();
        // All know the run's duration.
        if over < self.end {
            self.end = over;
            self.sample_at(self.sampler.next());
            self.spread(News::End(over));
        }
    }

    /// How long before the network the guests beside others may be, however long windows are; zero of
    /// a guest that is alone.
    fn ahead(&self) -> Time {
        match self.news.iter().any(Option::is_some) {
            true => self.lookahead.max(self.way).max(Time::from_nanos(1)),
            false => Time::ZERO,
        }
    }

    /// Tells all guests that have others beside them what happens now: the word comes when no guest can
    /// have got further.
    fn spread(&mut self, news: News) {
        let at = self.net.now() + self.ahead();
        let kept = news.to_frame();
        let frame = Frame {
            len: kept.len(),
            kept,
        };
        for (guest, device) in self.guests.iter_mut().zip(&self.news) {
            if let Some(device) = device {
                guest.expect(at, *device, &frame);
            }
        }
    }

    /// A packet leaves a host.
    fn send(&mut self, packet: &Packet) {
        let side = usize::from(packet.backward);
        self.see_at_host(packet, side, Seen::Sent);
        let Some(ends) = &self.ends[packet.flow as usize] else {
            return self.frames.release(packet);
        };
        let port = ends.ports[side];
        let held = self.net.reserve();
        *self.net.packet_mut(&held) = *packet;
        self.net.inject(port, held, &mut self.lookout);
        self.tell();
    }

    /// A packet has come to its host.
    fn receive(&mut self, packet: &Packet) -> Result<(), RunError> {
        let now = self.net.now();
        if packet.frame().is_none() {
            self.traffic.receive(now, packet);
            return self.pump_traffic();
        }
        self.see_at_host(packet, 1 - usize::from(packet.backward), Seen::Received);
        if self.lookahead == Time::ZERO {
            self.hand_over(now, packet);
        }
        self.frames.release(packet);
        Ok(())
    }

    /// Tells guests what will come.
    fn announce(&mut self) {
        let mut coming = std::mem::take(&mut self.coming);
        coming.extend(self.net.announced());
        for one in coming.drain(..) {
            // Without lookahead they are handed over as they come.
            if self.lookahead > Time::ZERO && one.packet.frame().is_some() {
                self.hand_over(one.at, &one.packet);
            }
        }
        self.coming = coming;
    }

    fn hand_over(&mut self, at: Time, packet: &Packet) {
        let Some(ends) = &self.ends[packet.flow as usize] else {
            return;
        };
        let Place { guest, device } = ends.places[1 - usize::from(packet.backward)];
        let frame = self.frames.of(packet);
        self.guests[guest].expect(at, device, frame);
    }

    /// Each guest acts when it has to, after all that happens in the network at that instant.
    fn ask(&mut self) {
        let guests = self.guests.iter().zip(&mut self.asked);
        for (timer, (guest, asked)) in (0..).zip(guests) {
            let deadline = guest.deadline();
            if std::mem::replace(asked, deadline) != deadline {
                self.net.act_last(timer, deadline);
            }
        }
    }

    fn pump_traffic(&mut self) -> Result<(), RunError> {
        let timer = self.timers.traffic;
        self.traffic
            .send_into(&mut self.net, timer, &mut self.lookout);
        self.tell();
        let ended: Vec<_> = self.traffic.ended().collect();
        for (began, transfer) in ended {
            self.record(Event::Transfer(began, transfer));
        }
        match self.traffic.fault.take() {
            Some(fault) => Err(RunError::Traffic(fault)),
            None => Ok(()),
        }
    }
}

/// The last links of both ways of a journey.
fn last_of(journey: &Journey) -> impl Iterator<Item = u32> + use<> {
    let last = |way: &Vec<LinkId>| way.last().map(|link| link.0);
    [last(&journey.data), last(&journey.acks)]
        .into_iter()
        .flatten()
}

/// The least propagation over any way of a flow or probe.
fn least_way(layout: &Layout) -> Time {
    let least = |&id: &LinkId| match layout.line(id) {
        Some(line) if line.schedule.iter().any(|change| change.delay.is_some()) => Time::ZERO,
        _ => layout.delay(id),
    };
    let journeys = layout.flows.iter().chain(&layout.probes);
    let ways = journeys.flat_map(|journey| [&journey.data, &journey.acks]);
    let times = ways.map(|way| way.iter().map(least).sum());
    times.min().unwrap_or(Time::ZERO)
}
