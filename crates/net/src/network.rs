//! The network itself: what moves packets, in the order of (time, sequence).
//!
//! Packets arrive and elements act in that order. Elements are the transmitters of links, and the
//! timers of hosts. What one act causes is scheduled with a later sequence, so that the order of the
//! acts of an instant is the order in which they were caused. What only looks on comes before all
//! acts of its instant and changes nothing.

use cclab_packet::Packet;
use cclab_spec::{Triggered, When};
use cclab_units::Time;
use cclab_units::hint::rarely;

use crate::calendar::{Calendar, ELEMENT_BITS, Key, element_of, time_of};
use crate::foreseen::Foreseen;
use crate::forwarding::{Forwarding, HOST};
use crate::host::Port;
use crate::link::{Leaving, Link};
use crate::names::Names;
use crate::watch::{Sight, Watch};
use crate::wires::{Held, Taken, Wires};

/// Links, the packets on them, and the timers of what stands around them.
pub struct Network {
    pub(crate) links: Vec<Link>,
    /// Of the links of a layout.
    pub(crate) names: Names,
    pub(crate) forwarding: Forwarding,
    /// When routes change next.
    routes_change: Time,
    pub(crate) wires: Wires,
    /// Those that ask queues, by their places: few links of a large network do, so that a match or two
    /// decides between them.
    pub(crate) transmitters: Calendar,
    /// The link of each of them.
    links_of: Vec<u32>,
    /// What foresees, and the timers behind it.
    pub(crate) calendar: Calendar,
    pub(crate) sequence: u64,
    pub(crate) now: Time,
    pub(crate) foreseen: Foreseen,
    /// Packets of links that announce them, of which hosts were not told yet.
    announced: Vec<Coming>,
    /// Changes that wait for the state of a flow, with the index of their link.
    pub(crate) waiting: Vec<(usize, Triggered)>,
}

/// A packet that will come to the end of its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coming {
    /// When it is there.
    pub at: Time,
    /// The packet.
    pub packet: Packet,
}

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// A packet comes to the far end of a wire: [`Network::arrive`].
    Arrival,
    /// An element acts: [`Network::act`].
    Act(u32),
}

/// The entry of `timer` in the calendar: what foresees is before all of them.
#[inline]
fn of_timer(timer: u32) -> u32 {
    OBSERVER + 1 + timer
}

/// The entry of what foresees in the calendar.
pub(crate) const OBSERVER: u32 = 0;

/// The element that the first transmitter is, behind all that the calendar has.
const TRANSMITTERS: u32 = 1 << ELEMENT_BITS;

/// How far behind a packet the one is in its lane whose memory is fetched, in steps, as one place tells of
/// another: its link; what it comes to; what that will touch. A dumbbell has four lanes, so the first step is some
/// twelve arrivals ahead. With twice as many, what is fetched pushes out what was fetched before.
const BEHIND: [usize; 3] = [2, 1, 0];

impl Network {
    /// A network of `links` with nothing on them, and `timers` timers. `fetches` where packets touch
    /// more than the cache next to a processor holds: memory is then fetched ahead of them.
    pub fn new(
        mut links: Vec<Link>,
        forwarding: Forwarding,
        timers: usize,
        fetches: bool,
    ) -> Network {
        let mut links_of = Vec::new();
        for (index, link) in (0..).zip(&mut links) {
            if link.take_place(links_of.len() as u32) {
                links_of.push(index);
            }
        }
        Network {
            transmitters: Calendar::new(links_of.len().max(1)),
            links_of,
            calendar: Calendar::new(1 + timers),
            wires: Wires::new(links.len(), fetches),
            links,
            names: Names::default(),
            routes_change: forwarding.next_change(),
            forwarding,
            sequence: 0,
            now: Time::ZERO,
            foreseen: Foreseen::default(),
            announced: Vec::new(),
            waiting: Vec::new(),
        }
    }

    /// What `when` says has come about now: the changes that wait for it come.
    pub fn come_about(&mut self, when: &When) {
        for (index, triggered) in &self.waiting {
            if triggered.when == *when {
                let mut change = triggered.change;
                change.at += self.now;
                self.links[*index].change(change);
            }
        }
    }

    /// The time.
    #[inline]
    pub fn now(&self) -> Time {
        self.now
    }

    /// What comes next, and when; [`Time::NEVER`] if nothing does.
    #[inline]
    pub fn next(&self) -> (Time, Next) {
        // No two of those that are compared here have the same key.
        let (arrival, act) = (self.wires.next_entry(), self.calendar.next_entry());
        if !self.links_of.is_empty() {
            let transmits = self.transmitters.next_entry();
            if transmits < arrival.min(act) {
                let element = TRANSMITTERS + element_of(transmits);
                return (time_of(transmits), Next::Act(element));
            }
        }
        match arrival < act {
            true => (time_of(arrival), Next::Arrival),
            false => (time_of(act), Next::Act(element_of(act))),
        }
    }

    /// It is now `now`, and nothing comes before.
    #[inline]
    pub fn pass_time(&mut self, now: Time) {
        debug_assert!(now >= self.now, "time runs forward");
        self.now = now;
    }

    /// Sees to it that `timer` is due at `deadline` or before: a timer that is due early finds
    /// nothing to do and asks again, which is cheaper than moving it at every packet.
    #[inline]
    pub fn wake_by(&mut self, timer: u32, deadline: Time) {
        let entry = of_timer(timer);
        if deadline < self.calendar.key(entry).time() {
            self.sequence += 1;
            self.calendar.set(entry, Key::new(deadline, self.sequence));
        }
    }

    /// Whether `timer` is due at `time` or before as it is.
    #[inline]
    pub fn wakes_by(&self, timer: u32, time: Time) -> bool {
        time >= self.calendar.key(of_timer(timer)).time()
    }

    /// Lets `timer` be due at `time`, before all acts of that instant: for what only looks on.
    pub fn look_at(&mut self, timer: u32, time: Time) {
        let key = match time {
            Time::NEVER => Key::NEVER,
            time => Key::first_of(time),
        };
        self.calendar.set(of_timer(timer), key);
    }

    /// Lets `timer` be due at `time`, after all other acts of that instant that are known before: for
    /// hosts that move in windows, whose place must not depend on when they asked.
    pub fn act_last(&mut self, timer: u32, time: Time) {
        let key = match time {
            Time::NEVER => Key::NEVER,
            time => Key::last_of(time),
        };
        self.calendar.set(of_timer(timer), key);
    }

    /// Lets another flow, the next in order, go where the flow `like` goes.
    pub fn add_flow_like(&mut self, like: u32) {
        self.forwarding.add_like(like);
    }

    /// The packet in the slot that [`Network::reserve`] gives next, to be written before that.
    #[inline]
    pub fn vacant(&mut self) -> &mut Packet {
        self.wires.vacant()
    }

    /// A slot for a packet that is to be put into the network, in which is any other's.
    #[inline]
    pub fn reserve(&mut self) -> Held {
        self.wires.reserve()
    }

    /// The packet.
    #[inline]
    pub fn packet(&self, held: &Held) -> &Packet {
        self.wires.packet(held)
    }

    /// The packet, to be changed.
    #[inline]
    pub fn packet_mut(&mut self, held: &Held) -> &mut Packet {
        self.wires.packet_mut(held)
    }

    /// The packet is no more.
    #[inline]
    pub fn release(&mut self, held: Held) {
        self.wires.release(held);
    }

    /// A packet enters at `port`.
    #[inline]
    pub fn inject<W: Watch>(&mut self, port: Port, held: Held, watch: &mut W) {
        self.offer(port.0 as usize, held, self.now, watch);
    }

    /// The next packet comes to the far end of a wire. Returns it if its way ends there.
    #[inline]
    pub fn arrive<W: Watch>(&mut self, watch: &mut W) -> Option<Held> {
        let Taken {
            packet: held,
            link,
            since,
        } = self.wires.take()?;
        if self.now >= self.routes_change {
            self.change_routes();
        }
        let index = link as usize;
        let passed = &mut self.links[index];
        passed.deliver();
        let leads_to = passed.leads_to;
        if passed.fittings.is_some() && self.is_lost_at_exit(index, &held, watch) {
            rarely();
            self.wires.release(held);
            return None;
        }
        if W::ON && watch.wants_arrivals(index) {
            let packet = *self.wires.packet(&held);
            watch.see(Sight::Arrived { link, packet });
        }
        let packet = self.wires.packet(&held);
        match self.forwarding.next_of(packet, leads_to) {
            HOST if packet.is_corrupt() => {
                self.lose_corrupt(index, held, watch);
                None
            }
            HOST => Some(held),
            next => {
                self.offer(next as usize, held, since, watch);
                None
            }
        }
    }

    #[cold]
    fn change_routes(&mut self) {
        self.forwarding.change(self.now);
        self.routes_change = self.forwarding.next_change();
    }

    /// Element `element` acts. Returns the timer, if it is one: it is due no more.
    #[inline]
    pub fn act<W: Watch>(&mut self, element: u32, watch: &mut W) -> Option<u32> {
        if element >= TRANSMITTERS {
            self.transmit(element - TRANSMITTERS, watch);
            return None;
        }
        if element == OBSERVER {
            self.observe(watch);
            return None;
        }
        let timer = element - of_timer(0);
        self.calendar.set(of_timer(timer), Key::NEVER);
        Some(timer)
    }

    /// The transmitter at `place` asks its queue.
    fn transmit<W: Watch>(&mut self, place: u32, watch: &mut W) {
        let index = self.links_of[place as usize] as usize;
        let link = &mut self.links[index];
        if link.follows_trace() {
            return self.on_opportunity(index, watch);
        }
        let (leaving, next, lost) = link.on_transmitter_free(self.now, &mut self.sequence);
        self.transmitters.set(place, next);
        if let Some(Leaving { departure, arrives }) = &leaving {
            let held = self.wires.resume(&departure.packet);
            let wanted = W::ON && watch.wants_queue(index);
            let seen = wanted.then(|| *self.wires.packet(&held));
            self.send(index, held, self.now, *arrives, watch);
            if let Some(packet) = &seen {
                let waited = self.now - departure.enqueued;
                self.see_departure(index, packet, waited, watch);
            }
        }
        if lost {
            self.lose_thrown_out(index, watch);
        }
    }

    /// Announces a packet that comes to the far end of `wire` at `at`, if its way ends there.
    #[cold]
    pub(crate) fn tell_of(&mut self, wire: usize, held: &Held, at: Time) {
        let packet = *self.wires.packet(held);
        if self.next_hop(wire, &packet) == HOST && !packet.is_corrupt() {
            self.announced.push(Coming { at, packet });
        }
    }

    /// Has the packets announced that leave the network at the far end of `link`: they are in
    /// [`Network::announced`] as soon as it is certain when they are there. Returns how long before
    /// that this is at least; zero, and nothing is announced, where packets may yet be lost or held up.
    pub fn announce(&mut self, link: u32) -> Time {
        let link = &mut self.links[link as usize];
        if !link.may_feed_ahead() {
            return Time::ZERO;
        }
        link.fit().announces = true;
        let (delay, feeder) = (link.delay(), link.aside.fed_by);
        // What is fed ahead is announced when it leaves for the link before.
        delay + feeder.map_or(Time::ZERO, |feeder| self.links[feeder as usize].delay())
    }

    /// Packets announced since this was last asked.
    pub fn announced(&mut self) -> impl Iterator<Item = Coming> + '_ {
        self.announced.drain(..)
    }

    /// Where a packet goes from the far end of a link.
    #[inline(always)]
    fn next_hop(&self, index: usize, packet: &Packet) -> u32 {
        let leads_to = self.links[index].leads_to;
        self.forwarding.next_of(packet, leads_to)
    }

    /// Whether the memory is fetched that packets will touch: [`Network::look_ahead`].
    #[inline]
    pub fn looks_ahead(&self) -> bool {
        self.wires.looks_ahead()
    }

    /// Has the memory fetched that the next packets will touch, in the order in which one place
    /// tells of another. `soon` fetches that of the host which a packet comes to; `now` that which
    /// the host will touch, and says where it sends then.
    #[inline]
    pub fn look_ahead(
        &self,
        soon: impl FnOnce(&Packet),
        now: impl FnOnce(&Packet) -> Option<Port>,
    ) {
        if let Some((link, _)) = self.wires.behind(BEHIND[0]) {
            self.links[link as usize].fetch();
        }
        if let Some((link, packet)) = self.wires.behind(BEHIND[1]) {
            let next = self.next_hop(link as usize, packet);
            if next != HOST {
                let fed = match self.links[next as usize].feeds_ahead() {
                    true => self.next_hop(next as usize, packet),
                    false => next,
                };
                self.links[fed as usize].fetch();
            } else {
                soon(packet);
            }
        }
        if let Some((link, packet)) = self.wires.behind(BEHIND[2])
            && self.next_hop(link as usize, packet) == HOST
            && let Some(port) = now(packet)
        {
            self.links[port.0 as usize].fetch();
        }
    }
}
