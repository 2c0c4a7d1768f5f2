//! The order of events: one entry per element of the network, not one per packet.

use cclab_units::Time;

/// When an element acts next, and its place among those that act at the same instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// When.
    pub time: Time,
    /// The order in which the acts of an instant were scheduled.
    pub sequence: u64,
}

impl Key {
    /// Never.
    pub const NEVER: Key = Key {
        time: Time::NEVER,
        sequence: u64::MAX,
    };
}

/// An indexed 4-ary heap over the elements of a network: every element has one key, which can
/// be moved. Elements that have nothing to do are not in the heap.
#[derive(Debug)]
pub struct Calendar {
    heap: Vec<(Key, u32)>,
    /// Position in the heap plus one; 0: not in it.
    places: Vec<u32>,
}

const ARITY: usize = 4;

impl Calendar {
    /// A calendar of `elements` elements, none of which has anything to do.
    pub fn new(elements: usize) -> Calendar {
        Calendar {
            heap: Vec::with_capacity(elements),
            places: vec![0; elements],
        }
    }

    /// The next act.
    #[inline]
    pub fn peek(&self) -> Option<(Key, u32)> {
        self.heap.first().copied()
    }

    /// When `element` acts next.
    #[inline]
    pub fn key(&self, element: u32) -> Key {
        match self.places[element as usize] {
            0 => Key::NEVER,
            place => self.heap[place as usize - 1].0,
        }
    }

    /// Lets `element` act next at `key`; [`Key::NEVER`] takes it out.
    #[inline]
    pub fn set(&mut self, element: u32, key: Key) {
        let place = self.places[element as usize] as usize;
        if key.time == Time::NEVER {
            if place > 0 {
                self.remove(place - 1);
            }
            return;
        }
        if place == 0 {
            self.heap.push((key, element));
            self.sift_up(self.heap.len() - 1);
        } else {
            let old = std::mem::replace(&mut self.heap[place - 1].0, key);
            if key < old {
                self.sift_up(place - 1);
            } else {
                self.sift_down(place - 1);
            }
        }
    }

    fn remove(&mut self, at: usize) {
        self.places[self.heap[at].1 as usize] = 0;
        let last = self.heap.pop();
        if let Some(last) = last.filter(|_| at < self.heap.len()) {
            let old = std::mem::replace(&mut self.heap[at], last);
            if last.0 < old.0 {
                self.sift_up(at);
            } else {
                self.sift_down(at);
            }
        }
    }

    fn sift_up(&mut self, mut at: usize) {
        let entry = self.heap[at];
        while at > 0 {
            let parent = (at - 1) / ARITY;
            if self.heap[parent].0 <= entry.0 {
                break;
            }
            self.put(at, self.heap[parent]);
            at = parent;
        }
        self.put(at, entry);
    }

    fn sift_down(&mut self, mut at: usize) {
        let entry = self.heap[at];
        loop {
            let first = at * ARITY + 1;
            if first >= self.heap.len() {
                break;
            }
            let end = (first + ARITY).min(self.heap.len());
            let mut least = first;
            for child in first + 1..end {
                if self.heap[child].0 < self.heap[least].0 {
                    least = child;
                }
            }
            if entry.0 <= self.heap[least].0 {
                break;
            }
            self.put(at, self.heap[least]);
            at = least;
        }
        self.put(at, entry);
    }

    #[inline]
    fn put(&mut self, at: usize, entry: (Key, u32)) {
        self.places[entry.1 as usize] = at as u32 + 1;
        self.heap[at] = entry;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use cclab_units::Stream;

    use super::*;

    #[test]
    fn the_heap_agrees_with_a_sorted_set() {
        const ELEMENTS: u32 = 37;
        let mut calendar = Calendar::new(ELEMENTS as usize);
        let mut sorted: BTreeSet<(Key, u32)> = BTreeSet::new();
        let mut rng = Stream::new(3, "calendar");
        for sequence in 0..20_000 {
            let element = (rng.bits() % u64::from(ELEMENTS)) as u32;
            let time = Time::from_nanos(rng.bits() % 50);
            sorted.remove(&(calendar.key(element), element));
            let key = if rng.chance(0.2) {
                Key::NEVER
            } else {
                Key { time, sequence }
            };
            if key != Key::NEVER {
                sorted.insert((key, element));
            }
            calendar.set(element, key);
            assert_eq!(calendar.peek(), sorted.first().copied());
        }
    }
}
