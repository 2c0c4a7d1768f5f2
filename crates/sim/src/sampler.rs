//! When the state of flows and queues is sampled: at multiples of an interval, and at the
//! marks between which `steady_*` metrics are taken.

use cclab_spec::Scenario;
use cclab_units::Time;

/// The instants of sampling.
#[derive(Debug)]
pub struct Sampler {
    interval: Time,
    /// Next multiple of the interval.
    tick: Time,
    /// End of warm-up and last start, in order, behind us removed.
    marks: Vec<Time>,
    first_end_seen: bool,
}

impl Sampler {
    /// The sampler of a run that ends at `end`, and whose flows begin at `starts`.
    pub fn new(scenario: &Scenario, starts: impl Iterator<Item = Time>, end: Time) -> Sampler {
        let begun = starts.filter(|&start| start < end);
        let mut marks: Vec<Time> = begun.max().into_iter().chain([scenario.warmup]).collect();
        marks.retain(|&mark| mark < end);
        marks.sort_unstable_by(|a, b| b.cmp(a));
        marks.dedup();
        let interval = scenario.trace.interval;
        let tick = if interval == Time::ZERO {
            Time::NEVER
        } else {
            Time::ZERO
        };
        Sampler {
            interval,
            tick,
            marks,
            first_end_seen: false,
        }
    }

    /// The next instant.
    pub fn next(&self) -> Time {
        self.marks
            .last()
            .copied()
            .unwrap_or(Time::NEVER)
            .min(self.tick)
    }

    /// The instant `now` has been sampled; returns the next.
    pub fn advance(&mut self, now: Time) -> Time {
        if self.tick <= now {
            self.tick += self.interval;
        }
        while self.marks.last().is_some_and(|&mark| mark <= now) {
            self.marks.pop();
        }
        self.next()
    }

    /// A flow ended; true for the first, which is a mark.
    pub fn on_end(&mut self) -> bool {
        !std::mem::replace(&mut self.first_end_seen, true)
    }
}
