//! Recovery from the SACK scoreboard (RFC 6675).

use cclab_units::Time;

use super::{DUP_THRESH, Phase};
use crate::acknowledge::AckNews;
use crate::scoreboard::{Scoreboard, SegmentId};
use crate::sender::Sender;

/// `IsLost` of RFC 6675 section 4, evaluated once per segment: the cursor stands at the first
/// segment that does not yet have enough SACKed ones above it.
#[derive(Debug, Default)]
pub struct LossCursor {
    at: SegmentId,
    /// SACKed segments at or above the cursor.
    above: u64,
    /// Highest segment retransmitted as a rescue in this episode (section 5, `RescueRxt`).
    pub(crate) rescued: Option<SegmentId>,
}

impl LossCursor {
    pub(crate) fn on_selected(&mut self, id: SegmentId) {
        self.above += u64::from(id >= self.at);
    }

    /// The scoreboard was marked by something else: the cursor starts again.
    pub(crate) fn restart(&mut self, board: &Scoreboard) {
        self.at = board.ids().start;
        self.above = board.sacked_segments();
    }

    /// Marks what has become lost; returns its bytes.
    pub(crate) fn advance(&mut self, board: &mut Scoreboard) -> u64 {
        if board.ids().start > self.at {
            self.restart(board);
        }
        let mut lost = 0;
        while self.above >= u64::from(DUP_THRESH) {
            if board.get(self.at).sacked {
                self.above -= 1;
            } else if !board.get(self.at).lost && !board.get(self.at).ever_resent {
                // What rule 3 sent again counts in flight by that copy.
                lost += board.mark_lost(self.at);
            }
            self.at += 1;
        }
        lost
    }
}

impl Sender {
    pub(super) fn on_news_sack(&mut self, now: Time, news: &AckNews) -> u64 {
        if self.try_undo(now, news) {
            return 0;
        }
        if news.advanced {
            self.episode.dup_acks = 0;
            if self
                .episode
                .recover
                .is_none_or(|recover| self.snd_una >= recover)
            {
                self.episode.phase = Phase::Open;
            }
        } else if news.duplicate && news.newly_delivered > 0 {
            // Section 2: a duplicate tells of something new; one that reports a repeated segment
            // does not.
            self.episode.dup_acks += 1;
        }
        if self.episode.phase == Phase::Loss {
            self.on_news_frto(news); // a duplicate too: the timeout was genuine
        }
        let mut lost = self.episode.sack.advance(&mut self.board);
        let may_enter = self.episode.phase == Phase::Open
            && self
                .episode
                .recover
                .is_none_or(|recover| self.snd_una >= recover);
        if may_enter && (lost > 0 || self.episode.dup_acks == DUP_THRESH) && !self.board.is_empty()
        {
            self.begin_episode(now);
            self.episode.sack.rescued = None;
            // Section 5 step 4.3: the first segment leaves again whatever the pipe.
            lost += self.board.mark_lost(self.board.ids().start);
        }
        lost
    }

    /// RFC 6675 section 4, `NextSeg` rules 3 and 4, when nothing is lost and nothing new may be
    /// sent: an unSACKed segment below the highest SACKed one, else one rescue per episode.
    ///
    /// What rule 3 sends counts twice in the pipe, as original and as copy (`SetPipe`), until
    /// the original is lost by count or one of them arrives.
    pub(crate) fn next_by_sack(&mut self, window: u64) -> Option<SegmentId> {
        let highest = self.board.highest_sacked()?;
        let ids = self.board.ids();
        let from = self.episode.sack.at.max(ids.start);
        let copies: u64 = (from..highest)
            .map(|id| self.board.get(id))
            .filter(|segment| segment.ever_resent && !segment.sacked && !segment.lost)
            .map(|segment| u64::from(segment.len))
            .sum();
        if !self.fits(self.mss + copies, window) {
            return None;
        }
        let below = (from..highest).find(|&id| {
            let segment = self.board.get(id);
            !segment.sacked && !segment.lost && !segment.ever_resent
        });
        if below.is_some() {
            return below;
        }
        if self
            .episode
            .sack
            .rescued
            .is_some_and(|rescued| rescued >= ids.start)
        {
            return None;
        }
        let rescue = ids.rev().find(|&id| !self.board.get(id).sacked)?;
        self.episode.sack.rescued = Some(rescue);
        Some(rescue)
    }
}
