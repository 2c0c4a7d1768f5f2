//! The smallest round-trip time of the last five minutes (`tcp_min_rtt`): the best of the window,
//! and the best of what came after, from which it is replaced when it is too old. Three of them
//! stand for all, as in Kathleen Nichols' filter that the kernel has.

/// `tcp_min_rtt_wlen` in ticks.
const WINDOW: u32 = 300_000;

#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    at: u32,
    rtt_us: u32,
}

/// The filter.
#[derive(Clone, Copy, Debug)]
pub(super) struct RttMin {
    /// The best, and the best after each.
    best: [Sample; 3],
}

impl Default for RttMin {
    fn default() -> RttMin {
        let none = Sample {
            at: 0,
            rtt_us: u32::MAX,
        };
        RttMin { best: [none; 3] }
    }
}

impl RttMin {
    /// Takes in `rtt_us` at tick `at`; returns the smallest.
    #[inline]
    pub fn update(&mut self, at: u32, rtt_us: u32) -> u32 {
        let [first, .., third] = self.best;
        // Most are larger than all three, of which the first is young.
        if rtt_us > third.rtt_us && at.wrapping_sub(first.at) <= WINDOW / 4 {
            return first.rtt_us;
        }
        self.renew(at, rtt_us)
    }

    /// As [`RttMin::update`], where one of the three may have to go.
    fn renew(&mut self, at: u32, rtt_us: u32) -> u32 {
        let new = Sample { at, rtt_us };
        let age = |sample: Sample| at.wrapping_sub(sample.at);
        let [first, second, third] = self.best;
        if rtt_us <= first.rtt_us || age(third) > WINDOW {
            self.best = [new; 3];
            return rtt_us;
        }
        if rtt_us <= second.rtt_us {
            self.best = [first, new, new];
        } else if rtt_us <= third.rtt_us {
            self.best[2] = new;
        }
        self.retire(new);
        self.best[0].rtt_us
    }

    /// What is too old makes way; what stands for a quarter or half of the window without a better
    /// one gets a successor from it.
    fn retire(&mut self, new: Sample) {
        let age = |sample: Sample| new.at.wrapping_sub(sample.at);
        let [first, second, third] = self.best;
        if age(first) > WINDOW {
            self.best = [second, third, new];
            if age(second) > WINDOW {
                self.best = [third, new, new];
            }
        } else if second.at == first.at && age(first) > WINDOW / 4 {
            self.best = [first, new, new];
        } else if third.at == second.at && age(first) > WINDOW / 2 {
            self.best[2] = new;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Five minutes without a smaller one, and the smallest of what came since holds.
    #[test]
    fn the_smallest_is_forgotten_after_five_minutes() {
        let mut filter = RttMin::default();
        assert_eq!(filter.update(1_000, 50), 50);
        assert_eq!(filter.update(2_000, 70), 50);
        assert_eq!(filter.update(100_000, 60), 50); // past a quarter: second and third
        assert_eq!(filter.update(200_000, 90), 50);
        assert_eq!(filter.update(301_000, 80), 50); // 300 s old: still within
        assert_eq!(filter.update(301_001, 80), 60);
        assert_eq!(filter.update(301_002, 40), 40);
    }

    #[test]
    fn the_clock_may_wrap() {
        let mut filter = RttMin::default();
        assert_eq!(filter.update(u32::MAX - 10, 50), 50);
        assert_eq!(filter.update(10, 60), 50);
        assert_eq!(filter.update(400_000, 60), 60);
    }
}
