//! The order of events: one entry per element of the network, not one per packet.

use cclab_units::Time;

/// When an element acts next, and its place among those that act at the same instant.
///
/// Time and sequence share one integer, so that comparing keys is comparing numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key(u128);

impl Key {
    /// Never.
    pub const NEVER: Key = Key(u128::MAX);

    /// At `time`, as the `sequence`-th act that was scheduled.
    #[inline]
    pub fn new(time: Time, sequence: u64) -> Key {
        Key((u128::from(time.as_nanos()) << 64) | u128::from(sequence))
    }

    /// Whether this is [`Key::NEVER`]. One word decides: comparing both, just written one by
    /// one, would wait for the store.
    #[inline]
    pub fn is_never(self) -> bool {
        self.time() == Time::NEVER
    }

    /// When; [`Time::NEVER`] for [`Key::NEVER`].
    #[inline]
    pub fn time(self) -> Time {
        Time::from_nanos((self.0 >> 64) as u64)
    }
}

/// A tournament over the elements of a network: every element has one key, which can be moved;
/// the winner is the element that acts next. Moving a key replays the matches from its leaf
/// towards the root, and stops where the outcome does not change.
#[derive(Debug)]
pub struct Calendar {
    /// Key and element of the winner of each match; node 1 is the final, the children of `n`
    /// are `2n` and `2n + 1`, so that the two who meet lie side by side; the leaves are the
    /// second half.
    nodes: Vec<(Key, u32)>,
}

impl Calendar {
    /// A calendar of `elements` elements, none of which has anything to do.
    pub fn new(elements: usize) -> Calendar {
        let leaves = elements.next_power_of_two().max(2);
        let mut nodes = vec![(Key::NEVER, 0); 2 * leaves];
        for (element, leaf) in nodes[leaves..].iter_mut().enumerate() {
            leaf.1 = element as u32;
        }
        for node in (1..leaves).rev() {
            nodes[node] = nodes[2 * node];
        }
        Calendar { nodes }
    }

    /// The next act; [`Key::NEVER`] when nothing is left to do.
    #[inline]
    pub fn next(&self) -> (Key, u32) {
        self.nodes[1]
    }

    /// When `element` acts next.
    #[inline]
    pub fn key(&self, element: u32) -> Key {
        self.nodes[self.nodes.len() / 2 + element as usize].0
    }

    /// Lets `element` act next at `key`.
    #[inline]
    pub fn set(&mut self, element: u32, key: Key) {
        let nodes = &mut self.nodes[..];
        let mut node = nodes.len() / 2 + element as usize;
        let mut winner = (key, element);
        nodes[node] = winner;
        while node > 1 {
            // The winner so far stays in registers: only its opponents are read.
            let opponent = nodes[node ^ 1];
            if opponent.0 < winner.0 {
                winner = opponent;
            }
            node /= 2;
            if nodes[node].1 == winner.1 && winner.1 != element {
                return; // it won before and still does
            }
            nodes[node] = winner;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use cclab_units::Stream;

    use super::*;

    #[test]
    fn the_tournament_agrees_with_a_sorted_set() {
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
                Key::new(time, sequence)
            };
            if key != Key::NEVER {
                sorted.insert((key, element));
            }
            calendar.set(element, key);
            match sorted.first() {
                Some(&first) => assert_eq!(calendar.next(), first),
                None => assert_eq!(calendar.next().0, Key::NEVER),
            }
        }
    }

    #[test]
    fn keys_order_by_time_then_sequence() {
        let at = |ns, sequence| Key::new(Time::from_nanos(ns), sequence);
        assert!(at(1, 9) < at(2, 0) && at(2, 0) < at(2, 1) && at(2, 1) < Key::NEVER);
        assert_eq!(at(7, 3).time(), Time::from_nanos(7));
    }
}
