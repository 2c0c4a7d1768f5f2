//! The pieces of pages that a packet's data are.

use std::collections::VecDeque;

use cclab_units::hint::unlikely;
use cclab_units::memory::push_back;

/// A packet has so many pieces at most (`MAX_SKB_FRAGS`).
pub(super) const MOST: u64 = 17;
const PAGE: u64 = 4_096;

/// What the application wrote, by where it began each time: from there on its bytes are those of a
/// file from its beginning, page by page.
#[derive(Debug, Default)]
pub(super) struct Runs {
    began: VecDeque<u64>,
}

impl Runs {
    /// The application begins to write at `offset`.
    pub fn begin(&mut self, offset: u64) {
        if self.began.back() != Some(&offset) {
            push_back(&mut self.began, offset);
        }
    }

    /// What lies before `offset` is not asked for again.
    pub fn forget_before(&mut self, offset: u64) {
        while unlikely(self.began.get(1).is_some_and(|&next| next <= offset)) {
            self.began.pop_front();
        }
    }

    /// Of how many pieces the bytes from `start` to `end` are.
    pub fn pieces(&self, start: u64, end: u64) -> u64 {
        if let Some(&run) = self.began.front()
            && self.began.get(1).is_none_or(|&next| end <= next)
        {
            return pieces_of_run(run, start.max(run), end);
        }
        self.pieces_of_several(start, end)
    }

    /// As [`Runs::pieces`], where the bytes may be of several runs, or of another than the first.
    fn pieces_of_several(&self, start: u64, end: u64) -> u64 {
        let first = self.began.partition_point(|&run| run <= start);
        let runs = self.began.range(first.saturating_sub(1)..);
        let ends = runs.clone().skip(1).chain([&u64::MAX]);
        let pieces =
            |(&run, &next): (&u64, &u64)| pieces_of_run(run, start.max(run), end.min(next));
        runs.zip(ends)
            .take_while(|&(&run, _)| run < end)
            .map(pieces)
            .sum()
    }

    /// Up to where a packet that begins at `start` has room for pieces of the last run.
    pub fn room(&self, start: u64) -> u64 {
        let run = self.began.back().copied().unwrap_or(0);
        let left = MOST.saturating_sub(self.pieces(start, run));
        run + ((start.max(run) - run) / PAGE + left) * PAGE
    }
}

/// Of how many pieces the bytes from `from` to `to` are, of a run that began at `run`.
#[inline]
fn pieces_of_run(run: u64, from: u64, to: u64) -> u64 {
    match from < to {
        true => (to - 1 - run) / PAGE - (from - run) / PAGE + 1,
        false => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_way_and_the_long_one_count_the_same() {
        let mut chance = cclab_units::Stream::new(1, "pieces");
        let mut draw = |below: u64| chance.bits() % below;
        for _ in 0..2_000 {
            let mut runs = Runs::default();
            let mut began = draw(3 * PAGE);
            for _ in 0..draw(4) {
                runs.begin(began);
                began += 1 + draw(3 * PAGE);
            }
            for _ in 0..20 {
                let edge = |near: u64, draw: &mut dyn FnMut(u64) -> u64| match draw(3) {
                    0 => runs.began.get(draw(4) as usize).copied().unwrap_or(near),
                    _ => near,
                };
                let start = edge(draw(10 * PAGE), &mut draw);
                let end = edge(start + draw(4 * PAGE), &mut draw);
                let (short, long) = (runs.pieces(start, end), runs.pieces_of_several(start, end));
                assert_eq!(short, long, "{start} to {end} of {:?}", runs.began);
            }
        }
    }

    /// The kernel's Reno at 2 Mbit/s, 40 ms and five packets: a packet from segment 152 on has five
    /// pages of a run that ends with segment 163, and so room for twelve of the next.
    #[test]
    fn a_packet_is_full_of_pieces_before_it_is_full_of_bytes() {
        const MSS: u64 = 1_448;
        let mut runs = Runs::default();
        runs.begin(134 * MSS);
        runs.begin(163 * MSS);
        runs.begin(163 * MSS);
        assert_eq!(runs.pieces(152 * MSS, 163 * MSS), 5);
        assert_eq!(runs.room(152 * MSS), 163 * MSS + 12 * PAGE);
        assert_eq!(runs.pieces(152 * MSS, 163 * MSS + 12 * PAGE), MOST);
        // A packet that begins in the middle of a page has one page less.
        assert_eq!(runs.room(163 * MSS + 100), 163 * MSS + MOST * PAGE);
        assert_eq!(runs.room(163 * MSS), 163 * MSS + MOST * PAGE);
        runs.forget_before(163 * MSS);
        assert_eq!(runs.pieces(163 * MSS, 164 * MSS), 1);
    }
}
