//! Data that is not simply the next: repeated, ahead of a gap, filling one, with the FIN.

use cclab_packet::{Packet, flags};
use cclab_units::Time;

use super::buffer::{Buffer, Charged};
use super::{Pending, Receiver};

/// SACK blocks that a sender is sure to have seen (Linux `TCP_SACK_BLOCKS_EXPECTED`).
const SACK_BLOCKS_EXPECTED: usize = 2;

impl Receiver {
    /// Data off the plain path: repeated, ahead of a gap, filling one, past the window, or
    /// with the FIN.
    pub(super) fn on_other_data(&mut self, now: Time, packet: &Packet, start: u64, end: u64) {
        let limit = self.fin_at.map_or(self.edge, |fin| fin.min(self.edge));
        let kept = end.min(limit);
        if start < self.rcv_nxt && kept <= self.rcv_nxt {
            self.counters.duplicates += 1;
            self.repeated = Some((start, end.min(self.bytes_received())));
            if packet.has(flags::FIN) {
                self.note_fin(end);
                self.take_fin();
            }
            return self.acknowledge_repetition();
        }
        if start >= limit {
            self.counters.refused += 1;
            return self.acknowledge_repetition();
        }
        if packet.has(flags::FIN) && kept == end {
            self.note_fin(end);
        }
        if start > self.rcv_nxt {
            self.keep_ahead(now, start, kept);
        } else {
            self.fill_gap(now, start, kept);
        }
    }

    /// `[start, end)` lies ahead of a gap.
    fn keep_ahead(&mut self, now: Time, start: u64, end: u64) {
        // What is held back is told before a block is no longer among those reported first.
        if self.compression.holds()
            && self
                .ranges
                .is_beyond_recent(SACK_BLOCKS_EXPECTED, start, end)
        {
            self.early = Some(self.early_ack(now));
        }
        let news = self.ranges.insert(start, end);
        self.repeated = news.repeated;
        match news.added {
            true => self.counters.out_of_order += 1,
            false => self.counters.duplicates += 1,
        }
        self.delayed.on_out_of_order();
        if news.added {
            self.grow_window(end - start, Charged::After);
        }
        if self.delayed.is_quick() || self.is_due_past_gap(now) {
            self.pending = Pending::Ack;
        }
    }

    /// Whether a segment that came while data is missing is acknowledged at once.
    fn is_due_past_gap(&mut self, now: Time) -> bool {
        if !self.config.wire.sack {
            return true; // duplicates are all that a sender without SACK has
        }
        let seen = self.buffer.as_ref().and_then(Buffer::rtt);
        let rtt = seen.into_iter().chain(self.delayed.rtt()).min();
        self.compression
            .on_data(now, self.rcv_nxt, rtt.unwrap_or(Time::ZERO))
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
        self.grow_window(end - start, Charged::Before);
        let reached = self.ranges.release(end);
        self.advance(now, reached);
        let fin = self.take_fin();
        if !self.ranges.is_empty() {
            self.is_due_past_gap(now); // the first at a new cumulative one: it is
        }
        if fin || (had_gap && self.config.ack.immediate_on_gap) || self.repeated.is_some() {
            self.delayed.on_data(now, self.rcv_nxt - before);
            self.pending = Pending::Ack;
        } else {
            self.acknowledge_in_order(now, reached - before);
        }
    }
}
