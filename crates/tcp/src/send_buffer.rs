//! The send buffer between an application that always has more to write and the stack.
//!
//! The buffer is of memory, not of payload (`sk_wmem_queued`): packets come in with the overhead
//! of large ones, and are cut into bursts when they leave. A full one lets the application write
//! again when a third of it is free (`sk_stream_is_writeable`), so that a flow whose window comes
//! near its size sends in gushes, with pauses between.

use cclab_units::Time;

use crate::profile::SendBuffer;
use crate::recovery::control::Control;
use crate::sender::Sender;

impl Sender {
    /// Nothing is left to send although the window allows it: samples of the rate are not the
    /// path's.
    pub(crate) fn note_app_limited(&mut self) {
        match self.flight.linux(Time::ZERO) {
            Some((linux, line)) => linux.on_app_limited(&line),
            None => self.rate.on_app_limited(self.flight.board.in_flight()),
        }
    }

    /// The application has more, and writes it unless it waits for room.
    pub(crate) fn begin_write(&mut self) {
        if let Some(queue) = &mut self.queue {
            queue.begin(self.flight.written);
        }
    }

    /// Room may have come into a buffer that is known packet by packet.
    pub(crate) fn check_space(&mut self) {
        let (Some(queue), Control::Linux(linux)) = (&mut self.queue, &mut self.flight.cc) else {
            return;
        };
        if !queue.is_waited_for() {
            return;
        }
        let full = self.flight.board.segments_in_flight() >= u64::from(linux.tcp.snd_cwnd);
        let grows = (!full).then(|| (linux.buffered_segments(), linux.buffered_windows()));
        queue.check_space(grows);
    }

    /// Nothing more leaves: an application that was told of room writes a step. Returns whether it
    /// did, and something more may leave.
    pub(crate) fn write_on(&mut self) -> bool {
        self.check_space();
        match &self.queue {
            Some(queue) if !queue.is_waited_for() => self.write_further(),
            _ => false,
        }
    }

    /// As [`Sender::write_on`], where the application does not wait.
    #[inline(never)]
    fn write_further(&mut self) -> bool {
        let Some(queue) = &mut self.queue else {
            return false;
        };
        if queue.finds_room() {
            queue.begin(self.flight.written);
        }
        // The application was late, not the network (`tcp_rate_check_app_limited`).
        let unsent = queue.written().saturating_sub(self.flight.snd_nxt);
        if queue.is_beginning() && unsent < self.flight.mss {
            self.note_app_limited();
        }
        let Some(queue) = &mut self.queue else {
            return false;
        };
        let Some(leave) = queue.step(self.flight.written) else {
            return false;
        };
        self.buffered = queue.written();
        self.leave = leave;
        true
    }

    /// Lets the application write if there is room, after `snd_una` moved.
    #[inline]
    pub(crate) fn refill(&mut self) {
        if self.queue.is_some() {
            return; // once what may leave has left
        }
        let held = self.buffered.saturating_sub(self.flight.snd_una);
        if self.buffered < self.flight.written
            && let Some(buffer) = &self.flight.profile.send_buffer
            && 3 * held <= 2 * buffer.most
        // memory is never less than payload
        {
            let buffer = *buffer;
            self.refill_by_memory(&buffer);
        }
    }

    fn refill_by_memory(&mut self, buffer: &SendBuffer) {
        let sent = self.flight.snd_nxt - self.flight.snd_una;
        let waiting = self.buffered.saturating_sub(self.flight.snd_nxt);
        let burst = self.burst_bytes().min(buffer.packet);
        let used = sent
            + sent.div_ceil(burst) * buffer.overhead
            + waiting
            + waiting.div_ceil(buffer.packet) * buffer.overhead;
        if 3 * used > 2 * buffer.most {
            return;
        }
        // The application was late, not the network (`tcp_rate_check_app_limited`).
        if waiting == 0
            && self.flight.board.next_lost().is_none()
            && self
                .flight
                .fits(self.flight.mss, self.flight.window_in_force())
        {
            self.note_app_limited();
        }
        self.buffered = self.flight.snd_nxt + waiting + buffer.fill(buffer.most - used);
    }
}
