//! A queue in a ring of memory, for what every packet goes through.
//!
//! A `VecDeque` takes any capacity, so that each index is compared with it and wrapped by hand; here
//! the places are a power of two, and a mask does that. The scoreboard of a sender has a ring of its own,
//! in which a segment is found by its identity.

/// Places of the first ring; an empty queue that had nothing yet has none. Most of many thousand never have
/// two values at once.
const FIRST: usize = 1;

/// Values in order: put in behind, taken out in front.
#[derive(Clone, Debug)]
pub struct Ring<T> {
    /// None, or a power of two.
    places: Box<[T]>,
    /// Values ever taken out, and ever put in, modulo 2^32.
    head: u32,
    tail: u32,
}

impl<T> Default for Ring<T> {
    fn default() -> Ring<T> {
        Ring {
            places: Box::default(),
            head: 0,
            tail: 0,
        }
    }
}

impl<T: Copy> Ring<T> {
    /// Values.
    #[inline]
    pub fn len(&self) -> usize {
        self.tail.wrapping_sub(self.head) as usize
    }

    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.head == self.tail
    }

    #[inline]
    fn place(&self, count: u32) -> usize {
        count as usize & self.places.len().wrapping_sub(1)
    }

    /// Puts `value` last.
    ///
    /// # Panics
    /// If there are 2^31 others.
    #[inline(always)]
    pub fn push_back(&mut self, value: T) {
        if self.len() == self.places.len() {
            self.grow(value);
        }
        let place = self.place(self.tail);
        self.places[place] = value;
        self.tail = self.tail.wrapping_add(1);
    }

    /// Takes the first value out.
    #[inline]
    pub fn pop_front(&mut self) -> Option<T> {
        let first = *self.front()?;
        self.head = self.head.wrapping_add(1);
        Some(first)
    }

    /// Takes all values out.
    #[inline]
    pub fn clear(&mut self) {
        self.head = self.tail;
    }

    /// Takes the first value out, and says which is the first then. There must be one: an empty ring is none
    /// after this, which builds with assertions notice.
    #[inline]
    pub fn advance(&mut self) -> Option<&T> {
        debug_assert!(!self.is_empty(), "there is a first value");
        self.head = self.head.wrapping_add(1);
        self.front()
    }

    /// The first value.
    #[inline]
    pub fn front(&self) -> Option<&T> {
        match self.is_empty() {
            true => None,
            false => self.places.get(self.place(self.head)),
        }
    }

    /// The value behind `before` others.
    #[inline]
    pub fn get(&self, before: usize) -> Option<&T> {
        match before < self.len() {
            true => (self.places).get(self.place(self.head.wrapping_add(before as u32))),
            false => None,
        }
    }

    /// All values, from the first to the last.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        let (before, from) = self
            .places
            .split_at(self.place(self.head).min(self.places.len()));
        from.iter().chain(before).take(self.len())
    }

    /// Makes room for as many values again; what no value is in yet has `filling`.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, filling: T) {
        let count = self.len();
        let places = (2 * count).max(FIRST);
        assert!(places <= 1 << 31, "{count} values in a ring");
        let mut larger = Vec::with_capacity(places);
        larger.extend(self.iter());
        larger.resize(places, filling);
        self.places = larger.into_boxed_slice();
        (self.head, self.tail) = (0, count as u32);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;
    use crate::Stream;

    #[test]
    fn random_operations_agree_with_a_deque() {
        let mut ring = Ring::default();
        // The counts pass 2^32 soon, as those of a long run do.
        (ring.head, ring.tail) = (u32::MAX - 50, u32::MAX - 50);
        ring.places = vec![0; FIRST].into_boxed_slice();
        let mut deque = VecDeque::new();
        let mut dice = Stream::new(7, "ring");
        for step in 0..20_000_u64 {
            // Grows, then shrinks until it is empty, again and again.
            let grows = if step / 500 % 2 == 0 { 0.6 } else { 0.3 };
            if dice.chance(grows) {
                ring.push_back(step);
                deque.push_back(step);
            } else if step % 3 == 0 && deque.pop_front().is_some() {
                assert_eq!(ring.advance(), deque.front());
            } else {
                assert_eq!(ring.pop_front(), deque.pop_front());
            }
            assert_eq!(ring.front(), deque.front());
            assert_eq!(
                (ring.len(), ring.is_empty()),
                (deque.len(), deque.is_empty())
            );
            if step % 4_999 == 0 {
                ring.clear();
                deque.clear();
            }
            let place = (dice.bits() % 200) as usize;
            assert_eq!(ring.get(place), deque.get(place));
            assert!(ring.iter().eq(&deque));
        }
        assert!(ring.places.len() >= 64, "it had to grow");
    }

    #[test]
    fn what_wraps_around_stays_in_order_while_it_grows() {
        let mut ring = Ring::default();
        assert_eq!(
            (ring.pop_front(), ring.get(0), ring.iter().next()),
            (None, None, None)
        );
        for value in 0..4 {
            ring.push_back(value);
        }
        assert_eq!((ring.pop_front(), ring.pop_front()), (Some(0), Some(1)));
        for value in 4..12 {
            ring.push_back(value);
        }
        assert!(ring.iter().copied().eq(2..12));
        assert_eq!(ring.clone().front(), Some(&2));
    }
}
