//! Fairness among flows.

/// Jain's fairness index (Jain, Chiu and Hawe 1984): `(sum x)^2 / (n sum x^2)`, between 1/n (one
/// has everything) and 1 (all have the same). `None` when there is nothing to share: no values,
/// or all of them zero.
pub fn jain(shares: &[f64]) -> Option<f64> {
    // Scaled by the largest, so that squares neither overflow nor vanish.
    let largest = shares.iter().copied().fold(0.0, f64::max);
    if largest <= 0.0 {
        return None;
    }
    let sum: f64 = shares.iter().map(|x| x / largest).sum();
    let squares: f64 = shares.iter().map(|x| (x / largest).powi(2)).sum();
    Some(sum * sum / (shares.len() as f64 * squares))
}

/// The smallest over the largest: RFC 5166, section 2.3, calls an allocation epsilon-fair whose ratio
/// is at least 1 - epsilon. `None` as of [`jain`].
pub(crate) fn ratio(shares: &[f64]) -> Option<f64> {
    let largest = shares.iter().copied().fold(0.0, f64::max);
    let smallest = shares.iter().copied().fold(f64::INFINITY, f64::min);
    (largest > 0.0).then(|| smallest / largest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn worked_examples() {
        assert_eq!(jain(&[]), None);
        assert_eq!(jain(&[0.0, 0.0]), None);
        assert_eq!(jain(&[42.0]), Some(1.0));
        assert_eq!(jain(&[5.0, 5.0, 5.0]), Some(1.0));
        assert_eq!(jain(&[7.0, 0.0, 0.0, 0.0]), Some(0.25));
        // (1 + 3)^2 / (2 (1 + 9)) = 16 / 20.
        let index = jain(&[1.0, 3.0]).expect("something to share");
        assert!((index - 0.8).abs() < 1e-12, "{index}");
    }

    proptest! {
        #[test]
        fn between_one_nth_and_one(shares in prop::collection::vec(0.0..1e12_f64, 1..40)) {
            if let Some(index) = jain(&shares) {
                prop_assert!(index >= 1.0 / shares.len() as f64 - 1e-9, "{}", index);
                prop_assert!(index <= 1.0 + 1e-9, "{}", index);
            } else {
                prop_assert!(shares.iter().all(|&x| x == 0.0));
            }
        }

        #[test]
        fn independent_of_unit_and_order(
            shares in prop::collection::vec(1.0..1e9_f64, 1..40),
            unit in 1e-150..1e150_f64,
        ) {
            let scaled: Vec<f64> = shares.iter().rev().map(|x| x * unit).collect();
            let (a, b) = (jain(&shares).expect("positive"), jain(&scaled).expect("positive"));
            prop_assert!((a - b).abs() < 1e-9, "{} {}", a, b);
        }
    }
}
