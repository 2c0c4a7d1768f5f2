//! Random sizes.

use cclab_spec::Sizes;
use cclab_units::Stream;

/// A number of standard normal distribution (Box and Muller 1958; one of the pair).
fn normal(dice: &mut Stream) -> f64 {
    let radius = (-2.0 * (1.0 - dice.uniform()).ln()).sqrt();
    radius * (std::f64::consts::TAU * dice.uniform()).cos()
}

/// Bytes of a transfer, at least one.
pub fn size(dice: &mut Stream, sizes: &Sizes) -> u64 {
    let bytes = match sizes {
        Sizes::Fixed { bytes } => return *bytes,
        Sizes::Lognormal { mean, sigma } => {
            // The mean of a lognormal is exp(mu + sigma^2 / 2).
            let mu = mean.ln() - sigma * sigma / 2.0;
            (mu + sigma * normal(dice)).exp()
        }
        Sizes::Pareto { mean, shape } => {
            // The mean of a Pareto is its least value times shape / (shape - 1).
            let least = mean * (shape - 1.0) / shape;
            least / (1.0 - dice.uniform()).powf(1.0 / shape)
        }
        Sizes::Empirical { points } => empirical(dice.uniform(), points),
    };
    // Far more than any run can send, far below the end of the number range.
    (bytes.round() as u64).clamp(1, 1 << 50)
}

/// The size at which the cumulative distribution reaches `share`, between its points linear.
fn empirical(share: f64, points: &[(u64, f64)]) -> f64 {
    let above = points.partition_point(|&(_, reached)| reached <= share);
    let Some(&(high, reached)) = points.get(above) else {
        return points.last().map_or(1.0, |&(largest, _)| largest as f64);
    };
    let Some(&(low, before)) = above.checked_sub(1).and_then(|index| points.get(index)) else {
        return high as f64;
    };
    low as f64 + (high - low) as f64 * (share - before) / (reached - before)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(sizes: &Sizes, count: u32) -> f64 {
        let mut dice = Stream::new(11, "sizes");
        let sum: u64 = (0..count).map(|_| size(&mut dice, sizes)).sum();
        sum as f64 / f64::from(count)
    }

    #[test]
    fn sizes_have_the_mean_asked_for() {
        let lognormal = Sizes::Lognormal {
            mean: 30_000.0,
            sigma: 1.0,
        };
        let pareto = Sizes::Pareto {
            mean: 30_000.0,
            shape: 2.5,
        };
        let empirical = Sizes::Empirical {
            points: vec![(1_000, 0.5), (3_000, 1.0)],
        };
        // Standard errors: 1.3, 0.9 and 0.3 percent over the root of 10^4 draws each.
        for (sizes, expected) in [
            (lognormal, 30_000.0),
            (pareto, 30_000.0),
            (empirical, 1_500.0),
        ] {
            let found = mean(&sizes, 400_000);
            assert!((found / expected - 1.0).abs() < 0.015, "{sizes:?}: {found}");
        }
    }

    #[test]
    fn an_empirical_distribution_is_met_at_its_points() {
        let points = [(100, 0.25), (200, 0.75), (1_000, 1.0)];
        assert_eq!(empirical(0.1, &points), 100.0);
        assert_eq!(empirical(0.5, &points), 150.0);
        assert_eq!(empirical(0.875, &points), 600.0);
    }
}
