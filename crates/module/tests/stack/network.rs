//! The bottleneck and the receiver.

use std::collections::BTreeSet;

/// What a connection meets.
#[derive(Clone, Copy, Debug)]
pub struct Script {
    pub name: &'static str,
    /// One way.
    pub delay: u64,
    /// Time of a segment at the bottleneck.
    pub service: u64,
    /// Segments that wait at most.
    pub queue: u64,
    /// Segments that wait when one is marked; zero: none is.
    pub mark_at: u64,
    pub loss_per_10k: u64,
    pub late_per_10k: u64,
    /// How much later a late segment is.
    pub late_by: u64,
    /// Random extra delay of acknowledgements, at most.
    pub jitter: u64,
    /// Segments that an acknowledgement waits for.
    pub ack_every: u64,
    /// Segments that the application writes at a time, and what it waits then; zero: it never
    /// waits.
    pub burst: u64,
    pub idle: u64,
    /// Nothing passes for `outage` once in `outage_every`; zero: never.
    pub outage_every: u64,
    pub outage: u64,
}

impl Script {
    pub const PLAIN: Script = Script {
        name: "plain",
        delay: 20_000,
        service: 1_000,
        queue: 60,
        mark_at: 0,
        loss_per_10k: 0,
        late_per_10k: 0,
        late_by: 0,
        jitter: 0,
        ack_every: 2,
        burst: 0,
        idle: 0,
        outage_every: 0,
        outage: 0,
    };
}

impl Script {
    /// One whose every number is drawn.
    pub fn drawn(seed: u64) -> Script {
        let draw = |what: u64, choices: &[u64]| {
            choices[dice(100 + what, seed, 0) as usize % choices.len()]
        };
        Script {
            name: "drawn",
            delay: draw(1, &[200, 2_000, 10_000, 40_000, 125_000]),
            service: draw(2, &[60, 250, 1_000, 4_000]),
            queue: draw(3, &[8, 25, 60, 200, 500]),
            mark_at: draw(4, &[0, 0, 5, 20, 100]),
            loss_per_10k: draw(5, &[0, 0, 5, 50, 200, 800]),
            late_per_10k: draw(6, &[0, 0, 20, 300]),
            late_by: draw(7, &[500, 5_000, 50_000, 300_000]),
            jitter: draw(8, &[0, 0, 1_000, 20_000]),
            ack_every: draw(9, &[1, 2, 2, 4, 16]),
            burst: draw(10, &[0, 0, 3, 40, 900]),
            idle: draw(11, &[1_000, 30_000, 400_000, 2_500_000]),
            outage_every: draw(12, &[0, 0, 3_000_000, 17_000_000]),
            outage: draw(13, &[50_000, 400_000, 2_000_000]),
        }
    }
}

/// The time after which an acknowledgement waits for no further segment.
const DELAYED_ACK: u64 = 40_000;

/// A segment on its way.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    pub index: u64,
    pub sent: u64,
    pub marked: bool,
}

/// An acknowledgement on its way back.
#[derive(Clone, Debug)]
pub struct Ack {
    /// Every segment below has arrived.
    pub next: u64,
    /// Segments beyond that have arrived since the last acknowledgement.
    pub sacked: Vec<u64>,
    /// Segments that arrived twice since then.
    pub twice: u32,
    /// Whether one that it covers was marked.
    pub marked: bool,
    /// When the oldest segment that it covers was sent.
    pub echo: u64,
    /// The receiver's clock in milliseconds.
    pub stamp: u32,
}

/// Random numbers that depend on what they are for, not on what was drawn before: two connections
/// meet the same.
pub fn dice(purpose: u64, a: u64, b: u64) -> u64 {
    let mut z = purpose
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .wrapping_add(a.wrapping_mul(0xd134_2543_de82_ef95))
        .wrapping_add(b.wrapping_mul(0x2545_f491_4f6c_dd1d));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The way to the receiver.
#[derive(Debug, Default)]
pub struct Bottleneck {
    /// When it is free.
    free: u64,
}

impl Bottleneck {
    /// When the transmission `copy` of segment `index`, sent at `now`, arrives, and whether it is
    /// marked; `None`: it is lost.
    pub fn pass(
        &mut self,
        script: &Script,
        index: u64,
        copy: u64,
        now: u64,
    ) -> Option<(u64, bool)> {
        let waiting = self.free.saturating_sub(now) / script.service;
        let out = script.outage_every > 0
            && now > script.outage_every
            && now % script.outage_every < script.outage;
        if waiting >= script.queue || out || dice(1, index, copy) % 10_000 < script.loss_per_10k {
            return None;
        }
        self.free = self.free.max(now) + script.service;
        let late = dice(2, index, copy) % 10_000 < script.late_per_10k;
        let arrives = self.free + script.delay + if late { script.late_by } else { 0 };
        let marked = script.mark_at > 0 && waiting >= script.mark_at;
        Some((arrives, marked))
    }
}

/// Acknowledges what arrives.
#[derive(Debug, Default)]
pub struct Receiver {
    next: u64,
    beyond: BTreeSet<u64>,
    unacked: u64,
    sacked: Vec<u64>,
    twice: u32,
    marked: bool,
    echo: Option<u64>,
    /// When it acknowledges without waiting further.
    pub due: Option<u64>,
}

impl Receiver {
    /// A segment arrives at `now`; the acknowledgement, if one is sent at once.
    pub fn take(&mut self, script: &Script, packet: &Packet, now: u64) -> Option<Ack> {
        self.unacked += 1;
        self.marked |= packet.marked;
        self.echo.get_or_insert(packet.sent);
        let in_order = packet.index == self.next && self.beyond.is_empty();
        if packet.index < self.next || self.beyond.contains(&packet.index) {
            self.twice += 1;
        } else if packet.index == self.next {
            self.next += 1;
            while self.beyond.remove(&self.next) {
                self.next += 1;
            }
        } else {
            self.beyond.insert(packet.index);
            self.sacked.push(packet.index);
        }
        if !in_order || self.unacked >= script.ack_every {
            return Some(self.acknowledge(now));
        }
        self.due.get_or_insert(now + DELAYED_ACK);
        None
    }

    /// The acknowledgement of what has arrived.
    pub fn acknowledge(&mut self, now: u64) -> Ack {
        self.due = None;
        self.unacked = 0;
        self.sacked.retain(|index| *index >= self.next);
        Ack {
            next: self.next,
            sacked: std::mem::take(&mut self.sacked),
            twice: std::mem::take(&mut self.twice),
            marked: std::mem::take(&mut self.marked),
            echo: self.echo.take().unwrap_or(now),
            stamp: (now / 1_000) as u32,
        }
    }
}
