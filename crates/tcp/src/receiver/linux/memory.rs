//! What kept segments take of the receiver's memory (Linux).
//!
//! A segment is kept in the packet that it came in, which takes more memory than its payload
//! (`skb->truesize`). One that continues the packet before it is joined to that
//! (`tcp_try_coalesce`), which saves a descriptor, as often as a packet has room for pieces.

use std::collections::VecDeque;

use cclab_units::Near;
use cclab_units::hint::rarely;
use cclab_units::memory::push_back;

use crate::profile::PacketMemory;

/// Pieces that a packet holds beside its first (`MAX_SKB_FRAGS`).
const MOST_PIECES: u32 = 17;

/// A packet that is kept, with those that were joined to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Kept {
    start: u64,
    end: u64,
    pieces: u32,
    charge: u64,
}

/// What became of a segment ahead of a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Placed {
    /// It is all there already, in one packet: it is thrown away.
    Known,
    /// It was joined to the packet before it, and charged.
    Joined,
    /// It is a packet of its own, and yet to be charged.
    Apart {
        /// What for.
        charge: u64,
    },
}

/// The packets of a receiver.
#[derive(Clone, Debug, Default)]
pub(super) struct Memory {
    /// In order, not yet read (`sk_receive_queue`).
    ready: VecDeque<Kept>,
    /// Ahead of a gap (`out_of_order_queue`), ascending.
    ahead: VecDeque<Kept>,
    /// Where a place before the end of these was sought last.
    near: Near,
    /// Bytes charged (`sk_rmem_alloc`).
    charged: u64,
}

impl Memory {
    /// Bytes charged.
    #[inline]
    pub(super) fn charged(&self) -> u64 {
        self.charged
    }

    /// Keeps `[start, end)` for the application, in memory by `rules` (`tcp_queue_rcv`).
    #[inline]
    pub(super) fn keep_in_order(&mut self, rules: &PacketMemory, start: u64, end: u64) {
        let packet = Kept::new(rules, start, end);
        self.charged += packet.charge;
        self.put_ready(rules, packet);
    }

    /// Keeps `[start, end)`, which lies ahead of a gap (`tcp_data_queue_ofo`).
    pub(super) fn keep_ahead(&mut self, rules: &PacketMemory, start: u64, end: u64) -> Placed {
        let packet = Kept::new(rules, start, end);
        let ahead = &mut self.ahead;
        let mut at = match ahead.back() {
            Some(last) if last.start <= start => ahead.len(),
            _ => self.near.partition_point(ahead, |kept| kept.start <= start),
        };
        if at > 0 {
            let before = &mut ahead[at - 1];
            if before.end == start && before.joins(&packet) {
                let charge = packet.charge - rules.descriptor;
                before.join(&packet, charge);
                self.charged += charge;
                return Placed::Joined;
            }
            if end <= before.end {
                return Placed::Known;
            }
            if before.start == start {
                at -= 1; // it covers that one
            }
        }
        while let Some(covered) = ahead.get(at).filter(|kept| kept.end <= end) {
            self.charged -= covered.charge;
            ahead.remove(at);
        }
        ahead.insert(at, packet);
        Placed::Apart {
            charge: packet.charge,
        }
    }

    /// Charges a packet that was kept ahead of a gap (`skb_set_owner_r`).
    pub(super) fn charge(&mut self, charge: u64) {
        self.charged += charge;
    }

    /// What lies below `reached` is in order (`tcp_ofo_queue`).
    pub(super) fn release(&mut self, rules: &PacketMemory, reached: u64) {
        while let Some(&packet) = self.ahead.front().filter(|kept| kept.start < reached) {
            self.ahead.pop_front();
            self.near.on_popped();
            self.put_ready(rules, packet);
        }
    }

    /// The application has read all up to `consumed`.
    #[inline]
    pub(super) fn read(&mut self, consumed: u64) {
        while let Some(read) = self.ready.front().filter(|kept| kept.end <= consumed) {
            self.charged -= read.charge;
            self.ready.pop_front();
        }
    }

    #[inline(always)] // once for each packet: a call costs more than what it does
    fn put_ready(&mut self, rules: &PacketMemory, packet: Kept) {
        match self.ready.back_mut() {
            Some(last) if last.end == packet.start && last.joins(&packet) => {
                rarely();
                self.charged -= rules.descriptor;
                last.join(&packet, packet.charge - rules.descriptor);
            }
            _ => push_back(&mut self.ready, packet),
        }
    }
}

impl Kept {
    /// The packet of `[start, end)`, which takes memory by `rules`.
    fn new(rules: &PacketMemory, start: u64, end: u64) -> Kept {
        Kept {
            start,
            end,
            pieces: 0,
            charge: rules.of(end - start),
        }
    }

    /// Whether there is room for the pieces of `next` (`skb_try_coalesce`).
    fn joins(&self, next: &Kept) -> bool {
        self.pieces + next.pieces < MOST_PIECES
    }

    fn join(&mut self, next: &Kept, charge: u64) {
        self.end = next.end;
        self.pieces += next.pieces + 1;
        self.charge += charge;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::find;

    const MSS: u64 = 1_448;

    fn rules() -> PacketMemory {
        let profile = find("linux-6.12").expect("a profile of the registry");
        profile.default_rwnd.buffer().expect("it grows").packet
    }

    /// Segment `n` comes ahead of a gap; returns what is charged then.
    fn ahead(memory: &mut Memory, n: u64) -> u64 {
        if let Placed::Apart { charge } = memory.keep_ahead(&rules(), n * MSS, (n + 1) * MSS) {
            memory.charge(charge);
        }
        memory.charged()
    }

    /// `sizeof(struct sk_buff)` is 256 bytes in whole cache lines, a frame of 1514 bytes with its
    /// headroom and `struct skb_shared_info` 1920: 2176 for the first of a run, 1920 for the 17
    /// that are joined to it.
    #[test]
    fn a_run_is_joined_to_packets_of_eighteen() {
        let mut memory = Memory::default();
        assert_eq!(ahead(&mut memory, 1), 2_176);
        for n in 2..=18 {
            assert_eq!(ahead(&mut memory, n), 2_176 + (n - 1) * 1_920);
        }
        assert_eq!(ahead(&mut memory, 19), 2 * 2_176 + 17 * 1_920);
        // What comes before a run is not joined to it, and what is known is not kept.
        assert_eq!(ahead(&mut memory, 30), 3 * 2_176 + 17 * 1_920);
        assert_eq!(ahead(&mut memory, 29), 4 * 2_176 + 17 * 1_920);
        assert_eq!(ahead(&mut memory, 30), 4 * 2_176 + 17 * 1_920);
        // The gap is filled; the application reads, and what is ahead of the next gap stays.
        memory.keep_in_order(&rules(), 0, MSS);
        memory.release(&rules(), 20 * MSS);
        memory.read(20 * MSS);
        assert_eq!(memory.charged(), 2 * 2_176);
    }
}
