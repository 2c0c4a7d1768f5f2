//! Search in what is in order, where the last search tells where to look first.

use std::collections::VecDeque;

/// So many values are looked at before all are searched.
const LOOKED_AT: usize = 3;

/// As [`VecDeque::partition_point`], which is probably `near` or just behind: then no other values are
/// looked at, whose memory may be far away.
#[inline]
pub fn partition_point_near<T>(
    values: &VecDeque<T>,
    near: usize,
    is_before: impl Fn(&T) -> bool,
) -> usize {
    let before = near.checked_sub(1);
    if before.is_none_or(|place| values.get(place).is_some_and(&is_before)) {
        for place in near..near + LOOKED_AT {
            if values.get(place).is_none_or(|value| !is_before(value)) {
                return place;
            }
        }
    }
    values.partition_point(is_before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_near_and_what_is_not_is_what_a_whole_search_finds() {
        for len in 0..12 {
            let values: VecDeque<u32> = (0..len).collect();
            for (near, limit) in (0..15).flat_map(|near| (0..14).map(move |limit| (near, limit))) {
                let whole = values.partition_point(|&value| value < limit);
                let found = partition_point_near(&values, near, |&value| value < limit);
                assert_eq!(found, whole, "{len} values, near {near}, below {limit}");
            }
        }
    }
}
