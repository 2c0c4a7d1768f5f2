//! Taking back a reduction that was a mistake: by timestamps (Eifel, RFC 3522), by duplicate
//! reports (RFC 3708), or because an original turned up after a timeout (F-RTO, RFC 5682).

use crate::recovery::news::AckNews;
use crate::scoreboard::Scoreboard;

/// What is known of the retransmissions of the current episode.
#[derive(Clone, Copy, Debug)]
pub struct Undo {
    /// `snd_una` when the episode began.
    una: Option<u64>,
    /// Retransmissions not yet reported as duplicates, and whether there were any.
    unreported: u64,
    resent: bool,
    /// Timestamp of the first retransmission since none was in the network.
    stamp: Option<u32>,
}

impl Undo {
    /// Of a connection that has not lost anything.
    pub(crate) const NEW: Undo = Undo {
        una: None,
        unreported: 0,
        resent: false,
        stamp: None,
    };

    /// An episode begins. What an earlier one sent again and is still in the network counts: it
    /// may be reported as a duplicate, and its echo is no sign that an original came late
    /// (`tcp_init_undo`, `tcp_retrans_stamp_cleanup`).
    pub(crate) fn begin(&mut self, board: &Scoreboard, snd_una: u64, mss: u64) {
        let in_network = board.resent().div_ceil(mss);
        let first = board.ids().start;
        let any = in_network > 0 || (!board.is_empty() && board.get(first).ever_resent);
        *self = Undo {
            una: Some(snd_una),
            unreported: in_network,
            resent: in_network > 0,
            stamp: self.stamp.filter(|_| any),
        };
    }

    pub(crate) fn una_at_entry(&self) -> Option<u64> {
        self.una
    }

    pub(crate) fn end(&mut self) {
        *self = Undo {
            stamp: self.stamp,
            ..Undo::NEW
        };
    }

    /// A segment leaves again with timestamp `tsval` (0: no timestamps).
    pub(crate) fn on_resent(&mut self, tsval: u32) {
        self.unreported += 1;
        self.resent = true;
        if tsval != 0 {
            self.stamp = self.stamp.or(Some(tsval));
        }
    }

    /// Counts a duplicate that was reported.
    pub(crate) fn on_news(&mut self, news: &AckNews) {
        if news.dsack && self.una.is_some_and(|una| news.dsack_end > una) {
            self.unreported = self.unreported.saturating_sub(1);
        }
    }

    pub(crate) fn all_were_duplicates(&self) -> bool {
        self.resent && self.unreported == 0
    }

    /// RFC 3522: the echo is older than the first retransmission.
    pub(crate) fn echo_is_older(&self, tsecr: u32) -> bool {
        self.stamp
            .is_some_and(|stamp| tsecr != 0 && (tsecr.wrapping_sub(stamp) as i32) < 0)
    }
}
