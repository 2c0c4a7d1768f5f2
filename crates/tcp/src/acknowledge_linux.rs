//! An acknowledgement where Linux's stack keeps the window: from the packet to what the stack makes
//! of it, and what is beyond it (receiver's window, send buffer, end of the connection).

use cclab_packet::{MAX_SACK_BLOCKS, Packet, flags};
use cclab_units::Time;
use cclab_units::hint::{rarely, unlikely};

use crate::accecn::ace;
use crate::recovery::control::Control;
use crate::recovery::linux::{Ack, Counts};
use crate::sender::{LastAck, Sender, State};
use crate::seq;

/// The SACK blocks of an acknowledgement.
#[derive(Default)]
struct Blocks {
    above: [(u64, u64); MAX_SACK_BLOCKS],
    len: usize,
    dsack: Option<(u64, u64)>,
}

impl Sender {
    pub(crate) fn on_ack_linux(&mut self, now: Time, packet: &Packet, ack: u64) {
        let prior_una = self.flight.snd_una;
        if !packet.has(flags::ACK) || ack > self.flight.snd_nxt {
            return; // never sent (RFC 9293 section 3.10.7.4)
        }
        if packet.has(flags::FIN) {
            rarely();
            self.peer_seq = packet.seq.wrapping_add(1);
            self.ack_due = true;
        }
        let counts = self.counts(packet);
        let prior_rwnd = self.rwnd;
        let mut same_window = true;
        if ack >= prior_una {
            same_window = self.update_window(packet);
        }
        let mut blocks = Blocks::default();
        if packet.sack_len > 0 {
            self.take_blocks(packet, ack, &mut blocks);
        }
        let ece = packet.has(flags::ECE) && self.flight.ecn && counts.is_none();
        let buffered = self.flight.written.min(self.buffered);
        let ack = Ack {
            ack,
            blocks: &blocks.above[..blocks.len],
            dsack: blocks.dsack.as_ref(),
            ece,
            counts,
            window_changed: self.rwnd > prior_rwnd || (!same_window && self.rwnd == 0),
            slow_path: !same_window
                || packet.sack_len > 0
                || (packet.has(flags::ECE) && counts.is_none())
                || packet.has(flags::FIN),
            tsval: packet.tsval,
            tsecr: packet.tsecr,
            echoed_rtt: self.echoed_rtt(now, packet),
            until_departure: self.pacer.until_departure(now),
            data_left: self.flight.snd_nxt < buffered && self.flight.snd_nxt < ack + self.rwnd,
        };
        let Some((linux, mut line)) = self.flight.linux(now) else {
            return;
        };
        let took = linux.on_ack(&mut line, &ack);
        if !linux.selected.is_empty() {
            self.tell_selected();
        }
        let advanced = self.flight.snd_una > prior_una;
        self.last_ack = LastAck {
            newly_acked: self.flight.snd_una - prior_una,
            rtt: took.rtt,
            delivered: took.delivered.max(0) as u64 * self.flight.mss,
            interval: match took.delivered > 0 {
                true => Time::from_micros(took.interval_us.max(0) as u64),
                false => Time::ZERO,
            },
        };
        if advanced {
            self.timeouts_in_row = 0;
            if unlikely(self.closed && self.flight.snd_una > self.flight.written) {
                self.stop(now, State::Finished);
            }
        }
        self.resume_on_ack(now);
        self.note_window(now);
        if let Some(queue) = &mut self.queue {
            queue.on_window(self.rwnd);
            queue.on_acked(self.flight.snd_una);
        } else {
            rarely();
            self.cwnd_most = self.cwnd_most.max(self.flight.cc.cwnd());
            if advanced {
                self.refill();
            }
        }
    }

    /// Tells the send buffer what was selected.
    #[inline(never)]
    fn tell_selected(&mut self) {
        if let (Control::Linux(linux), Some(queue)) = (&mut self.flight.cc, &mut self.queue) {
            for (start, end, again) in linux.selected.drain() {
                queue.on_selected(start, end, again);
            }
        }
    }

    /// What `packet` tells of marks where that is counted; to be asked before its timestamp is taken in.
    pub(crate) fn counts(&self, packet: &Packet) -> Option<Counts> {
        let counts = self.flight.accurate.is_some();
        counts.then(|| self.counts_in(packet))
    }

    #[inline(never)]
    fn counts_in(&self, packet: &Packet) -> Counts {
        Counts {
            ace: ace(packet.flags),
            option: packet.ecn_bytes(),
            is_later: packet.tsval != 0 && seq::after(packet.tsval, self.ts_recent),
        }
    }

    /// Adds to `blocks` those of `packet`, which acknowledges all before `ack`: what lies below, or
    /// inside the second block, reports a duplicate (RFC 2883 section 4).
    #[inline(never)]
    fn take_blocks(&self, packet: &Packet, ack: u64, blocks: &mut Blocks) {
        let offsets = |&(left, right): &(u32, u32)| (self.offset_of(left), self.offset_of(right));
        for (i, block) in packet.sack_blocks().iter().enumerate() {
            let (left, right) = offsets(block);
            if left >= right {
                continue;
            }
            let second = packet.sack_blocks().get(1).filter(|_| i == 0).map(offsets);
            let inside = second.is_some_and(|(l, r)| l <= left && right <= r);
            if i == 0 && (left < ack || inside) {
                blocks.dsack = Some((left, right));
            } else if left > self.flight.snd_una.max(ack) && right <= self.flight.snd_nxt {
                blocks.above[blocks.len] = (left, right);
                blocks.len += 1;
            }
        }
        // In the order in which they left (`tcp_sacktag_write_queue`).
        blocks.above[..blocks.len].sort_unstable();
    }
}
