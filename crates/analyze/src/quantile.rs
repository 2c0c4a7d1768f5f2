//! A quantile of samples in constant memory.

/// The P² algorithm (Jain and Chlamtac, "The P² algorithm for dynamic calculation of quantiles
/// and histograms without storing observations", Communications of the ACM 28(10), 1985): five
/// markers at heights that are moved along parabolas, so that the middle one stays near the
/// quantile.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quantile {
    share: f64,
    count: u64,
    heights: [f64; 5],
    /// How many samples each marker has below it and at it.
    positions: [f64; 5],
    desired: [f64; 5],
}

impl Quantile {
    /// The value that the share `share` of all samples does not pass.
    pub const fn new(share: f64) -> Quantile {
        Quantile {
            share,
            count: 0,
            heights: [0.0; 5],
            positions: [1.0, 2.0, 3.0, 4.0, 5.0],
            desired: [
                1.0,
                1.0 + 2.0 * share,
                1.0 + 4.0 * share,
                3.0 + 2.0 * share,
                5.0,
            ],
        }
    }

    /// One more sample.
    pub fn add(&mut self, sample: f64) {
        if let Some(height) = self.heights.get_mut(self.count as usize) {
            *height = sample;
            self.count += 1;
            if self.count == 5 {
                self.heights.sort_unstable_by(f64::total_cmp);
            }
            return;
        }
        self.count += 1;
        let [lowest, .., highest] = &mut self.heights;
        *lowest = lowest.min(sample);
        *highest = highest.max(sample);
        for marker in 1..5 {
            if sample < self.heights[marker] || marker == 4 {
                self.positions[marker] += 1.0;
            }
        }
        let steps = [
            0.0,
            self.share / 2.0,
            self.share,
            (1.0 + self.share) / 2.0,
            1.0,
        ];
        for (desired, step) in self.desired.iter_mut().zip(steps) {
            *desired += step;
        }
        for marker in 1..4 {
            self.adjust(marker);
        }
    }

    /// The estimate; None for fewer than five samples.
    pub fn get(&self) -> Option<f64> {
        (self.count >= 5).then_some(self.heights[2])
    }

    /// Moves a marker by one position towards where it should be.
    fn adjust(&mut self, marker: usize) {
        let [before, at, after] = [marker - 1, marker, marker + 1].map(|i| self.positions[i]);
        let off = self.desired[marker] - at;
        let step = if off >= 1.0 && after - at > 1.0 {
            1.0
        } else if off <= -1.0 && before - at < -1.0 {
            -1.0
        } else {
            return;
        };
        let [low, height, high] = [marker - 1, marker, marker + 1].map(|i| self.heights[i]);
        let rise = (at - before + step) * (high - height) / (after - at);
        let fall = (after - at - step) * (height - low) / (at - before);
        let parabola = height + step / (after - before) * (rise + fall);
        self.heights[marker] = if low < parabola && parabola < high {
            parabola
        } else if step > 0.0 {
            height + (high - height) / (after - at)
        } else {
            height - (low - height) / (before - at)
        };
        self.positions[marker] += step;
    }
}

#[cfg(test)]
mod tests {
    use super::Quantile;

    /// The example of the paper, its table I.
    #[test]
    fn the_papers_example() {
        let mut median = Quantile::new(0.5);
        for sample in [
            0.02, 0.15, 0.74, 3.39, 0.83, 22.37, 10.15, 15.43, 38.62, 15.92, 34.60, 10.28, 1.47,
            0.40, 0.05, 11.39, 0.27, 0.42, 0.09, 11.37,
        ] {
            median.add(sample);
        }
        let estimate = median.get().expect("twenty samples");
        assert!((estimate - 4.44).abs() < 0.005, "{estimate}");
    }

    #[test]
    fn a_tenth_of_what_comes_together_is_found() {
        let mut tenth = Quantile::new(0.1);
        for n in 0..100_000_u64 {
            // Half of the gaps are about 10, the rest about 1000.
            let noise = (n * 7919 % 101) as f64 / 100.0;
            tenth.add(if n * 31 % 10 < 5 { 10.0 } else { 1000.0 } + noise);
        }
        let estimate = tenth.get().expect("many samples");
        assert!((10.0..11.0).contains(&estimate), "{estimate}");
    }
}
