//! A histogram of nanoseconds with bounded relative error and little memory.

use cclab_units::memory::prefetch;

/// Log-linear histogram: 64 bins per power of two, so that a bin's middle is within 0.8% of
/// every value in it. Recording costs a shift and an addition. Bins take memory between the
/// smallest and the largest value counted.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    /// The bins from `first` on; those before and after are empty.
    counts: Vec<u64>,
    first: usize,
    count: u64,
    sum: u128,
}

/// Bits of the linear part: 2^6 = 64 bins per octave.
const SUB_BITS: u32 = 6;
/// Bins come in blocks of this many.
const BLOCK: usize = 8;

impl Histogram {
    /// An empty histogram.
    pub const fn new() -> Histogram {
        Histogram {
            counts: Vec::new(),
            first: 0,
            count: 0,
            sum: 0,
        }
    }

    /// A histogram from its non-empty bins, as [`Histogram::bins`] and [`Histogram::sum`] gave
    /// them.
    pub fn from_bins(bins: impl IntoIterator<Item = (u64, u64)>, sum: u128) -> Histogram {
        let mut histogram = Histogram::new();
        for (low, count) in bins {
            *histogram.bin(index(low)) += count;
            histogram.count += count;
        }
        histogram.sum = sum;
        histogram
    }

    /// Counts `value`.
    #[inline]
    pub fn record(&mut self, value: u64) {
        *self.bin(index(value)) += 1;
        self.count += 1;
        self.sum += u128::from(value);
    }

    /// Has the memory of the bin of `value` fetched, if it has any.
    #[inline]
    pub fn fetch(&self, value: u64) {
        if let Some(bin) = self.counts.get(index(value).wrapping_sub(self.first)) {
            prefetch(bin);
        }
    }

    /// The bin at `index`, which takes memory from now on.
    #[inline]
    fn bin(&mut self, index: usize) -> &mut u64 {
        if index.wrapping_sub(self.first) >= self.counts.len() {
            self.reach(index);
        }
        &mut self.counts[index - self.first]
    }

    #[cold]
    fn reach(&mut self, index: usize) {
        let block = index / BLOCK * BLOCK;
        if self.counts.is_empty() {
            self.first = block;
        } else if block < self.first {
            let missing = self.first - block;
            self.counts.splice(0..0, std::iter::repeat_n(0, missing));
            self.first = block;
        }
        let needed = block + BLOCK - self.first;
        if needed > self.counts.len() {
            self.counts.resize(needed, 0);
        }
    }

    /// Counts all values of `other`.
    pub fn add(&mut self, other: &Histogram) {
        for (offset, &more) in other.counts.iter().enumerate() {
            if more > 0 {
                *self.bin(other.first + offset) += more;
            }
        }
        self.count += other.count;
        self.sum += other.sum;
    }

    /// What was counted since `earlier`, a copy of this histogram from then.
    ///
    /// # Panics
    /// If `earlier` counted what this one has not.
    pub fn since(&self, earlier: &Histogram) -> Histogram {
        let mut later = Histogram::new();
        for (offset, &count) in self.counts.iter().enumerate() {
            let bin = self.first + offset;
            let before = bin.checked_sub(earlier.first);
            let before = before.and_then(|offset| earlier.counts.get(offset));
            let more = count.checked_sub(before.copied().unwrap_or(0));
            let more = more.expect("a histogram only grows");
            if more > 0 {
                *later.bin(bin) += more;
            }
        }
        later.count = self.count - earlier.count;
        later.sum = self.sum - earlier.sum;
        later
    }

    /// Bytes of memory that the bins take.
    pub fn bins_memory(&self) -> usize {
        self.counts.capacity() * size_of::<u64>()
    }

    /// How many values were counted.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The sum of all values, exact.
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// The mean, exact; `None` when empty.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// The smallest value that at least the share `q` of all values does not pass, to the
    /// middle of its bin; `None` when empty.
    pub fn quantile(&self, q: f64) -> Option<f64> {
        let rank = ((q * self.count as f64).ceil() as u64).clamp(1, self.count.max(1));
        let mut seen = 0;
        self.bins().find_map(|(low, count)| {
            seen += count;
            (seen >= rank).then(|| low as f64 + (width(low) - 1) as f64 / 2.0)
        })
    }

    /// The non-empty bins: smallest value of the bin, and count.
    pub fn bins(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.counts
            .iter()
            .enumerate()
            .filter(|&(_, &n)| n > 0)
            .map(|(i, &n)| (low(self.first + i), n))
    }
}

/// Equal when the same bins were counted; whether memory for the empty ones is there does not
/// matter.
impl PartialEq for Histogram {
    fn eq(&self, other: &Histogram) -> bool {
        self.sum == other.sum && self.bins().eq(other.bins())
    }
}

impl Eq for Histogram {}

#[inline]
fn index(value: u64) -> usize {
    let octave = 63 - (value | 1).leading_zeros();
    if octave <= SUB_BITS {
        return value as usize;
    }
    let shift = octave - SUB_BITS;
    ((u64::from(shift) << SUB_BITS) + (value >> shift)) as usize
}

fn low(index: usize) -> u64 {
    let index = index as u64;
    if index < 2 << SUB_BITS {
        return index;
    }
    let shift = (index >> SUB_BITS) - 1;
    (index - (shift << SUB_BITS)) << shift
}

fn width(low: u64) -> u64 {
    let octave = 63 - (low | 1).leading_zeros();
    1 << octave.saturating_sub(SUB_BITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_cover_all_values_without_gap_or_overlap() {
        for i in 0..=index(u64::MAX) {
            let first = low(i);
            assert_eq!(index(first), i);
            assert_eq!(index(first + (width(first) - 1)), i, "bin {i} from {first}");
        }
    }

    #[test]
    fn quantiles_are_within_a_bin_of_the_sorted_values() {
        let mut values: Vec<u64> = (0..10_000_u64)
            .map(|i| (i * i * 37) % 90_000_001 + 5)
            .collect();
        let mut histogram = Histogram::new();
        values.iter().for_each(|&v| histogram.record(v));
        values.sort_unstable();
        for q in [0.01, 0.5, 0.95, 0.99, 1.0] {
            let exact = values[(q * 1e4) as usize - 1] as f64;
            let estimate = histogram.quantile(q).expect("not empty");
            assert!(
                (estimate / exact - 1.0).abs() < 0.008,
                "{q}: {estimate} for {exact}"
            );
        }
        let mean = values.iter().sum::<u64>() as f64 / 1e4;
        assert!((histogram.mean().expect("not empty") - mean).abs() < 1e-6);
    }

    #[test]
    fn a_sum_of_histograms_counts_every_value() {
        let of = |values: &[u64]| {
            let mut histogram = Histogram::default();
            values.iter().for_each(|&v| histogram.record(v));
            histogram
        };
        let mut sum = of(&[]);
        for part in [&[3, 900][..], &[], &[3, u64::MAX]] {
            sum.add(&of(part));
        }
        assert_eq!(sum, of(&[3, 900, 3, u64::MAX]));
        assert_eq!(sum.count(), 4);
    }

    #[test]
    fn bins_grow_towards_both_ends() {
        let mut histogram = Histogram::new();
        let values = [1 << 40, 7, u64::MAX, 0, 1 << 20];
        values.iter().for_each(|&v| histogram.record(v));
        let lows: Vec<u64> = histogram.bins().map(|(low, _)| low).collect();
        assert_eq!(lows, [0, 7, 1 << 20, 1 << 40, low(index(u64::MAX))]);
        let mut narrow = Histogram::new();
        (40..80).for_each(|ms| narrow.record(ms * 1_000_000));
        let octave = 1 << SUB_BITS; // 40 to 80 ms
        assert!(
            narrow.counts.len() <= octave + 2 * BLOCK,
            "{}",
            narrow.counts.len()
        );
    }

    #[test]
    fn what_came_since_is_what_was_counted_since() {
        let mut whole = Histogram::new();
        [5_000_000, 70, 5_000_000]
            .into_iter()
            .for_each(|v| whole.record(v));
        let earlier = whole.clone();
        assert_eq!(whole.since(&Histogram::new()), earlier);
        let mut later = Histogram::new();
        for value in [3, 70, u64::MAX] {
            whole.record(value);
            later.record(value);
        }
        assert_eq!(whole.since(&earlier), later);
        assert_eq!((later.count(), whole.since(&whole).count()), (3, 0));
    }

    #[test]
    fn bins_and_sum_restore_a_histogram() {
        let mut histogram = Histogram::new();
        [0, 1, 63, 64, 1_000_000, u64::MAX]
            .into_iter()
            .for_each(|v| histogram.record(v));
        let restored = Histogram::from_bins(histogram.bins(), histogram.sum());
        assert_eq!(histogram, restored);
    }
}
