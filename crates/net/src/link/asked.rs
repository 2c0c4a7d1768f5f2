//! A queue that is asked for a packet whenever the transmitter is free.

use cclab_packet::Packet;
use cclab_qdisc::{Backlog, Cx, Departure, Descriptor, Dropped, Qdisc};
use cclab_trace::schema::DropReason;
use cclab_units::{Rate, Stream, Time, TxClock};

use super::{Leaving, Link, Offered, Service};
use crate::calendar::Key;
use crate::impairment::{Opportunities, Schedule, Served};

/// The queue, and what decides when it is asked.
pub(super) struct Asked {
    pub(super) queue: Box<dyn Qdisc>,
    /// See [`Qdisc::holds_back`].
    holds_back: bool,
    dice: Stream,
    /// What waits in it.
    pub(super) backlog: Backlog,
    /// The transmitter's place among all that are asked for.
    pub(super) place: u32,
    /// When the transmitter asks for the next packet; armed only while packets wait.
    pub(super) next_tx: Key,
    /// Packets thrown out on the way through the queue, to be reported by the caller.
    pub(super) thrown_out: Vec<Dropped>,
    /// Changes of rate and delay.
    pub(super) schedule: Option<Schedule>,
    /// When it may send, instead of a rate.
    pub(super) trace: Option<Opportunities>,
    /// The rate of the transmission in progress, or of the last one, where it changes.
    pub(super) tx_rate: Option<Rate>,
}

impl Asked {
    pub(super) fn new(queue: Box<dyn Qdisc>, dice: Stream) -> Asked {
        Asked {
            holds_back: queue.holds_back(),
            queue,
            dice,
            backlog: Backlog::default(),
            next_tx: Key::NEVER,
            place: 0,
            thrown_out: Vec::new(),
            schedule: None,
            trace: None,
            tx_rate: None,
        }
    }

    /// Lets the queue pass `packet` on at once, if it does that; nothing waits.
    #[inline]
    fn pass(&mut self, packet: &mut Descriptor, now: Time) -> bool {
        let mut cx = Cx {
            now,
            rng: &mut self.dice,
        };
        let passes = self.queue.pass(packet, &mut cx);
        debug_assert_eq!(self.backlog, self.queue.backlog());
        passes
    }

    /// Lets the queue take `packet` in; returns how many packets it throws out for that.
    #[inline]
    fn put(&mut self, packet: Descriptor, now: Time) -> u64 {
        self.backlog.packets += 1;
        self.backlog.bytes += u64::from(packet.wire_len);
        let mut cx = Cx {
            now,
            rng: &mut self.dice,
        };
        debug_assert!(self.thrown_out.is_empty(), "they are reported at once");
        self.queue.enqueue(packet, &mut cx, &mut self.thrown_out);
        self.discount_lost(0)
    }

    /// Asks the queue for the next packet, and says how many it throws out before that.
    #[inline(always)]
    fn take(&mut self, now: Time) -> (Option<Departure>, u64) {
        let mut cx = Cx {
            now,
            rng: &mut self.dice,
        };
        let before = self.thrown_out.len();
        let departure = self.queue.dequeue(&mut cx, &mut self.thrown_out);
        if let Some(departure) = &departure {
            self.backlog.packets -= 1;
            self.backlog.bytes -= u64::from(departure.packet.wire_len);
        }
        let lost = self.discount_lost(before);
        (departure, lost)
    }

    /// Takes what was thrown out after `before` others off the backlog; returns how many packets
    /// that are.
    #[inline(always)]
    fn discount_lost(&mut self, before: usize) -> u64 {
        if self.thrown_out.len() == before {
            debug_assert_eq!(self.backlog, self.queue.backlog());
            return 0;
        }
        self.discount(before)
    }

    #[cold]
    fn discount(&mut self, before: usize) -> u64 {
        let lost = &self.thrown_out[before..];
        for Dropped(packet) in lost {
            self.backlog.packets -= 1;
            self.backlog.bytes -= u64::from(packet.wire_len);
        }
        debug_assert_eq!(self.backlog, self.queue.backlog());
        lost.len() as u64
    }

    /// The place among those thrown out of `packet`, as it was offered: one that was marked has been in
    /// the queue.
    fn place_of_lost(&self, packet: &Descriptor) -> Option<usize> {
        self.thrown_out.iter().position(|lost| lost.0 == *packet)
    }

    /// The transmitter will ask for a packet at `time`.
    #[inline]
    fn arm_at(&mut self, time: Time, sequence: &mut u64) {
        *sequence += 1;
        self.next_tx = Key::new(time, *sequence);
    }

    /// Whether the transmitter will ask for a packet.
    #[inline]
    pub(super) fn is_armed(&self) -> bool {
        !self.next_tx.is_never()
    }
}

impl Link {
    /// Takes `packet` in, which is in `slot`, for a queue that is asked. What the queue loses in its
    /// stead is in [`Link::thrown_out`].
    #[inline(always)]
    pub fn offer(&mut self, packet: &Packet, slot: u32, now: Time, sequence: &mut u64) -> Offered {
        self.counters.offered += 1;
        if self.tx.is_none() {
            self.follow_schedule(now);
            self.counters.taken_bytes += u64::from(packet.wire_len);
            let arrives = now + self.delay;
            return Offered::Sent { arrives };
        }
        let Service::Asked(asked) = &mut self.service else {
            return Offered::Queued; // the caller has looked
        };
        let mut packet = Descriptor::new(packet, slot);
        // While the transmitter is idle nothing else waits.
        let idle = self.busy_until <= now && !asked.is_armed() && asked.trace.is_none();
        if !idle {
            return self.enqueue(packet, now, sequence);
        }
        if asked.pass(&mut packet, now) {
            let arrives = self.begin(&packet, Time::ZERO, now);
            let ecn = packet.ecn;
            return Offered::Passed { ecn, arrives };
        }
        self.enqueue_idle(packet, now, sequence)
    }

    /// Offers `packet` to the queue of a transmitter that is busy.
    #[inline(always)]
    fn enqueue(&mut self, packet: Descriptor, now: Time, sequence: &mut u64) -> Offered {
        let Service::Asked(asked) = &mut self.service else {
            return Offered::Queued;
        };
        let lost = asked.put(packet, now);
        let waits = asked.backlog.bytes;
        self.aside.count_queue_drops(lost);
        self.aside.note_backlog(waits);
        let is_refused = lost > 0 && asked.place_of_lost(&packet).is_some();
        self.arm(now, sequence);
        match is_refused {
            true => self.refuse(&packet),
            false => Offered::Queued,
        }
    }

    /// As [`Link::enqueue`], of a transmitter that is idle: what the queue takes in it gives out at once.
    #[inline(never)]
    fn enqueue_idle(&mut self, packet: Descriptor, now: Time, sequence: &mut u64) -> Offered {
        let Service::Asked(asked) = &mut self.service else {
            return Offered::Queued;
        };
        let lost = asked.put(packet, now);
        self.aside.count_queue_drops(lost);
        let is_refused = asked.place_of_lost(&packet).is_some();
        let leaving = match is_refused {
            true => None,
            false => self.transmit(now),
        };
        let backlog = self.backlog(now).bytes;
        self.aside.note_backlog(backlog);
        self.arm(now, sequence);
        match leaving {
            None if is_refused => self.refuse(&packet),
            None => Offered::Queued,
            Some(Leaving { departure, arrives }) => {
                debug_assert_eq!(departure.packet.slot, packet.slot, "nothing else waits");
                let ecn = departure.packet.ecn;
                Offered::Passed { ecn, arrives }
            }
        }
    }

    /// The queue has thrown out the very packet that was offered: the caller reports it itself.
    #[cold]
    fn refuse(&mut self, packet: &Descriptor) -> Offered {
        if let Service::Asked(asked) = &mut self.service
            && let Some(place) = asked.place_of_lost(packet)
        {
            asked.thrown_out.remove(place);
        }
        Offered::Lost(DropReason::Queue)
    }

    /// The transmitter is free: sends the next packet that waits. Returns it, when the transmitter asks for
    /// another, and whether packets were thrown out.
    #[inline(always)]
    pub fn on_transmitter_free(
        &mut self,
        now: Time,
        sequence: &mut u64,
    ) -> (Option<Leaving>, Key, bool) {
        let Service::Asked(asked) = &mut self.service else {
            return (None, Key::NEVER, false); // the caller has looked
        };
        let (departure, lost) = asked.take(now);
        self.aside.count_queue_drops(lost);
        asked.next_tx = Key::NEVER;
        let (waits, lost) = (asked.backlog.packets > 0, lost > 0);
        let may_wait_longer = asked.holds_back;
        let leaving = departure.map(|departure| {
            let arrives = self.begin(&departure.packet, now - departure.enqueued, now);
            Leaving { departure, arrives }
        });
        if !waits {
            return (leaving, Key::NEVER, lost);
        }
        if may_wait_longer || leaving.is_none() {
            self.arm(now, sequence);
        } else if let Service::Asked(asked) = &mut self.service {
            asked.arm_at(self.busy_until, sequence); // the transmission that begins ends later than now
        }
        (leaving, self.next_tx().0, lost)
    }

    /// Uses the opportunity of a trace that has come.
    pub fn on_opportunity(&mut self, now: Time, sequence: &mut u64) -> Vec<Served> {
        self.disarm();
        self.follow_schedule(now);
        let Service::Asked(asked) = &mut self.service else {
            return Vec::new();
        };
        let Some(mut trace) = asked.trace.take() else {
            return Vec::new();
        };
        let served = trace.serve(now, || {
            let departure = self.take_from_queue(now)?;
            self.record(now - departure.enqueued);
            Some(departure)
        });
        let sizes = served
            .iter()
            .map(|one| u64::from(one.departure.packet.wire_len));
        self.counters.taken_bytes += sizes.sum::<u64>();
        if let Service::Asked(asked) = &mut self.service {
            asked.trace = Some(trace);
        }
        self.arm(now, sequence);
        served
    }

    #[inline]
    fn disarm(&mut self) {
        if let Service::Asked(asked) = &mut self.service {
            asked.next_tx = Key::NEVER;
        }
    }

    /// Arms the transmitter if packets wait, or one has begun to leave.
    #[inline(always)]
    fn arm(&mut self, now: Time, sequence: &mut u64) {
        let Service::Asked(asked) = &mut self.service else {
            return;
        };
        if !asked.next_tx.is_never() {
            return;
        }
        let waits = asked.backlog.packets > 0;
        let time = match &mut asked.trace {
            Some(trace) if waits || trace.is_busy() => trace.next_after(now),
            None if waits && asked.holds_back => match asked.queue.deadline() {
                Time::NEVER => self.busy_until.max(now),
                ready => ready.max(self.busy_until).max(now),
            },
            None if waits => self.busy_until.max(now),
            _ => return,
        };
        asked.arm_at(time, sequence);
    }

    /// Brings the changes of rate and delay into force that have come by `now`, when a
    /// transmission begins.
    #[inline]
    pub(super) fn follow_schedule(&mut self, now: Time) {
        let Service::Asked(asked) = &mut self.service else {
            return;
        };
        let Some(schedule) = &mut asked.schedule else {
            return;
        };
        while let Some((rate, delay)) = schedule.next_until(now) {
            if let Some(rate) = rate {
                self.tx = Some(TxClock::new(rate));
                asked.tx_rate = Some(rate);
                self.carry = 0;
            }
            self.delay = delay.unwrap_or(self.delay);
        }
    }

    /// Asks the queue for the next packet and transmits it.
    #[inline(always)]
    fn transmit(&mut self, now: Time) -> Option<Leaving> {
        let departure = self.take_from_queue(now)?;
        let arrives = self.begin(&departure.packet, now - departure.enqueued, now);
        Some(Leaving { departure, arrives })
    }

    /// Begins to transmit a packet that the queue gave out after it has `waited`; returns when it reaches
    /// the far end.
    #[inline(always)]
    fn begin(&mut self, packet: &Descriptor, waited: Time, now: Time) -> Time {
        self.record(waited);
        self.follow_schedule(now);
        let bytes = u64::from(packet.wire_len);
        self.counters.taken_bytes += bytes;
        match self.tx {
            Some(clock) => self.transmit_from(now, self.counted(bytes), clock),
            None => now + self.delay,
        }
    }

    /// Asks the queue for the next packet.
    #[inline(always)]
    fn take_from_queue(&mut self, now: Time) -> Option<Departure> {
        let Service::Asked(asked) = &mut self.service else {
            return None;
        };
        let (departure, lost) = asked.take(now);
        self.aside.count_queue_drops(lost);
        departure
    }

    /// Counts how long the packet `waited` that the queue gave out last, where that is kept.
    #[inline(always)]
    fn record(&mut self, waited: Time) {
        let Some(fittings) = &mut self.fittings else {
            return;
        };
        if let Some(sojourn) = &mut fittings.sojourn {
            sojourn.record(waited.as_nanos());
        }
        if !fittings.bands.is_empty()
            && let Service::Asked(asked) = &self.service
            && let Some((_, sojourn)) = fittings.bands.get_mut(asked.queue.last_band())
        {
            sojourn.record(waited.as_nanos());
        }
    }
}
