//! Minimum, mean, maximum and standard deviation of samples, without keeping them.

/// Count, extremes and sum of samples.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extremes {
    /// How many there are.
    pub count: u64,
    least: u64,
    most: u64,
    sum: u128,
}

impl Default for Extremes {
    fn default() -> Extremes {
        Extremes {
            count: 0,
            least: u64::MAX,
            most: 0,
            sum: 0,
        }
    }
}

impl Extremes {
    /// One more sample.
    #[inline]
    pub fn add(&mut self, sample: u64) {
        // Seldom either: to look is less than to write what was there.
        if sample < self.least {
            self.least = sample;
        }
        if sample > self.most {
            self.most = sample;
        }
        self.count += 1;
        self.sum += u128::from(sample);
    }

    /// These and `others`.
    pub fn and(&self, others: &Extremes) -> Extremes {
        Extremes {
            count: self.count + others.count,
            least: self.least.min(others.least),
            most: self.most.max(others.most),
            sum: self.sum + others.sum,
        }
    }

    /// The least of them; None without any, here and below.
    pub fn min(&self) -> Option<u64> {
        (self.count > 0).then_some(self.least)
    }

    /// The greatest of them.
    pub fn max(&self) -> Option<u64> {
        (self.count > 0).then_some(self.most)
    }

    /// Their sum, modulo 2^64.
    pub fn sum(&self) -> u64 {
        self.sum as u64
    }

    /// Their mean.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }
}

/// The same with the sum of squares. Whole numbers add up exactly, in any order.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Moments {
    extremes: Extremes,
    squares: u128,
}

impl Moments {
    /// One more sample.
    #[inline]
    pub fn add(&mut self, sample: u64) {
        self.extremes.add(sample);
        let square = u128::from(sample) * u128::from(sample);
        // Reached by samples of centuries only: a file may say anything.
        self.squares = self.squares.saturating_add(square);
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.extremes.count
    }

    /// The least of them; None without any, here and below.
    pub fn min(&self) -> Option<u64> {
        self.extremes.min()
    }

    /// The greatest of them.
    pub fn max(&self) -> Option<u64> {
        self.extremes.max()
    }

    /// Their mean.
    pub fn mean(&self) -> Option<f64> {
        self.extremes.mean()
    }

    /// Their standard deviation, with one degree of freedom less than samples; None for one.
    pub fn stdev(&self) -> Option<f64> {
        let Extremes { count, sum, .. } = self.extremes;
        if count < 2 {
            return None;
        }
        let n = count as f64;
        // count * squares and sum * sum, exact where they fit; their difference is what matters.
        let spread = match (
            self.squares.checked_mul(u128::from(count)),
            sum.checked_mul(sum),
        ) {
            (Some(all), Some(middle)) => all.saturating_sub(middle) as f64,
            _ => (self.squares as f64 * n - sum as f64 * sum as f64).max(0.0),
        };
        Some((spread / (n * (n - 1.0))).sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::Moments;

    #[test]
    fn of_few_samples_by_hand() {
        let mut moments = Moments::default();
        assert_eq!(
            (moments.min(), moments.mean(), moments.stdev()),
            (None, None, None)
        );
        for sample in [4, 2, 9] {
            moments.add(sample);
        }
        assert_eq!((moments.min(), moments.max()), (Some(2), Some(9)));
        assert_eq!(moments.mean(), Some(5.0));
        // (1 + 9 + 16) / 2
        assert_eq!(moments.stdev(), Some(13f64.sqrt()));
    }

    #[test]
    fn samples_of_centuries_do_not_overflow() {
        let mut moments = Moments::default();
        for _ in 0..4 {
            moments.add(u64::MAX);
        }
        assert_eq!(moments.max(), Some(u64::MAX));
        assert!(moments.stdev().is_some_and(f64::is_finite));
    }
}
