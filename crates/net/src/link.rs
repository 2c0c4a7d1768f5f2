//! A link in one direction: a queue, a transmitter, a wire that keeps the order.
//!
//! What is on the wire is in [`crate::wires`]. Two short cuts save events without changing what happens:
//! - Departures from a queue that is first in, first out and decides on arrival alone are
//!   foreseen: the packet is on the wire at once, with the time at which it will arrive. From
//!   any other queue, a packet that finds the transmitter idle is on the wire at once; packets
//!   that wait cost a second event.
//! - A link that is fed by one other alone, and never makes a packet wait, takes packets ahead
//!   of their time (see `fusion`): they are on its wire as soon as they are on the other's.

mod ahead;
mod aside;
mod asked;
mod counters;
mod fittings;
#[cfg(test)]
mod tests;

use cclab_packet::{Ecn, Packet};
use cclab_qdisc::{Backlog, Band, Departure, Descriptor, Dropped, Qdisc};
use cclab_spec::Change;
use cclab_trace::Histogram;
use cclab_trace::schema::DropReason;
use cclab_units::hint::unlikely;
use cclab_units::memory::prefetch;
use cclab_units::{Rate, Stream, Time, TxClock};

use crate::calendar::Key;
use crate::fifo::{Fifo, Waiting};
use crate::forwarding::HOST;
use crate::impairment::{Opportunities, Schedule};
pub use aside::Aside;
use asked::Asked;
pub use counters::Counters;
pub use fittings::Fittings;

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
    /// The queue took it and gave it out, perhaps marked: it leaves at once.
    Passed {
        /// Its ECN field.
        ecn: Ecn,
        /// When it reaches the far end.
        arrives: Time,
    },
    /// It waits.
    Queued,
    /// It is lost.
    Lost(DropReason),
}

impl Offered {
    /// What becomes of a packet of which was `foreseen` at `now` when it leaves and when it is there.
    pub fn foreseen(foreseen: Option<[Time; 2]>, now: Time) -> Offered {
        match foreseen {
            None => Offered::Lost(DropReason::Queue),
            Some([departs, arrives]) if departs > now => Offered::Foreseen { departs, arrives },
            Some([_, arrives]) => Offered::Sent { arrives },
        }
    }
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
    Asked(Box<Asked>),
}

/// A link in one direction.
///
/// What every packet touches lies in the first line of the cache, its queue in the second: with
/// thousands of links, their lines are what a packet costs.
#[repr(C, align(128))]
pub struct Link {
    tx: Option<TxClock>,
    /// The transmitter is busy until then.
    pub(crate) busy_until: Time,
    delay: Time,
    /// What the transmission so far took beyond whole nanoseconds, see [`TxClock`].
    carry: u32,
    /// Where packets go from the far end, as [`crate::forwarding::Forwarding::leads_to`] says.
    pub leads_to: u32,
    /// What it has beside.
    pub fittings: Option<Box<Fittings>>,
    /// What it did.
    pub counters: Counters,

    service: Service,

    /// What packets seldom touch.
    pub aside: Box<Aside>,
}

const _: () = assert!(
    size_of::<Link>() == 128,
    "thousands of links are in a network"
);
const _: () = assert!(
    std::mem::offset_of!(Link, service) == 64 && size_of::<Service>() <= 64,
    "two lines of the cache, which Link::fetch asks for"
);

impl Link {
    /// An idle link.
    pub fn new(rate: Option<Rate>, delay: Time, queue: Box<dyn Qdisc>, dice: Stream) -> Link {
        Link {
            tx: rate.map(TxClock::new),
            busy_until: Time::ZERO,
            delay,
            carry: 0,
            leads_to: HOST,
            fittings: None,
            counters: Counters::default(),
            service: Service::Asked(Box::new(Asked::new(queue, dice))),
            aside: Box::new(Aside::new(rate)),
        }
    }

    /// Has the memory fetched that every packet touches, and no more: what is fetched takes turns.
    #[inline]
    pub fn fetch(&self) {
        prefetch(&self.tx);
        prefetch(&self.service);
    }

    /// What it has beside, to put something there.
    pub fn fit(&mut self) -> &mut Fittings {
        self.fittings.get_or_insert_default()
    }

    /// Changes its rate and delay as `schedule` says.
    pub fn follow(&mut self, schedule: Schedule) {
        if let Service::Asked(asked) = &mut self.service {
            asked.schedule = Some(schedule);
        }
    }

    /// Adds a change that has become known, of rate, delay, loss, jitter or slots.
    pub fn change(&mut self, change: Change) {
        if let Service::Asked(asked) = &mut self.service
            && let Some(schedule) = &mut asked.schedule
        {
            schedule.insert(change);
        }
        let Some(fittings) = &mut self.fittings else {
            return;
        };
        if let (Some(gate), Some(probability)) = (&mut fittings.entry, change.loss) {
            gate.change_loss(change.at, probability);
        }
        if let Some(course) = &mut fittings.course {
            course.change(&change);
        }
    }

    /// Lets it send when `trace` says.
    pub fn send_at(&mut self, trace: Opportunities) {
        if let Service::Asked(asked) = &mut self.service {
            asked.trace = Some(trace);
        }
    }

    /// Whether it sends when a trace says.
    pub fn follows_trace(&self) -> bool {
        matches!(&self.service, Service::Asked(asked) if asked.trace.is_some())
    }

    /// Packets thrown out on the way through the queue that were not yet reported.
    pub fn thrown_out(&self) -> &[Dropped] {
        match &self.service {
            Service::Asked(asked) => &asked.thrown_out,
            Service::Foreseen(_) => &[],
        }
    }

    /// The next of the packets thrown out, all of which were reported: it is no more.
    pub fn pop_thrown_out(&mut self) -> Option<Descriptor> {
        match &mut self.service {
            Service::Asked(asked) => asked.thrown_out.pop().map(|dropped| dropped.0),
            Service::Foreseen(_) => None,
        }
    }

    /// Gives its transmitter a place among those that ask queues; false if it does not ask.
    pub fn take_place(&mut self, place: u32) -> bool {
        match &mut self.service {
            Service::Asked(asked) => {
                asked.place = place;
                true
            }
            Service::Foreseen(_) => false,
        }
    }

    /// Whether it feeds the next links ahead of time.
    #[inline]
    pub fn feeds_ahead(&self) -> bool {
        self.fittings
            .as_ref()
            .is_some_and(|fittings| fittings.feeds_ahead)
    }

    /// Lets departures be foreseen where the queue allows it and nothing changes until they
    /// happen. Impairments must be in their places before.
    pub fn foresee_departures(&mut self) {
        self.fittings.take_if(|fittings| fittings.is_bare());
        if let Service::Asked(asked) = &self.service
            && asked.schedule.is_none()
            && asked.trace.is_none()
            && let Some(limits) = asked.queue.as_fifo()
        {
            self.service = Service::Foreseen(Fifo::new(limits));
        }
    }

    /// Makes a link without a rate take `per_second` packets a second, whatever their size.
    pub fn pace_packets(&mut self, per_second: u64) {
        // A clock for bytes counts packets too: one byte each.
        self.tx = Rate::from_bps(per_second.saturating_mul(8)).map(TxClock::new);
        self.fit().per_packet = true;
    }

    /// One-way propagation.
    pub fn delay(&self) -> Time {
        self.delay
    }

    /// Bytes that it could have transmitted by `now`, where its rate is not constant.
    pub fn capacity(&self, now: Time) -> Option<u64> {
        let Service::Asked(asked) = &self.service else {
            return None;
        };
        match (&asked.trace, &asked.schedule) {
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
            Service::Asked(asked) => asked.backlog,
        }
    }

    /// Packets that the queue has ECN-marked.
    pub fn marks(&self) -> u64 {
        match &self.service {
            Service::Foreseen(_) => 0,
            Service::Asked(asked) => asked.queue.marks(),
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
        let to_come = match self.tx_rate() {
            Some(rate) if rest > Time::ZERO => rate.bytes_in(rest) + 1,
            _ => 0,
        };
        taken.saturating_sub(to_come)
    }

    /// The rate of the transmission in progress, or of the last one.
    fn tx_rate(&self) -> Option<Rate> {
        match &self.service {
            Service::Asked(asked) => asked.tx_rate.or(self.aside.rate),
            Service::Foreseen(_) => self.aside.rate,
        }
    }

    /// Packets in the queue and on the wire.
    pub fn in_flight(&self) -> u64 {
        let asked = match &self.service {
            Service::Foreseen(_) => 0, // on the wire already
            Service::Asked(asked) => {
                let in_transit = asked.trace.as_ref().is_some_and(Opportunities::is_busy);
                asked.backlog.packets + u64::from(in_transit)
            }
        };
        asked + self.aside.in_flight
    }

    /// Whether the transmitter will ask the queue.
    #[inline]
    pub fn is_armed(&self) -> bool {
        matches!(&self.service, Service::Asked(asked) if asked.is_armed())
    }

    /// When the transmitter next asks the queue, and its place among those that do.
    #[inline]
    pub fn next_tx(&self) -> (Key, u32) {
        match &self.service {
            Service::Asked(asked) => (asked.next_tx, asked.place),
            Service::Foreseen(_) => (Key::NEVER, 0),
        }
    }

    /// What the discipline counted of its named queues.
    pub fn bands(&self) -> &[Band] {
        match &self.service {
            Service::Foreseen(_) => &[],
            Service::Asked(asked) => asked.queue.bands(),
        }
    }

    /// Accounts for the foreseen departures that come before an arrival at `now` that was caused
    /// at `since`.
    #[inline]
    fn settle(&mut self, now: Time, since: Time) {
        while let Service::Foreseen(fifo) = &mut self.service
            && let Some(departed) = fifo.pop_departed(now, since)
        {
            self.counters.taken_bytes += departed.bytes;
            record_sojourn(&mut self.fittings, departed.waits);
        }
    }

    /// How long the packets waited that have left by `now`; empty where that is not kept.
    pub fn sojourn(&self, now: Time) -> Histogram {
        let fittings = self.fittings.as_ref();
        let kept = fittings.and_then(|fittings| fittings.sojourn.as_deref());
        let Some(mut sojourn) = kept.cloned() else {
            return Histogram::default();
        };
        if let Service::Foreseen(fifo) = &self.service {
            let departed = fifo.departed(now);
            departed.for_each(|departed| sojourn.record(departed.waits.as_nanos()));
        }
        sojourn
    }

    /// Accounts for everything until the end of a run.
    pub fn finish(&mut self, now: Time) {
        self.settle(now, Time::NEVER);
    }

    /// Whether its queue is asked for packets; else what becomes of them is known at their arrival.
    #[inline]
    pub fn asks(&self) -> bool {
        matches!(self.service, Service::Asked(_))
    }

    /// Takes `packet` in, which comes from a transmission that began at `since`: when it leaves, and
    /// when it reaches the far end; `None`, it is lost. For links that do not ask, and that have
    /// something beside if they are `FITTED`.
    #[inline(always)]
    pub fn foresee<const FITTED: bool>(
        &mut self,
        packet: &Packet,
        since: Time,
        now: Time,
    ) -> Option<[Time; 2]> {
        debug_assert_eq!(FITTED, self.fittings.is_some());
        self.counters.offered += 1;
        let bytes = u64::from(packet.wire_len);
        let mut sojourn = match &mut self.fittings {
            Some(fittings) if FITTED => fittings.sojourn.as_deref_mut(),
            _ => None,
        };
        let (Some(clock), Service::Foreseen(fifo)) = (self.tx, &mut self.service) else {
            self.counters.taken_bytes += bytes;
            return Some([now, now + self.delay]);
        };
        if !FITTED && self.busy_until < now {
            // The last transmission began no later than it ended, so before now.
            self.counters.taken_bytes += fifo.leave_all();
        } else {
            while let Some(departed) = fifo.pop_departed(now, since) {
                self.counters.taken_bytes += departed.bytes;
                if let Some(sojourn) = &mut sojourn {
                    sojourn.record(departed.waits.as_nanos());
                }
            }
        }
        if unlikely(!fifo.has_room(bytes)) {
            self.aside.incidents.count_loss(DropReason::Queue);
            return None;
        }
        let departs = self.busy_until.max(now);
        if departs > now {
            fifo.push(Waiting {
                departs,
                waits: departs - now,
                bytes,
            });
            if let Some(bytes) = fifo.record() {
                self.aside.note_backlog(bytes);
            }
        } else {
            fifo.pass(now);
            self.counters.taken_bytes += bytes;
            if let Some(sojourn) = &mut sojourn {
                sojourn.record(0);
            }
        }
        let amount = if FITTED { self.counted(bytes) } else { bytes };
        Some([departs, self.transmit_from(departs, amount, clock)])
    }

    /// What the transmitter counts of a packet of `bytes`: these, or the packet where each takes as long.
    #[inline(always)]
    pub(super) fn counted(&self, bytes: u64) -> u64 {
        if self.takes_each_alike() { 1 } else { bytes }
    }

    /// Whether every packet takes the same time, whatever its size.
    #[inline]
    fn takes_each_alike(&self) -> bool {
        self.fittings
            .as_ref()
            .is_some_and(|fittings| fittings.per_packet)
    }

    /// The transmitter takes on `amount` at `start`, bytes or one packet; returns when it reaches the
    /// far end.
    #[inline(always)]
    fn transmit_from(&mut self, start: Time, amount: u64, clock: TxClock) -> Time {
        if self.busy_until < start {
            self.carry = 0;
        }
        self.busy_until = start + clock.time_of_next(amount, &mut self.carry);
        self.busy_until + self.delay
    }

    /// A packet has reached the far end.
    #[inline]
    pub fn deliver(&mut self) {
        self.counters.delivered += 1;
    }
}

/// Counts how long a packet waited, where that is kept.
#[inline]
fn record_sojourn(fittings: &mut Option<Box<Fittings>>, waited: Time) {
    if let Some(fittings) = fittings
        && let Some(sojourn) = &mut fittings.sojourn
    {
        sojourn.record(waited.as_nanos());
    }
}
