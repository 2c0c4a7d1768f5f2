//! Data as stacks other than Linux take it in: the next, repeated, ahead of a gap, filling one, with the FIN.

use cclab_packet::{Packet, flags};
use cclab_units::Time;

use super::{Pending, Receiver};

impl Receiver {
    /// Takes in a segment with payload, if the stack is not Linux.
    #[inline(never)]
    pub(super) fn take_as_others(&mut self, now: Time, packet: &Packet, start: u64) {
        let end = start + u64::from(packet.payload);
        let plain = start == self.rcv_nxt
            && end <= self.edge
            && self.fin_at.is_none()
            && self.ranges.is_empty()
            && !packet.has(flags::FIN);
        if plain {
            self.advance(now, end);
            self.acknowledge_in_order(now);
        } else {
            self.on_other_data(now, packet, start, end);
        }
    }

    /// Data off the plain path: repeated, ahead of a gap, filling one, past the window, or
    /// with the FIN.
    pub(super) fn on_other_data(&mut self, now: Time, packet: &Packet, start: u64, end: u64) {
        let limit = self.fin_at.map_or(self.edge, |fin| fin.min(self.edge));
        let kept = end.min(limit);
        if start < self.rcv_nxt && kept <= self.rcv_nxt {
            self.counters.duplicates += 1;
            self.repeated = Some((start, end.min(self.data_end())));
            if packet.has(flags::FIN) {
                self.note_fin(end);
                self.take_fin();
            }
            self.pending = Pending::Ack;
            return;
        }
        if start >= limit {
            self.counters.refused += 1;
            self.pending = Pending::Ack;
            return;
        }
        if packet.has(flags::FIN) && kept == end {
            self.note_fin(end);
        }
        if start > self.rcv_nxt {
            self.keep_ahead(start, kept);
        } else {
            self.fill_gap(now, start, kept);
        }
    }

    /// `[start, end)` lies ahead of a gap.
    fn keep_ahead(&mut self, start: u64, end: u64) {
        let news = self.ranges.insert(start, end);
        self.repeated = news.repeated;
        match news.added {
            true => self.counters.out_of_order += 1,
            false => self.counters.duplicates += 1,
        }
        self.delayed.on_out_of_order();
        self.pending = Pending::Ack;
    }

    /// `[start, end)` reaches over the next expected byte.
    fn fill_gap(&mut self, now: Time, start: u64, end: u64) {
        let had_gap = !self.ranges.is_empty();
        let before = self.rcv_nxt;
        if start < before {
            self.repeated = Some((start, before));
        } else if let Some((first, last)) = self.ranges.first().filter(|&(first, _)| first < end) {
            self.repeated = Some((first, end.min(last)));
        }
        let reached = self.ranges.release(end);
        self.advance(now, reached);
        let fin = self.take_fin();
        if fin || (had_gap && self.config.ack.immediate_on_gap) || self.repeated.is_some() {
            self.delayed.on_data(&self.config.ack, now);
            self.pending = Pending::Ack;
        } else {
            self.acknowledge_in_order(now);
        }
    }
}
