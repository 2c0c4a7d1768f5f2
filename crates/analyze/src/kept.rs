//! What lies between two endpoints, as much of it as memory is meant for.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::num::NonZeroUsize;

use foldhash::fast::RandomState;

use crate::batch::PACKETS;
use crate::endpoints::Endpoints;

/// Bytes that each may take beyond its own size, on average of all that may be kept.
const MEMORY_EACH: usize = 5 << 10;

/// Batches that may still come when one has brought it near its bounds, before anything is given up for its
/// memory: as many are under way to those who count parts at most.
pub(crate) const UNDERWAY: usize = 8;

/// Connections or conversations, those that were idle longest given up where there are too many.
pub(crate) struct Kept<T> {
    /// Those that are kept, each at a place of its own; None where one was given up.
    places: Vec<Option<Box<Held<T>>>>,
    /// Places that are free.
    free: Vec<usize>,
    /// The place of the latest between two endpoints.
    current: HashMap<Endpoints, usize, RandomState>,
    /// The one of these that was last asked for: packets between two endpoints come in trains.
    recent: Option<(Endpoints, usize)>,
    /// Each place once, by the number of a packet since which what is there had been idle for no
    /// longer than now: the least is looked at first when one is to be given up.
    idle: BinaryHeap<Reverse<(u64, usize)>>,
    most: usize,
    /// Whether any may be given up for the memory of all.
    bounded: bool,
    /// The number of the latest.
    latest: u32,
    /// Bytes that all take beyond their own size.
    memory: usize,
    /// How many were given up.
    pub evicted: u64,
}

/// What is kept, at a place.
pub(crate) struct Held<T> {
    /// Its number, from 1, in the order of first packets.
    pub number: u32,
    /// What was counted of it.
    pub of: T,
    /// Its packets so far.
    pub packets: u64,
    between: Endpoints,
    /// The numbers in the capture of its first packet and of its latest.
    first: u64,
    touched: u64,
    /// What it takes of `Kept::memory`.
    memory: usize,
}

impl<T> Kept<T> {
    /// Bytes that one takes, on average of all that may be kept: itself, what is known by its
    /// endpoints, and what it may take beyond.
    pub const EACH: usize = size_of::<Held<T>>()
        + size_of::<Option<Box<Held<T>>>>()
        + size_of::<(Endpoints, usize)>()
        + size_of::<Reverse<(u64, usize)>>()
        + MEMORY_EACH;

    /// At most `most`.
    pub fn new(most: NonZeroUsize) -> Kept<T> {
        Kept {
            places: Vec::new(),
            free: Vec::new(),
            current: HashMap::default(),
            recent: None,
            idle: BinaryHeap::new(),
            most: most.get(),
            bounded: false,
            latest: 0,
            memory: 0,
            evicted: 0,
        }
    }

    /// Takes over what `parts` keep, of which none has given up any, as if it had taken their packets in
    /// their order. It has kept nothing itself.
    pub fn join(&mut self, parts: impl IntoIterator<Item = Kept<T>>) {
        let places = parts.into_iter().flat_map(|part| part.places).flatten();
        let mut all: Vec<_> = places.collect();
        all.sort_unstable_by_key(|held| held.first);
        for mut held in all {
            let place = self.places.len();
            self.latest = self.latest.saturating_add(1);
            held.number = self.latest;
            self.memory += held.memory;
            self.idle.push(Reverse((held.touched, place)));
            self.current.insert(held.between, place);
            self.places.push(Some(held));
        }
    }

    /// How much is kept.
    pub fn burden(&self) -> Burden {
        Burden {
            kept: self.idle.len(),
            memory: self.memory,
            most: self.most,
        }
    }

    /// Whether some are given up where all take too much memory.
    pub fn is_bounded(&self) -> bool {
        self.bounded
    }

    /// From now on some are given up where all take too much memory.
    pub fn bound(&mut self) {
        self.bounded = true;
    }

    /// The place of the latest `between` those endpoints, unless it `is_over`, and then of a new
    /// one, as `begin` makes it. The packet has that `number` in the capture.
    #[inline]
    pub fn place(
        &mut self,
        between: Endpoints,
        number: u64,
        is_over: impl FnOnce(&T) -> bool,
        begin: impl FnOnce() -> T,
    ) -> usize {
        if let Some(place) = self.find(between)
            && let Some(held) = &self.places[place]
            && !is_over(&held.of)
        {
            return place;
        }
        self.begin(between, number, begin())
    }

    /// The place of the latest `between` those endpoints, if there is one.
    #[inline(always)]
    pub fn find(&mut self, between: Endpoints) -> Option<usize> {
        // Word by word: what is handed on by its address has to be put together first.
        match (self.recent, between) {
            (Some((Endpoints::V4(from, to), place)), Endpoints::V4(a, b))
                if (from, to) == (a, b) =>
            {
                Some(place)
            }
            (_, Endpoints::V4(a, b)) => self.look_up_v4(a, b),
            (Some((recent, place)), _) if recent == between => Some(place),
            _ => self.look_up(between),
        }
    }

    #[inline(never)]
    fn look_up_v4(&mut self, a: u64, b: u64) -> Option<usize> {
        self.look_up(Endpoints::V4(a, b))
    }

    /// The same, which is the recent one from now on.
    fn look_up(&mut self, between: Endpoints) -> Option<usize> {
        let place = self.current.get(&between).copied()?;
        self.recent = Some((between, place));
        Some(place)
    }

    /// What is at `place`, one packet more of it, which has that `number` in the capture.
    #[inline]
    pub fn touch(&mut self, place: usize, number: u64) -> Option<&mut Held<T>> {
        let held = &mut **self.places[place].as_mut()?;
        held.touched = number;
        held.packets += 1;
        Some(held)
    }

    /// What is at `place`.
    pub fn get(&self, place: usize) -> Option<&T> {
        self.places[place].as_ref().map(|held| &held.of)
    }

    /// What is at `place` takes so many bytes beyond its own size. Where all take too many, those
    /// idle longest are given up.
    pub fn weigh(&mut self, place: usize, memory: usize) {
        if let Some(held) = &mut self.places[place] {
            self.memory = self.memory + memory - held.memory;
            held.memory = memory;
        }
        while self.bounded && self.memory > meant_for(self.most) && self.idle.len() > 1 {
            self.give_up();
        }
    }

    fn begin(&mut self, between: Endpoints, number: u64, of: T) -> usize {
        if self.idle.len() >= self.most {
            self.give_up();
        }
        self.latest = self.latest.saturating_add(1);
        let held = Box::new(Held {
            number: self.latest,
            of,
            packets: 0,
            between,
            first: number,
            touched: number,
            memory: 0,
        });
        let place = match self.free.pop() {
            Some(place) => {
                self.places[place] = Some(held);
                place
            }
            None => {
                self.places.push(Some(held));
                self.places.len() - 1
            }
        };
        self.current.insert(between, place);
        self.recent = Some((between, place));
        self.idle.push(Reverse((number, place)));
        place
    }

    /// Gives up the one that was idle longest.
    fn give_up(&mut self) {
        debug_assert!(self.bounded, "a part gives up none");
        while let Some(Reverse((since, place))) = self.idle.pop() {
            let Some(held) = &self.places[place] else {
                continue;
            };
            if held.touched > since {
                self.idle.push(Reverse((held.touched, place)));
                continue;
            }
            self.evicted += 1;
            self.memory -= held.memory;
            if self.current.get(&held.between) == Some(&place) {
                self.current.remove(&held.between);
                self.recent = None;
            }
            self.places[place] = None;
            self.free.push(place);
            return;
        }
    }

    /// All that are kept, in the order of their first packets.
    pub fn in_order(self) -> Vec<Box<Held<T>>> {
        let mut held: Vec<_> = self.places.into_iter().flatten().collect();
        held.sort_unstable_by_key(|held| held.number);
        held
    }
}

/// How much is kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Burden {
    kept: usize,
    /// Bytes beyond their own size.
    memory: usize,
    /// How many may be.
    most: usize,
}

impl Burden {
    /// This and that of another part.
    pub fn and(self, other: Burden) -> Burden {
        Burden {
            kept: self.kept + other.kept,
            memory: self.memory + other.memory,
            most: self.most,
        }
    }

    /// Whether some may have to be given up when [`UNDERWAY`] more batches are counted. Most memory grows by
    /// doubling: half of it is near. What a histogram takes may grow faster, so that somewhat more than is meant
    /// may be in use for these batches.
    pub fn is_near(self) -> bool {
        self.kept + UNDERWAY * PACKETS > self.most || self.memory > meant_for(self.most) / 2
    }
}

/// Bytes that as many as `most` may take beyond their own size.
fn meant_for(most: usize) -> usize {
    most.saturating_mul(MEMORY_EACH)
}
