//! How much a stack hands down at once (Linux: TSO autosizing and deferral).
//!
//! Even where the device cuts no segments, Linux builds packets of several, about a millisecond's
//! worth at the flow's rate (`tcp_tso_autosize`). While the window has room for less than such a
//! packet, it waits for the next acknowledgement if that is near (`tcp_tso_should_defer`). So a
//! flow may stay a few segments below its window, and sends in bursts of some segments.

use cclab_units::Time;
use cclab_units::hint::rarely;

use crate::limits::Limit;
use crate::profile::Bursts;
use crate::recovery::control::Control;
use crate::sender::Sender;
use crate::write_queue::{Head, Leave};

/// Microseconds in a second.
const MICROSECONDS: u64 = 1_000_000;

impl Sender {
    /// The segments of new data that may leave at once, or what holds them back.
    #[inline]
    pub(crate) fn burst(&mut self, now: Time, window: u64) -> Result<u64, Limit> {
        let Some(most) = self.full_burst() else {
            return Ok(1); // each segment is judged, and paced, by itself
        };
        if self.queue.is_some() {
            return self.burst_of_packet(now, window, most);
        }
        self.burst_of_segments(now, window, most)
    }

    /// As [`Sender::burst`], where the send buffer is not one of packets.
    #[inline(never)]
    fn burst_of_segments(&self, now: Time, window: u64, most: u64) -> Result<u64, Limit> {
        let (by_cwnd, by_rwnd) = self.room(window);
        match self.deferred(now, window, [by_cwnd, most], None) {
            Some(limit) => Err(limit),
            // No more than half of the window at once (`tcp_cwnd_test`).
            None => {
                let room = by_cwnd.min(by_rwnd) / self.flight.mss;
                Ok(most.min(window / self.flight.mss / 2).min(room).max(1))
            }
        }
    }

    /// As [`Sender::burst`], off the first packet of the send buffer (`tcp_write_xmit`).
    fn burst_of_packet(&mut self, now: Time, window: u64, most: u64) -> Result<u64, Limit> {
        let cwnd = self.flight.segments_of(window);
        let room = cwnd.saturating_sub(self.flight.board.segments_in_flight());
        let quota = Sender::quota_of(cwnd, room).min(most).max(1);
        let Some(head) = self.head(quota) else {
            rarely();
            self.cut_nothing(); // a bare FIN
            return Ok(1);
        };
        let by_cwnd = room * self.flight.mss;
        if head.len > self.flight.mss
            && self.leave != Leave::One
            && let Some(limit) = self.deferred(now, window, [by_cwnd, most], Some(head))
        {
            return Err(limit);
        }
        let holds_back = self.holds_back_short();
        Ok(self.cut(head, quota, holds_back))
    }

    /// The receiver's window holds back the next packet, which takes in what it lacks all the same.
    pub(crate) fn fill_packet(&mut self, window: u64) {
        if self.queue.is_some() && self.flight.fits(self.flight.mss, window) {
            let most = self.burst_bytes() / self.flight.mss;
            self.head(self.quota(window).min(most));
        }
    }

    /// Segments that leave as one packet when a loss probe is due.
    pub(crate) fn probe_of_packet(&mut self) -> u64 {
        let most = self.burst_bytes() / self.flight.mss;
        let quota = self.quota(self.flight.window_in_force()).min(most).max(1);
        match self.head(quota) {
            Some(head) => self.cut(head, quota, false),
            None => {
                self.cut_nothing();
                1
            }
        }
    }

    /// The first packet of the send buffer, filled up to `quota` segments.
    #[inline(always)] // once for each poll: a call costs more than what it does
    fn head(&mut self, quota: u64) -> Option<Head> {
        let wanted = quota * self.flight.mss;
        self.queue.as_mut().and_then(|queue| queue.head(wanted))
    }

    /// Cuts off `head` what leaves of it: what `quota` segments and the receiver's window have room
    /// for, a segment that is not full at the window's end among them, unless the sender
    /// `holds_back` such (`tcp_mss_split_point`). Returns its segments.
    fn cut(&mut self, head: Head, quota: u64, holds_back: bool) -> u64 {
        let mss = self.flight.mss;
        let most = quota * mss;
        let (_, by_rwnd) = self.room(u64::MAX);
        let needed = head.len.min(by_rwnd);
        let len = if head.len <= mss || (most <= by_rwnd && !head.is_last) || most <= needed {
            head.len.min(most)
        } else if holds_back && needed >= mss {
            needed / mss * mss
        } else {
            needed
        };
        self.burst_end = self.flight.snd_nxt + len;
        self.burst_pushes = head.push && len >= head.len;
        len.div_ceil(mss)
    }

    /// What of `len` bytes lies in the packet that was cut, where the send buffer is one of packets.
    pub(crate) fn of_packet(&self, len: u64) -> u64 {
        match self.queue.is_some() && self.flight.profile.bursts.is_some() {
            true => len.min(self.burst_end - self.flight.snd_nxt),
            false => len,
        }
    }

    /// No data leave with the next segment.
    fn cut_nothing(&mut self) {
        self.burst_end = self.flight.snd_nxt;
        self.burst_pushes = false;
    }

    /// A segment that is not full waits, since another one is on its way (Minshall's form of
    /// Nagle's rule), unless the application has turned that off or pushes; or since the
    /// application says that there is more (`tcp_nagle_check`).
    pub(crate) fn holds_back_short(&self) -> bool {
        match self.leave {
            Leave::One | Leave::Pushed => false,
            Leave::Corked => true,
            Leave::All | Leave::Nothing => {
                let on_its_way = self.short_end > self.flight.snd_una;
                !self.nodelay && on_its_way && !self.flight.board.is_empty()
            }
        }
    }

    /// Segments that the window has room for, but no more than half of it at once
    /// (`tcp_cwnd_test`).
    fn quota(&self, window: u64) -> u64 {
        let cwnd = self.flight.segments_of(window);
        let room = cwnd.saturating_sub(self.flight.board.segments_in_flight());
        Sender::quota_of(cwnd, room)
    }

    /// As [`Sender::quota`], of a window of `cwnd` segments of which `room` are free.
    fn quota_of(cwnd: u64, room: u64) -> u64 {
        room.min((cwnd / 2).max(1))
    }

    /// Bytes that the congestion window and the receiver's have room for.
    fn room(&self, window: u64) -> (u64, u64) {
        (
            window.saturating_sub(self.flight.board.in_flight()),
            self.rwnd.saturating_sub(self.flight.board.outstanding()),
        )
    }

    /// Bytes of a full burst, of one segment where the stack sends none.
    pub(crate) fn burst_bytes(&mut self) -> u64 {
        self.full_burst().map_or(1, |segments| segments.max(1)) * self.flight.mss
    }

    /// Segments of a full burst; `None`: the stack sends no bursts.
    #[inline(always)] // once for each packet: a call costs more than what it does
    fn full_burst(&mut self) -> Option<u64> {
        let (rate, min_rtt_us, least) = match &mut self.flight.cc {
            Control::Linux(linux) => {
                let rules = self.flight.profile.bursts.as_ref()?;
                if let Some(segments) = linux.burst_segments() {
                    rarely();
                    return Some(segments.clamp(1, (rules.most / self.flight.mss).max(1)));
                }
                let least = linux.least_burst();
                (linux.burst_rate(), linux.min_rtt_us(), least)
            }
            Control::Own(_) => {
                rarely();
                let rules = self.flight.profile.bursts?;
                self.own_rate(&rules)
            }
        };
        let rules = self.flight.profile.bursts.as_ref()?;
        // Short paths get more (`tcp_tso_rtt_log`).
        let halvings = min_rtt_us >> rules.rtt_log;
        let extra = if halvings < 32 {
            rules.most >> halvings
        } else {
            0
        };
        let bytes = ((rate >> rules.rate_shift) + extra).min(rules.most);
        Some((bytes / self.flight.mss).max(least.unwrap_or(rules.least)))
    }

    /// Of a variant that keeps the window: bytes per second, the least round-trip time in microseconds,
    /// and the least segments of a burst, if it has a say.
    #[inline(never)]
    fn own_rate(&mut self, rules: &Bursts) -> (u64, u64, Option<u64>) {
        let own = self.flight.cc.own();
        let least = own.least_burst();
        let rate = match own.pacing_rate() {
            Some(rate) => rate.bps() / 8,
            None => self.estimated_rate(rules),
        };
        let min_rtt = self.flight.rtt.min_rtt();
        (rate, min_rtt.as_nanos() / 1_000, least)
    }

    /// Bytes per second by the window and the round-trip time (`tcp_update_pacing_rate`).
    fn estimated_rate(&self, rules: &Bursts) -> u64 {
        let srtt_us = self.flight.rtt.srtt().as_nanos() / 1_000;
        if srtt_us == 0 {
            return u64::MAX;
        }
        let cwnd = self.flight.cc.cwnd();
        let percent = if cwnd < self.flight.cc.ssthresh() / 2 {
            rules.slow_start_percent
        } else {
            rules.percent
        };
        let bytes = cwnd.max(self.flight.board.outstanding());
        (bytes.saturating_mul(percent) / 100).saturating_mul(MICROSECONDS) / srtt_us
    }

    /// What holds back less than a full burst of `most` segments where the window has room for `by_cwnd`
    /// bytes, if it is to wait for the next acknowledgement.
    #[inline(always)] // once for each packet: a call costs more than what it does
    fn deferred(
        &self,
        now: Time,
        window: u64,
        [by_cwnd, most]: [u64; 2],
        head: Option<Head>,
    ) -> Option<Limit> {
        let rules = self.flight.profile.bursts.as_ref()?;
        let available = match head {
            Some(head) => head.len,
            None => self.flight.written.saturating_sub(self.flight.snd_nxt),
        };
        // Linux counts from when the pacer lets the next segment go (`tcp_wstamp_ns`).
        let last = match self.flight.cc.is_linux() {
            true => self.pacer.next_departure(),
            false => {
                rarely();
                self.last_sent
            }
        };
        let recent = now <= last + rules.patience;
        if self.flight.in_recovery()
            || !recent
            || self.flight.board.is_empty()
            || available <= self.flight.mss
        {
            return None;
        }
        let by_rwnd = self.rwnd.saturating_sub(self.flight.board.outstanding());
        let room = by_cwnd.min(by_rwnd);
        // A part of the window, rounded down, without a division.
        let is_part = (room + 1) * rules.part_of_window > self.rwnd.min(window);
        if room >= most * self.flight.mss || is_part {
            return None;
        }
        // What is left of a packet and gets no more.
        if head.is_some_and(|head| !head.is_last && room >= head.len) {
            return None;
        }
        let oldest = self.flight.board.get(self.flight.board.ids().start).sent;
        let srtt = match self.flight.cc.is_linux() {
            true => self.flight.rtt.fine_srtt(),
            false => {
                rarely();
                self.flight.rtt.srtt()
            }
        };
        let near = now + rules.patience.min(srtt / 2);
        if oldest + srtt > near {
            rarely();
            return None;
        }
        if room > available {
            rarely();
            // Nothing comes that would be worth the wait, or the application is what is waited for.
            let is_end = self.closed && self.flight.snd_nxt + available >= self.flight.written;
            let full = self.buffered < self.flight.written;
            return (!is_end).then_some(if full {
                Limit::Sndbuf
            } else {
                Limit::Application
            });
        }
        Some(if by_cwnd < by_rwnd {
            Limit::Cwnd
        } else {
            Limit::Rwnd
        })
    }
}
