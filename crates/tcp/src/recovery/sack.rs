//! Recovery from the SACK scoreboard (RFC 6675).

use cclab_units::Time;

use super::episode::Phase;
use super::flight::Flight;
use super::news::{AckNews, DUP_THRESH};
use crate::scoreboard::SegmentId;

impl Flight {
    pub(super) fn on_news_sack(&mut self, now: Time, news: &AckNews) -> u64 {
        if self.try_undo(now, news) {
            return 0;
        }
        if news.advanced {
            self.episode.dup_acks = 0;
            if self.episode.recovered(self.snd_una) {
                self.episode.phase = Phase::Open;
            }
        } else if news.duplicate && news.newly_delivered > 0 {
            // Section 2: a duplicate tells of something new; one that reports a repeated segment
            // does not.
            self.episode.dup_acks += 1;
        }
        if self.episode.phase == Phase::Loss {
            self.episode.frto.on_news(news, self.snd_nxt < self.written); // a duplicate too: the timeout was genuine
        }
        let mut lost = self.episode.sack.advance(&mut self.board);
        let may_enter = self.episode.phase == Phase::Open && self.episode.recovered(self.snd_una);
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
