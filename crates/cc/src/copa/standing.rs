//! The smallest round-trip time of the last half round: the queue that stands, without the bursts
//! that come and go (`RTTstanding`, section 2.1).

use std::collections::VecDeque;

use cclab_units::Time;

/// Samples that are the smallest from their instant on.
#[derive(Debug, Default)]
pub(super) struct Standing {
    samples: VecDeque<(Time, Time)>,
}

impl Standing {
    /// Takes in `rtt` at `now`; what is older than `window` goes.
    pub(super) fn update(&mut self, now: Time, rtt: Time, window: Time) {
        while self.samples.back().is_some_and(|&(_, last)| last >= rtt) {
            self.samples.pop_back();
        }
        self.samples.push_back((now, rtt));
        while self
            .samples
            .front()
            .is_some_and(|&(at, _)| at + window < now)
        {
            self.samples.pop_front();
        }
    }

    /// The smallest; `None` before the first.
    pub(super) fn get(&self) -> Option<Time> {
        self.samples.front().map(|&(_, rtt)| rtt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_of_the_window_stands() {
        let ms = Time::from_millis;
        let mut standing = Standing::default();
        assert_eq!(standing.get(), None);
        for (at, rtt, smallest) in [
            (0, 50, 50),
            (10, 70, 50),
            (20, 60, 50),
            (51, 80, 60),
            (71, 90, 80),
        ] {
            standing.update(ms(at), ms(rtt), ms(50));
            assert_eq!(standing.get(), Some(ms(smallest)), "at {at}");
        }
    }
}
