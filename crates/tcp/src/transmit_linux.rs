//! What leaves where Linux's stack keeps the window, as far as it differs.

use cclab_packet::{Packet, notes};
use cclab_units::Time;

use crate::receiver::timestamp;
use crate::scoreboard::{Segment, SegmentId};
use crate::sender::Sender;

impl Sender {
    /// Linux shrinks the window of a connection that was idle when the application writes.
    pub(crate) fn window_after_idle(&mut self, now: Time, window: u64) -> u64 {
        if !self.flight.board.is_empty() {
            return window;
        }
        match self.flight.linux(now) {
            Some((linux, line)) => {
                linux.on_written(&line);
                linux.cwnd()
            }
            None => window,
        }
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
        self.timed = None;
        *packet = self.data_packet(now, &segment);
        packet.notes |= notes::RETRANSMISSION;
        packet.ecn = self.control_ecn(); // RFC 3168 section 6.1.5
        self.flight.counters.retransmits += u64::from(segment.payload() > 0);
        self.on_data_sent(now, &segment);
        if let Some((linux, mut line)) = self.flight.linux(now) {
            linux.on_resent(&mut line, stamp, is_head);
        }
    }
}
