//! What marks do to the window (RFC 3168 section 6.1.2).

use cclab_cc::{Arithmetic, Congestion, EcnFeedback};
use cclab_units::Time;

use super::flight::Flight;

impl Flight {
    /// RFC 3168 section 6.1.2: one reduction per window of data, whether losses or marks showed
    /// the congestion. Echoes go on until the receiver has seen CWR, which came after that window.
    pub(crate) fn on_ecn_echo(&mut self, now: Time) {
        self.counters.ecn_echoes += 1;
        let reduced_until = self.marked_until.max(self.episode.recover);
        if reduced_until.is_none_or(|until| self.snd_una > until) {
            self.marked_until = Some(self.snd_nxt);
            self.episode.undo.end(); // what it knows is of an earlier reduction
            self.congestion(now, Congestion::Ecn, false);
        }
    }

    /// Whether a mark already reduced the window for the data that is outstanding first.
    pub(crate) fn reduced_by_mark(&self) -> bool {
        // A mark that tells how much is no reason to overlook a loss (RFC 8257 section 3.5).
        self.feedback == EcnFeedback::Classic
            && self.marked_until.is_some_and(|until| self.snd_una < until)
    }

    /// Whether the window stands still for the round after a mark, as in Linux (`TCP_CA_CWR`). The
    /// standards stop growth at echoes only.
    pub(crate) fn reduces_for_mark(&self) -> bool {
        self.profile.arithmetic == Arithmetic::Segments
            && self.marked_until.is_some_and(|until| self.snd_una <= until)
    }
}
