//! A calendar queue: entries in the order of their time, whatever their times are.
//!
//! R. Brown, "Calendar queues: a fast O(1) priority queue implementation for the simulation event
//! set problem", CACM 31(10), 1988. Buckets are chains through an array that has a place for
//! each slot; what a bucket holds is sorted when its time comes.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use super::{NEVER, slot_of, time_of};

/// No slot.
const NONE: u32 = u32::MAX;

/// Entries between two looks at whether the buckets suit them.
const TAKEN_PER_TUNING: u32 = 8192;

/// Widths of buckets, as powers of two in nanoseconds, and counts of them.
const FIRST_WIDTH: u32 = 16;
const WIDTHS: std::ops::RangeInclusive<u32> = 4..=40;
const FIRST_COUNT: usize = 1 << 10;
const COUNTS: std::ops::RangeInclusive<usize> = 1 << 6..=1 << 17;

/// A calendar of entries.
pub(super) struct Buckets {
    /// What comes before the bucket `opened`, in order.
    near: VecDeque<u128>,
    /// The first slot of each bucket.
    first: Vec<u32>,
    /// Which buckets hold anything.
    occupied: Vec<u64>,
    /// Of each slot in a bucket the entry, and the next slot there.
    chain: Vec<(u128, u32)>,
    /// Entries in buckets.
    in_buckets: usize,
    /// The first bucket, counted from time zero, that is not yet in `near`.
    opened: u64,
    /// A bucket is 2^width ns.
    width: u32,
    /// What comes after all buckets.
    far: BinaryHeap<Reverse<u128>>,
    seen: Seen,
}

/// What decides whether the buckets suit the entries.
#[derive(Default)]
struct Seen {
    taken: u32,
    opened: u32,
    far: u32,
}

impl Buckets {
    pub(super) fn new() -> Buckets {
        Buckets {
            near: VecDeque::new(),
            first: Vec::new(),
            occupied: Vec::new(),
            chain: Vec::new(),
            in_buckets: 0,
            opened: 0,
            width: FIRST_WIDTH,
            far: BinaryHeap::new(),
            seen: Seen::default(),
        }
    }

    /// The first entry; [`NEVER`] if there is none.
    #[inline]
    pub(super) fn first(&self) -> u128 {
        self.near.front().copied().unwrap_or(NEVER)
    }

    /// The entry that has `others` others between it and the last one taken, if its bucket is open.
    #[inline]
    pub(super) fn behind(&self, others: usize) -> Option<&u128> {
        self.near.get(others)
    }

    /// Puts `entry` in its place.
    pub(super) fn put(&mut self, entry: u128) {
        if self.first.is_empty() {
            self.first = vec![NONE; FIRST_COUNT]; // memory only where it is needed
            self.occupied = vec![0; FIRST_COUNT / 64];
        }
        self.insert(entry);
        self.open();
    }

    /// Takes the first entry away.
    pub(super) fn take(&mut self) {
        self.near.pop_front();
        self.seen.taken += 1;
        if self.seen.taken == TAKEN_PER_TUNING {
            self.tune();
        }
        self.open();
    }

    fn insert(&mut self, entry: u128) {
        let bucket = time_of(entry).as_nanos() >> self.width;
        if bucket < self.opened {
            let place = self.near.partition_point(|&other| other < entry);
            self.near.insert(place, entry);
        } else if bucket - self.opened < self.first.len() as u64 {
            let place = bucket as usize & (self.first.len() - 1);
            let slot = slot_of(entry);
            if slot >= self.chain.len() {
                self.chain.resize(slot + 1, (NEVER, NONE));
            }
            self.chain[slot] = (entry, self.first[place]);
            self.first[place] = slot as u32;
            self.occupied[place / 64] |= 1 << (place % 64);
            self.in_buckets += 1;
        } else {
            self.far.push(Reverse(entry));
            self.seen.far += 1;
        }
    }

    /// Opens a bucket if nothing is near.
    fn open(&mut self) {
        if !self.near.is_empty() {
            return;
        }
        if self.in_buckets == 0 {
            let Some(&Reverse(first)) = self.far.peek() else {
                return;
            };
            self.opened = time_of(first).as_nanos() >> self.width;
            self.draw_near();
        }
        self.opened = self.next_occupied();
        let place = self.opened as usize & (self.first.len() - 1);
        self.occupied[place / 64] &= !(1 << (place % 64));
        let mut slot = std::mem::replace(&mut self.first[place], NONE);
        while slot != NONE {
            let (entry, next) = self.chain[slot as usize];
            self.near.push_back(entry);
            slot = next;
        }
        self.in_buckets -= self.near.len();
        self.near.make_contiguous().sort_unstable();
        self.seen.opened += 1;
        self.opened += 1;
        self.draw_near();
    }

    /// The first bucket from `opened` on that holds anything; there is one.
    fn next_occupied(&self) -> u64 {
        let mask = self.first.len() - 1;
        let start = self.opened as usize & mask;
        let mut word = start / 64;
        let mut bits = self.occupied[word] & (u64::MAX << (start % 64));
        while bits == 0 {
            word = (word + 1) & (self.occupied.len() - 1);
            bits = self.occupied[word];
        }
        let place = word * 64 + bits.trailing_zeros() as usize;
        self.opened + (place.wrapping_sub(start) & mask) as u64
    }

    /// Puts into buckets what was beyond them.
    fn draw_near(&mut self) {
        let end = self.opened + self.first.len() as u64;
        while let Some(&Reverse(first)) = self.far.peek()
            && time_of(first).as_nanos() >> self.width < end
        {
            self.far.pop();
            self.insert(first);
        }
    }

    /// Fits the width and the number of buckets to what was seen since the last time: some
    /// entries a bucket, few beyond all of them. The order is the same with any.
    #[cold]
    fn tune(&mut self) {
        let seen = std::mem::take(&mut self.seen);
        let (mut width, mut count) = (self.width, self.first.len());
        if seen.far > seen.taken / 8 {
            match COUNTS.contains(&(2 * count)) {
                true => count *= 2,
                false => width += 1,
            }
        } else if seen.taken > 3 * seen.opened && COUNTS.contains(&(2 * count)) {
            width -= 1;
            count *= 2;
        } else if 4 * seen.taken < 5 * seen.opened && COUNTS.contains(&(count / 2)) {
            width += 1;
            count /= 2;
        }
        if (width, count) != (self.width, self.first.len()) && WIDTHS.contains(&width) {
            self.rebuild(width, count);
        }
    }

    fn rebuild(&mut self, width: u32, count: usize) {
        let mut waiting = Vec::new();
        self.beyond_near(&mut waiting);
        let end = self.opened << self.width;
        self.width = width;
        self.opened = end.div_ceil(1 << width);
        self.first = vec![NONE; count];
        self.occupied = vec![0; count / 64];
        self.in_buckets = 0;
        self.far.clear();
        for entry in waiting {
            self.insert(entry);
        }
        self.seen = Seen::default();
    }

    /// Adds to `entries` what is in buckets and beyond them.
    fn beyond_near(&self, entries: &mut Vec<u128>) {
        entries.extend(self.far.iter().map(|&Reverse(entry)| entry));
        for &first in &self.first {
            let mut slot = first;
            while slot != NONE {
                let (entry, next) = self.chain[slot as usize];
                entries.push(entry);
                slot = next;
            }
        }
    }

    /// Adds all entries to `entries`, in no order.
    pub(super) fn list(&self, entries: &mut Vec<u128>) {
        entries.extend(&self.near);
        self.beyond_near(entries);
    }
}
