//! When Linux acknowledges: at once, after a delay, or with others.

use std::sync::Arc;

use cclab_units::Time;
use cclab_units::hint::{rarely, unlikely};

use super::super::ReceiverConfig;
use super::super::compression::Compression;
use crate::wheel;

/// The receiver's own retransmission timeout before it knows the path (`TCP_TIMEOUT_INIT`), in
/// ticks; gaps between segments are measured by it.
const RTO_BEFORE_SAMPLE: u64 = 1_000;
/// The least that a timeout adds to the round-trip time (`TCP_RTO_MIN`).
const RTO_MIN_US: u64 = 200_000;
/// The longest wait in ticks while no push was seen (`tcp_send_delayed_ack`).
const LONGEST_WAIT: u64 = 500;
/// The segment size that a receiver assumes before it has seen any (`TCP_MSS_DEFAULT`).
const FIRST_MSS: u64 = 536;
/// Payloads from which on a segment may be a full one of a smaller size: `TCP_MSS_DEFAULT` and
/// `TCP_MIN_MSS` less what a header with a timestamp is longer than one without options.
const PLAUSIBLE_MSS: u64 = 536 - 12;
const PLAUSIBLE_MSS_WITHOUT_PUSH: u64 = 88 - 12;

/// What of a segment says that no more comes soon (`ICSK_ACK_PUSHED`, `ICSK_ACK_PUSHED2`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Pushed {
    No,
    Once,
    Twice,
}

/// What comes with a segment that bears on its acknowledgement.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrived {
    /// Bytes of payload.
    pub(super) len: u64,
    /// Whether it has the push flag.
    pub(super) push: bool,
    /// Whether it has the push flag or one that ends the connection (`TCP_REMNANT`).
    pub(super) remnant: bool,
}

/// What a timer that expired does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::receiver) enum Expired {
    /// Nothing: what it was set for is done.
    Nothing,
    /// It sends what was held back, without a look at the clock (`tcp_compressed_ack_kick`).
    HeldBack,
    /// It sends an acknowledgement (`tcp_delack_timer_handler`).
    Delayed,
}

/// The timer of delayed acknowledgements. What clears it leaves it in the wheel, where it expires
/// all the same.
#[derive(Clone, Copy, Debug)]
struct Timer {
    /// The tick that was asked for.
    tick: u64,
    /// When it expires: after that tick, by the grain of its level of the wheel.
    at: Time,
}

/// What a receiver owes, and what it knows of its peer's segments.
#[derive(Clone, Debug)]
pub(in crate::receiver) struct Acks {
    config: Arc<ReceiverConfig>,
    /// Bounds of the estimate of the time between segments, in ticks.
    least_wait: u64,
    most_wait: u64,

    /// Whether an acknowledgement is owed (`ICSK_ACK_SCHED`).
    scheduled: bool,
    /// Whether the timer is to send it (`ICSK_ACK_TIMER`), and at which tick.
    waiting: Option<u64>,
    /// Whether it must leave with this segment (`ICSK_ACK_NOW`).
    now: bool,
    pushed: Pushed,
    timer: Option<Timer>,
    /// Acknowledgements still to be sent at once.
    quick: u64,
    /// The estimate of the time between segments, in ticks; zero before the first.
    ato: u64,
    last_data: u64,
    /// Payload of a full segment of the peer (`rcv_mss`), and of the last one that was none.
    rcv_mss: u64,
    last_size: u64,
    /// Round-trip time of the handshake in eighths of microseconds, zero while unknown, and the
    /// timeout that follows from it, in ticks.
    srtt: u64,
    rto: u64,
    compression: Compression,
}

/// The tick of `now` (`jiffies`).
fn tick(now: Time) -> u64 {
    now.as_millis()
}

impl Acks {
    pub(super) fn new(config: &Arc<ReceiverConfig>, least_wait: Time, most_wait: Time) -> Acks {
        Acks {
            config: Arc::clone(config),
            least_wait: tick(least_wait),
            most_wait: tick(most_wait),
            scheduled: false,
            waiting: None,
            now: false,
            pushed: Pushed::No,
            timer: None,
            quick: 0,
            ato: 0,
            last_data: 0,
            rcv_mss: u64::from(config.mss_payload).min(FIRST_MSS),
            last_size: 0,
            srtt: 0,
            rto: RTO_BEFORE_SAMPLE,
            compression: Compression::default(),
        }
    }

    /// The handshake measured `rtt`; `None` or zero if it could not.
    pub(in crate::receiver) fn on_handshake_rtt(&mut self, rtt: Option<Time>) {
        let rtt = rtt.map_or(0, Time::as_micros);
        if rtt > 0 {
            self.srtt = 8 * rtt;
            self.rto = (rtt + (2 * rtt).max(RTO_MIN_US)).div_ceil(1_000);
        }
    }

    /// Largest payload of a segment that this side asks for (`advmss`).
    fn mss(&self) -> u64 {
        u64::from(self.config.mss_payload)
    }

    /// Payload of a full segment of the peer.
    pub(super) fn rcv_mss(&self) -> u64 {
        self.rcv_mss
    }

    /// The round-trip time by which acknowledgements are thinned out, if `seen` is what the
    /// buffer is measured by; both in eighths of microseconds.
    fn rtt(&self, seen: u64) -> Time {
        let rtt = match self.srtt {
            0 => seen,
            srtt => srtt.min(seen),
        };
        Time::from_nanos(rtt * 125)
    }

    /// A segment came that is kept; returns its payload if that is a full segment of another size
    /// than so far (`tcp_measure_rcv_mss`).
    #[inline]
    pub(super) fn on_segment(&mut self, arrived: Arrived) -> Option<u64> {
        self.scheduled = true;
        let len = arrived.len;
        let last = std::mem::replace(&mut self.last_size, 0);
        if len >= self.rcv_mss {
            let changed = len != self.rcv_mss;
            self.rcv_mss = len.min(self.mss());
            if arrived.push {
                self.pushed = self.pushed.max(Pushed::Once);
            }
            return changed.then_some(len);
        }
        rarely();
        if len >= PLAUSIBLE_MSS || len >= PLAUSIBLE_MSS_WITHOUT_PUSH && !arrived.remnant {
            self.last_size = len;
            if len == last {
                self.rcv_mss = len;
                return None;
            }
        }
        self.pushed = match self.pushed {
            Pushed::No => Pushed::Once,
            Pushed::Once | Pushed::Twice => Pushed::Twice,
        };
        None
    }

    /// Data in order came while `window` bytes are offered: half the old estimate and the new gap
    /// (`tcp_event_data_recv`).
    #[inline]
    pub(super) fn measure_gap(&mut self, now: Time, window: u64) {
        let now = tick(now);
        if self.ato == 0 {
            rarely();
            self.quicken(u64::from(self.config.ack.quick_acks), window);
            self.ato = self.least_wait;
        } else {
            let gap = now - self.last_data;
            if gap <= self.least_wait / 2 {
                self.ato = self.ato / 2 + self.least_wait / 2;
            } else if gap < self.ato {
                self.ato = (self.ato / 2 + gap).min(self.rto).min(self.most_wait);
            } else if gap > self.rto {
                rarely();
                // The sender was silent and may have restarted from a small window.
                self.quicken(u64::from(self.config.ack.quick_acks), window);
            }
        }
        self.last_data = now;
    }

    /// The window grew by the segment that comes: it is acknowledged at once (`tcp_grow_window`).
    #[inline]
    pub(super) fn on_window_growth(&mut self) {
        self.quick |= 1;
    }

    /// So little of the buffer is free that acknowledgements are no longer hastened
    /// (`__tcp_select_window`).
    #[inline]
    pub(super) fn on_buffer_half_full(&mut self) {
        self.quick = 0;
    }

    /// Acknowledgements may have been lost: the next ones leave at once
    /// (`tcp_enter_quickack_mode`).
    pub(super) fn enter_quick_mode(&mut self, window: u64) {
        self.quicken_after(u64::from(self.config.ack.quick_acks), window);
    }

    /// The same, with `most` of them.
    pub(super) fn quicken_after(&mut self, most: u64, window: u64) {
        self.quicken(most, window);
        self.ato = self.least_wait;
    }

    /// An acknowledgement is owed.
    pub(super) fn schedule(&mut self) {
        self.scheduled = true;
    }

    /// Whether one is owed.
    pub(super) fn is_scheduled(&self) -> bool {
        self.scheduled
    }

    /// The segment being taken in must be acknowledged with it.
    pub(in crate::receiver) fn insist(&mut self) {
        self.now = true;
    }

    /// Whether the timer is to send one.
    pub(in crate::receiver) fn is_waiting(&self) -> bool {
        self.waiting.is_some()
    }

    /// Whether `bytes` in order that were not acknowledged are more than may wait.
    pub(super) fn is_enough(&self, bytes: u64) -> bool {
        bytes > u64::from(self.config.ack.every.saturating_sub(1)) * self.rcv_mss
    }

    /// Whether the application's reading makes an acknowledgement leave, since the peer seems to
    /// have sent all that it has (`__tcp_cleanup_rbuf`); `empty` tells whether nothing is kept.
    pub(super) fn is_pushed(&self, empty: bool) -> bool {
        self.config.ack.at_push && empty && self.pushed > Pushed::No
    }

    /// Whether the segment that came is acknowledged with it, whatever it is.
    pub(super) fn is_prompt(&self) -> bool {
        self.quick > 0 || self.now
    }

    /// The acknowledgement may wait; returns whether the timer would expire so soon that it
    /// leaves now (`tcp_send_delayed_ack`).
    #[inline(never)]
    pub(super) fn delay(&mut self, now: Time) -> bool {
        let now = tick(now);
        let mut ato = self.ato;
        if ato > self.least_wait {
            let mut most = match self.pushed {
                Pushed::No => LONGEST_WAIT,
                Pushed::Once | Pushed::Twice => self.most_wait,
            };
            if self.srtt > 0 {
                most = most.min((self.srtt / 8).div_ceil(1_000).max(self.least_wait));
            }
            ato = ato.min(most);
        }
        ato = ato.min(self.most_wait);
        let mut timeout = now + ato;
        if let Some(waiting) = self.waiting {
            if waiting <= now + ato / 4 {
                return true;
            }
            timeout = timeout.min(waiting);
        }
        self.scheduled = true;
        self.waiting = Some(timeout);
        if self.timer.is_none_or(|timer| timer.tick != timeout) {
            self.timer = Some(Timer {
                tick: timeout,
                at: Time::from_millis(wheel::expiry(now, timeout)),
            });
        }
        false
    }

    /// An acknowledgement of everything left (`tcp_event_ack_sent`).
    #[inline]
    pub(in crate::receiver) fn on_ack_sent(&mut self) {
        self.compression.on_ack_sent();
        if unlikely(self.scheduled && self.quick > 0) {
            self.quick -= 1;
            if self.quick == 0 {
                self.ato = self.least_wait; // leaving the quick mode deflates the estimate
            }
        }
        self.scheduled = false;
        self.waiting = None;
        self.now = false;
        self.pushed = Pushed::No;
    }

    /// When a timer expires.
    #[inline]
    pub(in crate::receiver) fn deadline(&self) -> Time {
        let timer = self.timer.map_or(Time::NEVER, |timer| timer.at);
        timer.min(self.held_until())
    }

    /// When the timer of acknowledgements that are held back expires.
    #[inline]
    fn held_until(&self) -> Time {
        self.compression
            .deadline(self.config.ack.compression.as_ref())
    }

    /// A segment came while data is missing from `next` on, `rtt` being the round-trip time of the
    /// buffer, in eighths of microseconds; returns whether it is acknowledged at once.
    pub(super) fn is_at_once(&mut self, now: Time, next: u64, rtt: u64) -> bool {
        let rtt = self.rtt(rtt);
        match &self.config.ack.compression {
            Some(rules) => self.compression.on_data(rules, now, next, rtt),
            None => true,
        }
    }

    /// Whether acknowledgements are held back.
    pub(super) fn holds(&self) -> bool {
        self.compression.holds()
    }

    /// What a timer that expired by `now` does.
    pub(in crate::receiver) fn on_timer(&mut self, now: Time) -> Expired {
        if self.held_until() <= now {
            return Expired::HeldBack;
        }
        if self.timer.is_none_or(|timer| timer.at > now) {
            return Expired::Nothing;
        }
        self.timer = None;
        if self.compression.holds() {
            return Expired::Delayed;
        }
        if self.waiting.take().is_none() || !self.scheduled {
            return Expired::Nothing; // the acknowledgement that it was set for has left
        }
        self.ato = (2 * self.ato).min(self.rto).min(self.most_wait); // the wait was in vain
        Expired::Delayed
    }

    /// At least so many acknowledgements leave at once, as far as the window is worth them
    /// (`tcp_incr_quickack`).
    #[inline(never)]
    fn quicken(&mut self, most: u64, window: u64) {
        let worth = match window / (2 * self.rcv_mss) {
            0 => 2,
            worth => worth,
        };
        self.quick = self.quick.max(worth.min(most));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::AckDelay;
    use crate::receiver::tests::config;

    const WINDOW: u64 = 65_536;

    fn linux(quick_acks: u32) -> Acks {
        let mut config = config("linux-6.12");
        let AckDelay::Adaptive { min, max } = config.ack.delay else {
            panic!("Linux estimates the wait");
        };
        config.ack.quick_acks = quick_acks;
        config.mss_payload = 1_448;
        let mut acks = Acks::new(&Arc::new(config), min, max);
        acks.rcv_mss = 1_448;
        acks
    }

    fn us(n: u64) -> Time {
        Time::from_micros(n)
    }

    /// Data in order; returns whether it is acknowledged at once.
    fn data(acks: &mut Acks, now: Time) -> bool {
        let arrived = Arrived {
            len: 1_448,
            push: false,
            remnant: false,
        };
        acks.on_segment(arrived);
        acks.measure_gap(now, WINDOW);
        acks.is_prompt() || acks.delay(now)
    }

    /// `jiffies + ato`, and one more by which the first level of the wheel rounds up.
    #[test]
    fn the_timer_expires_at_a_tick() {
        let mut acks = linux(0);
        assert!(!data(&mut acks, us(5_300)));
        assert_eq!(acks.deadline(), us(46_000));
        // What clears it leaves it where it is, and it does nothing then.
        acks.on_ack_sent();
        assert_eq!(acks.deadline(), us(46_000));
        assert_eq!(acks.on_timer(us(46_000)), Expired::Nothing);
        assert_eq!(acks.deadline(), Time::NEVER);
    }

    #[test]
    fn the_estimate_follows_the_gap() {
        let mut acks = linux(0);
        acks.on_handshake_rtt(Some(us(100_000)));
        data(&mut acks, us(0));
        assert_eq!(acks.on_timer(us(41_000)), Expired::Delayed);
        assert_eq!(acks.ato, 80); // missed: inflated
        acks.on_ack_sent();
        data(&mut acks, us(60_000));
        // The gap of 60 is between half the minimum and the estimate: 80/2 + 60 = 100.
        assert_eq!((acks.ato, acks.waiting), (100, Some(160)));
        acks.on_ack_sent();
        data(&mut acks, us(61_000));
        assert_eq!((acks.ato, acks.waiting), (70, Some(131))); // 100/2 + 40/2
        acks.on_ack_sent();
        data(&mut acks, us(62_000));
        acks.on_ack_sent();
        acks.ato = 180;
        data(&mut acks, us(63_000));
        // 180/2 + 20 = 110, but never longer than the round-trip time of 100.
        assert_eq!((acks.ato, acks.waiting), (110, Some(163)));
    }

    #[test]
    fn a_timer_about_to_expire_is_not_waited_for() {
        let mut acks = linux(0);
        assert!(!data(&mut acks, us(0)));
        assert!(!data(&mut acks, us(20_000)));
        assert!(data(&mut acks, us(30_000))); // 40 <= 30 + 40/4
    }

    /// A timer that was set before data went missing sends what is held back then.
    #[test]
    fn a_timer_left_in_the_wheel_sends_what_is_held_back() {
        let mut acks = linux(0);
        data(&mut acks, us(300));
        acks.on_ack_sent();
        for n in 0..4 {
            acks.schedule();
            acks.is_at_once(us(40_200 + n), 1_448, 8 * 100_000);
        }
        assert!(acks.holds());
        assert_eq!(acks.deadline(), us(41_000));
        assert_eq!(acks.on_timer(us(41_000)), Expired::Delayed);
    }

    #[test]
    fn a_long_silence_brings_quick_acknowledgements_back() {
        let mut acks = linux(16);
        for n in 0..16 {
            assert!(data(&mut acks, us(1_000 * n)), "segment {n}");
            acks.on_ack_sent();
        }
        assert!(!data(&mut acks, us(16_000)));
        acks.on_ack_sent();
        assert!(data(&mut acks, us(5_000_000)));
    }

    /// `tcp_measure_rcv_mss`: two segments alike that are not full are the peer's size; one alone
    /// looks like the end of what it has to send.
    #[test]
    fn a_size_seen_twice_is_that_of_full_segments() {
        let mut acks = linux(0);
        let short = Arrived {
            len: 1_000,
            push: true,
            remnant: true,
        };
        acks.on_segment(short);
        assert!(acks.is_pushed(true) && !acks.is_pushed(false) && acks.rcv_mss() == 1_448);
        acks.on_ack_sent();
        acks.on_segment(short);
        assert!(!acks.is_pushed(true) && acks.rcv_mss() == 1_000);
        assert!(acks.is_enough(1_001) && !acks.is_enough(1_000));
    }
}
