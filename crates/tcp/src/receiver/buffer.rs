//! A receive buffer that grows with the flow, and the window that it allows (Linux).
//!
//! Two estimates work together. The buffer follows what the application read in the last
//! round-trip time (dynamic right-sizing, `tcp_rcv_space_adjust`): twice that, and more while it
//! grows. The window offered follows the buffer, by two segments for each that arrives
//! (`tcp_grow_window`), so that a sender can hardly fill a buffer before it is seen that its
//! segments are worth their memory. A segment by which the window grows is acknowledged at once.

use std::sync::Arc;

use cclab_units::Time;
use cclab_units::hint::{likely, rarely};

use super::ReceiverConfig;
use crate::profile::{ReceiveBuffer, SHARES};

/// Segments that the first round-trip time is taken to bring (`TCP_INIT_CWND`).
const FIRST_ROUND_SEGMENTS: u64 = 10;
/// Segments of room beside twice what was read (`tcp_rcv_space_adjust`).
const CUSHION_SEGMENTS: u64 = 16;
/// The memory of a receiver and the window that it allows. Times are whole microseconds, as the
/// kernel's are.
#[derive(Clone, Debug)]
pub(super) struct Buffer {
    config: Arc<ReceiverConfig>,
    /// Bytes of memory (`sk_rcvbuf`).
    size: u64,
    /// The part of it that is window, in 256ths (`scaling_ratio`); half before the first full
    /// segment shows how much of its memory is payload.
    share: u64,
    /// The largest window that the size allows (`window_clamp`).
    clamp: u64,
    /// The window that is offered (`rcv_ssthresh`).
    offered: u64,
    /// Bytes read in the round-trip time that brought most so far (`rcvq_space`).
    read_in_round: u64,
    round_start: u64,
    round_offset: u64,
    /// Round-trip time as the receiver sees it, in eighths (`rcv_rtt_est`); zero while unknown.
    rtt: u64,
    last_echo: u32,
    /// The end of a window and when it was offered: without timestamps the time to fill it
    /// bounds the round-trip time.
    window_end: u64,
    window_start: u64,
}

/// The window that a buffer allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Allowed {
    /// Bytes.
    pub(super) window: u64,
    /// Whether less than half of the largest window is left.
    pub(super) half_full: bool,
}

impl Buffer {
    /// `None` where the window is as large as it gets from the start.
    pub(super) fn new(config: &Arc<ReceiverConfig>) -> Option<Buffer> {
        let rules = config.buffer.as_ref()?;
        let mss = u64::from(config.mss_payload);
        let share = SHARES / 2;
        let room = rules.initial * share / SHARES;
        // Whole segments are offered first, and one is kept back (`tcp_init_buffer_space`).
        let clamp = room.saturating_sub(mss).max(2 * mss);
        let offered = (room / mss * mss).min(clamp);
        Some(Buffer {
            config: Arc::clone(config),
            size: rules.initial,
            share,
            clamp,
            offered,
            read_in_round: offered.min(FIRST_ROUND_SEGMENTS * mss),
            round_start: 0,
            round_offset: 0,
            rtt: 0,
            last_echo: 0,
            window_end: 0,
            window_start: 0,
        })
    }

    fn rules(&self) -> &ReceiveBuffer {
        let rules = &self.config.buffer;
        rules.as_ref().expect("a buffer is made of its rules")
    }

    fn mss(&self) -> u64 {
        u64::from(self.config.mss_payload)
    }

    /// The window of the SYN-ACK: whole segments (`tcp_select_initial_window`).
    pub(super) fn first_window(&self) -> u64 {
        self.rules().initial / 2 / self.mss() * self.mss()
    }

    /// The handshake is over.
    pub(super) fn start(&mut self, now: Time) {
        self.round_start = now.as_micros();
    }

    /// Full segments of the peer have `payload` bytes: as much of the memory is window as is
    /// payload in theirs (`tcp_measure_rcv_mss`).
    #[inline(never)]
    pub(super) fn on_full_segment(&mut self, payload: u64) {
        let share = self.rules().window_share(payload);
        if share != self.share {
            self.share = share;
            self.clamp = self.window_of(self.size);
            self.read_in_round = self.read_in_round.min(self.clamp);
        }
    }

    /// Data of `payload` bytes is kept, `charged` bytes of memory are in use, and full segments
    /// of the peer have `full` bytes; returns whether the window grew by it (`tcp_grow_window`).
    #[inline]
    pub(super) fn grow(&mut self, payload: u64, charged: u64, full: u64) -> bool {
        let most = self.clamp.min(self.room(charged));
        if likely(most <= self.offered) {
            return false;
        }
        self.grow_to(most, payload, full)
    }

    /// As [`Buffer::grow`], where the window may become `most`.
    #[inline(never)]
    fn grow_to(&mut self, most: u64, payload: u64, full: u64) -> bool {
        let memory = self.window_of(self.rules().packet.of(payload));
        let step = if memory <= payload {
            2 * self.mss()
        } else if self.is_worth(payload, memory) {
            2 * full
        } else {
            return false;
        };
        self.offered = most.min(self.offered + step.max(2 * payload));
        true
    }

    /// Whether segments of `payload` bytes in `memory` of window would fit a buffer of the window
    /// offered, once they are joined (`__tcp_grow_window`).
    #[inline(never)]
    fn is_worth(&self, payload: u64, memory: u64) -> bool {
        let mut memory = memory / 2;
        let mut window = self.window_of(self.rules().most) / 2;
        while self.offered <= window {
            if memory <= payload {
                return true;
            }
            memory /= 2;
            window /= 2;
        }
        false
    }

    /// The sender echoed the timestamp `echo`, of which the clock says `ticks` by now.
    #[inline]
    pub(super) fn on_echo(&mut self, echo: u32, ticks: u32) {
        let sample = 1_000 * u64::from(ticks.wrapping_sub(echo));
        if sample == 0 {
            return;
        }
        if self.rtt == 0 || 8 * sample < self.rtt {
            self.rtt = 8 * sample;
        } else {
            self.rtt = self.rtt - self.rtt / 8 + sample;
        }
    }

    /// Whether the echo `echo` is another than the last.
    #[inline]
    pub(super) fn is_new_echo(&mut self, echo: u32) -> bool {
        std::mem::replace(&mut self.last_echo, echo) != echo
    }

    /// All data up to `next` has come, and the last window offered is of `window` bytes: the time
    /// that one takes to come is at least a round trip.
    #[inline]
    pub(super) fn on_window(&mut self, now: Time, next: u64, window: u64) {
        let now = now.as_micros();
        if self.window_start != 0 {
            if likely(next < self.window_end) {
                return;
            }
            let sample = 8 * (now - self.window_start).max(1);
            if self.rtt == 0 || sample < self.rtt {
                self.rtt = sample;
            }
        }
        self.window_end = next + window;
        self.window_start = now;
    }

    /// The application has read all up to `consumed` (`tcp_rcv_space_adjust`).
    #[inline]
    pub(super) fn on_read(&mut self, now: Time, consumed: u64) {
        let now = now.as_micros();
        if likely(self.rtt == 0 || now - self.round_start < self.rtt / 8) {
            return;
        }
        self.end_round(now, consumed);
    }

    /// A round trip is over.
    #[inline(never)]
    fn end_round(&mut self, now: u64, consumed: u64) {
        let read = consumed - self.round_offset;
        if read > self.read_in_round {
            let steady = 2 * read + CUSHION_SEGMENTS * self.mss();
            let growth = u128::from(steady) * u128::from(read - self.read_in_round)
                / u128::from(self.read_in_round.max(1));
            let window = u128::from(steady) + 2 * growth;
            let size = window * u128::from(SHARES) / u128::from(self.share);
            let size = size.min(u128::from(self.rules().most)) as u64; // no more than it
            if self.rules().moderated && size > self.size {
                self.size = size;
                self.clamp = self.window_of(size);
            }
            self.read_in_round = read;
        }
        self.round_offset = consumed;
        self.round_start = now;
    }

    /// The window to offer while `charged` bytes of memory are in use, in whole steps of the
    /// window's scale, where full segments of the peer have `full` bytes (`__tcp_select_window`).
    #[inline]
    pub(super) fn allowed(&self, charged: u64, full: u64, step: u64) -> Allowed {
        let most = self.window_of(self.size);
        let mut room = self.room(charged);
        let half_full = room < self.clamp.min(most) / 2;
        if half_full {
            rarely();
            room = room / step * step;
            if room < most / 16 || room < full {
                room = 0;
            }
        }
        // Rounded up, so that scaling takes nothing away.
        let window = room.min(self.offered).next_multiple_of(step);
        Allowed { window, half_full }
    }

    /// The largest window that the buffer allows.
    pub(super) fn clamp(&self) -> u64 {
        self.clamp
    }

    /// The round-trip time in eighths of microseconds; zero while it is unknown.
    pub(super) fn rtt(&self) -> u64 {
        self.rtt
    }

    fn room(&self, charged: u64) -> u64 {
        self.window_of(self.size.saturating_sub(charged))
    }

    fn window_of(&self, memory: u64) -> u64 {
        memory * self.share / SHARES
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::find;
    use crate::receiver::tests::config;

    const MSS: u64 = 1448;
    /// What a full segment takes (`skb->truesize`), as the guest of the kernel charges it.
    const FULL: u64 = 2_176;
    const STEP: u64 = 128;

    fn linux() -> Buffer {
        let profile = find("linux-6.12").expect("a profile of the registry");
        let mut config = config("linux-6.12");
        config.buffer = profile.default_rwnd.buffer();
        config.mss_payload = MSS as u32;
        Buffer::new(&Arc::new(config)).expect("it grows")
    }

    /// What Linux 6.12 advertised in its SYN-ACK and first acknowledgements, to the 128 bytes
    /// that its scale of 7 tells apart.
    #[test]
    fn the_first_windows_are_the_kernels() {
        let mut buffer = linux();
        assert_eq!(buffer.first_window(), 65_160);
        buffer.on_full_segment(MSS);
        for printed in [67_072, 69_888] {
            assert!(buffer.grow(MSS, FULL, MSS), "it grows");
            let allowed = buffer.allowed(0, MSS, STEP);
            assert_eq!((allowed.window, allowed.half_full), (printed, false));
        }
    }

    #[test]
    fn a_fast_reader_gets_the_kernels_largest_window_and_no_more() {
        let mut buffer = linux();
        buffer.start(Time::from_millis(1));
        buffer.on_full_segment(MSS);
        buffer.on_echo(1, 11);
        for round in 1..200 {
            for _ in 0..100 {
                buffer.grow(MSS, FULL, MSS);
            }
            buffer.on_read(Time::from_millis(1 + 10 * round), round * round * 100_000);
        }
        // 170 of 256 parts of 6 MiB; in order, of what the arriving packet leaves of them.
        let of = |memory: u64| (memory * 170 / 256).next_multiple_of(STEP);
        assert_eq!(buffer.allowed(0, MSS, STEP).window, of(6_291_456 - FULL));
        assert!(buffer.grow(MSS, 0, MSS));
        assert_eq!(buffer.allowed(0, MSS, STEP).window, 4_177_920);
        assert!(!buffer.grow(MSS, 0, MSS), "nothing is left to offer");
        // More than half of it in use: what is left, rounded down; then nothing.
        let allowed = buffer.allowed(3_200_000, MSS, STEP);
        assert_eq!(
            allowed.window,
            (6_291_456 - 3_200_000) * 170 / 256 / STEP * STEP
        );
        assert!(allowed.half_full && !buffer.allowed(3_000_000, MSS, STEP).half_full);
        assert_eq!(buffer.allowed(6_000_000, MSS, STEP).window, 0);
    }
}
