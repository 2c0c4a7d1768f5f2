//! Changes in time: of a rate, a delay, a probability.

use std::collections::VecDeque;

use cclab_spec::{Change, Link, Rates};
use cclab_units::{Rate, Time};

/// Values that come into force one after the other.
#[derive(Debug)]
pub struct Steps<T>(VecDeque<(Time, T)>);

impl<T> Steps<T> {
    /// Steps in the order of time.
    pub fn new(steps: Vec<(Time, T)>) -> Steps<T> {
        Steps(steps.into())
    }

    /// Adds a value that comes into force at `at`, behind those of the same instant.
    pub fn insert(&mut self, at: Time, value: T) {
        let place = self.0.partition_point(|&(earlier, _)| earlier <= at);
        self.0.insert(place, (at, value));
    }

    /// The next value that is in force by `now` and was not yet taken.
    pub fn next_until(&mut self, now: Time) -> Option<T> {
        if self.0.front()?.0 > now {
            return None;
        }
        self.0.pop_front().map(|(_, value)| value)
    }
}

/// The changes of a link's rate and delay.
#[derive(Debug)]
pub struct Schedule {
    steps: Steps<Change>,
    /// What the link's delay has beyond the one that is scheduled.
    extra_delay: Time,
    /// The rates over time.
    rates: Rates,
}

impl Schedule {
    /// The schedule of `link`, whose delay is longer by `extra_delay` than what its changes say.
    pub fn new(link: &Link, extra_delay: Time) -> Schedule {
        let changes = link.schedule.iter();
        let steps = changes.map(|change| (change.at, *change)).collect();
        Schedule {
            steps: Steps::new(steps),
            extra_delay,
            rates: Rates::of(link),
        }
    }

    /// Adds a change.
    pub fn insert(&mut self, change: Change) {
        if let Some(rate) = change.rate {
            self.rates.insert(change.at, rate);
        }
        self.steps.insert(change.at, change);
    }

    /// The next change that is in force by `now`: the new rate and the new delay.
    pub fn next_until(&mut self, now: Time) -> Option<(Option<Rate>, Option<Time>)> {
        let change = self.steps.next_until(now)?;
        let delay = change.delay.map(|delay| delay + self.extra_delay);
        Some((change.rate, delay))
    }

    /// The bytes that the link could have transmitted by `now`; `None` if its rate is constant.
    pub fn capacity(&self, now: Time) -> Option<u64> {
        self.rates.capacity(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(at: u64, mbit: Option<u64>, delay_ms: Option<u64>) -> Change {
        Change {
            at: Time::from_secs(at),
            rate: mbit.and_then(|mbit| Rate::from_bps(mbit * 1_000_000)),
            delay: delay_ms.map(Time::from_millis),
            ..Change::default()
        }
    }

    fn scheduled(rate: Option<Rate>, changes: &[Change], extra_delay: Time) -> Schedule {
        let queue = cclab_spec::Queue {
            kind: "droptail".to_owned(),
            limit: cclab_spec::Limit::Packets(1),
            params: std::collections::BTreeMap::new(),
        };
        let link = Link {
            schedule: changes.to_vec(),
            ..Link::new(rate, Time::ZERO, queue)
        };
        Schedule::new(&link, extra_delay)
    }

    #[test]
    fn capacity_is_the_area_under_the_rate() {
        let changes = [
            change(2, Some(80), None),
            change(3, None, Some(5)),
            change(4, Some(16), None),
        ];
        let schedule = scheduled(Rate::from_bps(8_000_000), &changes, Time::ZERO);
        // 1 MB/s for 2 s, 10 MB/s for 2 s, then 2 MB/s.
        let capacity = [1, 2, 3, 4, 6].map(|s| schedule.capacity(Time::from_secs(s)));
        assert_eq!(capacity, [1, 2, 12, 22, 26].map(|mb| Some(mb * 1_000_000)));
    }

    #[test]
    fn changes_come_one_by_one_with_the_links_own_delay() {
        let changes = [change(1, Some(80), None), change(1, None, Some(5))];
        let mut schedule = scheduled(None, &changes, Time::from_millis(2));
        assert_eq!(schedule.next_until(Time::from_millis(999)), None);
        let now = Time::from_secs(1);
        assert_eq!(
            schedule.next_until(now),
            Some((Rate::from_bps(80_000_000), None))
        );
        assert_eq!(
            schedule.next_until(now),
            Some((None, Some(Time::from_millis(7))))
        );
        assert_eq!(schedule.next_until(Time::from_secs(9)), None);
    }

    #[test]
    fn a_change_that_is_added_comes_in_its_turn_and_counts_for_the_capacity() {
        let changes = [change(1, Some(80), None), change(4, Some(8), None)];
        let mut schedule = scheduled(Rate::from_bps(8_000_000), &changes, Time::ZERO);
        assert_eq!(
            schedule.next_until(Time::from_secs(2)).and_then(|c| c.0),
            Rate::from_bps(80_000_000)
        );
        schedule.insert(change(3, Some(16), None));
        let rates: Vec<_> =
            std::iter::from_fn(|| schedule.next_until(Time::from_secs(9))).collect();
        assert_eq!(
            rates,
            [16, 8].map(|mbit| (Rate::from_bps(mbit * 1_000_000), None))
        );
        // 1 MB/s for 1 s, 10 MB/s for 2 s, 2 MB/s for 1 s, then 1 MB/s.
        assert_eq!(schedule.capacity(Time::from_secs(5)), Some(24_000_000));
    }
}
