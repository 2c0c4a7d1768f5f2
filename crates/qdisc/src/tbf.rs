//! The token bucket filter: a shaper, that holds packets back until there are tokens for them.

use cclab_units::parameter::{Parameter, Relation};
use cclab_units::{Measure, Rate, Time};

use crate::declare::{DERIVED, number};
use crate::discipline::{Config, Discipline};
use crate::fifo::{Fifo, Room};
use crate::token_bucket::TokenBucket;
use crate::{Backlog, Cx, Departure, Descriptor, Dropped, MTU, Qdisc};

/// Registry entry.
pub(crate) const DISCIPLINE: Discipline = Discipline {
    name: "tbf",
    version: 1,
    summary: "token bucket filter: shapes to a rate with a burst, queues what is too much",
    reference: "tc-tbf(8)",
    params: &[
        RATE,
        BURST,
        number(
            "latency",
            Measure::Time,
            "the longest that a packet may wait for tokens; by default the limit alone holds",
            DERIVED,
            [0.0, 60.0],
        ),
        number(
            "peakrate",
            Measure::Rate,
            "rate of a second bucket, that even bursts do not exceed; off unless given",
            DERIVED,
            [1.0, 1e12],
        ),
        number(
            "mtu",
            Measure::Bytes,
            "depth of that second bucket",
            1514.0,
            [1.0, 1e9],
        ),
    ],
    relations: &[
        Relation::Below("rate", "peakrate"),
        Relation::HoldsPacket("burst", None),
        Relation::HoldsPacket("mtu", Some("peakrate")),
    ],
    shapes: Some("rate"),
    draws: true,
    bands: &[],
    // A link of the kernel backends has one already, to keep its rate.
    kernel: None,
    build: Some(|config| Box::new(Tbf::new(config))),
};

/// No default in `tc`; here the link's rate.
pub(crate) const RATE: Parameter = number(
    "rate",
    Measure::Rate,
    "rate at which tokens come; by default that of the link",
    DERIVED,
    [1.0, 1e12],
);
/// No default in `tc`, whose manual says why a burst of less than a timer tick costs rate.
pub(crate) const BURST: Parameter = number(
    "burst",
    Measure::Bytes,
    "tokens that the bucket holds; by default what comes in 1 ms, or a full packet",
    DERIVED,
    [1.0, 2e9],
);

/// What a bucket of no given depth holds, as time at its rate.
const DEFAULT_BURST: Time = Time::from_millis(1);

/// The bucket that `config` asks for; `None` where there is no rate to keep to.
pub(crate) fn bucket(config: &Config) -> Option<TokenBucket> {
    let rate = rate(config)?;
    Some(TokenBucket::new(rate, burst(config, rate)))
}

fn rate(config: &Config) -> Option<Rate> {
    config.rate_given("rate").or(config.rate)
}

fn burst(config: &Config, rate: Rate) -> u64 {
    let given = config.params.given("burst").map(|bytes| bytes as u64);
    given.unwrap_or_else(|| rate.bytes_in(DEFAULT_BURST).max(MTU))
}

struct Tbf {
    queue: Fifo,
    room: Room,
    /// The bucket, and that of the peak rate.
    buckets: Vec<TokenBucket>,
}

impl Tbf {
    fn new(config: &Config) -> Tbf {
        let peak = config
            .rate_given("peakrate")
            .map(|rate| TokenBucket::new(rate, config.count("mtu")));
        Tbf {
            queue: Fifo::default(),
            room: room(config),
            buckets: bucket(config).into_iter().chain(peak).collect(),
        }
    }

    /// When the first packet has its tokens.
    fn ready(&self) -> Time {
        let Some(first) = self.queue.front() else {
            return Time::NEVER;
        };
        let bytes = u64::from(first.packet.wire_len);
        let ready = self.buckets.iter().map(|bucket| bucket.ready_at(bytes));
        ready.max().unwrap_or(Time::ZERO)
    }
}

/// The limit, or what `latency` lets in if that is less: `rate x latency + burst` bytes, as `tc`
/// reckons.
fn room(config: &Config) -> Room {
    let mut room = Room::new(config);
    if let (Some(rate), Some(latency)) = (rate(config), config.time_given("latency")) {
        let let_in = rate.bytes_in(latency) + burst(config, rate);
        room.bytes = room.bytes.min(let_in);
    }
    room
}

impl Qdisc for Tbf {
    fn enqueue(&mut self, packet: Descriptor, cx: &mut Cx<'_>, dropped: &mut Vec<Dropped>) {
        let bytes = u64::from(packet.wire_len);
        // What a full bucket has no tokens for would wait for ever.
        let passable = self.buckets.iter().all(|bucket| bucket.holds(bytes));
        if passable && self.room.admits(self.queue.backlog(), &packet) {
            self.queue.push(packet, cx.now);
        } else {
            dropped.push(Dropped(packet));
        }
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>, _: &mut Vec<Dropped>) -> Option<Departure> {
        if self.ready() > cx.now {
            return None;
        }
        let departure = self.queue.pop()?;
        let bytes = u64::from(departure.packet.wire_len);
        for bucket in &mut self.buckets {
            bucket.take(bytes, cx.now);
        }
        Some(departure)
    }

    fn holds_back(&self) -> bool {
        true
    }

    fn deadline(&self) -> Time {
        self.ready()
    }

    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }
}

#[cfg(test)]
mod tests {
    use cclab_units::Time;

    use crate::discipline::Limit;
    use crate::testing::{Bench, packet};

    /// When each of `count` packets of 1250 bytes leaves a queue that they all enter at once.
    fn departures(params: &[(&str, f64)], count: usize) -> Vec<u64> {
        let mut bench = Bench::new("tbf", Limit::Packets(100), params);
        for _ in 0..count {
            bench.enqueue(packet(0, 1250));
        }
        let mut at = Vec::new();
        while bench.backlog().packets > 0 {
            bench.now = bench.now.max(bench.deadline());
            bench.dequeue().expect("it is ready at its deadline");
            at.push(bench.now.as_micros());
        }
        at
    }

    #[test]
    fn a_burst_passes_at_once_and_the_rest_at_the_rate() {
        // 1 Mbit/s carries 1250 bytes in 10 ms; the bucket holds three of them.
        let params = [("rate", 1e6), ("burst", 3750.0)];
        assert_eq!(departures(&params, 6), [0, 0, 0, 10_000, 20_000, 30_000]);
    }

    #[test]
    fn a_peak_rate_spreads_the_burst() {
        let params = [
            ("rate", 1e6),
            ("burst", 3750.0),
            ("peakrate", 4e6),
            ("mtu", 1250.0),
        ];
        // The peak rate carries 1250 bytes in 2.5 ms; 7.5 ms after the start the burst is used up
        // and what came meanwhile is short of a packet until 10 ms.
        assert_eq!(
            departures(&params, 6),
            [0, 2500, 5000, 10_000, 20_000, 30_000]
        );
    }

    #[test]
    fn what_has_no_tokens_yet_stays() {
        let mut bench = Bench::new(
            "tbf",
            Limit::Packets(100),
            &[("rate", 1e6), ("burst", 1500.0)],
        );
        bench.enqueue(packet(0, 1500));
        bench.enqueue(packet(1, 1500));
        assert!(bench.dequeue().is_some());
        assert_eq!(bench.deadline(), Time::from_millis(12));
        bench.now = Time::from_nanos(11_999_999);
        assert!(bench.dequeue().is_none());
        bench.now = Time::from_millis(12);
        assert!(bench.dequeue().is_some());
        assert_eq!(bench.deadline(), Time::NEVER);
    }

    #[test]
    fn latency_bounds_the_queue() {
        // 1 Mbit/s x 50 ms = 6250 bytes, and the burst of 1250.
        let params = [("rate", 1e6), ("burst", 1250.0), ("latency", 0.05)];
        let mut bench = Bench::new("tbf", Limit::Packets(100), &params);
        for _ in 0..10 {
            bench.enqueue(packet(0, 1250));
        }
        assert_eq!(bench.backlog().packets, 6);
        // A packet larger than the bucket never gets its tokens.
        bench.dropped.clear();
        bench.dequeue();
        bench.enqueue(packet(0, 1251));
        assert_eq!(bench.dropped.len(), 1);
    }
}
