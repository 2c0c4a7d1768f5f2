//! The packets that left and are not acknowledged (`tcp_rtx_queue`): cut where part of one leaves
//! again or was selected, joined to the selected one before them where they were selected, too
//! (`tcp_shift_skb_data`). How many there are is memory, and what leaves again as one is one of them.

use std::collections::VecDeque;

use cclab_units::Near;
use cclab_units::memory::push_back;

use super::Packet;
use super::pieces::{MOST, Runs};

/// See the module's documentation.
#[derive(Debug)]
pub(super) struct Sent {
    mss: u64,
    packets: VecDeque<Left>,
    acked: u64,
    /// Where something was selected last.
    selected: Near,
    /// Where something was selected before that place, as holes are filled.
    filled: Near,
    /// Where something left again.
    again: Near,
}

/// A packet that left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Left {
    packet: Packet,
    /// All of it was selectively acknowledged, and none of it is in the network once more.
    selected: bool,
}

impl Sent {
    pub fn new(mss: u64) -> Sent {
        Sent {
            mss,
            packets: VecDeque::new(),
            acked: 0,
            selected: Near::default(),
            filled: Near::default(),
            again: Near::default(),
        }
    }

    /// How many packets there are.
    pub fn len(&self) -> usize {
        self.packets.len()
    }

    /// A packet left, or one more segment of the last, which ends it with `packet`.
    pub fn push(&mut self, packet: Packet, is_first: bool) {
        let left = Left {
            packet,
            selected: false,
        };
        match self.packets.back_mut().filter(|_| !is_first) {
            Some(last) => *last = left,
            None => push_back(&mut self.packets, left),
        }
    }

    /// Everything up to `una` is acknowledged.
    pub fn acknowledge(&mut self, una: u64) {
        self.acked = una;
        while self.packets.front().is_some_and(|p| p.packet.end <= una) {
            self.packets.pop_front();
            for near in [&mut self.selected, &mut self.filled, &mut self.again] {
                near.on_popped();
            }
        }
    }

    /// Where the packet ends that left with the byte at `offset`.
    pub fn end_of(&mut self, offset: u64) -> Option<u64> {
        let place = self
            .again
            .partition_point(&self.packets, |p| p.packet.end <= offset);
        self.packets.get(place).map(|p| p.packet.end)
    }

    /// Whether what left up to `end` carries a push, however it leaves.
    pub fn pushes(&self, end: u64) -> bool {
        let place = self.again.peek(&self.packets, |p| p.packet.end < end);
        let ends_here = self.packets.get(place).filter(|p| p.packet.end == end);
        ends_here.is_some_and(|p| p.packet.push)
    }

    /// What left is cut in two at `offset` (`tcp_fragment`).
    pub fn split(&mut self, offset: u64) {
        let place = self
            .again
            .partition_point(&self.packets, |p| p.packet.end < offset);
        self.split_at(place, offset);
    }

    /// Cuts the packet at `place` in two at `offset`, if that lies in it.
    fn split_at(&mut self, place: usize, offset: u64) {
        if let Some(&left) = self.packets.get(place)
            && self.start(place) < offset
            && offset < left.packet.end
        {
            let packet = Packet {
                end: offset,
                push: false,
            };
            self.packets.insert(place, Left { packet, ..left });
        }
    }

    /// Where the packet at `place` begins.
    fn start(&self, place: usize) -> u64 {
        match place.checked_sub(1) {
            Some(before) => self.packets[before].packet.end.max(self.acked),
            None => self.acked,
        }
    }

    /// `[start, end)`, whole segments, was selectively acknowledged. `again` tells that it left again
    /// although it was not taken for lost: then it stays apart.
    pub fn select(&mut self, start: u64, end: u64, again: bool, runs: &Runs) {
        let last = self.selected.place().min(self.packets.len());
        let near = match start < self.start(last) {
            true => &mut self.filled,
            false => &mut self.selected,
        };
        let mut place = near.partition_point(&self.packets, |p| p.packet.end <= start);
        while place < self.packets.len() && self.start(place) < end {
            if self.start(place) < start {
                self.split_at(place, start);
                place += 1;
                continue;
            }
            let until = end.min(self.packets[place].packet.end);
            if !again && self.joins(place, until, runs) {
                self.join(place, until);
                // A hole is filled: what lies behind it is joined, too.
                if until == end
                    && self.packets.get(place).is_some_and(|p| p.selected)
                    && self.joins(place, self.packets[place].packet.end, runs)
                {
                    self.join(place, self.packets[place].packet.end);
                }
            } else {
                self.split_at(place, until);
                self.packets[place].selected = !again;
                place += 1;
            }
        }
    }

    /// Nothing counts as selected any more.
    pub fn forget_selected(&mut self) {
        for left in &mut self.packets {
            left.selected = false;
        }
    }

    /// Whether the packet at `place` up to `until` can be joined to the one before it.
    fn joins(&self, place: usize, until: u64, runs: &Runs) -> bool {
        let Some(before) = place.checked_sub(1).filter(|&p| self.packets[p].selected) else {
            return false;
        };
        let segment = |start: u64, end: u64| (end - start).min(self.mss);
        let (start, middle) = (self.start(before), self.start(place));
        segment(start, middle) == segment(middle, until) && runs.pieces(start, until) <= MOST
    }

    /// Joins the packet at `place` up to `until` to the one before it.
    fn join(&mut self, place: usize, until: u64) {
        let Packet { end, push } = self.packets[place].packet;
        let before = &mut self.packets[place - 1].packet;
        before.end = until;
        if until == end {
            before.push |= push;
            self.packets.remove(place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1_448;

    /// Six packets of two segments, of one run.
    fn six() -> (Sent, Runs) {
        let (mut sent, mut runs) = (Sent::new(MSS), Runs::default());
        runs.begin(0);
        for n in 1..=6 {
            let packet = Packet {
                end: 2 * n * MSS,
                push: n == 3,
            };
            sent.push(packet, true);
        }
        (sent, runs)
    }

    fn ends(sent: &Sent) -> Vec<(u64, bool)> {
        let told = |left: &Left| (left.packet.end / MSS, left.selected);
        sent.packets.iter().map(told).collect()
    }

    #[test]
    fn what_is_selected_segment_by_segment_becomes_one_packet() {
        let (mut sent, runs) = six();
        for n in 3..7 {
            sent.select(n * MSS, (n + 1) * MSS, false, &runs);
        }
        let cut = [
            (2, false),
            (3, false),
            (7, true),
            (8, false),
            (10, false),
            (12, false),
        ];
        assert_eq!(ends(&sent), cut);
        assert!(!sent.pushes(6 * MSS)); // the end of the third packet is the end of none
        // The hole is filled: the packet before it joins both sides.
        sent.select(MSS, 2 * MSS, false, &runs);
        sent.select(2 * MSS, 3 * MSS, false, &runs);
        assert_eq!(ends(&sent)[..3], [(1, false), (7, true), (8, false)]);
        // What left again and was not lost stays apart.
        sent.select(7 * MSS, 8 * MSS, true, &runs);
        assert_eq!(ends(&sent)[1..3], [(7, true), (8, false)]);
        sent.acknowledge(8 * MSS);
        assert_eq!(ends(&sent), [(10, false), (12, false)]);
    }

    /// Where something was last is where the next is looked for first, and no more than that.
    #[test]
    fn what_becomes_of_packets_does_not_depend_on_where_they_are_looked_for_first() {
        let mut chance = cclab_units::Stream::new(1, "sent");
        let mut draw = |below: u64| chance.bits() % below;
        let mut pushed = 0;
        for round in 0..200 {
            let (mut sent, mut runs) = (Sent::new(MSS), Runs::default());
            let mut other = Sent::new(MSS);
            let (mut end, mut una) = (0, 0);
            for _ in 0..120 {
                other.selected = other.filled;
                (other.filled, other.again) = (other.again, Near::default());
                let within = una + draw((end - una).max(1));
                // Half of the time where a packet ends.
                let place = draw(2 * other.packets.len().max(1) as u64) as usize;
                let start = other.packets.get(place).map_or(within, |p| p.packet.end);
                match draw(5) {
                    0 => {
                        una = start;
                        sent.acknowledge(una);
                        other.acknowledge(una);
                    }
                    1 => {
                        let until = (start + (1 + draw(4)) * MSS).min(end);
                        sent.select(start, until, round % 7 == 0, &runs);
                        other.select(start, until, round % 7 == 0, &runs);
                    }
                    2 => {
                        let all = || sent.packets.iter();
                        let holding = all().find(|p| start < p.packet.end);
                        let ends = holding.map(|p| p.packet.end);
                        let pushes = all().any(|p| p.packet.end == start && p.packet.push);
                        assert_eq!(sent.pushes(start), pushes);
                        assert_eq!(other.pushes(start), pushes);
                        assert_eq!(sent.end_of(start), ends);
                        assert_eq!(other.end_of(start), ends);
                        pushed += u64::from(pushes);
                        sent.split(start);
                        other.split(start);
                        assert!(start <= una || sent.packets.iter().any(|p| p.packet.end == start));
                    }
                    _ => {
                        if draw(10) == 0 {
                            runs.begin(end);
                        }
                        end += (1 + draw(3)) * MSS;
                        let push = draw(4) == 0;
                        sent.push(Packet { end, push }, true);
                        other.push(Packet { end, push }, true);
                    }
                }
                assert_eq!(sent.packets, other.packets);
            }
        }
        assert!(pushed > 100, "{pushed} ends with a push were asked for");
    }

    #[test]
    fn a_packet_that_is_full_of_pieces_is_joined_to_nothing() {
        let (mut sent, mut runs) = (Sent::new(MSS), Runs::default());
        // Each segment is a write of its own, and so a piece.
        for n in 0..20 {
            runs.begin(n * MSS);
            let packet = Packet {
                end: (n + 1) * MSS,
                push: false,
            };
            sent.push(packet, true);
        }
        sent.select(MSS, 20 * MSS, false, &runs);
        assert_eq!(ends(&sent), [(1, false), (18, true), (20, true)]);
    }
}
