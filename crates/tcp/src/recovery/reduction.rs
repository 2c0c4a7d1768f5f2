//! The reduction that begins an episode of recovery, and taking it back if it was a mistake.

use cclab_cc::{Congestion, Cx};
use cclab_units::Time;

use super::episode::Phase;
use super::flight::Flight;
use super::news::AckNews;
use crate::due::Due;

impl Flight {
    /// Recovery by acknowledgements begins: one reduction, and everything sent so far belongs
    /// to it.
    pub(super) fn begin_episode(&mut self, now: Time) {
        self.counters.fast_recoveries += 1;
        self.episode.probe.end();
        self.episode.probe_at = Due::NEVER;
        if self.reduced_by_mark() {
            self.episode.undo.end(); // RFC 3168 section 6.1.2: once for a window of data
        } else {
            self.episode.undo.begin(&self.board, self.snd_una, self.mss);
            self.congestion(now, Congestion::Loss, false);
        }
        self.episode.phase = Phase::Recovery;
        self.episode.recover = Some(self.snd_nxt);
        self.episode.retransmit_first = true;
        self.episode.partial_acks = 0;
    }

    /// Takes the reduction back if it was a mistake; returns whether it was.
    pub(super) fn try_undo(&mut self, now: Time, news: &AckNews) -> bool {
        if !self.profile.undo || !self.episode.was_mistaken(news) {
            return false;
        }
        self.counters.undos += 1;
        self.board.clear_lost();
        self.episode.take_back();
        self.cc.own().on_undo(&mut Cx {
            now,
            rng: &mut self.rng,
        });
        true
    }
}
