//! Search in what is in order, where the last search tells where to look first.

use std::collections::VecDeque;

/// So many values are looked at before all are searched.
const LOOKED_AT: usize = 3;

/// The place in a queue where something was found last, where what is sought next probably is, or just
/// behind. It costs time alone if it is not.
#[derive(Clone, Copy, Debug, Default)]
pub struct Near(u32);

impl Near {
    /// As [`VecDeque::partition_point`]; the place is remembered.
    #[inline]
    pub fn partition_point<T>(
        &mut self,
        values: &VecDeque<T>,
        is_before: impl Fn(&T) -> bool,
    ) -> usize {
        let place = self.peek(values, is_before);
        self.0 = place as u32;
        place
    }

    /// The same, and nothing is remembered. Where the place is near no other values are looked at, whose
    /// memory may be far away.
    #[inline]
    pub fn peek<T>(self, values: &VecDeque<T>, is_before: impl Fn(&T) -> bool) -> usize {
        let near = self.place();
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

    /// The first value of the queue was taken out.
    #[inline]
    pub fn on_popped(&mut self) {
        self.0 = self.0.saturating_sub(1);
    }

    /// The place.
    #[inline]
    pub fn place(self) -> usize {
        self.0 as usize
    }
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
                let mut near = Near(near);
                let place = near.partition_point(&values, |&value| value < limit);
                assert_eq!(place, whole, "{len} values, {near:?}, below {limit}");
                assert_eq!(near.place(), whole);
            }
        }
    }

    #[test]
    fn a_place_moves_with_what_is_there() {
        let mut values: VecDeque<u32> = (0..9).collect();
        let mut near = Near::default();
        assert_eq!(near.partition_point(&values, |&value| value < 6), 6);
        values.pop_front();
        near.on_popped();
        assert_eq!((near.place(), values[near.place()]), (5, 6));
    }
}
