//! The SACK blocks that a receiver of Linux remembers (`tp->selective_acks`).

use cclab_units::Usual;

/// How many it remembers (`TCP_NUM_SACKS`).
const MOST: usize = 4;
/// How many of the first a sender is sure to have seen (`TCP_SACK_BLOCKS_EXPECTED`).
const EXPECTED: usize = 2;

/// Blocks, the one that grew last first. What fell out of them is not told again.
#[derive(Clone, Copy, Debug)]
pub(in crate::receiver) struct Blocks {
    blocks: [(u64, u64); MOST],
    len: usize,
}

impl Usual for Blocks {
    const USUAL: &'static Blocks = &Blocks {
        blocks: [(0, 0); MOST],
        len: 0,
    };
}

/// Which block a segment belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The one that grew by it; `None`: it begins another.
    grown: Option<usize>,
    /// Whether that is none of those that a sender is sure to have seen.
    pub(super) unexpected: bool,
}

impl Blocks {
    /// The blocks.
    pub(in crate::receiver) fn told(&self) -> &[(u64, u64)] {
        &self.blocks[..self.len]
    }

    /// `[start, end)` came ahead of a gap: the block that it belongs to grows in its place.
    pub(super) fn grow(&mut self, start: u64, end: u64) -> Place {
        let grown = self.told().iter().position(|b| start <= b.1 && b.0 <= end);
        if let Some(at) = grown {
            let block = &mut self.blocks[at];
            *block = (block.0.min(start), block.1.max(end));
        }
        Place {
            grown,
            unexpected: grown.unwrap_or(self.len) >= EXPECTED,
        }
    }

    /// The block of `[start, end)`, of which [`Blocks::grow`] told, goes before the others.
    pub(super) fn put_first(&mut self, place: Place, start: u64, end: u64) {
        match place.grown {
            Some(at) => {
                self.blocks[..=at].rotate_right(1);
                let (first, last) = self.blocks[0];
                let mut merged = (first, last);
                self.keep(1, |b| {
                    let apart = merged.0 > b.1 || b.0 > merged.1;
                    if !apart {
                        merged = (merged.0.min(b.0), merged.1.max(b.1));
                    }
                    apart
                });
                self.blocks[0] = merged;
            }
            None => {
                self.len = (self.len + 1).min(MOST);
                self.blocks[..self.len].rotate_right(1);
                self.blocks[0] = (start, end);
            }
        }
    }

    /// All below `reached` is in order; `ahead` tells whether anything else is kept.
    #[inline]
    pub(super) fn release(&mut self, reached: u64, ahead: bool) {
        if ahead {
            self.keep(0, |b| b.0 > reached);
        } else {
            self.len = 0;
        }
    }

    /// Drops those from `from` on that `keep` does not want.
    fn keep(&mut self, from: usize, mut keep: impl FnMut((u64, u64)) -> bool) {
        let first = from.min(self.len);
        let mut kept = first;
        for at in first..self.len {
            if keep(self.blocks[at]) {
                self.blocks[kept] = self.blocks[at];
                kept += 1;
            }
        }
        self.len = kept;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Segment `n` of ten bytes comes; returns whether it belongs to a block that may be unseen.
    fn ahead(blocks: &mut Blocks, n: u64) -> bool {
        let place = blocks.grow(10 * n, 10 * n + 10);
        blocks.put_first(place, 10 * n, 10 * n + 10);
        place.unexpected
    }

    #[test]
    fn four_are_remembered_and_what_grew_last_goes_first() {
        let mut blocks = *Blocks::USUAL;
        assert!(![1, 3].map(|n| ahead(&mut blocks, n)).contains(&true));
        assert!([5, 7, 9].iter().all(|&n| ahead(&mut blocks, n)));
        assert_eq!(blocks.told(), [(90, 100), (70, 80), (50, 60), (30, 40)]);
        assert!(!ahead(&mut blocks, 10)); // it continues the first
        assert!(!ahead(&mut blocks, 6)); // the second, and it closes the gap to the third
        assert_eq!(blocks.told(), [(50, 80), (90, 110), (30, 40)]);
        // What was forgotten is not told again, though it is kept and what comes touches it.
        assert!(ahead(&mut blocks, 2));
        assert_eq!(blocks.told(), [(20, 40), (50, 80), (90, 110)]);
        blocks.release(80, true);
        assert_eq!(blocks.told(), [(90, 110)]);
        blocks.release(110, false);
        assert_eq!(blocks.told(), []);
    }
}
