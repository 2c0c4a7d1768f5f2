//! The policer: a token bucket that drops what has no tokens. What passes it queues for the link
//! first in, first out.
//!
//! As `tc`'s action `police` with `conform-exceed drop`; Flach et al., "An Internet-Wide Analysis of
//! Traffic Policing", SIGCOMM 2016, on what it does to TCP.

use cclab_units::parameter::Relation;

use crate::discipline::{Config, Discipline};
use crate::fifo::{Fifo, Room};
use crate::token_bucket::TokenBucket;
use crate::{Backlog, Cx, Departure, Descriptor, Dropped, Qdisc, tbf};

/// Registry entry.
pub(crate) const DISCIPLINE: Discipline = Discipline {
    name: "policer",
    version: 1,
    summary: "token bucket policer: drops what exceeds a rate and its burst, delays nothing",
    reference: "police of tc(8) with conform-exceed drop",
    params: &[tbf::RATE, tbf::BURST],
    relations: &[Relation::HoldsPacket("burst", None)],
    shapes: Some("rate"),
    draws: true,
    bands: &[],
    // To the kernel it is no queue but an action of a filter.
    kernel: None,
    build: Some(|config| Box::new(Policer::new(config))),
};

struct Policer {
    queue: Fifo,
    room: Room,
    bucket: Option<TokenBucket>,
}

impl Policer {
    fn new(config: &Config) -> Policer {
        Policer {
            queue: Fifo::default(),
            room: Room::new(config),
            bucket: tbf::bucket(config),
        }
    }
}

impl Qdisc for Policer {
    fn enqueue(&mut self, packet: Descriptor, cx: &mut Cx<'_>, dropped: &mut Vec<Dropped>) {
        let bytes = u64::from(packet.wire_len);
        // Tokens are spent on what is passed on, not on what the full queue behind loses.
        let taken = self.room.admits(self.queue.backlog(), &packet)
            && self
                .bucket
                .as_mut()
                .is_none_or(|bucket| bucket.take(bytes, cx.now));
        if taken {
            self.queue.push(packet, cx.now);
        } else {
            dropped.push(Dropped(packet));
        }
    }

    fn dequeue(&mut self, _: &mut Cx<'_>, _: &mut Vec<Dropped>) -> Option<Departure> {
        self.queue.pop()
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

    #[test]
    fn what_exceeds_rate_and_burst_is_dropped_and_the_rest_not_delayed() {
        let params = [("rate", 1e6), ("burst", 2500.0)];
        let mut bench = Bench::new("policer", Limit::Packets(100), &params);
        let mut passed = Vec::new();
        // 1250 bytes every 5 ms are 2 Mbit/s: two pass on the burst, then every other one.
        for step in 0..10 {
            bench.now = Time::from_millis(5 * step);
            bench.enqueue(packet(step as u32, 1250));
            passed.extend(bench.drain());
        }
        // Tokens at each arrival, in packets: 2, 1.5, 1, 0.5, 1, 0.5 and so on
        assert_eq!(passed, [0, 1, 2, 4, 6, 8]);
        assert_eq!(bench.dropped.len(), 4);
    }
}
