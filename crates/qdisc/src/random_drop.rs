//! Random Drop: when the queue overflows, a packet drawn from the queue and the arrival goes.
//!
//! Hashem, "Analysis of Random Drop for Gateway Congestion Control", MIT LCS TR-465 (1989); also
//! Mankin, "Random Drop Congestion Control", SIGCOMM 1990. A flow is hit in proportion to its
//! share of the queue, not to its bad luck in arriving when the queue is full.

use crate::discipline::{Config, Discipline};
use crate::fifo::{Fifo, Room};
use crate::{Backlog, Cx, Departure, Descriptor, Dropped, Qdisc};

/// Registry entry.
pub(crate) const DISCIPLINE: Discipline = Discipline {
    name: "random-drop",
    version: 1,
    summary: "first in, first out; on overflow drops a packet drawn from the queue and the arrival",
    reference: "E. Hashem, Random Drop, MIT LCS TR-465, 1989; A. Mankin, SIGCOMM 1990",
    params: &[],
    relations: &[],
    shapes: None,
    draws: true,
    bands: &[],
    // No kernel has it.
    kernel: None,
    build: Some(|config| Box::new(RandomDrop::new(config))),
};

struct RandomDrop {
    queue: Fifo,
    room: Room,
}

impl RandomDrop {
    fn new(config: &Config) -> RandomDrop {
        RandomDrop {
            queue: Fifo::default(),
            room: Room::new(config),
        }
    }
}

impl Qdisc for RandomDrop {
    fn enqueue(&mut self, packet: Descriptor, cx: &mut Cx<'_>, dropped: &mut Vec<Dropped>) {
        // Emptying the queue would make no room for it.
        if self.room.never_admits(&packet) {
            dropped.push(Dropped(packet));
            return;
        }
        while !self.room.admits(self.queue.backlog(), &packet) {
            let candidates = self.queue.len() + 1;
            let drawn = (cx.rng.uniform() * candidates as f64) as usize;
            match self.queue.remove(drawn) {
                Some(victim) => dropped.push(Dropped(victim.packet)),
                // The last candidate is the arrival.
                None => {
                    dropped.push(Dropped(packet));
                    return;
                }
            }
        }
        self.queue.push(packet, cx.now);
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
    use crate::discipline::Limit;
    use crate::testing::{Bench, packet};

    #[test]
    fn a_flow_loses_in_proportion_to_its_share_of_the_queue() {
        // Nine packets of flow 0 wait; each arrival of flow 1 is one of ten candidates.
        let mut hits = [0; 2];
        for seed in 0..2000 {
            let config = crate::testing::config("random-drop", Limit::Packets(9), &[]);
            let mut bench = Bench::of("random-drop", config, seed);
            for _ in 0..9 {
                bench.enqueue(packet(0, 1000));
            }
            assert!(bench.dropped.is_empty());
            bench.enqueue(packet(1, 1000));
            assert_eq!(bench.dropped.len(), 1);
            hits[bench.dropped[0].0.flow as usize] += 1;
        }
        // Standard error of the share: sqrt(0.1 x 0.9 / 2000) = 0.0067.
        let share = f64::from(hits[1]) / 2000.0;
        assert!((share - 0.1).abs() < 0.025, "{share}");
    }

    #[test]
    fn the_others_keep_their_order() {
        let mut bench = Bench::new("random-drop", Limit::Packets(5), &[]);
        for flow in 0..9 {
            bench.enqueue(packet(flow, 1000));
        }
        assert_eq!(bench.dropped.len(), 4);
        let order = bench.drain();
        assert_eq!(order.len(), 5);
        assert!(order.is_sorted(), "{order:?}");
    }

    #[test]
    fn a_large_arrival_takes_the_place_of_several_small_ones() {
        // 3000 bytes in packets of 100; an arrival of 1500 needs 15 of them to go, or goes itself.
        let mut bench = Bench::new("random-drop", Limit::Bytes(3000), &[]);
        for _ in 0..30 {
            bench.enqueue(packet(0, 100));
        }
        bench.enqueue(packet(1, 1500));
        let itself = bench.dropped.iter().any(|lost| lost.0.flow == 1);
        assert!(itself || bench.dropped.len() == 15);
        // What no empty queue could hold takes nobody with it.
        let before = bench.dropped.len();
        bench.enqueue(packet(2, 3001));
        assert_eq!(bench.dropped.len(), before + 1);
        assert_eq!(bench.dropped[before].0.flow, 2);
    }
}
