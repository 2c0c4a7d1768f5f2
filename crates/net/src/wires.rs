//! The packets on all wires, in the order in which they arrive.
//!
//! A packet on a wire never changes its mind: what is known when it is put there is when it
//! arrives. That makes it cheaper to keep in order than what acts on its own (see `calendar`).
//! And most packets are put on a wire in the order in which they arrive there, over all links of
//! like delay: they wait in one of a few lanes, behind each other. Packets that would overtake
//! others in every lane are in a calendar queue (see `buckets`).
//!
//! With many flows the next packets are put in order ahead of the clock, so that the memory of
//! what they will touch can be fetched before it is needed: nearly nothing of it is in the cache.

mod buckets;

use std::collections::VecDeque;

use cclab_packet::Packet;
use cclab_qdisc::Descriptor;
use cclab_units::Time;
use cclab_units::memory::{prefetch, with_room_on_large_pages};

use crate::calendar::{ELEMENT_BITS, Key, element_of, time_of};
use buckets::Buckets;

/// Greater than every entry.
const NEVER: u128 = u128::MAX;

/// No slot.
const NONE: u32 = u32::MAX;

/// Lanes. A dumbbell has two delays in two directions. With the buckets they are a power of two, so
/// that a masked index needs no check.
const LANES: usize = 7;
const _: () = assert!((LANES + 1).is_power_of_two());
/// What comes from the calendar queue.
const BUCKETS: usize = LANES;

/// So many packets are in order ahead of the clock where memory is fetched, if there are so many.
pub const AHEAD: usize = 16;
/// Entries of a lane between the one that is put in order and the one whose memory is fetched.
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
    /// The next free slot.
    next_free: u32,
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
    /// The next entries, in order, if memory is fetched ahead: everything before the last of
    /// them is here.
    near: VecDeque<u128>,
    /// Each in order.
    lanes: [VecDeque<u128>; LANES],
    buckets: Buckets,
    /// The first entry of each lane and of the buckets.
    first: [u128; LANES + 1],
    /// Lanes and buckets in the order of their first entries.
    order: [u8; LANES + 1],
    /// The lane that suited the last packet of each link.
    lane_of: Vec<u8>,
    /// How many entries are near, if there are so many; 0: the order is found when needed.
    ahead: usize,
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
            near: VecDeque::new(),
            lanes: Default::default(),
            buckets: Buckets::new(),
            first: [NEVER; LANES + 1],
            order: std::array::from_fn(|lane| lane as u8),
            lane_of: vec![0; links],
            ahead: if fetches { AHEAD } else { 0 },
        }
    }

    /// Whether memory is fetched ahead of packets.
    #[inline]
    pub fn looks_ahead(&self) -> bool {
        self.ahead > 0
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
        let slot = match self.free {
            NONE => self.grow(),
            free => free as usize,
        };
        self.free = self.passages[slot].next_free;
        Held(slot as u32)
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
        self.passages[held.0 as usize].next_free = self.free;
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
        let passage = &mut self.passages[packet.0 as usize];
        (passage.since, passage.link) = (since, link);
        let entry = key.entry(packet.0);
        self.next = self.next.min(entry);
        if self.near.back().is_some_and(|&last| entry < last) {
            let place = self.near.partition_point(|&other| other < entry);
            self.near.insert(place, entry);
        } else {
            self.put_in_lane(entry, link);
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
            next_free: NONE,
        });
        self.packets.push(Slot(Packet::default()));
        slot
    }

    #[inline(always)]
    fn put_in_lane(&mut self, entry: u128, link: u32) {
        let lane = usize::from(self.lane_of[link as usize]);
        match self.lanes[lane].back() {
            Some(&last) if last < entry => self.lanes[lane].push_back(entry),
            _ => self.find_lane(entry, link),
        }
    }

    /// Puts an entry in the lane whose last entry is the nearest before it, if there is one.
    fn find_lane(&mut self, entry: u128, link: u32) {
        let last = |lane: usize| self.lanes[lane].back().copied().unwrap_or(0);
        let fitting = (0..LANES).filter(|&lane| last(lane) < entry);
        let Some(lane) = fitting.max_by_key(|&lane| (last(lane), LANES - lane)) else {
            self.buckets.put(entry);
            return self.begin(BUCKETS, self.buckets.first());
        };
        self.lane_of[link as usize] = lane as u8;
        self.lanes[lane].push_back(entry);
        if self.lanes[lane].len() == 1 {
            self.begin(lane, entry);
        }
    }

    /// The first entry of a lane, or of the buckets, is a new one, and not later than before.
    fn begin(&mut self, lane: usize, entry: u128) {
        self.first[lane] = entry;
        self.order
            .sort_unstable_by_key(|&lane| self.first[usize::from(lane)]);
    }

    /// Takes the next packet off its wire.
    #[inline(always)]
    pub fn take(&mut self) -> Option<Taken> {
        let entry = self.next;
        if entry == NEVER {
            return None;
        }
        let slot = slot_of(entry);
        let passage = &self.passages[slot];
        let taken = Taken {
            packet: Held(slot as u32),
            link: passage.link,
            since: passage.since,
        };
        if self.ahead == 0 {
            self.leave_first();
            self.next = self.first_of_all();
        } else {
            self.take_near();
        }
        Some(taken)
    }

    #[inline]
    fn first_of_all(&self) -> u128 {
        self.first[usize::from(self.order[0]) & LANES]
    }

    /// Takes the next entry from those that are near, and sees to it that there are enough.
    fn take_near(&mut self) {
        if self.near.pop_front().is_none() {
            self.leave_first(); // none is near at first
        }
        while self.near.len() < self.ahead && self.first_of_all() != NEVER {
            self.near.push_back(self.first_of_all());
            self.leave_first();
        }
        self.next = self.near.front().copied().unwrap_or(NEVER);
    }

    /// Takes the first of all entries that are not near away.
    #[inline(always)]
    fn leave_first(&mut self) {
        let lane = usize::from(self.order[0]) & LANES;
        let first = match lane {
            BUCKETS => {
                self.buckets.take();
                self.buckets.first()
            }
            _ => self.leave_lane(lane),
        };
        self.first[lane] = first;
        // It moves back to its place among the others.
        let mut place = 0;
        while let Some(&next) = self.order.get(place + 1)
            && self.first[usize::from(next) & LANES] < first
        {
            self.order[place] = next;
            place += 1;
        }
        self.order[place] = lane as u8;
    }

    /// Takes the first entry of a lane away; returns the one behind it.
    #[inline(always)]
    fn leave_lane(&mut self, lane: usize) -> u128 {
        let entries = &mut self.lanes[lane];
        entries.pop_front();
        if self.ahead > 0
            && let Some(&later) = entries.get(FETCHED)
        {
            if let Some(beyond) = entries.get(3 * FETCHED) {
                prefetch(beyond); // so that looking at `later` does not wait
            }
            prefetch(&self.packets[slot_of(later)]);
            prefetch(&self.passages[slot_of(later)]);
        }
        entries.front().copied().unwrap_or(NEVER)
    }

    /// The packet that is taken after `others` others, as far as is known, and its link.
    #[inline]
    pub fn ahead(&self, others: usize) -> Option<(u32, &Packet)> {
        let slot = slot_of(*self.near.get(others)?);
        Some((self.passages[slot].link, &self.packets[slot].0))
    }

    /// What is on its way, the next to arrive first.
    pub fn remaining(&self) -> Vec<Arrival> {
        let mut entries: Vec<u128> = self.near.iter().copied().collect();
        entries.extend(self.lanes.iter().flatten());
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use cclab_units::Stream;

    use super::*;

    /// Delays of a LAN, of the Internet, of another planet, and none.
    const DELAYS_NS: [u64; 5] = [0, 700, 300_000, 40_000_000, 90_000_000_000];

    /// Takes the next packet, which is no more then.
    fn take(wires: &mut Wires) -> Option<Arrival> {
        let arrives = wires.next().time();
        let Taken {
            packet: held,
            link,
            since,
        } = wires.take()?;
        let packet = *wires.packet(&held);
        wires.release(held);
        Some(Arrival {
            link,
            since,
            arrives,
            packet,
        })
    }

    /// Puts and takes at random, with between `least` and `most` packets on their way.
    fn agrees_with_a_sorted_map(fetches: bool, [least, most]: [usize; 2], steps: u64) {
        let mut wires = Wires::new(7, fetches);
        let mut sorted: BTreeMap<Key, Arrival> = BTreeMap::new();
        let mut dice = Stream::new(5, "wires");
        let mut now = Time::ZERO;
        for sequence in 1..=steps {
            let grows = sorted.len() < least || (sorted.len() < most && dice.chance(0.5));
            if grows {
                let scale = DELAYS_NS[(dice.bits() % DELAYS_NS.len() as u64) as usize];
                let arrives = now + Time::from_nanos(dice.bits() % (scale + 1));
                let packet = Packet {
                    seq: sequence as u32,
                    ..Packet::default()
                };
                let (link, since) = ((dice.bits() % 7) as u32, now);
                let held = wires.hold(&packet);
                wires.put(Key::new(arrives, sequence), link, since, held);
                let arrival = Arrival {
                    link,
                    since,
                    arrives,
                    packet,
                };
                sorted.insert(Key::new(arrives, sequence), arrival);
            } else if let Some((key, expected)) = sorted.pop_first() {
                assert_eq!(wires.next(), key);
                assert_eq!(take(&mut wires), Some(expected));
                now = expected.arrives;
            }
        }
        let left: Vec<Arrival> = sorted.values().copied().collect();
        assert_eq!(wires.remaining(), left);
        for expected in left {
            assert_eq!(take(&mut wires), Some(expected));
        }
        assert_eq!((wires.take(), wires.next()), (None, Key::NEVER));
    }

    #[test]
    fn few_packets_arrive_in_order() {
        agrees_with_a_sorted_map(false, [0, 12], 50_000);
        agrees_with_a_sorted_map(true, [0, 12], 50_000);
    }

    #[test]
    fn many_packets_arrive_in_order_while_buckets_change() {
        agrees_with_a_sorted_map(false, [3_000, 5_000], 200_000);
        agrees_with_a_sorted_map(true, [3_000, 5_000], 200_000);
    }

    #[test]
    fn a_slot_that_became_free_is_the_next_in_use() {
        let mut wires = Wires::new(7, false);
        for sequence in 1..=1_000 {
            let at = Key::new(Time::from_micros(sequence), sequence);
            let held = wires.hold(&Packet::default());
            wires.put(at, 0, Time::ZERO, held);
            take(&mut wires);
        }
        assert_eq!(wires.packets.len(), 1);
    }
}
