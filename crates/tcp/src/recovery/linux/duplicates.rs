//! What stands for selective acknowledgements where there are none: each duplicate tells that one
//! more segment beyond the first missing was delivered, though not which.

use super::{Line, Linux, MAX_REORDERING};

impl Linux {
    /// `tcp_add_reno_sack`: a duplicate acknowledgement came.
    pub(super) fn add_duplicate(&mut self, line: &mut Line<'_>, ece: bool) {
        let prior = line.board.counts().presumed;
        line.board.presume_delivered(prior + 1);
        self.limit_duplicates(line, 0);
        let delivered = line.board.counts().presumed.saturating_sub(prior);
        self.count_delivered(delivered, ece);
    }

    /// `tcp_remove_reno_sacks`: of `acked` segments acknowledged one had been missing, and
    /// duplicates have told of the others.
    #[inline(never)]
    pub(super) fn remove_duplicates(&mut self, line: &mut Line<'_>, acked: u32, ece: bool) {
        if acked > 0 {
            let told = line.board.counts().presumed;
            self.count_delivered(acked.saturating_sub(told).max(1), ece);
            line.board.presume_delivered(told.saturating_sub(acked - 1));
        }
        self.limit_duplicates(line, acked);
    }

    /// `tcp_check_reno_reordering`: more duplicates than segments that were not missing show
    /// reordering, of as much as was out.
    fn limit_duplicates(&mut self, line: &mut Line<'_>, acked: u32) {
        let out = line.board.segments() as u32;
        let counts = line.board.counts();
        let most = out - counts.lost.max(1).min(out);
        if counts.presumed > most {
            line.board.presume_delivered(most);
            self.reordering = (out + acked).min(MAX_REORDERING);
            line.rack.on_reordering();
        }
    }

    /// `tcp_is_non_sack_preventing_reopen`: without SACK an episode lasts until something beyond its
    /// end is acknowledged, so that duplicates of what it sent again begin no other (RFC 6582
    /// section 3.2).
    pub(super) fn waits_beyond(&mut self, line: &Line<'_>) -> bool {
        let waits = !self.finder.has_sack() && *line.snd_una == self.high_seq;
        if waits {
            self.clean_retrans_stamp(line);
        }
        waits
    }
}
