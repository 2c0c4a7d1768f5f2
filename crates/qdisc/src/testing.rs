//! A bench on which tests drive a discipline by hand.

use std::collections::BTreeMap;

use cclab_packet::Ecn;
use cclab_units::parameter::Params;
use cclab_units::{Rate, Stream, Time};

use crate::discipline::{Config, Limit};
use crate::{Backlog, Band, Cx, Departure, Descriptor, Dropped, FifoLimits, Qdisc, find};

/// A packet of `wire_len` bytes of the flow `flow`.
pub(crate) fn packet(flow: u32, wire_len: u16) -> Descriptor {
    Descriptor {
        flow,
        wire_len,
        ..Descriptor::default()
    }
}

/// A packet as [`packet`] makes it, with an ECN field.
pub(crate) fn ecn_packet(flow: u32, wire_len: u16, ecn: Ecn) -> Descriptor {
    Descriptor {
        ecn,
        ..packet(flow, wire_len)
    }
}

/// What a queue of `limit` with `given` parameters of `name`, on a link of 10 Mbit/s, is made of.
pub(crate) fn config(name: &str, limit: Limit, given: &[(&str, f64)]) -> Config {
    let discipline = find(name).expect("a registered name");
    let given: BTreeMap<String, f64> = given
        .iter()
        .map(|&(name, value)| (name.to_owned(), value))
        .collect();
    Config {
        limit,
        limit_is_exclusive: false,
        params: Params::new(discipline.params, &given).expect("valid parameters"),
        rate: Rate::from_bps(10_000_000),
    }
}

/// A queue, its dice, a clock that the test moves, and what was dropped so far.
pub(crate) struct Bench {
    name: &'static str,
    config: Config,
    queue: Box<dyn Qdisc>,
    rng: Stream,
    /// Virtual time.
    pub now: Time,
    /// What was dropped.
    pub dropped: Vec<Dropped>,
}

impl Bench {
    /// An empty queue of the discipline `name`, on a link of 10 Mbit/s.
    pub fn new(name: &'static str, limit: Limit, given: &[(&str, f64)]) -> Bench {
        Bench::of(name, config(name, limit, given), 1)
    }

    /// An empty queue made from `config`, with the dice of `seed`.
    pub fn of(name: &'static str, config: Config, seed: u64) -> Bench {
        let discipline = find(name).expect("a registered name");
        let queue = (discipline.build.expect("a discipline of the simulator"))(&config);
        Bench {
            name,
            config,
            queue,
            rng: Stream::new(seed, "queue"),
            now: Time::ZERO,
            dropped: Vec::new(),
        }
    }

    /// The same with a limit that may not be reached.
    pub fn exclusive(mut self) -> Bench {
        self.config.limit_is_exclusive = true;
        Bench::of(self.name, self.config, 1)
    }

    /// Lets time pass.
    pub fn wait(&mut self, span: Time) {
        self.now += span;
    }

    /// Offers `packet`.
    pub fn enqueue(&mut self, packet: Descriptor) {
        let mut cx = Cx {
            now: self.now,
            rng: &mut self.rng,
        };
        self.queue.enqueue(packet, &mut cx, &mut self.dropped);
    }

    /// Lets `packet` pass, if it may: it may be marked then.
    pub fn pass(&mut self, mut packet: Descriptor) -> Option<Descriptor> {
        let mut cx = Cx {
            now: self.now,
            rng: &mut self.rng,
        };
        self.queue.pass(&mut packet, &mut cx).then_some(packet)
    }

    /// Asks for the next packet.
    pub fn dequeue(&mut self) -> Option<Departure> {
        let mut cx = Cx {
            now: self.now,
            rng: &mut self.rng,
        };
        self.queue.dequeue(&mut cx, &mut self.dropped)
    }

    /// The flows of all packets that leave, in order.
    pub fn drain(&mut self) -> Vec<u32> {
        std::iter::from_fn(|| self.dequeue())
            .map(|departure| departure.packet.flow)
            .collect()
    }

    /// What waits.
    pub fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    /// Marks so far.
    pub fn marks(&self) -> u64 {
        self.queue.marks()
    }

    /// What each named queue counted.
    pub fn bands(&self) -> &[Band] {
        self.queue.bands()
    }

    /// The named queue that the last packet left.
    pub fn last_band(&self) -> usize {
        self.queue.last_band()
    }

    /// Whether the queue may keep a packet although the transmitter is free.
    pub fn holds_back(&self) -> bool {
        self.queue.holds_back()
    }

    /// When a packet that may not leave yet will be ready.
    pub fn deadline(&self) -> Time {
        self.queue.deadline()
    }

    /// What the queue says of itself if it is a plain FIFO.
    pub fn as_fifo(&self) -> Option<FifoLimits> {
        self.queue.as_fifo()
    }
}
