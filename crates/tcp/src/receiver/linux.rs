//! Data as Linux takes it in, in its order: what is kept, the window's growth by it, the
//! application's reading, and only then whether it is acknowledged.

pub(super) mod acks;
mod blocks;
mod memory;

use std::sync::Arc;

use cclab_cc::EcnFeedback;
use cclab_packet::{Ecn, Packet, flags};
use cclab_units::hint::{rarely, unlikely};
use cclab_units::{Noted, Rare, Time};

use self::acks::{Acks, Arrived};
use self::blocks::Blocks;
use self::memory::{Memory, Placed};
use super::{Pending, Receiver, ReceiverConfig, timestamp};
use crate::accecn::EcnMode;
use crate::profile::AckDelay;

/// Acknowledgements that leave at once after a mark, or after what is probably sent again
/// (`__tcp_ecn_check_ce`).
const QUICK_AT_MARK: u64 = 2;
/// Payloads below this do not open the window in order (`tcp_event_data_recv`).
const LEAST_PAYLOAD: u64 = 128;

/// What a receiver of Linux knows beside what every receiver does.
#[derive(Clone, Debug)]
pub(super) struct Linux {
    pub(super) acks: Acks,
    pub(super) blocks: Rare<Blocks>,
    memory: Memory,
    /// A segment came that could have been marked (`TCP_ECN_SEEN`).
    saw_capable: bool,
}

impl Linux {
    /// `None` if the receiver acknowledges by other rules.
    pub(super) fn new(config: &Arc<ReceiverConfig>) -> Option<Linux> {
        let AckDelay::Adaptive { min, max } = config.ack.delay else {
            return None;
        };
        Some(Linux {
            acks: Acks::new(config, min, max),
            blocks: Rare::default(),
            memory: Memory::default(),
            saw_capable: false,
        })
    }

    /// Bytes of memory in use.
    #[inline]
    fn charged(&self) -> u64 {
        self.memory.charged()
    }
}

impl Receiver {
    /// Takes in a segment with payload, if the stack is Linux; returns whether it is.
    pub(super) fn take_as_linux(&mut self, now: Time, packet: &Packet, start: u64) -> bool {
        let Some(linux) = &mut self.linux else {
            rarely();
            return false;
        };
        let end = start + u64::from(packet.payload);
        if end < self.last_ack {
            rarely();
            // It was acknowledged before: that may have been lost (`tcp_send_dupack`).
            // The acknowledgement of a FIN is one beyond the edge.
            let window = self.edge.saturating_sub(self.last_ack);
            linux.acks.enter_quick_mode(window);
            self.counters.duplicates += 1;
            self.repeated = Some((start, end));
            self.note_end(packet, end);
            self.pending = Pending::Ack;
            return true;
        }
        self.measure_echo(now, packet);
        self.repeated = None;
        let limit = self.fin_at.map_or(self.edge, |fin| fin.min(self.edge));
        let kept = end.min(limit);
        if unlikely(kept <= self.rcv_nxt) && start < self.rcv_nxt {
            self.counters.duplicates += 1;
            self.repeated = Some((start, end.min(self.data_end())));
            self.note_end(packet, end);
            self.hasten();
        } else if start >= limit {
            rarely();
            self.counters.refused += 1;
            self.hasten();
        } else {
            if unlikely(packet.has(flags::FIN)) && kept == end {
                self.note_fin(end);
            }
            if start > self.rcv_nxt {
                rarely();
                self.keep_ahead_as_linux(now, packet, start, kept);
            } else {
                self.take_in_order(now, packet, start, kept);
            }
        }
        self.check_acknowledgement(now);
        true
    }

    /// The application has read: an acknowledgement is due if it opened the window much, or if
    /// more than one full segment waits for it, or one that ends what the peer has to send
    /// (`__tcp_cleanup_rbuf`).
    pub(super) fn on_read_as_linux(&mut self, now: Option<Time>) {
        let consumed = self.consumed;
        let Some(linux) = &mut self.linux else {
            return;
        };
        linux.memory.read(consumed);
        if let (Some(buffer), Some(now)) = (&mut self.buffer, now) {
            buffer.on_read(now, consumed);
        }
        let waiting = self.rcv_nxt - self.last_ack;
        let empty = linux.charged() == 0;
        let acks = &linux.acks;
        if acks.is_scheduled() && (acks.is_enough(waiting) || acks.is_pushed(empty)) {
            self.pending = Pending::Ack;
            return;
        }
        let window = self.window();
        let clamp = self.buffer.as_ref().map_or(self.rwnd_max, |b| b.clamp());
        if !self.fin_received && 2 * window <= clamp {
            let allowed = self.allowed_window();
            if allowed > 0 && allowed >= 2 * window {
                self.pending = Pending::Ack;
            }
        }
    }

    /// The window that the buffer allows; that half of it is in use ends the haste of
    /// acknowledgements.
    pub(super) fn allowed_window(&mut self) -> u64 {
        let (Some(linux), Some(buffer)) = (&mut self.linux, &self.buffer) else {
            rarely();
            return self.free_edge() - self.rcv_nxt;
        };
        let full = linux.acks.rcv_mss();
        let allowed = buffer.allowed(linux.charged(), full, 1 << self.shift);
        if unlikely(allowed.half_full) {
            linux.acks.on_buffer_half_full();
        }
        allowed.window
    }

    /// `[start, end)` reaches over the next expected byte (`tcp_data_queue`).
    fn take_in_order(&mut self, now: Time, packet: &Packet, start: u64, end: u64) {
        let before = self.rcv_nxt;
        if start < before {
            rarely();
            self.repeated = Some((start, before));
        } else if let Some((first, last)) = self.ranges.first().filter(|&(first, _)| first < end) {
            rarely();
            self.repeated = Some((first, end.min(last)));
        }
        let window = self.edge.saturating_sub(self.last_ack);
        let arrived = arrived(packet, end - start);
        let Some(linux) = &mut self.linux else {
            return;
        };
        if let Some(rules) = &self.config.buffer {
            linux.memory.keep_in_order(&rules.packet, start, end);
        }
        let changed = linux.acks.on_segment(arrived);
        if let Some(buffer) = &mut self.buffer {
            if let Some(payload) = changed {
                rarely();
                buffer.on_full_segment(payload);
            }
            buffer.on_window(now, end, window);
        }
        linux.acks.measure_gap(now, window);
        self.check_mark(packet, before);
        if end - start >= LEAST_PAYLOAD {
            self.grow_window(end - start);
        }
        let reached = match self.ranges.is_empty() {
            true => end,
            false => self.release(end),
        };
        self.rcv_nxt = reached;
        self.first_byte.note_first(now);
        self.last_byte = Noted::at(now);
        if self.reading {
            self.consumed = reached;
            self.on_read_as_linux(Some(now));
        }
        if self.take_fin() {
            self.pending = Pending::Ack;
        }
    }

    /// What is kept ahead of a gap that now ends at `end` is in order; returns up to where.
    #[inline(never)]
    fn release(&mut self, end: u64) -> u64 {
        let reached = self.ranges.release(end);
        if let Some(linux) = &mut self.linux {
            if let Some(rules) = &self.config.buffer {
                linux.memory.release(&rules.packet, reached);
            }
            linux.blocks.release(reached, !self.ranges.is_empty());
            if self.ranges.is_empty() && self.config.ack.immediate_on_gap {
                linux.acks.insist();
            }
        }
        reached
    }

    /// `[start, end)` lies ahead of a gap (`tcp_data_queue_ofo`).
    #[inline(never)]
    fn keep_ahead_as_linux(&mut self, now: Time, packet: &Packet, start: u64, end: u64) {
        self.check_mark(packet, self.rcv_nxt);
        let first = self.ranges.is_empty();
        let news = self.ranges.insert(start, end);
        // Copied whole, what was just written in parts would be waited for.
        self.repeated = None;
        if let Some(repeated) = news.repeated {
            rarely();
            self.repeated = Some(repeated);
        }
        match news.added {
            true => self.counters.out_of_order += 1,
            false => self.counters.duplicates += 1,
        }
        let arrived = arrived(packet, end - start);
        let Some(linux) = &mut self.linux else {
            return;
        };
        let changed = linux.acks.on_segment(arrived);
        if let (Some(buffer), Some(payload)) = (&mut self.buffer, changed) {
            rarely();
            buffer.on_full_segment(payload);
        }
        let placed = match &self.config.buffer {
            Some(rules) => linux.memory.keep_ahead(&rules.packet, start, end),
            None => Placed::Known,
        };
        // Without SACK, duplicates alone tell the sender: their window stays.
        let grows = self.config.wire.sack;
        if placed == Placed::Joined && grows {
            self.grow_window(end - start);
        }
        self.tell_block(now, first, start, end);
        if let Placed::Apart { charge } = placed {
            if grows {
                self.grow_window(end - start);
            }
            if let Some(linux) = &mut self.linux {
                linux.memory.charge(charge);
            }
        }
    }

    /// `[start, end)`, which lies ahead of a gap, is told in a block. What is held back is told
    /// before a block is no longer among those that go first (`tcp_sack_new_ofo_skb`).
    fn tell_block(&mut self, now: Time, first: bool, start: u64, end: u64) {
        let Some(linux) = &mut self.linux else {
            return;
        };
        if unlikely(first) {
            linux.blocks.release(u64::MAX, false);
        }
        let place = linux.blocks.grow(start, end);
        if unlikely(place.unexpected) && linux.acks.holds() {
            self.early = Some(Box::new(self.early_ack(now)));
        }
        if let Some(linux) = &mut self.linux {
            linux.blocks.put_first(place, start, end);
        }
    }

    /// Whether what is owed leaves now, later, or with what comes (`__tcp_ack_snd_check`).
    fn check_acknowledgement(&mut self, now: Time) {
        if self.pending != Pending::Ack {
            self.decide_on_acknowledgement(now);
        }
    }

    /// As [`Receiver::check_acknowledgement`], where none is due yet.
    #[inline(never)]
    fn decide_on_acknowledgement(&mut self, now: Time) {
        let waiting = self.rcv_nxt - self.last_ack;
        let offered = self.edge.saturating_sub(self.last_ack);
        let unread = self.unread() > 0;
        let enough = match &self.linux {
            Some(linux) if linux.acks.is_scheduled() => linux.acks.is_enough(waiting),
            _ => return,
        };
        let due = enough && (!unread || self.allowed_window() >= offered);
        let sack = self.config.wire.sack;
        let rtt = self.buffer.as_ref().map_or(0, |buffer| buffer.rtt());
        let Some(linux) = &mut self.linux else {
            return;
        };
        let acks = &mut linux.acks;
        let at_once = if due || acks.is_prompt() {
            true
        } else if self.ranges.is_empty() {
            acks.delay(now)
        } else {
            rarely();
            !sack || acks.is_at_once(now, self.rcv_nxt, rtt)
        };
        if at_once {
            self.pending = Pending::Ack;
        }
    }

    /// The sender says that it reacted to a mark: its window may be so small that it waits for this
    /// acknowledgement (`tcp_ecn_accept_cwr`).
    pub(super) fn on_reaction_as_linux(&mut self, packet: &Packet) {
        if packet.has(flags::CWR) {
            if self.config.feedback != EcnFeedback::PerPacket {
                self.echo_congestion = false;
            }
            if let Some(linux) = &mut self.linux {
                linux.acks.insist();
            }
        }
    }

    /// A segment is kept, marked or not (`__tcp_ecn_check_ce`); `before` is what had come in order.
    fn check_mark(&mut self, packet: &Packet, before: u64) {
        if unlikely(self.ecn == EcnMode::Classic) {
            self.check_classic_mark(packet, before);
        }
    }

    #[inline(never)]
    fn check_classic_mark(&mut self, packet: &Packet, before: u64) {
        let marked = packet.ecn == Ecn::Ce;
        let capable = packet.ecn != Ecn::NotEct;
        if capable && self.config.feedback == EcnFeedback::PerPacket {
            self.on_mark_change(marked, before);
        }
        let window = self.edge.saturating_sub(self.last_ack);
        let Some(linux) = &mut self.linux else {
            return;
        };
        if (marked && !self.echo_congestion) || (!capable && linux.saw_capable) {
            linux.acks.quicken_after(QUICK_AT_MARK, window);
        }
        self.echo_congestion |= marked;
        linux.saw_capable |= capable;
    }

    /// What came brought nothing new, or did not fit: acknowledgements may have been lost.
    #[inline(never)]
    fn hasten(&mut self) {
        if let Some(linux) = &mut self.linux {
            // The acknowledgement of a FIN is one beyond the edge.
            let window = self.edge.saturating_sub(self.last_ack);
            linux.acks.enter_quick_mode(window);
            linux.acks.schedule();
        }
    }

    /// A segment of `payload` bytes is kept: the window may grow by it.
    #[inline]
    fn grow_window(&mut self, payload: u64) {
        if let (Some(linux), Some(buffer)) = (&mut self.linux, &mut self.buffer)
            && buffer.grow(payload, linux.charged(), linux.acks.rcv_mss())
        {
            linux.acks.on_window_growth();
        }
    }

    /// What a growing buffer is measured by.
    #[inline]
    fn measure_echo(&mut self, now: Time, packet: &Packet) {
        let full = self.linux.as_ref().map_or(0, |linux| linux.acks.rcv_mss());
        if let Some(buffer) = &mut self.buffer
            && self.timestamps
            && buffer.is_new_echo(packet.tsecr)
            && u64::from(packet.payload) >= full
        {
            buffer.on_echo(packet.tsecr, timestamp(now));
        }
    }

    /// A segment that is not kept may still say where the data end.
    fn note_end(&mut self, packet: &Packet, end: u64) {
        if packet.has(flags::FIN) {
            self.note_fin(end);
            self.take_fin();
        }
    }
}

fn arrived(packet: &Packet, len: u64) -> Arrived {
    let push = packet.has(flags::PSH);
    Arrived {
        len,
        push,
        remnant: push || packet.has(flags::FIN),
    }
}
