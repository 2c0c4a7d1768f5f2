//! The largest of recent values, in constant space: K. Nichols' filter, which keeps the best, the
//! second best and the third best of ever later parts of the window (Linux `lib/win_minmax.c`).

/// A value and when it was seen, in whatever unit the window is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Seen {
    at: u64,
    value: u64,
}

/// The filter.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WindowedMax {
    best: [Seen; 3],
}

impl WindowedMax {
    /// The largest value of the window.
    pub(crate) fn get(&self) -> u64 {
        self.best[0].value
    }

    /// Takes in `value` seen `at`; values older than `window` are forgotten.
    pub(crate) fn update(&mut self, window: u64, at: u64, value: u64) {
        let seen = Seen { at, value };
        let best = &mut self.best;
        if value >= best[0].value || at - best[2].at > window {
            *best = [seen; 3];
            return;
        }
        if value >= best[1].value {
            best[1] = seen;
            best[2] = seen;
        } else if value >= best[2].value {
            best[2] = seen;
        }
        self.expire(window, seen);
    }

    /// What is too old makes room for the next; a second or third best that is the best itself
    /// is replaced when a quarter or half of the window went by.
    fn expire(&mut self, window: u64, seen: Seen) {
        let best = &mut self.best;
        let age = seen.at - best[0].at;
        if age > window {
            *best = [best[1], best[2], seen];
            if seen.at - best[0].at > window {
                *best = [best[1], best[2], seen];
            }
        } else if best[1].at == best[0].at && age > window / 4 {
            best[1] = seen;
            best[2] = seen;
        } else if best[2].at == best[1].at && age > window / 2 {
            best[2] = seen;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_lasts_a_window_and_the_next_best_follows() {
        let mut max = WindowedMax::default();
        max.update(10, 0, 100);
        for at in 1..=10 {
            max.update(10, at, 50 + at);
            assert_eq!(max.get(), 100);
        }
        max.update(10, 11, 40);
        // Of the later values the best is remembered, the one of 10.
        assert_eq!(max.get(), 60);
        max.update(10, 12, 70);
        assert_eq!(max.get(), 70);
    }

    #[test]
    fn a_long_silence_forgets_everything() {
        let mut max = WindowedMax::default();
        max.update(10, 0, 100);
        max.update(10, 30, 1);
        assert_eq!(max.get(), 1);
    }

    /// Never more than the true maximum of the window, never less than the last value.
    #[test]
    fn it_lies_between() {
        let mut dice = cclab_units::Stream::new(1, "values");
        let mut max = WindowedMax::default();
        let (mut at, mut all) = (0, Vec::new());
        for _ in 0..2_000 {
            let bits = dice.bits();
            let value = bits >> 54;
            at += bits & 3;
            all.push((at, value));
            max.update(10, at, value);
            let recent = all.iter().filter(|(seen, _)| at - seen <= 10);
            let most = recent.map(|&(_, value)| value).max().unwrap_or(0);
            assert!((value..=most).contains(&max.get()));
        }
    }

    /// By hand, for a window of 12: a second best of a quarter of the window, more than 3 after the
    /// best, a third of the half, more than 6 after it; what is older than 12 makes room.
    #[test]
    fn the_next_bests_are_of_later_parts_of_the_window() {
        let mut max = WindowedMax::default();
        for (at, value, expected) in [
            (0, 100, [(0, 100), (0, 100), (0, 100)]),
            (2, 70, [(0, 100), (0, 100), (0, 100)]),
            (3, 60, [(0, 100), (0, 100), (0, 100)]),
            (4, 50, [(0, 100), (4, 50), (4, 50)]),
            (5, 40, [(0, 100), (4, 50), (4, 50)]),
            (6, 30, [(0, 100), (4, 50), (4, 50)]),
            (7, 30, [(0, 100), (4, 50), (7, 30)]),
            // As good as the third, as the second.
            (8, 30, [(0, 100), (4, 50), (8, 30)]),
            (9, 50, [(0, 100), (9, 50), (9, 50)]),
            (11, 20, [(0, 100), (9, 50), (11, 20)]),
            // A window old is not too old.
            (12, 10, [(0, 100), (9, 50), (11, 20)]),
            (13, 10, [(9, 50), (11, 20), (13, 10)]),
            // The best and the second are too old, the third is not.
            (24, 5, [(13, 10), (24, 5), (24, 5)]),
            (25, 10, [(25, 10), (25, 10), (25, 10)]),
            // The last was seen a window ago.
            (37, 1, [(25, 10), (37, 1), (37, 1)]),
            (50, 0, [(50, 0), (50, 0), (50, 0)]),
        ] {
            max.update(12, at, value);
            let found = max.best.map(|seen| (seen.at, seen.value));
            assert_eq!(found, expected, "after {value} at {at}");
        }
    }
}
