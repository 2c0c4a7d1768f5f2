//! What leaves where Linux's stack keeps the window, as far as it differs.

use cclab_packet::{Packet, flags, notes};
use cclab_units::Time;
use cclab_units::hint::rarely;

use crate::receiver::timestamp;
use crate::scoreboard::{Segment, SegmentId};
use crate::sender::Sender;
use crate::write_queue::{Leave, WriteQueue};

/// Segments at the start of a connection that leave unpaced (`tcp_update_skb_after_send`).
pub(crate) const UNPACED: u64 = 10;

impl Sender {
    /// Linux shrinks the window of a connection that was idle when the application writes.
    pub(crate) fn window_after_idle(&mut self, now: Time, window: u64) -> u64 {
        if !self.flight.board.is_empty() {
            return window;
        }
        rarely();
        match self.flight.linux(now) {
            Some((linux, line)) => {
                linux.on_written(&line);
                linux.cwnd()
            }
            None => window,
        }
    }

    /// A segment left; with the last one of what leaves as one packet the pacer counts all of it.
    pub(crate) fn pace_packet(&mut self, now: Time, packet: &Packet) {
        self.burst_sent += u64::from(packet.payload);
        if self.burst_left > 0 || self.resend_left > 0 {
            return;
        }
        let bytes = std::mem::take(&mut self.burst_sent);
        let rate = self.pace();
        let rate = rate.filter(|_| self.flight.counters.segments_sent >= UNPACED);
        self.pacer.on_packet(now, bytes, rate);
        if rate.is_some()
            && let Some((linux, mut line)) = self.flight.linux(now)
        {
            linux.on_paced(&mut line, self.pacer.next_departure());
        }
        if self.leave == Leave::One {
            self.leave = Leave::Nothing;
        }
    }

    /// A segment of the packet of new data that is a loss probe: at least this one, and what else
    /// the window has room for (`tcp_write_xmit` with `push_one`).
    pub(crate) fn probe_with(&mut self, now: Time, len: u64, fin: bool, packet: &mut Packet) {
        if self.burst_left == 0 {
            self.burst_left = self.probe_of_packet();
            self.burst_of_several = self.burst_left > 1;
        }
        self.send_of_burst(now, self.of_packet(len), fin, packet);
    }

    /// The next segment of the present burst, of `len` bytes.
    pub(crate) fn send_of_burst(&mut self, now: Time, len: u64, fin: bool, packet: &mut Packet) {
        self.burst_left -= 1;
        // A packet that the window cut does not end what the application wrote.
        let fin = fin && self.flight.snd_nxt + len >= self.flight.written;
        self.send_new(now, len, fin, packet);
        if self.burst_left > 0 {
            return;
        }
        if self.burst_of_several || self.burst_pushes {
            packet.flags |= flags::PSH; // what is cut into segments ends with a push
        }
        if len < self.flight.mss {
            self.short_end = self.flight.snd_nxt; // `tcp_minshall_update`
        }
        self.check_space();
    }

    /// The segments that leave again with `id` as one packet, itself included: those that left with
    /// it and are lost like it, as far as the window and a full burst allow
    /// (`tcp_xmit_retransmit_queue`).
    #[inline(never)]
    pub(crate) fn resend_of(&mut self, id: SegmentId) -> u64 {
        let room = self.flight.cc.cwnd() / self.flight.mss;
        let room = room.saturating_sub(self.flight.board.segments_in_flight());
        let most = self.burst_bytes() / self.flight.mss;
        let Some(queue) = &mut self.queue else {
            return 1;
        };
        let board = &self.flight.board;
        let end = queue.packet_end(board.get(id).start);
        let goes = |id: SegmentId| {
            let segment = board.get(id);
            segment.end() <= end && segment.lost && !segment.resent && !segment.sacked
        };
        let ids = (id + 1..board.ids().end).take_while(|&id| goes(id));
        let count = 1 + ids.take((room.min(most).max(1) - 1) as usize).count() as u64;
        queue.split(board.get(id + count - 1).end());
        count
    }

    /// One more segment of the packet that leaves again.
    pub(crate) fn resend_more(&mut self, now: Time, packet: &mut Packet) -> bool {
        self.resend_left -= 1;
        let Some(id) = self.flight.board.next_lost() else {
            return false;
        };
        self.resend(now, id, packet);
        if self.resend_left == 0 && self.resend_of_several {
            packet.flags |= flags::PSH;
        }
        self.pace_packet(now, packet);
        true
    }

    /// As [`Sender::resend`], where Linux's stack keeps the window.
    pub(crate) fn resend_linux(&mut self, now: Time, id: SegmentId, packet: &mut Packet) {
        let is_head = id == self.flight.board.ids().start;
        let stamp = timestamp(now);
        let Some((linux, line)) = self.flight.linux(now) else {
            return;
        };
        if line.board.get(id).payload() > 0 {
            linux.on_departure(&line);
        }
        let mut stamped = *line.board.get(id);
        linux.stamp(&mut stamped, &line);
        let segment = line.board.mark_resent(id, |segment| {
            *segment = Segment {
                resent: segment.resent,
                ever_resent: true,
                no_rtt: true,
                judged: false,
                ..stamped
            }
        });
        if linux.finds_by_time() {
            line.rack.on_resent(id, now);
        }
        *packet = self.data_packet(now, &segment);
        let pushes = |queue: &WriteQueue| queue.pushes(segment.end());
        if self.queue.as_ref().is_some_and(pushes) {
            packet.flags |= flags::PSH;
        }
        packet.notes |= notes::RETRANSMISSION;
        packet.ecn = self.control_ecn(); // RFC 3168 section 6.1.5
        self.flight.counters.retransmits += u64::from(segment.payload() > 0);
        self.on_data_sent(now, &segment);
        if let Some((linux, mut line)) = self.flight.linux(now) {
            linux.on_resent(&mut line, stamp, is_head);
        }
    }
}
