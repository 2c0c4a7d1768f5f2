//! A receive buffer that grows with the flow, and the window that it allows (Linux).
//!
//! Two estimates work together. The buffer follows what the application read in the last
//! round-trip time (dynamic right-sizing, `tcp_rcv_space_adjust`): twice that, and more while it
//! grows. The window offered follows the buffer, by two segments for each that arrives
//! (`tcp_grow_window`), so that a sender can hardly fill a buffer before it is seen that its
//! segments are worth their memory. A segment by which the window grows is acknowledged at once.

use cclab_units::Time;

use crate::profile::{ReceiveBuffer, SHARES};

/// Segments that the first round-trip time is taken to bring (`TCP_INIT_CWND`).
const FIRST_ROUND_SEGMENTS: u64 = 10;
/// Segments of room beside twice what was read (`tcp_rcv_space_adjust`).
const CUSHION_SEGMENTS: u64 = 16;
/// Payloads below this do not open the window (`tcp_event_data_recv`).
const LEAST_PAYLOAD: u64 = 128;

/// When the memory of a segment is charged to the connection, seen from the growth of the window
/// by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Charged {
    /// In order: first it is charged (`tcp_queue_rcv`), then the window grows.
    Before,
    /// Out of order: first the window grows (`tcp_data_queue_ofo`).
    After,
}

/// The memory of a receiver and the window that it allows.
#[derive(Clone, Debug)]
pub(super) struct Buffer {
    rules: ReceiveBuffer,
    mss: u64,
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
    round_start: Time,
    round_offset: u64,
    /// Round-trip time as the receiver sees it (`rcv_rtt_est`); zero while unknown.
    rtt: Time,
    last_echo: u32,
    /// The end of a window and when it was offered: without timestamps the time to fill it
    /// bounds the round-trip time.
    window_end: u64,
    window_start: Time,
}

impl Buffer {
    pub(super) fn new(rules: ReceiveBuffer, mss: u64) -> Buffer {
        let share = SHARES / 2;
        let room = rules.initial * share / SHARES;
        // Whole segments are offered first, and one is kept back (`tcp_init_buffer_space`).
        let clamp = room.saturating_sub(mss).max(2 * mss);
        let offered = (room / mss * mss).min(clamp);
        Buffer {
            rules,
            mss,
            size: rules.initial,
            share,
            clamp,
            offered,
            read_in_round: offered.min(FIRST_ROUND_SEGMENTS * mss),
            round_start: Time::ZERO,
            round_offset: 0,
            rtt: Time::ZERO,
            last_echo: 0,
            window_end: 0,
            window_start: Time::ZERO,
        }
    }

    /// The window of the SYN-ACK: whole segments (`tcp_select_initial_window`).
    pub(super) fn first_window(&self) -> u64 {
        self.rules.initial / 2 / self.mss * self.mss
    }

    /// The handshake is over.
    pub(super) fn start(&mut self, now: Time) {
        self.round_start = now;
    }

    /// Data of `payload` bytes is kept, and `held` bytes wait for the application or for what is
    /// missing; returns whether the window grew by it.
    #[inline]
    pub(super) fn on_data(&mut self, payload: u64, held: u64, charged: Charged) -> bool {
        if self.share == SHARES / 2 && payload >= self.mss {
            self.share = self.rules.window_share(self.mss);
            self.clamp = self.window_of(self.size);
        }
        let held = match charged {
            Charged::Before => held + payload + self.rules.overhead,
            Charged::After => held.saturating_sub(payload), // it is among what is held
        };
        let most = self.clamp.min(self.room(held));
        if most <= self.offered || payload < LEAST_PAYLOAD {
            return false;
        }
        self.offered = most.min(self.offered + 2 * self.mss);
        true
    }

    /// The sender echoed the timestamp `echo`, of which the clock says `ticks` by now.
    #[inline]
    pub(super) fn on_echo(&mut self, echo: u32, ticks: u32) {
        if echo != self.last_echo {
            self.last_echo = echo;
            let sample = Time::from_millis(u64::from(ticks.wrapping_sub(echo)));
            if self.rtt == Time::ZERO || sample < self.rtt {
                if sample > Time::ZERO {
                    self.rtt = sample;
                }
            } else {
                self.rtt = self.rtt - self.rtt / 8 + sample / 8;
            }
        }
    }

    /// All data up to `next` has come, and `window` bytes more may: the time that a window
    /// takes to come is at least a round trip.
    #[inline]
    pub(super) fn on_window(&mut self, now: Time, next: u64, window: u64) {
        if self.window_start != Time::ZERO {
            if next < self.window_end {
                return;
            }
            let took = now - self.window_start;
            if took > Time::ZERO && (self.rtt == Time::ZERO || took < self.rtt) {
                self.rtt = took;
            }
        }
        self.window_end = next + window;
        self.window_start = now;
    }

    /// The application has read all up to `consumed`.
    #[inline]
    pub(super) fn on_read(&mut self, now: Time, consumed: u64) {
        if self.rtt == Time::ZERO || now - self.round_start < self.rtt {
            return;
        }
        let read = consumed - self.round_offset;
        if read > self.read_in_round {
            let steady = 2 * read + CUSHION_SEGMENTS * self.mss;
            let growth = u128::from(steady) * u128::from(read - self.read_in_round)
                / u128::from(self.read_in_round.max(1));
            let window = u128::from(steady) + 2 * growth;
            let size = window * u128::from(SHARES) / u128::from(self.share);
            let size = size.min(u128::from(self.rules.most)) as u64; // no more than it
            if self.rules.moderated && size > self.size {
                self.size = size;
                self.clamp = self.window_of(size);
            }
            self.read_in_round = read;
        }
        self.round_offset = consumed;
        self.round_start = now;
    }

    /// The window to offer while `held` bytes are in the buffer.
    #[inline]
    pub(super) fn window(&self, held: u64) -> u64 {
        self.offered.min(self.room(held))
    }

    /// The round-trip time, once it is known.
    pub(super) fn rtt(&self) -> Option<Time> {
        (self.rtt > Time::ZERO).then_some(self.rtt)
    }

    fn room(&self, held: u64) -> u64 {
        self.window_of(self.size.saturating_sub(held))
    }

    fn window_of(&self, memory: u64) -> u64 {
        memory * self.share / SHARES
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::find;

    const MSS: u64 = 1448;

    fn linux() -> Buffer {
        let profile = find("linux-6.12").expect("a profile of the registry");
        Buffer::new(profile.default_rwnd.buffer().expect("it grows"), MSS)
    }

    /// What Linux 6.12 advertised in its SYN-ACK and first acknowledgements, to the 128 bytes
    /// that its scale of 7 tells apart.
    #[test]
    fn the_first_windows_are_the_kernels() {
        let mut buffer = linux();
        assert_eq!(buffer.first_window(), 65_160);
        for printed in [67_072, 69_888] {
            assert!(buffer.on_data(MSS, 0, Charged::Before), "it grows");
            assert_eq!(buffer.window(0).next_multiple_of(128), printed);
        }
    }

    #[test]
    fn a_fast_reader_gets_the_kernels_largest_window_and_no_more() {
        let mut buffer = linux();
        buffer.start(Time::from_millis(1));
        buffer.on_echo(1, 11);
        for round in 1..200 {
            for _ in 0..100 {
                buffer.on_data(MSS, 0, Charged::Before);
            }
            buffer.on_read(Time::from_millis(1 + 10 * round), round * round * 100_000);
        }
        // 170 of 256 parts of 6 MiB; in order, of what the arriving packet leaves of them.
        assert_eq!(buffer.window(0), (6_291_456 - 2_176) * 170 / 256);
        assert!(buffer.on_data(MSS, MSS, Charged::After));
        assert_eq!(buffer.window(0), 4_177_920);
        assert!(
            !buffer.on_data(MSS, MSS, Charged::After),
            "nothing is left to offer"
        );
    }
}
