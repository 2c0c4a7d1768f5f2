//! The connection as a congestion control sees it.

use crate::CaState;

/// Ticks of [`Tcp::jiffies`] per second.
pub const HZ: u32 = 1_000;

/// The slow-start threshold before it is known.
pub const TCP_INFINITE_SSTHRESH: u32 = 0x7fff_ffff;

/// Whether the number `a` comes after `b` on the circle of 32 bits (`after`).
pub const fn after(a: u32, b: u32) -> bool {
    (b.wrapping_sub(a) as i32) < 0
}

/// Whether the number `a` comes before `b` on the circle of 32 bits (`before`).
pub const fn before(a: u32, b: u32) -> bool {
    after(b, a)
}

/// Microseconds in ticks, a part of a tick counted (`usecs_to_jiffies`).
pub const fn usecs_to_jiffies(us: u32) -> u32 {
    us.div_ceil(1_000_000 / HZ)
}

/// Who paces (`enum sk_pacing`).
#[repr(u32)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PacingStatus {
    /// Nobody.
    #[default]
    None = 0,
    /// The stack: a module asks for it by writing this.
    Needed = 1,
    /// A queueing discipline.
    Fq = 2,
}

/// A connection (`struct tcp_sock` and the parts of `struct inet_connection_sock` and
/// `struct sock` that congestion controls read and write). The stack fills it before each hook.
///
/// Counts are in segments, unless a field says otherwise. Sequence numbers are those of the wire.
///
/// In memory it is `struct tcp_sock` of the headers that modules in C are compiled against
/// (`crates/module/include`): an `inet_connection_sock`, which begins with a `sock`. Each of the two
/// ends at a multiple of eight bytes.
#[repr(C)]
#[derive(Clone, Debug)]
pub struct Tcp {
    // struct sock
    /// `sk_pacing_rate`: bytes a second; all ones: not limited.
    pub pacing_rate: u64,
    /// `sk_max_pacing_rate`: bytes a second.
    pub max_pacing_rate: u64,
    /// `sk_pacing_status`: a [`PacingStatus`].
    pub pacing_status: u32,
    /// `sk_gso_max_size`, in bytes.
    pub gso_max_size: u32,
    /// `sk_pacing_shift`: a burst holds 2^-shift seconds at the pacing rate.
    pub pacing_shift: u8,
    /// `sk_state`: 1 is established.
    pub state: u8,
    #[doc(hidden)]
    pub sock_end: [u8; 6],

    // struct inet_connection_sock
    /// `icsk_ca_state`: a [`CaState`]. It is the stack's, but a hook that calls `tcp_enter_cwr`
    /// leaves [`CaState::Cwr`] here, with what begins there: `high_seq`, `prior_cwnd`,
    /// `snd_ssthresh`, `prr_delivered`, `prr_out` and `undo_marker`, and asks for
    /// `TCP_ECN_QUEUE_CWR` in `ecn_flags`.
    pub ca_state: u8,
    /// `icsk_ack.pending`.
    pub ack_pending: u8,
    #[doc(hidden)]
    pub before_rto: [u8; 2],
    /// `icsk_rto`, in ticks.
    pub rto: u32,
    /// Address of `icsk_ca_ops`, for modules in C; others leave it alone.
    pub ca_ops: u64,
    /// Address of `icsk_ca_priv`, for modules in C; others leave it alone.
    pub ca_priv: u64,

    // struct tcp_sock
    /// When the stack took in what it works at, in microseconds.
    pub tcp_mstamp: u64,
    /// The same instant in nanoseconds.
    pub tcp_clock_cache: u64,
    /// Departure of the next segment, in nanoseconds.
    pub tcp_wstamp_ns: u64,
    /// When the last segment was delivered, in microseconds.
    pub delivered_mstamp: u64,
    /// Start of the window of segments sent that is being measured, in microseconds.
    pub first_tx_mstamp: u64,
    /// The clock in ticks (`jiffies`).
    pub jiffies: u64,
    /// The congestion window.
    pub snd_cwnd: u32,
    /// Segments acknowledged towards the next step of the window.
    pub snd_cwnd_cnt: u32,
    /// No window is larger.
    pub snd_cwnd_clamp: u32,
    /// When the window was last used or validated, in ticks.
    pub snd_cwnd_stamp: u32,
    /// The slow-start threshold.
    pub snd_ssthresh: u32,
    /// The window before the last reduction.
    pub prior_cwnd: u32,
    /// The threshold before the last reduction.
    pub prior_ssthresh: u32,
    /// Segments sent and not acknowledged cumulatively.
    pub packets_out: u32,
    /// Of these: acknowledged by SACK.
    pub sacked_out: u32,
    /// Of these: taken for lost.
    pub lost_out: u32,
    /// Of these: sent again.
    pub retrans_out: u32,
    /// Most segments in flight in this round.
    pub max_packets_out: u32,
    /// Whether the window limited the sender in this round (not zero: yes).
    pub is_cwnd_limited: u32,
    /// Segments delivered, the SYN and retransmissions included.
    pub delivered: u32,
    /// Of these: acknowledged with a mark.
    pub delivered_ce: u32,
    /// Segments taken for lost over the connection's life.
    pub lost: u32,
    /// `delivered` up to which the application limits samples; zero: it does not.
    pub app_limited: u32,
    /// Smoothed round-trip time in eighths of a microsecond.
    pub srtt_us: u32,
    /// Variation of the round-trip time in quarters of a microsecond (`mdev_us`).
    pub mdev_us: u32,
    #[doc(hidden)]
    pub rtt_min_time: u32,
    /// Smallest round-trip time of the last minutes, in microseconds; all ones: none yet.
    pub rtt_min_us: u32,
    #[doc(hidden)]
    pub rtt_min_others: [u32; 4],
    /// When data last left, in ticks.
    pub lsndtime: u32,
    /// Payload bytes of a full segment.
    pub mss_cache: u32,
    /// First number not acknowledged.
    pub snd_una: u32,
    /// Next number to send.
    pub snd_nxt: u32,
    /// `snd_nxt` when the present episode began.
    pub high_seq: u32,
    /// First number of what may yet turn out to have been repeated in vain; zero: nothing is.
    pub undo_marker: u32,
    /// Segments delivered since the window began to fall.
    pub prr_delivered: u32,
    /// Segments sent since the window began to fall.
    pub prr_out: u32,
    /// Next number expected from the peer.
    pub rcv_nxt: u32,
    /// `TCP_ECN_` flags; bit 0: ECN is in use.
    pub ecn_flags: u32,
    /// The last timestamp of the peer, in ticks.
    pub rcv_tsval: u32,
    /// The timestamp that the peer echoed, in ticks.
    pub rcv_tsecr: u32,
    /// Whether the last packet carried timestamps (not zero: yes).
    pub saw_tstamp: u32,
    /// State of the flow's random numbers.
    pub dice: u64,
}

impl Default for Tcp {
    fn default() -> Tcp {
        Tcp {
            pacing_rate: u64::MAX,
            max_pacing_rate: u64::MAX,
            pacing_status: PacingStatus::None as u32,
            gso_max_size: 65_536,
            pacing_shift: 10,
            state: 1,
            ca_state: CaState::Open as u8,
            ack_pending: 0,
            sock_end: [0; 6],
            before_rto: [0; 2],
            rto: HZ,
            ca_ops: 0,
            ca_priv: 0,
            tcp_mstamp: 0,
            tcp_clock_cache: 0,
            tcp_wstamp_ns: 0,
            delivered_mstamp: 0,
            first_tx_mstamp: 0,
            jiffies: 0,
            snd_cwnd: 10,
            snd_cwnd_cnt: 0,
            snd_cwnd_clamp: u32::MAX,
            snd_cwnd_stamp: 0,
            snd_ssthresh: TCP_INFINITE_SSTHRESH,
            prior_cwnd: 0,
            prior_ssthresh: 0,
            packets_out: 0,
            sacked_out: 0,
            lost_out: 0,
            retrans_out: 0,
            max_packets_out: 0,
            is_cwnd_limited: 0,
            delivered: 0,
            delivered_ce: 0,
            lost: 0,
            app_limited: 0,
            srtt_us: 0,
            mdev_us: HZ * 1_000,
            rtt_min_time: 0,
            rtt_min_us: u32::MAX,
            rtt_min_others: [0; 4],
            lsndtime: 0,
            mss_cache: 1_448,
            snd_una: 0,
            snd_nxt: 0,
            high_seq: 0,
            undo_marker: 0,
            prr_delivered: 0,
            prr_out: 0,
            rcv_nxt: 0,
            ecn_flags: 0,
            rcv_tsval: 0,
            rcv_tsecr: 0,
            saw_tstamp: 0,
            dice: 0,
        }
    }
}

impl Tcp {
    /// The state of the stack.
    pub fn ca(&self) -> CaState {
        CaState::of(self.ca_state)
    }

    /// The clock in ticks, as 32 bits (`tcp_jiffies32`).
    pub fn jiffies32(&self) -> u32 {
        self.jiffies as u32
    }

    /// `tcp_left_out`: segments that have left the network, by SACK or by loss.
    pub fn left_out(&self) -> u32 {
        self.sacked_out + self.lost_out
    }

    /// `tcp_packets_in_flight`.
    pub fn packets_in_flight(&self) -> u32 {
        self.packets_out
            .wrapping_sub(self.left_out())
            .wrapping_add(self.retrans_out)
    }

    /// `tcp_in_slow_start`.
    pub fn in_slow_start(&self) -> bool {
        self.snd_cwnd < self.snd_ssthresh
    }

    /// `tcp_in_initial_slowstart`.
    pub fn in_initial_slowstart(&self) -> bool {
        self.snd_ssthresh >= TCP_INFINITE_SSTHRESH
    }

    /// `tcp_in_cwnd_reduction`.
    pub fn in_cwnd_reduction(&self) -> bool {
        matches!(self.ca(), CaState::Cwr | CaState::Recovery)
    }

    /// `tcp_is_cwnd_limited`.
    pub fn is_cwnd_limited(&self) -> bool {
        if self.is_cwnd_limited != 0 {
            return true;
        }
        self.in_slow_start() && self.snd_cwnd < 2 * self.max_packets_out
    }

    /// `tcp_current_ssthresh`.
    pub fn current_ssthresh(&self) -> u32 {
        match self.in_cwnd_reduction() {
            true => self.snd_ssthresh,
            false => self
                .snd_ssthresh
                .max((self.snd_cwnd >> 1) + (self.snd_cwnd >> 2)),
        }
    }

    /// `tcp_slow_start`: grows to ssthresh at most; returns what is left of `acked`.
    pub fn slow_start(&mut self, acked: u32) -> u32 {
        let cwnd = self.snd_cwnd.wrapping_add(acked).min(self.snd_ssthresh);
        let left = acked.wrapping_sub(cwnd.wrapping_sub(self.snd_cwnd));
        self.snd_cwnd = cwnd.min(self.snd_cwnd_clamp);
        left
    }

    /// `tcp_cong_avoid_ai`: a segment for every `w` acknowledged.
    pub fn cong_avoid_ai(&mut self, w: u32, acked: u32) {
        // What was counted under a larger `w` is worth one segment, no more.
        if self.snd_cwnd_cnt >= w {
            self.snd_cwnd_cnt = 0;
            self.snd_cwnd = self.snd_cwnd.wrapping_add(1);
        }
        self.snd_cwnd_cnt = self.snd_cwnd_cnt.wrapping_add(acked);
        if self.snd_cwnd_cnt >= w {
            let grown = self.snd_cwnd_cnt / w.max(1);
            self.snd_cwnd_cnt -= grown * w;
            self.snd_cwnd = self.snd_cwnd.wrapping_add(grown);
        }
        self.snd_cwnd = self.snd_cwnd.min(self.snd_cwnd_clamp);
    }

    /// `tcp_reno_cong_avoid`.
    pub fn reno_cong_avoid(&mut self, mut acked: u32) {
        if !self.is_cwnd_limited() {
            return;
        }
        if self.in_slow_start() {
            acked = self.slow_start(acked);
            if acked == 0 {
                return;
            }
        }
        self.cong_avoid_ai(self.snd_cwnd, acked);
    }

    /// `tcp_reno_ssthresh`.
    pub fn reno_ssthresh(&self) -> u32 {
        (self.snd_cwnd >> 1).max(2)
    }

    /// `tcp_reno_undo_cwnd`.
    pub fn reno_undo_cwnd(&self) -> u32 {
        self.snd_cwnd.max(self.prior_cwnd)
    }

    /// Smallest round-trip time of the last minutes, in microseconds (`tcp_min_rtt`); all ones:
    /// none yet.
    pub fn min_rtt(&self) -> u32 {
        self.rtt_min_us
    }

    /// 32 random bits of the flow's own (`get_random_u32`): SplitMix64 (Steele, Lea and Flood
    /// 2014), whose state is [`Tcp::dice`].
    pub fn random_u32(&mut self) -> u32 {
        self.dice = self.dice.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.dice;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 32) as u32
    }

    /// Random in `0..ceiling` (`get_random_u32_below`).
    pub fn random_u32_below(&mut self, ceiling: u32) -> u32 {
        ((u64::from(self.random_u32()) * u64::from(ceiling)) >> 32) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(cwnd: u32, ssthresh: u32) -> Tcp {
        Tcp {
            snd_cwnd: cwnd,
            snd_ssthresh: ssthresh,
            ..Tcp::default()
        }
    }

    #[test]
    fn slow_start_hands_on_what_passes_the_threshold() {
        let mut tcp = window(9, 10);
        assert_eq!((tcp.slow_start(3), tcp.snd_cwnd), (2, 10));
        assert!(!tcp.in_slow_start());
    }

    #[test]
    fn avoidance_counts_segments() {
        let mut tcp = window(10, 2);
        for _ in 0..4 {
            tcp.cong_avoid_ai(10, 2);
        }
        assert_eq!((tcp.snd_cwnd, tcp.snd_cwnd_cnt), (10, 8));
        tcp.cong_avoid_ai(10, 3);
        assert_eq!((tcp.snd_cwnd, tcp.snd_cwnd_cnt), (11, 1));
        // The step became shorter than what is counted: one segment and a fresh count.
        tcp.snd_cwnd_cnt = 9;
        tcp.cong_avoid_ai(2, 1);
        assert_eq!((tcp.snd_cwnd, tcp.snd_cwnd_cnt), (12, 1));
    }

    #[test]
    fn what_limits_is_remembered_in_slow_start_and_asked_in_avoidance() {
        let mut tcp = window(10, 20);
        tcp.max_packets_out = 5;
        assert!(!tcp.is_cwnd_limited());
        tcp.max_packets_out = 6;
        assert!(tcp.is_cwnd_limited());
        tcp.snd_ssthresh = 5;
        assert!(!tcp.is_cwnd_limited());
        tcp.is_cwnd_limited = 1;
        assert!(tcp.is_cwnd_limited());
    }

    #[test]
    fn numbers_are_ordered_across_the_end_of_the_circle() {
        assert!(after(1, 0) && before(0, 1) && !after(7, 7) && !before(7, 7));
        assert!(after(3, u32::MAX - 3) && before(u32::MAX - 3, 3));
    }

    #[test]
    fn a_part_of_a_tick_is_a_tick() {
        let ticks = [0, 1, 1_000, 1_001, u32::MAX].map(usecs_to_jiffies);
        assert_eq!(ticks, [0, 1, 1, 2, 4_294_968]);
    }

    #[test]
    fn random_numbers_stay_below_the_ceiling_and_depend_on_the_state() {
        let mut tcp = Tcp::default();
        let drawn: Vec<u32> = (0..1_000).map(|_| tcp.random_u32_below(8)).collect();
        assert!((0..8).all(|n| drawn.iter().filter(|d| **d == n).count() > 80));
        let mut again = Tcp::default();
        assert_eq!(again.random_u32_below(8), drawn[0]);
    }
}
