//! Taking back a reduction that was a mistake: by timestamps (Eifel, RFC 3522), by duplicate
//! reports (RFC 3708), or because an original turned up after a timeout (F-RTO, RFC 5682).

use cclab_cc::Cx;
use cclab_units::Time;

use super::{Frto, Phase};
use crate::acknowledge::AckNews;
use crate::sender::Sender;

/// What is known of the retransmissions of the current episode.
#[derive(Clone, Copy, Debug, Default)]
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
    pub(crate) fn una_at_entry(&self) -> Option<u64> {
        self.una
    }

    pub(crate) fn end(&mut self) {
        *self = Undo {
            stamp: self.stamp,
            ..Undo::default()
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

    fn all_were_duplicates(&self) -> bool {
        self.resent && self.unreported == 0
    }

    /// RFC 3522: the echo is older than the first retransmission.
    fn echo_is_older(&self, tsecr: u32) -> bool {
        self.stamp
            .is_some_and(|stamp| tsecr != 0 && (tsecr.wrapping_sub(stamp) as i32) < 0)
    }
}

impl Sender {
    /// An episode begins. What an earlier one sent again and is still in the network counts: it
    /// may be reported as a duplicate, and its echo is no sign that an original came late
    /// (`tcp_init_undo`, `tcp_retrans_stamp_cleanup`).
    pub(super) fn begin_undo(&mut self) {
        let board = &self.board;
        let in_network = board.resent().div_ceil(self.mss);
        let first = board.ids().start;
        let any = in_network > 0 || (!board.is_empty() && board.get(first).ever_resent);
        self.episode.undo = Undo {
            una: Some(self.snd_una),
            unreported: in_network,
            resent: in_network > 0,
            stamp: self.episode.undo.stamp.filter(|_| any),
        };
    }

    pub(super) fn note_for_undo(&mut self, news: &AckNews) {
        let undo = &mut self.episode.undo;
        if news.dsack && undo.una.is_some_and(|una| news.dsack_end > una) {
            undo.unreported = undo.unreported.saturating_sub(1);
        }
    }

    /// Takes the reduction back if it was a mistake; returns whether it was. Reports of duplicates
    /// may come when recovery is over: until the next episode they count.
    pub(super) fn try_undo(&mut self, now: Time, news: &AckNews) -> bool {
        let undo = &self.episode.undo;
        if !self.profile.undo || undo.una.is_none() || !(news.advanced || news.dsack) {
            return false;
        }
        let by_frto = self.episode.phase == Phase::Loss
            && self.episode.frto != Frto::Off
            && news.original_delivered;
        let by_echo =
            self.episode.phase != Phase::Open && news.advanced && undo.echo_is_older(news.tsecr);
        let mistaken = by_frto || by_echo || (news.dsack && undo.all_were_duplicates());
        if !mistaken {
            return false;
        }
        self.counters.undos += 1;
        self.board.clear_lost();
        self.episode.rack.restart();
        self.episode.phase = Phase::Open;
        self.episode.inflation = 0;
        self.episode.dup_acks = 0;
        self.episode.retransmit_first = false;
        self.episode.frto.end();
        self.episode.undo.end();
        self.cc.on_undo(&mut Cx {
            now,
            rng: &mut self.rng,
        });
        true
    }
}
