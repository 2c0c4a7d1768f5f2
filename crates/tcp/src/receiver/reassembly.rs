//! Data ahead of a gap: which ranges have arrived, and in what order to report them.

use std::collections::VecDeque;

use cclab_packet::MAX_SACK_BLOCKS;
use cclab_units::{Near, Rare, Usual};

/// Ranges kept at most. A sender that leaves more gaps than these in one window has the rest
/// refused, as a kernel short of memory would (RFC 2018 section 8 allows it).
const MAX_RANGES: usize = 1 << 16;

/// Ranges `[start, end)` of offsets beyond the next expected byte: disjoint, not touching,
/// ascending.
#[derive(Clone, Debug)]
pub(super) struct Reassembly {
    ranges: VecDeque<(u64, u64)>,
    /// Where a place before the end was sought last.
    near: Near,
    /// The ranges that grew last.
    recent: Rare<Recent>,
}

/// Ranges, most recent first: at most as many as one option holds.
#[derive(Clone, Copy, Debug)]
struct Recent {
    ranges: [(u64, u64); MAX_SACK_BLOCKS],
    len: usize,
}

impl Usual for Recent {
    const USUAL: &'static Recent = &Recent {
        ranges: [(0, 0); MAX_SACK_BLOCKS],
        len: 0,
    };
}

/// What an insertion did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Inserted {
    /// Whether any byte was new and kept.
    pub(super) added: bool,
    /// The first stretch of bytes that had arrived before.
    pub(super) repeated: Option<(u64, u64)>,
}

impl Reassembly {
    pub(super) fn new() -> Reassembly {
        Reassembly {
            ranges: VecDeque::new(),
            near: Near::default(),
            recent: Rare::default(),
        }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    pub(super) fn first(&self) -> Option<(u64, u64)> {
        self.ranges.front().copied()
    }

    /// Past the last byte kept; 0 if none is.
    pub(super) fn end(&self) -> u64 {
        self.ranges.back().map_or(0, |&(_, end)| end)
    }

    /// Adds `[start, end)`, merging it with what it overlaps or touches.
    pub(super) fn insert(&mut self, start: u64, end: u64) -> Inserted {
        // The ranges [low, high) overlap or touch the new one.
        let low = match self.ranges.back() {
            Some(&(_, last_end)) if last_end < start => self.ranges.len(), // after a new loss
            Some(&(last_start, _)) if last_start <= start => self.ranges.len() - 1, // after that
            _ => self.near.partition_point(&self.ranges, |&(_, e)| e < start),
        };
        let mut high = low;
        let mut merged = (start, end);
        let mut repeated = None;
        let mut known = 0;
        while let Some(&(s, e)) = self.ranges.get(high).filter(|&&(s, _)| s <= end) {
            let overlap = (s.max(start), e.min(end));
            if overlap.0 < overlap.1 {
                known += overlap.1 - overlap.0;
                repeated = repeated.or(Some(overlap));
            }
            merged = (merged.0.min(s), merged.1.max(e));
            high += 1;
        }
        let added = known < end - start;
        if low == high {
            if self.ranges.len() == MAX_RANGES {
                return Inserted {
                    added: false,
                    repeated: None,
                };
            }
            self.ranges.insert(low, merged);
        } else {
            self.ranges[low] = merged;
            if low + 1 < high {
                self.ranges.drain(low + 1..high);
            }
        }
        self.recent.note(merged);
        Inserted { added, repeated }
    }

    /// The left edge moves to `end`: drops what lies below it and returns where data without
    /// a gap now ends.
    pub(super) fn release(&mut self, end: u64) -> u64 {
        let mut reached = end;
        while let Some(&(start, e)) = self.ranges.front() {
            if start > reached {
                break;
            }
            reached = reached.max(e);
            self.ranges.pop_front();
            self.near.on_popped();
        }
        self.recent.keep(|(start, _)| start > reached);
        reached
    }

    /// The blocks to report, most recent first; after those that grew last, any others from
    /// the highest down, so that an option is as full as it can be (RFC 2018 section 4).
    pub(super) fn recent(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let noted = &self.recent.ranges[..self.recent.len];
        // Nothing is left out of the noted ones unless merging has thinned them.
        let others = self
            .ranges
            .iter()
            .rev()
            .copied()
            .filter(move |r| !noted.contains(r));
        let more = self.ranges.len() - noted.len();
        noted
            .iter()
            .copied()
            .chain(others.take(more.min(MAX_SACK_BLOCKS - noted.len())))
    }
}

impl Recent {
    /// Puts `merged` before the others and forgets those that it swallowed.
    fn note(&mut self, merged: (u64, u64)) {
        self.keep(|(start, end)| end < merged.0 || start > merged.1);
        let len = (self.len + 1).min(MAX_SACK_BLOCKS);
        self.ranges.copy_within(..len - 1, 1);
        self.ranges[0] = merged;
        self.len = len;
    }

    fn keep(&mut self, keep: impl Fn((u64, u64)) -> bool) {
        let mut len = 0;
        for i in 0..self.len {
            if keep(self.ranges[i]) {
                self.ranges[len] = self.ranges[i];
                len += 1;
            }
        }
        self.len = len;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_merged_block_makes_room_for_an_older_one() {
        let mut ranges = Reassembly::new();
        for start in [10, 30, 50, 70, 90] {
            ranges.insert(start, start + 10);
        }
        assert_eq!(
            ranges.recent().collect::<Vec<_>>(),
            [(90, 100), (70, 80), (50, 60), (30, 40)]
        );
        ranges.insert(80, 90);
        assert_eq!(
            ranges.recent().collect::<Vec<_>>(),
            [(70, 100), (50, 60), (30, 40), (10, 20)]
        );
    }

    proptest! {
        #[test]
        fn agrees_with_a_set_of_bytes(
            steps in prop::collection::vec((1..200_u64, 1..20_u64, prop::bool::weighted(0.1)), 1..100),
        ) {
            let mut ranges = Reassembly::new();
            let mut bytes = std::collections::BTreeSet::new();
            for (start, len, release) in steps {
                if release {
                    let reached = ranges.release(start);
                    let mut expected = start;
                    while bytes.contains(&expected) {
                        expected += 1;
                    }
                    prop_assert_eq!(reached, expected);
                    bytes.retain(|&b| b >= reached);
                } else {
                    let end = start + len;
                    let repeated = (start..end).find(|b| bytes.contains(b));
                    let inserted = ranges.insert(start, end);
                    prop_assert_eq!(inserted.repeated.map(|(s, _)| s), repeated);
                    if let Some((s, e)) = inserted.repeated {
                        prop_assert!((s..e).all(|b| bytes.contains(&b)));
                        prop_assert!(e == end || !bytes.contains(&e));
                    }
                    prop_assert_eq!(inserted.added, (start..end).any(|b| !bytes.contains(&b)));
                    bytes.extend(start..end);
                }
                let kept: Vec<u64> = ranges.ranges.iter().flat_map(|&(s, e)| s..e).collect();
                prop_assert_eq!(&kept, &bytes.iter().copied().collect::<Vec<_>>());
                prop_assert!(ranges.ranges.iter().zip(ranges.ranges.iter().skip(1)).all(|(a, b)| a.1 < b.0));
                let recent: Vec<_> = ranges.recent().collect();
                prop_assert_eq!(recent.len(), ranges.ranges.len().min(MAX_SACK_BLOCKS));
                prop_assert!(recent.iter().all(|r| ranges.ranges.contains(r)));
            }
        }
    }
}
