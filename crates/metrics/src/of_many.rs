//! What is told of many values: their mean, and quantiles that are values that occurred.

/// The mean of `values`; `None` of none.
pub(crate) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The smallest of `sorted` values that at least `share` of all do not pass; `None` of none.
pub(crate) fn nearest_rank(sorted: &[f64], share: f64) -> Option<f64> {
    let count = sorted.len();
    let rank = (share * count as f64).ceil() as usize;
    sorted.get(rank.clamp(1, count.max(1)) - 1).copied()
}

#[cfg(test)]
mod tests {
    use super::{mean, nearest_rank};

    #[test]
    fn a_mean_is_of_something() {
        assert_eq!(mean(&[1.0, 2.0, 6.0]), Some(3.0));
        assert_eq!(mean(&[]), None);
    }

    #[test]
    fn a_quantile_is_the_value_at_the_rank() {
        let forty: Vec<f64> = (1..=40).map(f64::from).collect();
        let at = |share| nearest_rank(&forty, share);
        // 20 of 40; 38 of 40; 39.6 of 40, and so the last.
        assert_eq!([at(0.5), at(0.95), at(0.99)], [20.0, 38.0, 40.0].map(Some));
        assert_eq!(nearest_rank(&[], 0.5), None);
        assert_eq!(nearest_rank(&[7.0], 0.01), Some(7.0));
    }
}
