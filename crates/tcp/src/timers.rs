//! The sender's timers: which is due, and what it does.

use cclab_units::Time;

use crate::due::Due;
use crate::sender::{Sender, State};

/// Timeouts in a row before a connection is given up (RFC 9293 section 3.8.3, R2; Linux
/// `tcp_retries2`).
const MAX_RETRIES: u32 = 15;

impl Sender {
    /// When [`Sender::on_timer`] wants to be called.
    pub fn deadline(&self) -> Time {
        self.flight
            .rto_at
            .min(self.persist_at)
            .min(self.flight.episode.deadline(&self.flight.profile.timer))
            .min(self.pacer.deadline())
    }

    /// A time that is not after [`Sender::deadline`], and cheaper to know.
    #[inline]
    pub fn least_deadline(&self) -> Time {
        self.flight
            .rto_at
            .min(self.persist_at)
            .min(self.flight.episode.least_deadline())
            .min(self.pacer.deadline())
    }

    /// Something is due.
    pub fn on_timer(&mut self, now: Time) {
        self.settled = false;
        self.pacer.on_timer(now);
        if self.flight.episode.reorder_at <= now {
            self.flight.episode.reorder_at = Time::NEVER;
            match self.flight.linux(now) {
                Some((linux, mut line)) => linux.on_reorder_timer(&mut line),
                None => self.flight.on_reorder_timer(now),
            }
        }
        let timer = &self.flight.profile.timer;
        if self.flight.episode.probe_at.is_over(now, timer) {
            self.flight.episode.probe_at = Due::NEVER;
            match self.flight.linux(now) {
                Some((linux, mut line)) => linux.on_probe_timer(&mut line),
                None => self.flight.on_probe_timer(now),
            }
        }
        if self.persist_at <= now {
            self.on_persist_timer(now);
        }
        if self.flight.rto_at <= now {
            self.flight.rto_at = Time::NEVER;
            match self.state {
                State::SynSent if self.syn_tries > self.flight.profile.syn.retries => {
                    self.stop(now, State::Aborted)
                }
                State::SynSent => {
                    self.syn_due = true;
                    if self.syn_tries > self.flight.profile.syn.linear_timeouts {
                        self.flight.rtt.back_off();
                    }
                }
                State::Established if self.timeouts_in_row >= MAX_RETRIES => {
                    self.stop(now, State::Aborted);
                }
                State::Established => {
                    self.timeouts_in_row += 1;
                    match self.flight.linux(now) {
                        Some((linux, mut line)) => {
                            if linux.on_rto(&mut line)
                                && let Some(queue) = &mut self.queue
                            {
                                queue.forget_selected();
                            }
                        }
                        None => self.flight.on_rto(now),
                    }
                }
                State::Closed | State::Finished | State::Aborted => {}
            }
        }
        self.flight.tell_losses(now);
        self.note_window(now);
    }

    /// RFC 9293 section 3.8.6.1: a closed window is probed, ever more rarely.
    fn on_persist_timer(&mut self, now: Time) {
        self.window_probe_due = true;
        self.persist_backoff = (self.persist_backoff + 1).min(16);
        self.arm_persist(now);
    }

    pub(crate) fn start_persist(&mut self, now: Time) {
        if self.persist_at == Time::NEVER {
            self.persist_backoff = 0;
            self.arm_persist(now);
        }
    }

    fn arm_persist(&mut self, now: Time) {
        let wait = self.flight.rtt.rto() * (1 << self.persist_backoff);
        self.persist_at = now + wait.min(self.flight.profile.rto.max);
    }
}
