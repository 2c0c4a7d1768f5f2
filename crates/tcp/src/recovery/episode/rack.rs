//! RACK loss detection (RFC 8985): a segment is lost when one sent sufficiently later has
//! been delivered.
//!
//! Originals leave in sequence order and retransmissions in the order of a queue, so both are
//! sorted by time as they stand: a cursor and a queue replace the time-sorted list of the RFC,
//! and every segment is looked at once.

use std::collections::VecDeque;

use cclab_units::Time;
use cclab_units::hint::rarely;

use crate::profile::ReorderingWindow;
use crate::scoreboard::{Scoreboard, Segment, SegmentId};

/// Duplicate ACKs or SACKed segments that show a loss without waiting (RFC 8985 section 3.3.2).
const DUP_THRESH: u64 = 3;
/// Recoveries after which a widened reordering window narrows again (RFC 8985 section 6.2,
/// `RACK.reo_wnd_persist`).
const REO_WND_PERSIST: u32 = 16;

/// State of the detector.
#[derive(Debug)]
pub struct Rack {
    /// How the reordering window behaves.
    pub(crate) window: ReorderingWindow,
    /// Instants count by whole microseconds, as the kernel's do.
    pub(crate) whole_micros: bool,
    /// Send time and end of the most recently sent segment that was delivered.
    sent: Time,
    end: u64,
    /// Whether it was a retransmission.
    again: bool,
    /// Round-trip time of the segment that was last looked at when the latest delivery was taken in,
    /// which need not be the most recently sent one.
    rtt: Time,
    reordering_seen: bool,
    /// Multiplier of the reordering window, widened by duplicate reports.
    reo_wnd_mult: u64,
    reo_wnd_persist: u32,
    dsack_round_end: Option<u64>,
    /// Something was delivered since losses were last looked for.
    advanced: bool,
    /// A duplicate was reported, and what had been delivered when the window was last widened.
    dsack_seen: bool,
    widened_at: u32,
    /// Every original before this one is decided.
    originals: SegmentId,
    resent: VecDeque<(SegmentId, Time)>,
}

impl Default for Rack {
    fn default() -> Rack {
        Rack {
            window: ReorderingWindow::RFC_8985,
            whole_micros: false,
            sent: Time::ZERO,
            end: 0,
            again: false,
            rtt: Time::ZERO,
            reordering_seen: false,
            reo_wnd_mult: 1,
            reo_wnd_persist: 0,
            dsack_round_end: None,
            advanced: false,
            dsack_seen: false,
            widened_at: 0,
            originals: 0,
            resent: VecDeque::new(),
        }
    }
}

impl Rack {
    /// Takes in a delivered segment (RFC 8985 section 6.2, steps 1 and 2).
    #[inline]
    pub fn on_delivered(&mut self, segment: &Segment, now: Time, min_rtt: Time) {
        let sent = self.instant(segment.sent);
        let rtt = self.instant(now) - sent;
        if segment.ever_resent && rtt < min_rtt {
            rarely();
            return; // the acknowledgement is of the original, not of what was sent last
        }
        self.advanced = true;
        self.rtt = rtt;
        if (sent, segment.end()) > (self.sent, self.end) {
            self.sent = sent;
            self.end = segment.end();
            self.again = segment.ever_resent;
        }
    }

    /// As exactly as instants are compared.
    #[inline]
    fn instant(&self, time: Time) -> Time {
        match self.whole_micros {
            true => time.whole_micros(),
            false => time,
        }
    }

    /// The round-trip time by which segments are overdue.
    pub(crate) fn rtt(&self) -> Time {
        self.rtt
    }

    /// What was delivered cumulatively is looked at after what was selectively
    /// (`tcp_clean_rtx_queue` after `tcp_sacktag_write_queue`): an acknowledgement of both waits as
    /// long as the former took.
    pub(crate) fn was_last(&mut self, rtt: Time) {
        self.rtt = rtt;
    }

    /// An original arrived after a later one (RFC 8985 section 6.2, step 3).
    pub fn on_reordering(&mut self) {
        self.reordering_seen = true;
    }

    /// A segment left again.
    pub fn on_resent(&mut self, id: SegmentId, now: Time) {
        self.resent.push_back((id, now));
    }

    /// The receiver reported a duplicate: the window was too narrow (step 4). At most once per
    /// round trip.
    pub fn on_dsack(&mut self, snd_una: u64, snd_nxt: u64) {
        if !self.window.widens || self.dsack_round_end.is_some_and(|end| snd_una < end) {
            return;
        }
        self.dsack_round_end = Some(snd_nxt);
        self.reo_wnd_mult += 1;
        self.reo_wnd_persist = REO_WND_PERSIST;
    }

    /// An episode of recovery ended.
    pub fn on_recovered(&mut self) {
        self.reo_wnd_persist = self.reo_wnd_persist.saturating_sub(1);
        if self.reo_wnd_persist == 0 {
            self.reo_wnd_mult = 1;
        }
    }

    fn reo_wnd(&self, board: &Scoreboard, in_recovery: bool, min_rtt: Time, srtt: Time) -> Time {
        let counted = self.window.counts && board.sacked_segments() >= DUP_THRESH;
        if !self.reordering_seen && (in_recovery || counted) {
            return Time::ZERO;
        }
        match self.whole_micros {
            true => (min_rtt / 4).whole_micros() * self.reo_wnd_mult,
            false => min_rtt * self.reo_wnd_mult / 4,
        }
        .min(srtt)
    }

    /// Whether the delivered segment left after the retransmission of what ends at `end`. Those of
    /// one instant left in sequence (`RACK_sent_after`), but an original and a retransmission of
    /// one instant may have left in either order: that shows no loss, except to the kernel
    /// (`tcp_skb_sent_after`).
    fn left_after(&self, sent: Time, end: u64) -> bool {
        let in_sequence = self.again || self.whole_micros;
        self.sent > sent || (self.sent == sent && in_sequence && self.end > end)
    }

    /// Marks what is lost (step 5). Returns the bytes newly lost, and when to look again if a
    /// segment is overdue but within the reordering window.
    pub fn detect(
        &mut self,
        board: &mut Scoreboard,
        now: Time,
        in_recovery: bool,
        (min_rtt, srtt): (Time, Time),
    ) -> (u64, Time) {
        let patience = self.rtt + self.reo_wnd(board, in_recovery, min_rtt, srtt);
        let mut newly_lost = 0;
        let mut again = Time::NEVER;
        let ids = board.ids();
        self.originals = self.originals.max(ids.start);
        while self.originals < ids.end {
            let segment = *board.get(self.originals);
            let decided = segment.sacked || segment.lost || segment.ever_resent;
            if !decided {
                if (self.sent, self.end) <= (segment.sent, segment.end()) {
                    break;
                }
                if segment.sent + patience > now {
                    again = segment.sent + patience;
                    break;
                }
                newly_lost += board.mark_lost(self.originals);
            }
            self.originals += 1;
        }
        while let Some(&(id, sent)) = self.resent.front() {
            let current = ids.contains(&id).then(|| *board.get(id));
            let waiting = current.filter(|s| s.sent == sent && !s.sacked && (s.resent || !s.lost));
            if let Some(segment) = waiting {
                if !self.left_after(sent, segment.end()) {
                    break;
                }
                if sent + patience > now {
                    again = again.min(sent + patience);
                    break;
                }
                newly_lost += board.mark_lost(id);
            }
            self.resent.pop_front();
        }
        (newly_lost, again)
    }

    /// The retransmission timer expired: the first segment is lost, and what left a round trip and
    /// the reordering window ago (RFC 8985 section 6.3, `RACK_mark_losses_on_RTO`).
    pub fn mark_at_timeout(
        &self,
        board: &mut Scoreboard,
        now: Time,
        in_recovery: bool,
        (min_rtt, srtt): (Time, Time),
    ) {
        let patience = self.rtt + self.reo_wnd(board, in_recovery, min_rtt, srtt);
        let ids = board.ids();
        for id in ids.clone() {
            if id == ids.start || board.get(id).sent + patience <= now {
                board.mark_lost(id);
            }
        }
    }

    /// After an undo the originals are looked at afresh.
    pub fn restart(&mut self) {
        self.advanced = true;
        self.originals = 0;
    }

    /// Whether something was delivered since this was asked last.
    pub(crate) fn take_advanced(&mut self) -> bool {
        std::mem::take(&mut self.advanced)
    }

    /// A duplicate was reported; the window widens when a round trip has passed since it last did.
    pub(crate) fn note_dsack(&mut self) {
        self.dsack_seen |= self.reordering_seen;
    }

    /// `tcp_rack_update_reo_wnd`: `prior` segments were delivered when what is now acknowledged
    /// left, and `delivered` are now.
    pub(crate) fn update_window(&mut self, prior: u32, delivered: u32) {
        if prior == 0 || !self.window.widens {
            return;
        }
        if (prior.wrapping_sub(self.widened_at) as i32) < 0 {
            self.dsack_seen = false;
        }
        if std::mem::take(&mut self.dsack_seen) {
            rarely();
            self.reo_wnd_mult = (self.reo_wnd_mult + 1).min(255);
            self.widened_at = delivered;
            self.reo_wnd_persist = REO_WND_PERSIST;
        } else if self.reo_wnd_persist == 0 {
            self.reo_wnd_mult = 1;
        }
    }

    /// An episode was no mistake: a wide window is kept for one fewer.
    pub(crate) fn on_genuine(&mut self) {
        self.reo_wnd_persist = self.reo_wnd_persist.saturating_sub(1);
    }

    /// An episode was a mistake by duplicates: a wide window is kept for one more.
    pub(crate) fn on_mistaken(&mut self) {
        self.reo_wnd_persist = (self.reo_wnd_persist + 1).min(REO_WND_PERSIST);
    }

    /// As [`Rack::detect`], as `tcp_rack_detect_loss` does it: of all that is overdue but within the
    /// reordering window it waits for the last, and what was taken for lost is not looked at again
    /// before it leaves again. Returns when to look again.
    pub(crate) fn mark_overdue(
        &mut self,
        board: &mut Scoreboard,
        now: Time,
        in_recovery: bool,
        rtts: (Time, Time),
    ) -> Time {
        let patience = self.rtt + self.reo_wnd(board, in_recovery, rtts.0, rtts.1);
        let now = self.instant(now);
        let mut latest = None;
        let ids = board.ids();
        self.originals = self.originals.max(ids.start);
        for id in self.originals..ids.end {
            let segment = *board.get(id);
            let decided = segment.sacked || segment.lost || segment.ever_resent || segment.judged;
            if !decided {
                let sent = self.instant(segment.sent);
                if (self.sent, self.end) <= (sent, segment.end()) {
                    break;
                }
                if sent + patience > now {
                    latest = latest.max(Some(sent + patience));
                } else {
                    board.mark_lost(id);
                    board.set_judged(id);
                }
            }
            if latest.is_none() {
                self.originals = id + 1;
            }
        }
        let mut place = 0;
        while let Some(&(id, sent)) = self.resent.get(place) {
            let current = ids.contains(&id).then(|| *board.get(id));
            let waiting = current
                .filter(|s| s.sent == sent && !s.sacked && !s.judged && (s.resent || !s.lost));
            if let Some(segment) = waiting {
                let sent = self.instant(sent);
                if !self.left_after(sent, segment.end()) {
                    break;
                }
                if sent + patience > now {
                    latest = latest.max(Some(sent + patience));
                    place += 1;
                    continue;
                }
                board.mark_lost(id);
                board.set_judged(id);
            }
            self.resent.remove(place);
        }
        latest.unwrap_or(Time::NEVER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent_every_ms(n: u64) -> Scoreboard {
        let mut board = Scoreboard::default();
        for i in 0..n {
            let sent = Time::from_millis(i);
            board.push(Segment {
                start: i * 100,
                len: 100,
                sent,
                ..Segment::default()
            });
        }
        board
    }

    const RTTS: (Time, Time) = (Time::from_millis(40), Time::from_millis(40));

    /// RFC 8985 section 3.1: a later delivery starts the clock of an earlier segment; without
    /// three SACKed segments a quarter of the smallest RTT is granted for reordering.
    #[test]
    fn a_segment_is_lost_a_quarter_rtt_after_a_later_one_was_delivered() {
        let (mut board, mut rack) = (sent_every_ms(3), Rack::default());
        let now = Time::from_millis(41);
        board.select(&[(100, 200)], |_, s| rack.on_delivered(s, now, RTTS.0));
        let (lost, again) = rack.detect(&mut board, now, false, RTTS);
        assert_eq!((lost, again), (0, Time::from_millis(50)));
        let (lost, _) = rack.detect(&mut board, again, false, RTTS);
        assert_eq!(lost, 100);
        assert_eq!(board.next_lost(), Some(0));
    }

    #[test]
    fn three_deliveries_show_a_loss_at_once_and_a_lost_retransmission_is_found() {
        let (mut board, mut rack) = (sent_every_ms(12), Rack::default());
        let now = Time::from_millis(43);
        board.select(&[(100, 400)], |_, s| rack.on_delivered(s, now, RTTS.0));
        assert_eq!(rack.detect(&mut board, now, false, RTTS).0, 100);
        board.mark_resent(0, |s| s.sent = now);
        rack.on_resent(0, now);
        // A segment sent after the retransmission is delivered 40 ms later.
        let id = board.push(Segment {
            start: 1200,
            len: 100,
            sent: Time::from_millis(44),
            ..Segment::default()
        });
        assert_eq!(id, 12);
        let later = Time::from_millis(84);
        board.select(&[(1200, 1300)], |_, s| rack.on_delivered(s, later, RTTS.0));
        let (lost, _) = rack.detect(&mut board, later, true, RTTS);
        assert_eq!(
            lost,
            100 + 8 * 100,
            "the retransmission and the eight older originals"
        );
        assert_eq!(board.next_lost(), Some(0));
    }
}
