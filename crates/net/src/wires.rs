//! The packets on all wires, in the order in which they arrive.
//!
//! A packet on a wire never changes its mind: what is known when it is put there is when it
//! arrives. That makes it cheaper to keep in order than what acts on its own (see `calendar`).
//! And most packets are put on a wire in the order in which they arrive there, over all links of
//! like delay: they wait in one of a few lanes, behind each other. Packets that would overtake
//! others in every lane are in a calendar queue (see `buckets`).
//!
//! A packet is fetched when it becomes the first of its lane. With many flows the memory that packets will
//! touch is fetched further ahead: nearly nothing of it is in the cache. Who comes soon is seen in the lane
//! that a packet leaves: those behind it.

mod buckets;
#[cfg(test)]
mod tests;

use cclab_packet::Packet;
use cclab_qdisc::Descriptor;
use cclab_units::hint::unlikely;
use cclab_units::memory::{prefetch, with_room_on_large_pages};
use cclab_units::{Ring, Time};

use crate::calendar::{ELEMENT_BITS, Key, element_of, time_of};
use buckets::Buckets;

/// Greater than every entry.
const NEVER: u128 = u128::MAX;

/// No slot.
const NONE: u32 = u32::MAX;

/// Lanes. With the buckets they are a power of two, so that a masked index needs no check. A hundred flows that
/// send in bursts, each over a link of its own, have a dozen in use at times.
const LANES: usize = 15;
const _: () = assert!((LANES + 1).is_power_of_two());
/// What comes from the calendar queue.
const BUCKETS: usize = LANES;
/// So many of the lanes are looked through for the first entry of all; of the others, which are in groups of as
/// many, the first is kept. A dumbbell has two delays in two directions.
const FEW: usize = 4;
const GROUPS: usize = (LANES + 1) / FEW;

/// Entries of a lane between the one that leaves and the one whose packet is fetched.
const FETCHED: usize = 16;

/// A packet that is on no wire: it goes on one by [`Wires::put`], into a queue by [`Held::wait`], or
/// ends in [`Wires::release`].
///
/// It stays where it is from its sender to its receiver. That saves copies, and above all it saves
/// what a copy waits for: until the small writes that made a packet are in the cache, and all
/// before them.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a packet is put on a wire or waits in a queue, or its slot is released"]
pub struct Held(u32);

impl Held {
    /// Where it is.
    #[inline]
    pub fn slot(&self) -> u32 {
        self.0
    }

    /// A queue has the packet from now on: [`Wires::resume`] gets it back.
    #[inline]
    pub fn wait(self) {}
}

/// What came to the far end of a wire.
#[derive(Debug, PartialEq, Eq)]
pub struct Taken {
    /// The packet.
    pub packet: Held,
    /// The link.
    pub link: u32,
    /// When its transmission began, which for a packet taken ahead of its time is when it came.
    pub since: Time,
}

/// A packet that is to come to the far end of a wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// See [`Taken`].
    pub link: u32,
    /// See [`Taken`].
    pub since: Time,
    /// When it is there.
    pub arrives: Time,
    /// The packet.
    pub packet: Packet,
}

/// What is known of a packet on a wire beside itself and its arrival; or a free slot.
#[derive(Clone, Copy)]
struct Passage {
    since: Time,
    link: u32,
    /// The lane that it is in, or [`BUCKETS`]; the next free slot.
    place: u32,
}

/// A packet in a line of the cache of its own.
#[repr(align(64))]
struct Slot(Packet);

/// All packets on wires. An entry is when a packet arrives, its place among what happens at that
/// instant, and its slot.
pub struct Wires {
    passages: Vec<Passage>,
    packets: Vec<Slot>,
    /// The slot that became free last: it is still in the cache.
    free: u32,
    /// The first of all entries; [`NEVER`] if there is none.
    next: u128,
    /// Each in order; nothing is in the last, in whose stead there are the buckets.
    lanes: [Ring<u128>; LANES + 1],
    buckets: Buckets,
    /// The first entry of each lane and of the buckets.
    first: [u128; LANES + 1],
    /// What was put last in each lane, and may be gone; [`NEVER`] where nothing is put without looking at
    /// the others first: in the buckets, and in a lane that was left.
    last: [u128; LANES + 1],
    /// The first entry of each group beyond the first few lanes, which have none here.
    groups: [u128; GROUPS],
    /// The first of these.
    beyond: u128,
    /// The lane that suited the last packet of each link.
    lane_of: Vec<u8>,
    /// Whether more memory is fetched, and further ahead of packets.
    fetches: bool,
    /// The lane of the packet that was taken last, or [`BUCKETS`].
    left: usize,
}

/// Makes room for as many values again.
fn enlarge<T>(values: &mut Vec<T>) {
    let mut larger = with_room_on_large_pages((2 * values.len()).max(64));
    larger.append(values);
    *values = larger;
}

#[inline]
fn slot_of(entry: u128) -> usize {
    element_of(entry) as usize
}

impl Wires {
    /// Empty wires of `links` links; `fetches` where packets touch more than the cache holds.
    pub fn new(links: usize, fetches: bool) -> Wires {
        Wires {
            passages: Vec::new(),
            packets: Vec::new(),
            free: NONE,
            next: NEVER,
            lanes: Default::default(),
            buckets: Buckets::new(),
            first: [NEVER; LANES + 1],
            last: std::array::from_fn(|lane| if lane == BUCKETS { NEVER } else { 0 }),
            groups: [NEVER; GROUPS],
            beyond: NEVER,
            lane_of: vec![0; links],
            fetches,
            left: 0,
        }
    }

    /// Whether more memory is fetched, and further ahead of packets, than that of the first of each lane.
    #[inline]
    pub fn looks_ahead(&self) -> bool {
        self.fetches
    }

    /// The entry of the packet that arrives next, which is greater than every other's when none is on
    /// its way.
    #[inline]
    pub(crate) fn next_entry(&self) -> u128 {
        self.next
    }

    /// When the next packet arrives; [`Key::NEVER`] when none is on its way.
    #[inline]
    pub fn next(&self) -> Key {
        Key::of_entry(self.next)
    }

    /// A slot for a packet, in which is any other's.
    ///
    /// # Panics
    /// If there are more than 2^24 packets on their way or waiting in queues that are asked.
    #[inline]
    pub fn reserve(&mut self) -> Held {
        let slot = match unlikely(self.free == NONE) {
            true => self.grow(),
            false => self.free as usize,
        };
        self.free = self.passages[slot].place;
        Held(slot as u32)
    }

    /// The packet in the slot that [`Wires::reserve`] gives next, to be written before that.
    #[inline]
    pub fn vacant(&mut self) -> &mut Packet {
        if unlikely(self.free == NONE) {
            self.free = self.grow() as u32;
        }
        &mut self.packets[self.free as usize].0
    }

    /// A slot with `packet`.
    pub fn hold(&mut self, packet: &Packet) -> Held {
        let held = self.reserve();
        *self.packet_mut(&held) = *packet;
        held
    }

    /// The packet.
    #[inline]
    pub fn packet(&self, held: &Held) -> &Packet {
        &self.packets[held.0 as usize].0
    }

    /// The packet, to be changed.
    #[inline]
    pub fn packet_mut(&mut self, held: &Held) -> &mut Packet {
        &mut self.packets[held.0 as usize].0
    }

    /// The packet is no more.
    #[inline]
    pub fn release(&mut self, held: Held) {
        self.passages[held.0 as usize].place = self.free;
        self.free = held.0;
    }

    /// A copy of a packet that is in a queue, as it is there: perhaps marked.
    pub fn waiting(&self, descriptor: &Descriptor) -> Packet {
        Packet {
            ecn: descriptor.ecn,
            ..self.packets[descriptor.slot as usize].0
        }
    }

    /// The packet that a queue gives back, perhaps marked: it has it since [`Held::wait`].
    #[inline]
    pub fn resume(&mut self, descriptor: &Descriptor) -> Held {
        let held = Held(descriptor.slot);
        self.packet_mut(&held).ecn = descriptor.ecn;
        held
    }

    /// Puts a packet on the wire of `link`; it arrives at `key`.
    #[inline(always)]
    pub fn put(&mut self, key: Key, link: u32, since: Time, packet: Held) {
        let lane = usize::from(self.lane_of[link as usize]) & LANES;
        let passage = &mut self.passages[packet.0 as usize];
        *passage = Passage {
            since,
            link,
            place: lane as u32,
        };
        let entry = key.entry(packet.0);
        if self.last[lane] < entry {
            self.put_in_lane(entry, lane);
        } else {
            self.find_lane(entry, link);
        }
    }

    #[cold]
    fn grow(&mut self) -> usize {
        let slot = self.passages.len();
        assert!(slot < 1 << ELEMENT_BITS, "{slot} packets on their way");
        if slot == self.packets.capacity() {
            enlarge(&mut self.passages);
            enlarge(&mut self.packets);
        }
        self.passages.push(Passage {
            since: Time::ZERO,
            link: 0,
            place: NONE,
        });
        self.packets.push(Slot(Packet::default()));
        slot
    }

    /// Puts an entry last in a lane.
    #[inline(always)]
    fn put_in_lane(&mut self, entry: u128, lane: usize) {
        self.last[lane] = entry;
        self.lanes[lane].push_back(entry);
        if unlikely(time_of(self.first[lane]) == Time::NEVER) {
            self.first[lane] = entry; // nothing was there
            self.next = self.next.min(entry);
            if lane >= FEW {
                self.note_beyond(entry, lane);
            }
        }
    }

    /// Puts an entry in the lane whose last entry is the nearest before it, if there is one.
    #[inline(never)]
    fn find_lane(&mut self, entry: u128, link: u32) {
        let last = |lane: usize| match self.lanes[lane].is_empty() {
            true => 0,
            false => self.last[lane],
        };
        let fitting = (0..LANES).filter(|&lane| last(lane) < entry);
        let lane = fitting.max_by_key(|&lane| (last(lane), LANES - lane));
        self.passages[slot_of(entry)].place = lane.unwrap_or(BUCKETS) as u32;
        if let Some(lane) = lane {
            self.lane_of[link as usize] = lane as u8;
            self.put_in_lane(entry, lane);
        } else {
            self.buckets.put(entry);
            self.first[BUCKETS] = self.buckets.first();
            self.next = self.next.min(entry);
            self.note_beyond(entry, BUCKETS);
        }
    }

    /// Takes the next packet off its wire.
    #[inline(always)]
    pub fn take(&mut self) -> Option<Taken> {
        let entry = self.next;
        if time_of(entry) == Time::NEVER {
            return None;
        }
        let slot = slot_of(entry);
        let passage = self.passages[slot];
        self.leave(passage.place);
        self.next = self.first_of_all();
        Some(Taken {
            packet: Held(slot as u32),
            link: passage.link,
            since: passage.since,
        })
    }

    /// The first of all entries.
    #[inline(always)]
    fn first_of_all(&self) -> u128 {
        let [a, b, c, d, ..] = self.first;
        a.min(b).min(c.min(d)).min(self.beyond)
    }

    /// Takes the first entry of a lane away, or of the buckets.
    #[inline(always)]
    fn leave(&mut self, place: u32) {
        let lane = place as usize & LANES;
        self.left = lane;
        self.first[lane] = match unlikely(lane == BUCKETS) {
            true => self.leave_buckets(),
            false => self.leave_lane(lane),
        };
        if unlikely(lane >= FEW) {
            self.renew_beyond(lane);
        }
    }

    /// An entry came to a lane beyond the first few, or to the buckets.
    #[inline]
    fn note_beyond(&mut self, entry: u128, lane: usize) {
        let group = &mut self.groups[lane / FEW];
        *group = entry.min(*group);
        self.beyond = self.beyond.min(entry);
    }

    /// What was first in a lane beyond the first few was taken, or in the buckets.
    #[inline(never)]
    fn renew_beyond(&mut self, lane: usize) {
        let (lanes, _) = self.first.as_chunks::<FEW>();
        let [a, b, c, d] = lanes[lane / FEW];
        let first = a.min(b).min(c.min(d));
        // Of each but this one: what was just written is not read back.
        let [_, groups @ ..] = self.groups;
        let others = (1..).zip(groups).filter(|&(group, _)| group != lane / FEW);
        self.beyond = others.fold(first, |least, (_, entry)| least.min(entry));
        self.groups[lane / FEW] = first;
    }

    #[inline(never)]
    fn leave_buckets(&mut self) -> u128 {
        self.buckets.take();
        self.buckets.first()
    }

    /// Takes the first entry of a lane away; returns the one behind it.
    #[inline(always)]
    fn leave_lane(&mut self, lane: usize) -> u128 {
        if unlikely(self.fetches) {
            self.fetch_behind(lane);
        }
        let next = self.lanes[lane].advance().copied();
        if let Some(entry) = next {
            let slot = slot_of(entry);
            prefetch(&self.passages[slot]);
            prefetch(&self.packets[slot]);
        } else if time_of(self.beyond) != Time::NEVER {
            self.on_emptied(lane);
        }
        next.unwrap_or(NEVER)
    }

    /// Has the memory fetched of a packet that is behind the first of a lane.
    #[inline(never)]
    fn fetch_behind(&self, lane: usize) {
        let entries = &self.lanes[lane];
        if let Some(&later) = entries.get(FETCHED + 1) {
            if let Some(beyond) = entries.get(3 * FETCHED + 1) {
                prefetch(beyond); // so that looking at `later` does not wait
            }
            prefetch(&self.packets[slot_of(later)]);
            prefetch(&self.passages[slot_of(later)]);
        }
    }

    /// A lane has nothing left: others may be left for it. A burst can need more lanes than what comes after
    /// it, which would stay beyond the first few for ever; what is kept of those is made anew for each packet
    /// that is taken there.
    #[inline(never)]
    fn on_emptied(&mut self, emptied: usize) {
        if emptied >= FEW {
            // No entry is less: what is put there next is noticed in `find_lane`.
            self.last[emptied] = NEVER;
        } else if self.first[BUCKETS] == NEVER {
            // What is put there next finds another lane, in which is nothing or what comes before.
            self.last[FEW..BUCKETS].fill(NEVER);
        }
    }

    /// The packet that has `others` others between it and the one taken last, of those that wait where that
    /// one did, and its link.
    #[inline]
    pub fn behind(&self, others: usize) -> Option<(u32, &Packet)> {
        let entry = match self.left {
            BUCKETS => self.buckets.behind(others),
            lane => self.lanes[lane].get(others),
        };
        let slot = slot_of(*entry?);
        Some((self.passages[slot].link, &self.packets[slot].0))
    }

    /// What is on its way, the next to arrive first.
    pub fn remaining(&self) -> Vec<Arrival> {
        let mut entries: Vec<u128> = self.lanes.iter().flat_map(Ring::iter).copied().collect();
        self.buckets.list(&mut entries);
        entries.sort_unstable();
        let arrival = |entry: u128| {
            let slot = slot_of(entry);
            Arrival {
                link: self.passages[slot].link,
                since: self.passages[slot].since,
                arrives: time_of(entry),
                packet: self.packets[slot].0,
            }
        };
        entries.into_iter().map(arrival).collect()
    }
}
