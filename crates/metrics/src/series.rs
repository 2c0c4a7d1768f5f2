//! A counter known at some instants.

use cclab_units::Time;

/// The value of a counter at `at`, from its `points` in the order of time: exact at a point,
/// linear between two, `None` outside all of them. Of several points at one instant the last
/// counts: it is what was known when the instant had passed.
pub(crate) fn value_at(points: &[(Time, u64)], at: Time) -> Option<f64> {
    let after = points.partition_point(|&(time, _)| time <= at);
    let &(left, low) = points.get(after.checked_sub(1)?)?;
    if left == at {
        return Some(low as f64);
    }
    let &(right, high) = points.get(after)?;
    let share = (at - left).as_secs_f64() / (right - left).as_secs_f64();
    Some(low as f64 + share * (high as f64 - low as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_at_points_linear_between_and_unknown_outside() {
        let points = [(1, 10), (3, 30), (3, 40), (5, 40)].map(|(s, v)| (Time::from_secs(s), v));
        let at = |ms| value_at(&points, Time::from_millis(ms));
        assert_eq!(at(999), None);
        assert_eq!(at(1000), Some(10.0));
        assert_eq!(at(2000), Some(20.0));
        assert_eq!(at(3000), Some(40.0));
        assert_eq!(at(4500), Some(40.0));
        assert_eq!(at(5000), Some(40.0));
        assert_eq!(at(5001), None);
        assert_eq!(value_at(&[], Time::ZERO), None);
    }
}
