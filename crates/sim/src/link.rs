//! A link in one direction: a queue, a transmitter, a wire that keeps the order.
//!
//! A packet that finds the transmitter idle is on the wire at once; only packets that wait
//! cost a second event. The wire delivers in order, so that a link has one entry in the
//! calendar however much is on it.

use std::collections::VecDeque;

use cclab_packet::Packet;
use cclab_qdisc::{Departure, Dropped, Qdisc};
use cclab_trace::Histogram;
use cclab_trace::schema::DropReason;
use cclab_units::{Rate, Stream, Time, TxClock};

use crate::calendar::Key;
use crate::gate::Gate;

/// What a link did.
#[derive(Clone, Debug, Default)]
pub struct Counters {
    /// Packets offered.
    pub offered: u64,
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
    /// Packets handed to the other end.
    pub delivered: u64,
    /// Bytes that the transmitter has taken on, the packet in transmission included.
    taken_bytes: u64,
    /// Largest backlog in bytes.
    pub backlog_max: u64,
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
    /// It is on the wire.
    Sent,
    /// It waits.
    Queued,
    /// It is lost.
    Lost(DropReason),
}

/// A link in one direction.
pub struct Link {
    /// Its name in traces.
    pub name: String,
    /// Its rate; `None`: infinitely fast.
    pub rate: Option<Rate>,
    /// Losses before the queue.
    pub entry: Gate,
    /// Losses after the wire.
    pub exit: Gate,
    /// What it did.
    pub counters: Counters,
    /// How long packets waited; kept where asked.
    pub sojourn: Option<Histogram>,
    /// Packets thrown out on the way out of the queue, to be reported by the caller.
    pub thrown_out: Vec<Dropped>,
    tx: Option<TxClock>,
    delay: Time,
    queue: Box<dyn Qdisc>,
    dice: Stream,
    /// The transmitter is busy until then.
    busy_until: Time,
    /// What the transmission so far took beyond whole nanoseconds, see [`TxClock`].
    carry: u64,
    /// When the transmitter takes the next packet; armed only while packets wait.
    next_tx: Key,
    wire: VecDeque<(Key, Packet)>,
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
            entry: Gate::default(),
            exit: Gate::default(),
            counters: Counters::default(),
            sojourn: None,
            thrown_out: Vec::new(),
            tx: rate.map(TxClock::new),
            delay,
            queue,
            dice,
            busy_until: Time::ZERO,
            carry: 0,
            next_tx: Key::NEVER,
            wire: VecDeque::with_capacity(16),
        }
    }

    /// What waits in the queue.
    pub fn backlog(&self) -> cclab_qdisc::Backlog {
        self.queue.backlog()
    }

    /// Packets that the queue has ECN-marked.
    pub fn marks(&self) -> u64 {
        self.queue.marks()
    }

    /// Bytes transmitted until `now`: of the packet in transmission, what has left.
    pub fn tx_bytes(&self, now: Time) -> u64 {
        let rest = self.busy_until - now;
        let to_come = match self.rate {
            Some(rate) if rest > Time::ZERO => rate.bytes_in(rest) + 1,
            _ => 0,
        };
        self.counters.taken_bytes.saturating_sub(to_come)
    }

    /// Packets in the queue and on the wire.
    pub fn in_flight(&self) -> u64 {
        self.queue.backlog().packets + self.wire.len() as u64
    }

    /// When the link acts next.
    #[inline]
    pub fn key(&self) -> Key {
        let arrival = self.wire.front().map_or(Key::NEVER, |(key, _)| *key);
        arrival.min(self.next_tx)
    }

    /// Takes `packet` in. `sequence` numbers the acts of an instant. Packets that the queue
    /// loses in its stead are in [`Link::thrown_out`].
    #[inline]
    pub fn offer(&mut self, packet: &Packet, now: Time, sequence: &mut u64) -> Offered {
        self.counters.offered += 1;
        if let Some(reason) = self.entry.judge(now) {
            self.count_loss(reason);
            return Offered::Lost(reason);
        }
        let idle = self.busy_until <= now && self.next_tx.is_never();
        let Some(clock) = self.tx else {
            self.counters.taken_bytes += u64::from(packet.wire_len);
            self.put_on_wire(packet, now, sequence);
            return Offered::Sent;
        };
        if idle && self.queue.may_bypass(packet) {
            if let Some(sojourn) = &mut self.sojourn {
                sojourn.record(0);
            }
            self.start_transmission(packet, clock, now, sequence);
            return Offered::Sent;
        }
        self.enqueue(packet, idle, now, sequence)
    }

    fn enqueue(&mut self, packet: &Packet, idle: bool, now: Time, sequence: &mut u64) -> Offered {
        let mut cx = cclab_qdisc::Cx {
            now,
            rng: &mut self.dice,
        };
        let before = self.thrown_out.len();
        self.queue.enqueue(*packet, &mut cx, &mut self.thrown_out);
        self.counters.queue_drops += (self.thrown_out.len() - before) as u64;
        let refused = self.thrown_out[before..]
            .iter()
            .position(|lost| lost.0 == *packet);
        let sent = idle
            && self
                .transmit(now, sequence)
                .is_some_and(|sent| sent.packet == *packet);
        self.counters.backlog_max = self.counters.backlog_max.max(self.queue.backlog().bytes);
        self.arm(now, sequence);
        match refused {
            Some(index) => {
                self.thrown_out.remove(before + index); // the caller reports the arrival itself
                Offered::Lost(DropReason::Queue)
            }
            None if sent => Offered::Sent,
            None => Offered::Queued,
        }
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
        if !self.next_tx.is_never() || self.queue.backlog().packets == 0 {
            return;
        }
        let ready = self.queue.deadline();
        let time = if ready == Time::NEVER {
            self.busy_until.max(now)
        } else {
            ready.max(self.busy_until).max(now)
        };
        *sequence += 1;
        self.next_tx = Key::new(time, *sequence);
    }

    /// Puts the next packet of the queue on the wire.
    fn transmit(&mut self, now: Time, sequence: &mut u64) -> Option<Departure> {
        let mut cx = cclab_qdisc::Cx {
            now,
            rng: &mut self.dice,
        };
        let before = self.thrown_out.len();
        let departure = self.queue.dequeue(&mut cx, &mut self.thrown_out);
        self.counters.queue_drops += (self.thrown_out.len() - before) as u64;
        let departure = departure?;
        if let Some(sojourn) = &mut self.sojourn {
            sojourn.record((now - departure.enqueued).as_nanos());
        }
        let clock = self.tx?;
        self.start_transmission(&departure.packet, clock, now, sequence);
        Some(departure)
    }

    #[inline]
    fn start_transmission(
        &mut self,
        packet: &Packet,
        clock: TxClock,
        now: Time,
        sequence: &mut u64,
    ) {
        let bytes = u64::from(packet.wire_len);
        self.counters.taken_bytes += bytes;
        if self.busy_until < now {
            self.carry = 0;
        }
        self.busy_until = now + clock.time_of_next(bytes, &mut self.carry);
        self.put_on_wire(packet, self.busy_until, sequence);
    }

    #[inline]
    fn put_on_wire(&mut self, packet: &Packet, sent: Time, sequence: &mut u64) {
        *sequence += 1;
        let key = Key::new(sent + self.delay, *sequence);
        self.wire.push_back((key, *packet));
    }

    /// Whether the next act is an arrival at the other end.
    #[inline]
    pub fn arrives_next(&self) -> bool {
        self.wire
            .front()
            .is_some_and(|(key, _)| *key < self.next_tx)
    }

    /// Takes the packet that arrives off the wire.
    #[inline]
    pub fn arrive(&mut self) -> Option<Packet> {
        let (_, packet) = self.wire.pop_front()?;
        self.counters.delivered += 1;
        Some(packet)
    }

    /// The transmitter is free: sends the next packet that waits.
    #[inline]
    pub fn on_transmitter_free(&mut self, now: Time, sequence: &mut u64) -> Option<Departure> {
        self.next_tx = Key::NEVER;
        let departure = self.transmit(now, sequence);
        self.arm(now, sequence);
        departure
    }
}
