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
        let before = self.thrown_out.len();
        self.queue.enqueue(packet, &mut cx, &mut self.thrown_out);
        self.discount_lost(before)
    }

    /// Asks the queue for the next packet, and says how many it throws out before that.
    #[inline]
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
    #[inline]
    fn discount_lost(&mut self, before: usize) -> u64 {
        let lost = &self.thrown_out[before..];
        for Dropped(packet) in lost {
            self.backlog.packets -= 1;
            self.backlog.bytes -= u64::from(packet.wire_len);
        }
        debug_assert_eq!(self.backlog, self.queue.backlog());
        lost.len() as u64
    }
}

impl Link {
    /// Offers the queue `packet`, which is in `slot`. Out of the way of what foresees.
    #[inline(never)]
    pub(super) fn enqueue(
        &mut self,
        packet: &Packet,
        slot: u32,
        now: Time,
        sequence: &mut u64,
    ) -> Offered {
        let Service::Asked(asked) = &mut self.service else {
            return Offered::Queued; // the caller has looked
        };
        let mut packet = Descriptor::new(packet, slot);
        // While the transmitter is idle nothing else waits.
        let idle = self.busy_until <= now && asked.next_tx.is_never() && asked.trace.is_none();
        if idle && asked.pass(&mut packet, now) {
            let departure = Departure {
                packet,
                enqueued: now,
            };
            let leaving = self.begin(departure, now);
            return leaving.map_or(Offered::Queued, Offered::Passed);
        }
        let before = asked.thrown_out.len();
        let lost = asked.put(packet, now);
        self.incidents.queue_drops += lost;
        let lost = &asked.thrown_out[before..];
        // One that was marked has been in the queue.
        let refused = lost.iter().position(|lost| lost.0 == packet);
        let leaving = match idle && refused.is_none() {
            true => self.transmit(now),
            false => None,
        };
        let backlog = self.backlog(now).bytes;
        self.incidents.backlog_max = self.incidents.backlog_max.max(backlog);
        self.arm(now, sequence);
        if let (Some(index), Service::Asked(asked)) = (refused, &mut self.service) {
            asked.thrown_out.remove(before + index); // the caller reports the arrival itself
            return Offered::Lost(DropReason::Queue);
        }
        leaving.map_or(Offered::Queued, Offered::Passed)
    }

    /// The transmitter is free: sends the next packet that waits.
    #[inline(always)]
    pub fn on_transmitter_free(&mut self, now: Time, sequence: &mut u64) -> Option<Leaving> {
        self.disarm();
        let leaving = self.transmit(now);
        self.arm(now, sequence);
        leaving
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
            self.record(&departure, now);
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
            None if waits => match asked.queue.deadline() {
                Time::NEVER => self.busy_until.max(now),
                ready => ready.max(self.busy_until).max(now),
            },
            _ => return,
        };
        *sequence += 1;
        asked.next_tx = Key::new(time, *sequence);
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
        self.begin(departure, now)
    }

    /// Begins to transmit a packet that the queue gave out.
    #[inline(always)]
    fn begin(&mut self, departure: Departure, now: Time) -> Option<Leaving> {
        self.record(&departure, now);
        self.follow_schedule(now);
        let clock = self.tx?;
        let bytes = u64::from(departure.packet.wire_len);
        self.counters.taken_bytes += bytes;
        let arrives = self.transmit_from(now, self.counted(bytes), clock);
        Some(Leaving { departure, arrives })
    }

    /// Asks the queue for the next packet.
    #[inline(always)]
    fn take_from_queue(&mut self, now: Time) -> Option<Departure> {
        let Service::Asked(asked) = &mut self.service else {
            return None;
        };
        let (departure, lost) = asked.take(now);
        self.incidents.queue_drops += lost;
        departure
    }

    /// Counts how long the packet waited that the queue gave out last, where that is kept.
    #[inline(always)]
    fn record(&mut self, departure: &Departure, now: Time) {
        let Some(fittings) = &mut self.fittings else {
            return;
        };
        let waited = (now - departure.enqueued).as_nanos();
        if let Some(sojourn) = &mut fittings.sojourn {
            sojourn.record(waited);
        }
        if !fittings.bands.is_empty()
            && let Service::Asked(asked) = &self.service
            && let Some((_, sojourn)) = fittings.bands.get_mut(asked.queue.last_band())
        {
            sojourn.record(waited);
        }
    }
}
