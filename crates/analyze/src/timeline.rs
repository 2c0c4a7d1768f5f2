//! Amounts over time in little memory: bins whose width doubles where they become too many.

use cclab_units::Time;

/// log2 of the width of the narrowest bins, in nanoseconds: 1.05 ms.
const NARROWEST: u32 = 20;

/// Bins that are kept at most.
const MOST_BINS: usize = 64;

/// Amounts by the bin of time that they fell into, from the first that is not empty on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Timeline {
    /// Widths are 2^(NARROWEST + wider) ns.
    wider: u32,
    /// Number of the first bin, counted from time zero.
    first: u64,
    bins: Vec<u64>,
}

impl Timeline {
    /// Adds `amount` at `time`, which is not before that of any amount added so far.
    #[inline]
    pub fn add(&mut self, time: Time, amount: u64) {
        let bin = time.as_nanos() >> self.shift();
        match self.bins.get_mut(bin.wrapping_sub(self.first) as usize) {
            Some(sum) => *sum += amount,
            None => self.extend(time, amount),
        }
    }

    #[inline(never)]
    fn extend(&mut self, time: Time, amount: u64) {
        if self.bins.is_empty() {
            self.first = time.as_nanos() >> self.shift();
        }
        while (time.as_nanos() >> self.shift()) - self.first >= MOST_BINS as u64 {
            self.widen();
        }
        let index = ((time.as_nanos() >> self.shift()) - self.first) as usize;
        self.bins.resize(index + 1, 0);
        self.bins[index] += amount;
    }

    /// log2 of the bins' width in nanoseconds.
    pub fn shift(&self) -> u32 {
        NARROWEST + self.wider
    }

    fn widen(&mut self) {
        if !self.first.is_multiple_of(2) {
            self.bins.insert(0, 0);
        }
        self.bins = self.bins.chunks(2).map(|pair| pair.iter().sum()).collect();
        self.first /= 2;
        self.wider += 1;
    }

    /// The bins that are not empty, by their numbers where the width is 2^`shift` ns, which is
    /// not less than its own.
    pub fn bins(&self, shift: u32) -> impl Iterator<Item = (u64, u64)> {
        let narrower = shift - self.shift();
        let bins = (self.first..).zip(&self.bins);
        bins.filter(|&(_, &sum)| sum > 0)
            .map(move |(bin, &sum)| (bin >> narrower, sum))
    }

    /// Where the first bin begins and the last ends, in nanoseconds.
    pub fn span(&self) -> (u64, u64) {
        let end = self.first + self.bins.len() as u64;
        let nanos = |bin: u64| bin.saturating_mul(1 << self.shift());
        (nanos(self.first), nanos(end))
    }

    /// Bytes of memory that the bins take.
    pub fn memory(&self) -> usize {
        self.bins.capacity() * size_of::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost_when_bins_widen() {
        let mut timeline = Timeline::default();
        for at in [3, 4, 1000, 1_000_000] {
            timeline.add(Time::from_millis(at), 10);
        }
        assert!(timeline.bins.len() <= MOST_BINS);
        let shift = timeline.shift() + 1;
        let bins: Vec<_> = timeline.bins(shift).collect();
        assert_eq!(bins.iter().map(|(_, sum)| sum).sum::<u64>(), 40);
        let last = Time::from_millis(1_000_000).as_nanos() >> shift;
        assert_eq!(bins.last(), Some(&(last, 10)));
    }
}
