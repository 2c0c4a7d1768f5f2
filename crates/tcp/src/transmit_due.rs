//! What leaves whatever the window says: what is due since something came or a timer expired.

use cclab_packet::Packet;
use cclab_units::Time;
use cclab_units::hint::rarely;

use crate::due::Due;
use crate::recovery::control::Control;
use crate::sender::Sender;

impl Sender {
    /// Whether something leaves that the window does not decide on, or a packet goes on that leaves again.
    #[inline(always)] // in one step, since there hardly ever is
    pub(crate) fn is_due(&self) -> bool {
        let by_stack = match &self.flight.cc {
            Control::Linux(linux) => {
                linux.probe_due | (linux.head_due & !self.flight.board.is_empty())
            }
            Control::Own(_) => {
                rarely();
                false
            }
        };
        let by_sender = self.ack_due | self.window_probe_due | self.flight.episode.probe.due;
        by_stack | by_sender | (self.resend_left > 0)
    }

    /// What [`Sender::is_due`] tells of leaves.
    #[inline(never)]
    pub(crate) fn transmit_due(&mut self, now: Time, packet: &mut Packet) -> bool {
        if self.ack_due {
            *packet = self.bare_ack(now);
            self.pacer.on_bare(now);
            return true;
        }
        if self.window_probe_due {
            *packet = self.window_probe(now);
            self.pacer.on_bare(now);
            return true;
        }
        if self.flight.episode.probe.due {
            return self.loss_probe(now, packet);
        }
        if let Control::Linux(linux) = &mut self.flight.cc {
            if linux.probe_due {
                return self.loss_probe(now, packet);
            }
            if linux.head_due && !self.flight.board.is_empty() {
                let head = self.flight.board.ids().start;
                self.resend(now, head, packet);
                self.pace_packet(now, packet);
                return true;
            }
        }
        self.resend_more(now, packet)
    }

    /// RFC 8985 section 7.3: new data if there is any, else the last segment again.
    #[cold]
    fn loss_probe(&mut self, now: Time, packet: &mut Packet) -> bool {
        let new = match self.burst_left > 0 && self.queue.is_some() {
            true => Ok(self.next_of_packet()), // the packet is cut already
            false => self.next_new(u64::MAX),
        };
        let Some(last) = self.flight.board.ids().end.checked_sub(1) else {
            return false;
        };
        if self.flight.cc.is_linux() {
            match new {
                Ok((len, fin)) => self.probe_with(now, len, fin, packet),
                Err(_) => {
                    self.burst_left = 0;
                    if let Some(queue) = &mut self.queue {
                        queue.split(self.flight.board.get(last).start);
                    }
                    self.resend(now, last, packet);
                }
            }
            self.pace_packet(now, packet);
            if self.burst_left == 0
                && let Some((linux, mut line)) = self.flight.linux(now)
            {
                linux.on_probe_sent(&mut line, new.is_err());
            }
            return true;
        }
        match new {
            Ok((len, fin)) => {
                self.send_new(now, len, fin, packet);
                self.flight
                    .episode
                    .probe
                    .on_sent(self.flight.snd_nxt, false);
            }
            Err(_) => {
                self.resend(now, last, packet);
                self.flight.episode.probe.on_sent(self.flight.snd_nxt, true);
            }
        }
        self.flight.episode.probe_at = Due::NEVER;
        true
    }
}
