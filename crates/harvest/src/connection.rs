//! What the kernel's events say of one connection.

use cclab_trace::Histogram;
use cclab_units::Time;

use crate::event::Ack;
use crate::limits::OpenWindow;

/// Congestion states of Linux (include/uapi/linux/tcp.h).
pub const RECOVERY: u8 = 3;
/// `TCP_INFO` and events give time in microseconds.
pub const MICROSECOND: u64 = 1000;
/// See [`RECOVERY`].
const DISORDER: u8 = 1;
/// States of a socket before the handshake is done (include/net/tcp_states.h).
const SYN_SENT: u8 = 2;
const SYN_RECV: u8 = 3;
/// `TCP_INFINITE_SSTHRESH`.
pub const UNLIMITED: u32 = 0x7fff_ffff;

/// A sequence number as an offset that does not wrap.
#[derive(Clone, Copy, Debug)]
pub struct Offsets {
    seq: u32,
    /// Offset of `seq` from the first byte of data.
    offset: i64,
}

impl Offsets {
    /// From the first acknowledgement of a connection. One that acknowledges a single sequence
    /// number, and after which nothing is outstanding, is that of the SYN.
    pub fn start(ack: &Ack) -> Offsets {
        let prior = ack.taken.map_or(ack.snd_una, |taken| taken.prior_una);
        let handshake = ack.snd_una.wrapping_sub(prior) == 1 && ack.snd_nxt == ack.snd_una;
        Offsets {
            seq: prior,
            offset: -i64::from(handshake),
        }
    }

    /// The offset of `seq`, which lies within 2^31 of the last acknowledgement; that of a SYN
    /// is 0.
    pub fn of(&self, seq: u32) -> u64 {
        let ahead = seq.wrapping_sub(self.seq).cast_signed();
        (self.offset + i64::from(ahead)).max(0).cast_unsigned()
    }

    /// `seq` has been acknowledged.
    pub fn advance(&mut self, seq: u32) {
        self.offset += i64::from(seq.wrapping_sub(self.seq).cast_signed());
        self.seq = seq;
    }
}

/// A connection of a flow, seen from its sender.
#[derive(Debug, Default)]
pub struct Connection {
    /// The sender's port and the receiver's.
    pub ports: (u16, u16),
    /// Offsets of sequence numbers, once it acknowledged anything.
    pub offsets: Option<Offsets>,
    /// Bytes that it has to send in all, if that is known; what is beyond them is the FIN.
    pub data: Option<u64>,
    /// Bytes acknowledged so far, and when the last of them were.
    pub acked: u64,
    /// See `acked`.
    pub acked_at: Time,
    /// When the first bytes were acknowledged.
    pub first_acked_at: Option<Time>,
    /// Acknowledgements that it took in.
    pub acks: u64,
    /// RTT samples.
    pub rtt: Histogram,
    /// The smallest of them.
    pub rtt_min: Option<Time>,
    /// Sum and count of srtt over acknowledgements.
    pub srtt: (u128, u64),
    /// Entries into recovery.
    pub fast_recoveries: u64,
    /// Window reductions undone.
    pub undos: u64,
    /// Segments sent again although the congestion state had not changed: loss probes.
    pub probes: u64,
    /// SYNs sent again.
    pub syn_retransmits: u64,
    /// FINs sent again when all data had been acknowledged.
    pub fin_retransmits: u64,
    /// When its congestion window held nothing back.
    pub open: OpenWindow,
    cwnd: CwndMean,
    congestion: u8,
    last: Option<Ack>,
}

impl Connection {
    /// A connection between these ports that sends `data` bytes, if that is known.
    pub fn new(ports: (u16, u16), data: Option<u64>) -> Connection {
        Connection {
            ports,
            data,
            ..Connection::default()
        }
    }

    /// It took in an acknowledgement. `mss` is used where the event does not tell.
    pub fn on_ack(&mut self, now: Time, ack: &Ack, mss: u32) {
        let offsets = self.offsets.get_or_insert_with(|| Offsets::start(ack));
        offsets.advance(ack.snd_una);
        let acked = offsets.of(ack.snd_una).min(self.data.unwrap_or(u64::MAX));
        if acked > self.acked {
            self.acked = acked;
            self.acked_at = now;
            self.first_acked_at.get_or_insert(now);
        }
        self.acks += 1;
        let mss = ack.taken.map_or(mss, |taken| taken.mss);
        self.cwnd.change(now, u64::from(ack.cwnd) * u64::from(mss));
        self.open.on_ack(now, ack, mss);
        if ack.srtt_us > 0 {
            self.srtt.0 += u128::from(u64::from(ack.srtt_us) * MICROSECOND);
            self.srtt.1 += 1;
        }
        match ack.taken {
            Some(taken) => {
                if let Ok(rtt) = u64::try_from(taken.rtt_us) {
                    self.rtt.record(rtt * MICROSECOND);
                    let rtt = Time::from_micros(rtt);
                    self.rtt_min = Some(self.rtt_min.map_or(rtt, |least| least.min(rtt)));
                }
                self.undos += u64::from(self.undone(ack, taken.ca_state));
            }
            // The smoothed RTT is all that a kernel without the patches tells.
            None if ack.srtt_us > 0 => self.rtt.record(u64::from(ack.srtt_us) * MICROSECOND),
            None => {}
        }
        self.last = Some(*ack);
    }

    /// When its first and its last data arrived: half of the smallest RTT before they were
    /// acknowledged. `None` if none were.
    pub fn arrivals(&self) -> Option<(Time, Time)> {
        let back = self.rtt_min.unwrap_or(Time::ZERO) / 2;
        let arrived = |acked: Time| acked - back;
        Some((arrived(self.first_acked_at?), arrived(self.acked_at)))
    }

    /// Whether a window reduction was taken back: the threshold rises in an episode, or as one
    /// ends.
    fn undone(&self, ack: &Ack, state: u8) -> bool {
        let before = self
            .last
            .and_then(|last| Some((last, last.taken?.ca_state)));
        before.is_some_and(|(last, before)| {
            before > DISORDER && state <= before && ack.ssthresh > last.ssthresh
        })
    }

    /// Its congestion state was set.
    pub fn on_congestion(&mut self, state: u8) {
        self.fast_recoveries += u64::from(state == RECOVERY && self.congestion != RECOVERY);
        self.congestion = state;
    }

    /// It sent a segment again, in that state of its socket.
    pub fn on_retransmit(&mut self, socket: u8) {
        self.open.on_retransmit();
        if socket == SYN_SENT || socket == SYN_RECV {
            self.syn_retransmits += 1;
        } else if self.data.is_some_and(|data| self.acked >= data) {
            self.fin_retransmits += 1;
        } else {
            self.probes += u64::from(self.congestion <= DISORDER);
        }
    }

    /// Mean of the congestion window in bytes from `start` to `end`; `None` without
    /// acknowledgements.
    pub fn cwnd_mean(&self, start: Time, end: Time) -> Option<f64> {
        self.cwnd.over(start, end)
    }
}

/// The mean of a window over time.
#[derive(Debug, Default)]
struct CwndMean {
    /// The first value and when it was seen.
    first: Option<(Time, u64)>,
    /// The value in force and since when.
    last: (Time, u64),
    /// Bytes times nanoseconds from the first to the last.
    sum: u128,
}

impl CwndMean {
    fn change(&mut self, now: Time, cwnd: u64) {
        let (since, before) = self.last;
        match self.first {
            Some(_) => self.sum += u128::from(before) * u128::from((now - since).as_nanos()),
            None => self.first = Some((now, cwnd)),
        }
        self.last = (now, cwnd);
    }

    fn over(&self, start: Time, end: Time) -> Option<f64> {
        let (first, initial) = self.first?;
        let (last, current) = self.last;
        let area = |cwnd: u64, span: Time| u128::from(cwnd) * u128::from(span.as_nanos());
        let before = area(initial, first - start.min(first));
        let after = area(current, end.max(last) - last);
        let span = (end.max(last) - start.min(first)).as_nanos();
        match span {
            0 => Some(current as f64),
            span => Some((before + self.sum + after) as f64 / span as f64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Ends, Taken};

    const MSS: u32 = 1000;
    const ISS: u32 = u32::MAX - 1499;

    /// An acknowledgement of `una` after `prior`, both from the first sequence number on.
    fn ack(prior: u32, una: u32, cwnd: u32, ssthresh: u32, ca_state: u8) -> Ack {
        Ack {
            ends: Ends {
                source: [10, 0, 0, 1].into(),
                destination: [10, 1, 0, 1].into(),
                source_port: 1,
                destination_port: 2,
            },
            snd_una: ISS.wrapping_add(una),
            snd_nxt: ISS.wrapping_add(una),
            cwnd,
            ssthresh,
            rwnd: 0,
            srtt_us: 0,
            taken: Some(Taken {
                prior_una: ISS.wrapping_add(prior),
                mss: MSS,
                in_flight: 0,
                rtt_us: -1,
                rto_us: 0,
                delivered: 0,
                interval_us: 0,
                pacing_rate: None,
                ca_state,
            }),
        }
    }

    fn at(ms: u64) -> Time {
        Time::from_millis(ms)
    }

    #[test]
    fn offsets_count_from_the_first_byte_of_data_around_the_end_of_sequence_numbers() {
        let mut offsets = Offsets::start(&ack(0, 1, 10, UNLIMITED, 0));
        assert_eq!(offsets.of(ISS), 0);
        assert_eq!(offsets.of(ISS.wrapping_add(1)), 0);
        assert_eq!(offsets.of(ISS.wrapping_add(2001)), 2000);
        for step in 1..20_u32 {
            let far = step.wrapping_mul(1 << 30);
            offsets.advance(ISS.wrapping_add(1).wrapping_add(far));
            let next = ISS.wrapping_add(2).wrapping_add(far);
            assert_eq!(offsets.of(next), (u64::from(step) << 30) + 1);
        }
    }

    #[test]
    fn a_connection_whose_handshake_was_not_seen_begins_with_its_first_data() {
        // 1000 bytes acknowledged, and one byte of which more is outstanding.
        assert_eq!(Offsets::start(&ack(0, 1000, 10, 9, 0)).of(ISS), 0);
        let one_of_many = Ack {
            snd_nxt: ISS.wrapping_add(5),
            ..ack(0, 1, 10, 9, 0)
        };
        assert_eq!(Offsets::start(&one_of_many).of(ISS.wrapping_add(5)), 5);
    }

    #[test]
    fn retransmissions_are_told_apart() {
        let mut connection = Connection::new((1, 2), Some(2000));
        connection.on_retransmit(SYN_SENT);
        connection.on_ack(at(0), &ack(0, 1, 10, UNLIMITED, 0), 0);
        // Nothing was lost as far as the sender knows: a probe.
        connection.on_retransmit(1);
        connection.on_congestion(RECOVERY);
        connection.on_retransmit(1);
        connection.on_congestion(0);
        // 2000 bytes and no FIN.
        connection.on_ack(at(1), &ack(1, 2001, 10, 5, 0), 0);
        connection.on_retransmit(4);
        assert_eq!(connection.syn_retransmits, 1);
        assert_eq!(connection.probes, 1);
        assert_eq!(connection.fin_retransmits, 1);
        // The FIN's acknowledgement acknowledges no data.
        connection.on_ack(at(9), &ack(2001, 2002, 10, 5, 0), 0);
        assert_eq!((connection.acked, connection.acked_at), (2000, at(1)));
    }

    #[test]
    fn an_episode_of_recovery_counts_once() {
        let mut connection = Connection::new((1, 2), None);
        for state in [0, 1, 3, 3, 0, 2, 0, 3, 4, 0] {
            connection.on_congestion(state);
        }
        assert_eq!(connection.fast_recoveries, 2);
    }

    #[test]
    fn an_undo_is_a_threshold_that_rises_as_an_episode_ends() {
        let mut connection = Connection::new((1, 2), None);
        let mut take = |cwnd, ssthresh, state| {
            connection.on_ack(at(0), &ack(1, 1, cwnd, ssthresh, state), 0);
            connection.undos
        };
        assert_eq!(take(10, 20, 0), 0);
        assert_eq!(take(14, 20, 0), 0);
        // A reduction whose threshold is above the one before is no undo.
        assert_eq!(take(30, 21, 3), 0);
        assert_eq!(take(21, 21, 0), 0);
        assert_eq!(take(14, 7, 4), 0);
        assert_eq!(take(14, 21, 0), 1);
        // Recovery turns into a timeout with a threshold of its own.
        assert_eq!(take(8, 5, 3), 1);
        assert_eq!(take(8, 6, 4), 1);
    }

    #[test]
    fn the_mean_window_weighs_by_time_from_start_to_end() {
        let mut connection = Connection::new((1, 2), None);
        assert_eq!(connection.cwnd_mean(at(0), at(10)), None);
        connection.on_ack(at(2), &ack(0, 1, 10, UNLIMITED, 0), 0);
        connection.on_ack(at(4), &ack(1, 1, 20, UNLIMITED, 0), 0);
        // 10 segments for 4 ms, 20 for 6 ms.
        assert_eq!(connection.cwnd_mean(at(0), at(10)), Some(16_000.0));
        assert_eq!(connection.cwnd_mean(at(2), at(4)), Some(10_000.0));
    }
}
