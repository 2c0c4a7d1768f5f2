//! The order of what acts on its own: transmitters, timers, samplers; one entry for each.

use cclab_units::Time;

/// When an element acts next, and its place among those that act at the same instant.
///
/// Time and sequence share one integer, so that comparing keys is comparing numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key(u128);

/// Bits that a key leaves to those who keep it, who put an element or a slot there.
pub(crate) const ELEMENT_BITS: u32 = 24;
pub(crate) const ELEMENT_MASK: u128 = (1 << ELEMENT_BITS) - 1;

impl Key {
    /// Never.
    pub const NEVER: Key = Key(!ELEMENT_MASK);

    /// At `time`, as the `sequence`-th act that was scheduled. Numbers from 1 to 2^40 are told
    /// apart: a day at ten million acts a second.
    #[inline]
    pub fn new(time: Time, sequence: u64) -> Key {
        Key((u128::from(time.as_nanos()) << 64) | u128::from(sequence << ELEMENT_BITS))
    }

    /// At `time`, before every other act of that instant: for what only looks on.
    #[inline]
    pub fn first_of(time: Time) -> Key {
        Key::new(time, 0)
    }

    /// At `time`, after every other act of that instant.
    #[inline]
    pub fn last_of(time: Time) -> Key {
        Key::new(time, (1 << 40) - 1)
    }

    /// Whether this is [`Key::NEVER`]. One word decides: comparing both, just written one by
    /// one, would wait for the store.
    #[inline]
    pub fn is_never(self) -> bool {
        self.time() == Time::NEVER
    }

    /// The key and who acts then, in one number that sorts like the key.
    #[inline]
    pub(crate) fn entry(self, element: u32) -> u128 {
        self.0 | u128::from(element)
    }

    /// The key of what [`Key::entry`] made.
    #[inline]
    pub(crate) fn of_entry(entry: u128) -> Key {
        Key(entry & !ELEMENT_MASK)
    }

    /// When; [`Time::NEVER`] for [`Key::NEVER`].
    #[inline]
    pub fn time(self) -> Time {
        time_of(self.0)
    }
}

/// When the act is whose [`Key::entry`] this is.
#[inline]
pub(crate) fn time_of(entry: u128) -> Time {
    Time::from_nanos((entry >> 64) as u64)
}

/// Who acts then.
#[inline]
pub(crate) fn element_of(entry: u128) -> u32 {
    (entry & ELEMENT_MASK) as u32
}

/// Those who meet in one match.
const ARITY: usize = 4;

/// The keys of those who meet, each with its element in the low bits: one line of cache.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Match([u128; ARITY]);

impl Match {
    #[inline]
    fn winner(&self) -> u128 {
        let [a, b, c, d] = self.0;
        let ab = if b < a { b } else { a };
        let cd = if d < c { d } else { c };
        if cd < ab { cd } else { ab }
    }
}

/// A tournament over the elements of a network: every element has one key, which can be moved;
/// the winner is the element that acts next. Moving a key replays the matches from its leaf
/// towards the root, and stops where the outcome does not change.
#[derive(Debug)]
pub struct Calendar {
    /// The rounds one after the other, the first of which has all elements, the last one match.
    matches: Vec<Match>,
    /// Where each round begins.
    rounds: Vec<u32>,
    winner: u128,
}

impl Calendar {
    /// A calendar of `elements` elements, none of which has anything to do.
    ///
    /// # Panics
    /// If there are more than 2^24 elements.
    pub fn new(elements: usize) -> Calendar {
        assert!(elements <= 1 << ELEMENT_BITS, "{elements} elements");
        let mut calendar = Calendar {
            matches: Vec::new(),
            rounds: Vec::new(),
            winner: 0,
        };
        let mut players = elements.max(1);
        loop {
            let matches = players.div_ceil(ARITY);
            calendar.rounds.push(calendar.matches.len() as u32);
            let idle = Match([Key::NEVER.0 | ELEMENT_MASK; ARITY]);
            calendar
                .matches
                .resize(calendar.matches.len() + matches, idle);
            if matches == 1 {
                break;
            }
            players = matches;
        }
        for element in 0..elements as u32 {
            calendar.set(element, Key::NEVER);
        }
        calendar
    }

    /// The next act; [`Key::NEVER`] when nothing is left to do.
    #[inline]
    pub fn next(&self) -> (Key, u32) {
        (Key::of_entry(self.winner), element_of(self.winner))
    }

    /// The same in one number, as [`Key::entry`] makes it.
    #[inline]
    pub(crate) fn next_entry(&self) -> u128 {
        self.winner
    }

    /// When `element` acts next.
    #[inline]
    pub fn key(&self, element: u32) -> Key {
        let slot = element as usize;
        Key::of_entry(self.matches[slot / ARITY].0[slot % ARITY])
    }

    /// Lets `element` act next at `key`.
    #[inline]
    pub fn set(&mut self, element: u32, key: Key) {
        let mut player = key.entry(element);
        let mut slot = element as usize;
        for &round in &self.rounds {
            let place = &mut self.matches[round as usize + slot / ARITY];
            let before = std::mem::replace(&mut place.0[slot % ARITY], player);
            if before == player {
                return; // it won before and still does
            }
            player = place.winner();
            slot /= ARITY;
        }
        self.winner = player;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use cclab_units::Stream;

    use super::*;

    #[test]
    fn the_tournament_agrees_with_a_sorted_set() {
        for elements in [1_u32, 4, 5, 37, 100] {
            let mut calendar = Calendar::new(elements as usize);
            let mut sorted: BTreeSet<(Key, u32)> = BTreeSet::new();
            let mut rng = Stream::new(3, "calendar");
            for sequence in 0..20_000 {
                let element = (rng.bits() % u64::from(elements)) as u32;
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
    }

    #[test]
    fn keys_order_by_time_then_sequence() {
        let at = |ns, sequence| Key::new(Time::from_nanos(ns), sequence);
        assert!(at(1, 9) < at(2, 0) && at(2, 0) < at(2, 1) && at(2, 1) < Key::NEVER);
        assert!(at(1, 9) < Key::first_of(Time::from_nanos(2)));
        assert!(Key::first_of(Time::from_nanos(2)) < at(2, 1));
        assert!(at(2, 1 << 39) < Key::last_of(Time::from_nanos(2)));
        assert!(Key::last_of(Time::from_nanos(2)) < Key::first_of(Time::from_nanos(3)));
        assert_eq!(at(7, 3).time(), Time::from_nanos(7));
    }
}
