//! Which segments the scoreboard shows lost (RFC 6675 section 4).

use crate::recovery::news::DUP_THRESH;
use crate::scoreboard::{Scoreboard, SegmentId};

/// `IsLost` of RFC 6675 section 4, evaluated once per segment: the cursor stands at the first
/// segment that does not yet have enough SACKed ones above it.
#[derive(Clone, Copy, Debug)]
pub struct LossCursor {
    pub(crate) at: SegmentId,
    /// SACKed segments at or above the cursor.
    above: u64,
    /// Highest segment retransmitted as a rescue in this episode (section 5, `RescueRxt`).
    pub(crate) rescued: Option<SegmentId>,
}

impl LossCursor {
    /// Before the first segment.
    pub(crate) const NEW: LossCursor = LossCursor {
        at: 0,
        above: 0,
        rescued: None,
    };

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
