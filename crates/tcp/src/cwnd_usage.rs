//! Whether the congestion window is what limits a sender.

use cclab_units::Time;

use crate::sender::Sender;

/// Whether the window is what limits the sender, judged once per round (Linux
/// `tcp_cwnd_validate`).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CwndUsage {
    limited: bool,
    max_in_flight: u64,
    round_end: u64,
}

impl Sender {
    pub(crate) fn is_cwnd_limited(&self) -> bool {
        let usage = &self.cwnd_usage;
        let cwnd = self.flight.cc.cwnd();
        if cwnd < self.flight.cc.ssthresh() {
            return cwnd < 2 * usage.max_in_flight.max(self.flight.mss);
        }
        usage.limited
    }

    /// Nothing more leaves now. `limited` tells that the window is why.
    pub(crate) fn note_cwnd_usage(&mut self, now: Time, limited: bool) {
        self.resume_on_pause(now);
        let buffered = self.flight.written.min(self.buffered);
        let waiting = self.flight.snd_nxt < buffered;
        let writer_waits = buffered < self.flight.written;
        if let Some((linux, line)) = self.flight.linux(now) {
            linux.on_pause(&line, limited, waiting, writer_waits);
        } else {
            self.note_own_usage(limited);
        }
    }

    #[inline(never)]
    fn note_own_usage(&mut self, limited: bool) {
        let usage = &mut self.cwnd_usage;
        let in_flight = self.flight.board.outstanding();
        if self.flight.snd_una >= usage.round_end
            || limited
            || (!usage.limited && in_flight > usage.max_in_flight)
        {
            *usage = CwndUsage {
                limited,
                max_in_flight: in_flight,
                round_end: self.flight.snd_nxt,
            };
        }
    }
}
