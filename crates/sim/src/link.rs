//! A link in one direction: a queue, a transmitter, a wire that keeps the order.
//!
//! The wire delivers in order, so that a link has one entry in the calendar however much is on
//! it. Two short cuts save events without changing what happens:
//! - Departures from a queue that is first in, first out and decides on arrival alone are
//!   foreseen: the packet is on the wire at once, with the time at which it will arrive. From
//!   any other queue, a packet that finds the transmitter idle is on the wire at once; packets
//!   that wait cost a second event.
//! - A link that is fed by one other alone, and never makes a packet wait, takes packets ahead
//!   of their time (see `fusion`): they are on its wire as soon as they are on the other's.

use std::collections::VecDeque;

use cclab_packet::Packet;
use cclab_qdisc::{Backlog, Departure, Dropped, Qdisc};
use cclab_trace::Histogram;
use cclab_trace::schema::DropReason;
use cclab_units::{Rate, Stream, Time, TxClock};

use crate::calendar::Key;
use crate::fifo::{Fifo, Waiting};
use crate::forwarding::MIXED;
use crate::impairment::{Course, Gate, Opportunities, Schedule, Served};

/// What a link did; what every packet counts comes first.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub struct Counters {
    /// Packets offered.
    pub offered: u64,
    /// Packets handed to the other end.
    pub delivered: u64,
    /// Bytes that the transmitter has taken on, the packet in transmission included.
    taken_bytes: u64,
    /// Largest backlog in bytes.
    pub backlog_max: u64,
    /// Copies that were born on the link.
    pub duplicates: u64,
    /// Packets lost, by reason: see [`cclab_trace::schema::LinkSummary`].
    pub queue_drops: u64,
    /// See `queue_drops`.
    pub random_drops: u64,
    /// See `queue_drops`.
    pub listed_drops: u64,
    /// See `queue_drops`.
    pub outage_drops: u64,
    /// See `queue_drops`.
    pub corrupt_drops: u64,
}

impl Counters {
    /// Packets lost, for whatever reason.
    pub fn drops(&self) -> u64 {
        self.queue_drops
            + self.random_drops
            + self.listed_drops
            + self.outage_drops
            + self.corrupt_drops
    }
}

/// What becomes of a packet that was offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offered {
    /// It leaves at once, and reaches the far end at `arrives`.
    Sent {
        /// When it is there.
        arrives: Time,
    },
    /// It waits until `departs`, and reaches the far end at `arrives`.
    Foreseen {
        /// When its transmission begins.
        departs: Time,
        /// When it is there.
        arrives: Time,
    },
    /// The queue took it, and what the queue gave out leaves at once.
    Passed(Leaving),
    /// It waits.
    Queued,
    /// It is lost.
    Lost(DropReason),
}

/// A packet that leaves a queue now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leaving {
    /// What the queue gave out.
    pub departure: Departure,
    /// When it reaches the far end.
    pub arrives: Time,
}

/// What decides when packets leave.
enum Service {
    /// Known at the arrival.
    Foreseen(Fifo),
    /// The queue is asked when the transmitter is free.
    Asked(Box<dyn Qdisc>),
}

/// A packet on the wire.
struct OnWire {
    /// When it reaches the far end, and its place among what happens at that instant.
    arrives: Time,
    sequence: u64,
    /// When its transmission began, which for a packet taken ahead of its time is when it came.
    since: Time,
    packet: Packet,
}

impl OnWire {
    #[inline]
    fn key(&self) -> Key {
        Key::new(self.arrives, self.sequence)
    }
}

/// A link in one direction.
///
/// What an arrival touches lies in the first two lines of the cache, what an offer touches in the
/// next: with thousands of links, their lines are what a packet costs.
#[repr(C, align(64))]
pub struct Link {
    /// When the transmitter asks the queue for the next packet; armed only while packets wait.
    next_tx: Key,
    delay: Time,
    /// The transmitter is busy until then.
    busy_until: Time,
    /// What the transmission so far took beyond whole nanoseconds, see [`TxClock`].
    carry: u64,
    tx: Option<TxClock>,
    /// What the wire adds to the delay.
    pub course: Option<Box<Course>>,
    /// Where everything goes from the far end, unless that is [`MIXED`].
    pub leads_to: u32,
    /// Whether this link feeds the next ones ahead of time: then its own wire stays empty.
    pub feeds_ahead: bool,
    /// Whether every packet takes the same time, whatever its size.
    per_packet: bool,

    wire: VecDeque<OnWire>,
    /// Losses after the wire.
    pub exit: Option<Box<Gate>>,
    /// What it did.
    pub counters: Counters,

    /// What happens to packets before the queue.
    pub entry: Option<Box<Gate>>,
    service: Service,
    /// How long packets waited; kept where asked.
    pub sojourn: Option<Box<Histogram>>,

    /// Its name in traces.
    pub name: String,
    /// Its rate at the beginning; `None`: infinitely fast.
    pub rate: Option<Rate>,
    /// Changes of rate and delay.
    pub schedule: Option<Box<Schedule>>,
    /// When it may send, instead of a rate.
    pub trace: Option<Box<Opportunities>>,
    /// Packets thrown out on the way out of the queue, to be reported by the caller.
    pub thrown_out: Vec<Dropped>,
    /// The rate of the transmission in progress, or of the last one.
    tx_rate: Option<Rate>,
    dice: Stream,
    /// The link that alone feeds this one, ahead of time.
    pub fed_by: Option<u32>,
    /// Packets on their way to the far end that the next links have already, at the end.
    ahead: u64,
}

impl Link {
    /// An idle link.
    pub fn new(
        name: String,
        rate: Option<Rate>,
        delay: Time,
        queue: Box<dyn Qdisc>,
        dice: Stream,
    ) -> Link {
        Link {
            name,
            rate,
            entry: None,
            exit: None,
            course: None,
            schedule: None,
            trace: None,
            counters: Counters::default(),
            sojourn: None,
            thrown_out: Vec::new(),
            tx: rate.map(TxClock::new),
            per_packet: false,
            tx_rate: rate,
            delay,
            service: Service::Asked(queue),
            dice,
            busy_until: Time::ZERO,
            carry: 0,
            next_tx: Key::NEVER,
            wire: VecDeque::with_capacity(1),
            fed_by: None,
            leads_to: MIXED,
            feeds_ahead: false,
            ahead: 0,
        }
    }

    /// Lets departures be foreseen where the queue allows it and nothing changes until they
    /// happen. Impairments must be in their places before.
    pub fn foresee_departures(&mut self) {
        if self.schedule.is_some() || self.trace.is_some() {
            return;
        }
        if let Service::Asked(queue) = &self.service
            && let Some(limits) = queue.as_fifo()
        {
            self.service = Service::Foreseen(Fifo::new(limits));
        }
    }

    /// Makes a link without a rate take `per_second` packets a second, whatever their size.
    pub fn pace_packets(&mut self, per_second: u64) {
        // A clock for bytes counts packets too: one byte each.
        self.tx = Rate::from_bps(per_second.saturating_mul(8)).map(TxClock::new);
        self.per_packet = true;
    }

    /// One-way propagation.
    pub fn delay(&self) -> Time {
        self.delay
    }

    /// Bytes that it could have transmitted by `now`, where its rate is not constant.
    pub fn capacity(&self, now: Time) -> Option<u64> {
        match (&self.trace, &self.schedule) {
            (Some(trace), _) => Some(trace.capacity(now)),
            (None, Some(schedule)) => schedule.capacity(now),
            (None, None) => None,
        }
    }

    /// What waits in the queue at `now`.
    pub fn backlog(&self, now: Time) -> Backlog {
        match &self.service {
            Service::Foreseen(fifo) => {
                let mut backlog = fifo.backlog();
                for departed in fifo.departed(now) {
                    backlog.packets -= 1;
                    backlog.bytes -= departed.bytes;
                }
                backlog
            }
            Service::Asked(queue) => queue.backlog(),
        }
    }

    /// Packets that the queue has ECN-marked.
    pub fn marks(&self) -> u64 {
        match &self.service {
            Service::Foreseen(_) => 0,
            Service::Asked(queue) => queue.marks(),
        }
    }

    /// Bytes transmitted until `now`: of the packet in transmission, what has left.
    pub fn tx_bytes(&self, now: Time) -> u64 {
        let mut taken = self.counters.taken_bytes;
        let mut busy_until = self.busy_until;
        if let Service::Foreseen(fifo) = &self.service {
            taken += fifo.departed(now).map(|waiting| waiting.bytes).sum::<u64>();
            busy_until = fifo.next_departure(now).unwrap_or(busy_until);
        }
        let rest = busy_until - now;
        let to_come = match self.tx_rate {
            Some(rate) if rest > Time::ZERO => rate.bytes_in(rest) + 1,
            _ => 0,
        };
        taken.saturating_sub(to_come)
    }

    /// Packets in the queue and on the wire.
    pub fn in_flight(&self) -> u64 {
        let asked = match &self.service {
            Service::Foreseen(_) => 0, // on the wire already
            Service::Asked(queue) => queue.backlog().packets,
        };
        let in_transit = self.trace.as_ref().is_some_and(|trace| trace.is_busy());
        asked + u64::from(in_transit) + self.wire.len() as u64 + self.ahead
    }

    /// When the link acts next.
    #[inline]
    pub fn key(&self) -> Key {
        let arrival = self.wire.front().map_or(Key::NEVER, OnWire::key);
        arrival.min(self.next_tx)
    }

    /// Accounts for the foreseen departures that come before an arrival at `now` that was caused
    /// at `since`.
    #[inline]
    fn settle(&mut self, now: Time, since: Time) {
        if let Service::Foreseen(fifo) = &mut self.service {
            while let Some(departed) = fifo.pop_departed(now, since) {
                self.counters.taken_bytes += departed.bytes;
                if let Some(sojourn) = &mut self.sojourn {
                    sojourn.record(departed.waits.as_nanos());
                }
            }
        }
    }

    /// Accounts for everything until the end of a run.
    pub fn finish(&mut self, now: Time) {
        self.settle(now, Time::NEVER);
    }

    /// Takes `packet` in, which comes from a transmission that began at `since`. What the queue loses in its stead is in [`Link::thrown_out`]; what
    /// leaves goes to [`Link::put_on_wire`], of this link or of the next.
    #[inline]
    pub fn offer(
        &mut self,
        packet: &Packet,
        since: Time,
        now: Time,
        sequence: &mut u64,
    ) -> Offered {
        self.counters.offered += 1;
        let Some(clock) = self.tx else {
            self.follow_schedule(now);
            self.counters.taken_bytes += u64::from(packet.wire_len);
            let arrives = now + self.delay;
            return Offered::Sent { arrives };
        };
        if matches!(self.service, Service::Foreseen(_)) {
            return self.foresee(packet, clock, since, now);
        }
        self.enqueue(packet, now, sequence)
    }

    #[inline]
    fn foresee(&mut self, packet: &Packet, clock: TxClock, since: Time, now: Time) -> Offered {
        self.settle(now, since);
        let bytes = u64::from(packet.wire_len);
        let Service::Foreseen(fifo) = &mut self.service else {
            return Offered::Queued; // the caller has looked
        };
        if !fifo.has_room(bytes) {
            self.count_loss(DropReason::Queue);
            return Offered::Lost(DropReason::Queue);
        }
        let departs = self.busy_until.max(now);
        if departs > now {
            fifo.push(Waiting {
                departs,
                waits: departs - now,
                bytes,
            });
            self.counters.backlog_max = self.counters.backlog_max.max(fifo.backlog().bytes);
            let arrives = self.transmit_from(departs, bytes, clock);
            return Offered::Foreseen { departs, arrives };
        }
        fifo.pass(now);
        self.counters.taken_bytes += bytes;
        if let Some(sojourn) = &mut self.sojourn {
            sojourn.record(0);
        }
        let arrives = self.transmit_from(now, bytes, clock);
        Offered::Sent { arrives }
    }

    /// The transmitter takes on `bytes` at `start`; returns when they reach the far end.
    #[inline]
    fn transmit_from(&mut self, start: Time, bytes: u64, clock: TxClock) -> Time {
        if self.busy_until < start {
            self.carry = 0;
        }
        let amount = if self.per_packet { 1 } else { bytes };
        self.busy_until = start + clock.time_of_next(amount, &mut self.carry);
        self.busy_until + self.delay
    }

    /// Takes in, ahead of time, a packet that comes at `at`, later than all before it, from the
    /// only link that feeds this one. Returns when it reaches the far end.
    #[inline]
    pub fn take_ahead(&mut self, packet: &Packet, at: Time) -> Time {
        let bytes = u64::from(packet.wire_len);
        self.counters.offered += 1;
        self.counters.taken_bytes += bytes;
        match self.tx {
            Some(clock) => self.transmit_from(self.busy_until.max(at), bytes, clock),
            None => at + self.delay,
        }
    }

    /// At the end of a run: takes back what was taken ahead and has not come by `now`. Returns
    /// how many packets that are.
    pub fn take_back(&mut self, now: Time) -> u64 {
        let mut taken_back = 0;
        while self.wire.back().is_some_and(|last| last.since > now) {
            let Some(last) = self.wire.pop_back() else {
                break;
            };
            self.counters.offered -= 1;
            self.counters.taken_bytes -= u64::from(last.packet.wire_len);
            taken_back += 1;
        }
        let last = self.wire.back().map(|last| last.arrives - self.delay);
        self.busy_until = last.unwrap_or(self.busy_until.min(now));
        taken_back
    }

    /// Packets that left this link have not come to the next by the end of the run.
    pub fn not_yet_there(&mut self, packets: u64) {
        self.counters.delivered -= packets;
        self.ahead += packets;
    }

    fn enqueue(&mut self, packet: &Packet, now: Time, sequence: &mut u64) -> Offered {
        let idle = self.busy_until <= now && self.next_tx.is_never();
        let Service::Asked(queue) = &mut self.service else {
            return Offered::Queued; // the caller has looked
        };
        let mut cx = cclab_qdisc::Cx {
            now,
            rng: &mut self.dice,
        };
        let before = self.thrown_out.len();
        queue.enqueue(*packet, &mut cx, &mut self.thrown_out);
        self.counters.queue_drops += (self.thrown_out.len() - before) as u64;
        let lost = &self.thrown_out[before..];
        let refused = lost.iter().position(|lost| lost.0 == *packet);
        // While the transmitter is idle nothing else waits.
        let leaving = if idle && refused.is_none() && self.trace.is_none() {
            self.transmit(now)
        } else {
            None
        };
        let backlog = self.backlog(now).bytes;
        self.counters.backlog_max = self.counters.backlog_max.max(backlog);
        self.arm(now, sequence);
        if let Some(index) = refused {
            self.thrown_out.remove(before + index); // the caller reports the arrival itself
            return Offered::Lost(DropReason::Queue);
        }
        leaving.map_or(Offered::Queued, Offered::Passed)
    }

    /// Counts a loss.
    pub fn count_loss(&mut self, reason: DropReason) {
        match reason {
            DropReason::Queue => self.counters.queue_drops += 1,
            DropReason::Random | DropReason::Burst => self.counters.random_drops += 1,
            DropReason::Listed => self.counters.listed_drops += 1,
            DropReason::Outage => self.counters.outage_drops += 1,
            DropReason::Corrupt => self.counters.corrupt_drops += 1,
        }
    }

    /// Arms the transmitter if packets wait.
    fn arm(&mut self, now: Time, sequence: &mut u64) {
        let Service::Asked(queue) = &self.service else {
            return;
        };
        if self.trace.is_some() {
            return self.await_opportunity(now, sequence);
        }
        if !self.next_tx.is_never() || queue.backlog().packets == 0 {
            return;
        }
        let ready = queue.deadline();
        let time = if ready == Time::NEVER {
            self.busy_until.max(now)
        } else {
            ready.max(self.busy_until).max(now)
        };
        *sequence += 1;
        self.next_tx = Key::new(time, *sequence);
    }

    /// Arms a transmitter that follows a trace, if packets wait or one has begun to leave.
    fn await_opportunity(&mut self, now: Time, sequence: &mut u64) {
        let waits = self.backlog(now).packets > 0;
        if let Some(trace) = &mut self.trace
            && self.next_tx.is_never()
            && (waits || trace.is_busy())
        {
            *sequence += 1;
            self.next_tx = Key::new(trace.next_after(now), *sequence);
        }
    }

    /// Uses the opportunity of a trace that has come.
    pub fn on_opportunity(&mut self, now: Time, sequence: &mut u64) -> Vec<Served> {
        self.next_tx = Key::NEVER;
        self.follow_schedule(now);
        let Some(mut trace) = self.trace.take() else {
            return Vec::new();
        };
        let served = trace.serve(now, || self.take_from_queue(now));
        self.trace = Some(trace);
        let sizes = served
            .iter()
            .map(|one| u64::from(one.departure.packet.wire_len));
        self.counters.taken_bytes += sizes.sum::<u64>();
        self.await_opportunity(now, sequence);
        served
    }

    /// Brings the changes of rate and delay into force that have come by `now`, when a
    /// transmission begins.
    #[inline]
    fn follow_schedule(&mut self, now: Time) {
        let Some(schedule) = &mut self.schedule else {
            return;
        };
        while let Some((rate, delay)) = schedule.next_until(now) {
            if let Some(rate) = rate {
                self.tx = Some(TxClock::new(rate));
                self.tx_rate = Some(rate);
                self.carry = 0;
            }
            self.delay = delay.unwrap_or(self.delay);
        }
    }

    /// Asks the queue for the next packet and transmits it.
    fn transmit(&mut self, now: Time) -> Option<Leaving> {
        let departure = self.take_from_queue(now)?;
        self.follow_schedule(now);
        let clock = self.tx?;
        let bytes = u64::from(departure.packet.wire_len);
        self.counters.taken_bytes += bytes;
        let arrives = self.transmit_from(now, bytes, clock);
        Some(Leaving { departure, arrives })
    }

    /// Asks the queue for the next packet.
    fn take_from_queue(&mut self, now: Time) -> Option<Departure> {
        let Service::Asked(queue) = &mut self.service else {
            return None;
        };
        let mut cx = cclab_qdisc::Cx {
            now,
            rng: &mut self.dice,
        };
        let before = self.thrown_out.len();
        let departure = queue.dequeue(&mut cx, &mut self.thrown_out);
        self.counters.queue_drops += (self.thrown_out.len() - before) as u64;
        let departure = departure?;
        if let Some(sojourn) = &mut self.sojourn {
            sojourn.record((now - departure.enqueued).as_nanos());
        }
        Some(departure)
    }

    /// Puts on the wire a packet whose transmission begins at `since` and that reaches the far
    /// end at `arrives`; returns whether the wire was empty. `sequence` numbers the acts of an instant.
    #[inline]
    pub fn put_on_wire(
        &mut self,
        packet: &Packet,
        since: Time,
        arrives: Time,
        sequence: &mut u64,
    ) -> bool {
        *sequence += 1;
        let mut entry = OnWire {
            arrives,
            sequence: *sequence,
            since,
            packet: *packet,
        };
        if let Some(course) = &mut self.course {
            entry.arrives = course.arrival(arrives);
            return self.put_in_place(entry);
        }
        self.wire.push_back(entry);
        self.wire.len() == 1
    }

    /// Puts a packet on the wire that may overtake others; returns whether it is the first.
    fn put_in_place(&mut self, entry: OnWire) -> bool {
        // Few are overtaken: those held back, or sent within one jitter.
        let place = self
            .wire
            .partition_point(|other| other.arrives <= entry.arrives);
        self.wire.insert(place, entry);
        place == 0
    }

    /// A packet goes on to the next link ahead of time: this one counts it as delivered.
    #[inline]
    pub fn hand_on(&mut self) {
        self.counters.delivered += 1;
    }

    /// Whether the next act is an arrival at the other end.
    #[inline]
    pub fn arrives_next(&self) -> bool {
        self.wire
            .front()
            .is_some_and(|front| front.key() < self.next_tx)
    }

    /// Takes the packet that arrives off the wire; with it comes when its transmission began.
    #[inline]
    pub fn arrive(&mut self) -> Option<(Packet, Time)> {
        let arrived = self.wire.pop_front()?;
        self.counters.delivered += 1;
        Some((arrived.packet, arrived.since))
    }

    /// The transmitter is free: sends the next packet that waits.
    pub fn on_transmitter_free(&mut self, now: Time, sequence: &mut u64) -> Option<Leaving> {
        self.next_tx = Key::NEVER;
        let leaving = self.transmit(now);
        self.arm(now, sequence);
        leaving
    }

    /// Whether a link may take packets of this one ahead of time: nothing happens to them at
    /// the far end.
    pub fn may_feed_ahead(&self) -> bool {
        self.exit.is_none() && self.is_steady()
    }

    /// Whether packets keep their order and their delay on it.
    fn is_steady(&self) -> bool {
        self.course.is_none() && self.schedule.is_none() && self.trace.is_none() && !self.per_packet
    }

    /// Whether this link may take packets ahead of time from `feeder`: it never makes one wait
    /// longer than rounding does, and nothing happens to them here.
    pub fn may_be_fed_ahead(&self, feeder: &Link) -> bool {
        let keeps_up = match (feeder.rate, self.rate) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some(feeder), Some(own)) => own >= feeder,
        };
        // Of two equal rates one may round up where the other rounds down.
        let has_room = match &self.service {
            Service::Foreseen(fifo) => fifo.has_room(2 * u64::from(u16::MAX)),
            Service::Asked(_) => false,
        };
        // Where waiting is on record, packets must come at their time.
        let private = self.sojourn.is_none() && self.entry.is_none() && self.is_steady();
        private && keeps_up && (has_room || self.rate.is_none())
    }
}
