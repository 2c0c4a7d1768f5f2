//! Stack profiles: everything in which one TCP differs from another, as data.
//!
//! - `rfc`: the standards as written today.
//! - `linux-6.12`: the kernel of that version, as configured by default.
//! - `ns2`: the one-way agents of ns-2.35.
//! - `ns3-3.1x`: ns-3 as it was up to 2015 (the release matched is 3.22).

use cclab_cc::{Arithmetic, SlowStart};
use cclab_units::Time;

/// How a stack behaves.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// Name in study files.
    pub name: &'static str,
    /// One line for people.
    pub summary: &'static str,
    /// Sizes on the wire and options in use.
    pub wire: Wire,
    /// Window at the start, in segments.
    pub initial_window_segments: u64,
    /// Slow-start threshold at the start.
    pub initial_ssthresh: InitialSsthresh,
    /// How windows are counted.
    pub arithmetic: Arithmetic,
    /// How CUBIC leaves slow start.
    pub cubic_slow_start: SlowStart,
    /// When the receiver acknowledges.
    pub ack: AckPolicy,
    /// The retransmission timer.
    pub rto: RtoRules,
    /// What a lost SYN costs.
    pub syn: SynRules,
    /// Loss recovery of a variant that does not name its own.
    pub recovery: Recovery,
    /// The timer that waits for reordered segments (RFC 8985 section 6.2).
    pub reorder_timer: CoarseTimer,
    /// Whether variants that name a classic recovery (reno, newreno, sack) get it, or the
    /// profile's, as in a kernel where these are only window rules.
    pub classic_variants: bool,
    /// New data on the first two duplicate ACKs (RFC 3042).
    pub limited_transmit: bool,
    /// Whether duplicate ACKs for data sent before the last reduction are ignored (RFC 6582
    /// section 3.2, step 2).
    pub careful_fast_retransmit: bool,
    /// Whether only the first partial ACK of a NewReno recovery restarts the timer, so that a
    /// timeout ends a recovery of many losses (RFC 6582 section 4, "impatient"), or each does.
    pub impatient: bool,
    /// Detection of spurious timeouts (F-RTO, RFC 5682) and undo of spurious reductions.
    pub undo: bool,
    /// Window after an idle time back to the initial one (RFC 5681 section 4.1).
    pub idle_restart: bool,
    /// How much leaves at once; `None`: each segment as soon as it may.
    pub bursts: Option<Bursts>,
    /// Largest window that the receiver advertises.
    pub default_rwnd: DefaultRwnd,
    /// Bytes the application can have written and not acknowledged; `u64::MAX`: no limit.
    pub sndbuf: u64,
    /// What a send buffer holds beyond what is in flight, for a flow whose time is up; `None`:
    /// nothing.
    pub send_buffer: Option<SendBuffer>,
    /// Whether a queue must stay below its limit instead of reaching it.
    pub queue_limit_is_exclusive: bool,
}

/// Sizes on the wire and options in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wire {
    /// Maximum segment size unless the flow sets one.
    pub mss: u32,
    /// Whether options take room from the MSS (RFC 6691) or come on top of it.
    pub mss_includes_options: bool,
    /// Bytes of an IP header.
    pub ip_header: u16,
    /// Bytes of a TCP header without options.
    pub tcp_header: u16,
    /// Bytes of link framing that queues and links count.
    pub framing: u16,
    /// Timestamps (RFC 7323): 12 bytes of every segment.
    pub timestamps: bool,
    /// Window scaling (RFC 7323).
    pub window_scaling: bool,
    /// Selective acknowledgements (RFC 2018), duplicates reported (RFC 2883).
    pub sack: bool,
}

/// Slow-start threshold at the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InitialSsthresh {
    /// None: slow start until congestion.
    Unlimited,
    /// Bytes.
    Bytes(u64),
    /// The receiver's window.
    Rwnd,
}

/// Largest window that a receiver advertises unless the flow sets one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefaultRwnd {
    /// Bytes.
    Bytes(u64),
    /// Full segments.
    Segments(u64),
    /// What a buffer allows that grows with the flow.
    Growing(ReceiveBuffer),
}

impl DefaultRwnd {
    /// The largest window, for full segments of `mss` bytes of payload.
    pub fn most(&self, mss: u64) -> u64 {
        match *self {
            DefaultRwnd::Bytes(bytes) => bytes,
            DefaultRwnd::Segments(segments) => segments * mss,
            DefaultRwnd::Growing(buffer) => buffer.largest() * buffer.window_share(mss) / SHARES,
        }
    }

    /// The buffer, if it grows.
    pub fn buffer(&self) -> Option<ReceiveBuffer> {
        match *self {
            DefaultRwnd::Growing(buffer) => Some(buffer),
            _ => None,
        }
    }
}

/// A receive buffer that grows with the flow, and what it counts (Linux).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiveBuffer {
    /// Bytes of memory at first (`tcp_rmem[1]`).
    pub initial: u64,
    /// Bytes of memory at most (`tcp_rmem[2]`).
    pub most: u64,
    /// Whether it grows at all (`tcp_moderate_rcvbuf`).
    pub moderated: bool,
    /// Memory that a segment takes beside its payload: the packet's descriptor and the head of
    /// its data (`SKB_TRUESIZE(MAX_TCP_HEADER)`).
    pub overhead: u64,
}

/// The part of a buffer that is window is counted in this many shares
/// (`TCP_RMEM_TO_WIN_SCALE`).
pub(crate) const SHARES: u64 = 256;

impl ReceiveBuffer {
    /// What it can grow to.
    fn largest(&self) -> u64 {
        if self.moderated {
            self.most
        } else {
            self.initial
        }
    }

    /// The shares of the memory that are window: as much as is payload in a full segment of
    /// `mss` bytes (`tcp_measure_rcv_mss`).
    pub(crate) fn window_share(&self, mss: u64) -> u64 {
        (mss * SHARES / (mss + self.overhead)).max(1)
    }
}

/// A send buffer that grows with the congestion window (Linux `tcp_sndbuf_expand`). It never
/// holds back a flow that the window does not; what is in it when the application stops still
/// leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendBuffer {
    /// Bytes of memory for each segment of the largest window so far.
    pub per_segment: u64,
    /// Bytes of memory at most (`tcp_wmem[2]`).
    pub most: u64,
    /// The memory of a full packet of this many bytes of payload (`gso_max_size`) is that many
    /// bytes more than they.
    pub packet: u64,
    /// See `packet`.
    pub overhead: u64,
}

impl SendBuffer {
    /// Bytes of payload that it holds when the largest window was of `segments`.
    pub(crate) fn payload(&self, segments: u64) -> u64 {
        let memory = (self.per_segment * segments).min(self.most);
        memory * self.packet / (self.packet + self.overhead)
    }
}

/// When a receiver acknowledges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckPolicy {
    /// In-order full segments per acknowledgement.
    pub every: u32,
    /// How long a lone segment may wait for its acknowledgement.
    pub delay: AckDelay,
    /// Segments at the start of a connection that are acknowledged at once (Linux quick ACKs).
    pub quick_acks: u32,
    /// Whether a segment that fills part of a gap is acknowledged at once (RFC 5681
    /// section 4.2).
    pub immediate_on_gap: bool,
    /// Whether a full segment that ends a burst, which the push flag tells, is acknowledged at
    /// once when the application reads it (Linux `tcp_cleanup_rbuf`).
    pub at_push: bool,
    /// How acknowledgements of data past a gap are thinned out; `None`: each is sent.
    pub compression: Option<Compression>,
}

/// Thinning out of acknowledgements while data is missing (Linux `tcp_comp_sack_*`): the first
/// few at each cumulative one leave at once, later ones wait for more data or for a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compression {
    /// Acknowledgements that leave at once.
    pub at_once: u32,
    /// Acknowledgements that one stands for at most.
    pub most: u32,
    /// The longest wait; a twentieth of the round-trip time if that is shorter.
    pub longest: Time,
    /// How much later the timer may be.
    pub slack: Time,
}

/// How long a lone segment may wait for its acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckDelay {
    /// Always this long.
    Fixed(Time),
    /// As Linux: the estimated time between segments, between these bounds.
    Adaptive {
        /// `TCP_DELACK_MIN`.
        min: Time,
        /// `TCP_DELACK_MAX`.
        max: Time,
    },
}

/// How much leaves at once (Linux `tcp_tso_autosize`, `tcp_tso_should_defer`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bursts {
    /// A burst lasts `2^-rate_shift` seconds at the flow's rate (`sk_pacing_shift`).
    pub rate_shift: u32,
    /// The rate in per cent of window over round-trip time (`tcp_pacing_ca_ratio`).
    pub percent: u64,
    /// The same below half of ssthresh (`tcp_pacing_ss_ratio`).
    pub slow_start_percent: u64,
    /// Segments at least (`tcp_min_tso_segs`).
    pub least: u64,
    /// Bytes at most (`gso_max_size`).
    pub most: u64,
    /// On short paths that many bytes more, halved for each `2^rtt_log` microseconds of the
    /// round-trip time (`tcp_tso_rtt_log`).
    pub rtt_log: u32,
    /// This part of the window leaves whatever a full burst is (`tcp_tso_win_divisor`).
    pub part_of_window: u64,
    /// The longest wait for the next acknowledgement.
    pub patience: Time,
}

/// The retransmission timer (RFC 6298).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RtoRules {
    /// Before the first sample.
    pub initial: Time,
    /// Lower bound.
    pub min: Time,
    /// Upper bound.
    pub max: Time,
    /// Clock granularity `G`: the least that `4 rttvar` adds, and the tick of the timer.
    pub granularity: Time,
    /// Where the lower bound applies.
    pub floor: RtoFloor,
    /// What an RTT sample is measured by.
    pub clock: RttClock,
    /// Whether the timestamp echo measures what left more than once, which the clock does not
    /// (RFC 6298 section 3).
    pub echo_of_retransmissions: bool,
}

/// A timer that expires later than it is asked to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoarseTimer {
    /// What is added to any wait.
    pub slack: Time,
    /// It expires at a whole number of these, and one later than the wait needs; zero: at once.
    pub tick: Time,
}

impl CoarseTimer {
    /// It expires when it is asked to.
    pub const EXACT: CoarseTimer = CoarseTimer {
        slack: Time::ZERO,
        tick: Time::ZERO,
    };

    /// When it expires, set at `now` for `due`.
    pub(crate) fn expiry(&self, now: Time, due: Time) -> Time {
        if due == Time::NEVER || self.tick == Time::ZERO {
            return due;
        }
        let set_in_tick = Time::from_nanos(now.as_nanos() % self.tick.as_nanos());
        let wait = due.max(now) - now + self.slack;
        now - set_in_tick + wait.round_up_to(self.tick) + self.tick
    }
}

/// How a SYN without an answer is repeated, and what that costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SynRules {
    /// Repetitions before the connection is given up.
    pub retries: u32,
    /// Timeouts at the start that do not double the next (Linux `tcp_syn_linear_timeouts`).
    pub linear_timeouts: u32,
    /// Repetitions from which on the initial window is one segment (RFC 5681 section 3.1: the
    /// first; RFC 6928 section 2: the second).
    pub restart_from: u32,
    /// The timeout when data begins and the handshake gave no sample (RFC 6298 section 5.7).
    pub fallback: Time,
}

/// Where the lower bound of the timer applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RtoFloor {
    /// To the whole: `max(min, srtt + 4 rttvar)`.
    Total,
    /// To the variance, as Linux does: `srtt + max(min, 4 mdev)`.
    Variance,
}

/// What an RTT sample is measured by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RttClock {
    /// The sender's own record of when a segment left, in nanoseconds; retransmitted segments
    /// give no sample (Karn).
    SendTime,
    /// The timestamp echo, in whole ticks of this length; retransmitted segments give none.
    Echo(Time),
    /// One timed segment per round trip, in whole ticks of this length (BSD, ns-2).
    OnePerRound(Time),
}

/// How lost data is found and repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// Fast retransmit, then slow start from one segment (Tahoe).
    Tahoe,
    /// Fast retransmit and fast recovery that the first new ACK ends (Reno).
    Reno,
    /// Fast recovery through partial ACKs (RFC 6582).
    NewReno,
    /// Reno's with a fine-grained timeout beside it (ns-2's Vegas).
    Vegas,
    /// The SACK scoreboard with its pipe (RFC 6675).
    Sack,
    /// RACK-TLP (RFC 8985) over SACK, with proportional rate reduction (RFC 9937).
    RackPrr,
}

impl Recovery {
    /// Whether it needs selective acknowledgements.
    pub fn uses_sack(self) -> bool {
        matches!(self, Recovery::Sack | Recovery::RackPrr)
    }
}

/// Every profile.
pub static PROFILES: [&Profile; 4] = [&LINUX_6_12, &RFC, &NS2, &NS3_3_1X];

/// The profile called `name`.
pub fn find(name: &str) -> Option<&'static Profile> {
    PROFILES.iter().copied().find(|p| p.name == name)
}

/// Ethernet without its preamble, gap and checksum, as Linux's queueing layer counts it.
const ETHERNET_HEADER: u16 = 14;

static LINUX_6_12: Profile = Profile {
    name: "linux-6.12",
    summary: "Linux 6.12 by default: CUBIC with HyStart, SACK, RACK-TLP, PRR, IW10",
    wire: Wire {
        mss: 1460,
        mss_includes_options: true,
        ip_header: 20,
        tcp_header: 20,
        framing: ETHERNET_HEADER,
        timestamps: true,
        window_scaling: true,
        sack: true,
    },
    initial_window_segments: 10, // TCP_INIT_CWND
    initial_ssthresh: InitialSsthresh::Unlimited,
    arithmetic: Arithmetic::Segments,
    cubic_slow_start: SlowStart::LinuxHyStart,
    ack: AckPolicy {
        every: 2,
        delay: AckDelay::Adaptive {
            min: Time::from_millis(40),
            max: Time::from_millis(200),
        },
        quick_acks: 16, // TCP_MAX_QUICKACKS
        immediate_on_gap: true,
        at_push: true,
        compression: Some(Compression {
            at_once: 3,                    // TCP_FASTRETRANS_THRESH
            most: 44,                      // tcp_comp_sack_nr
            longest: Time::from_millis(1), // tcp_comp_sack_delay_ns
            slack: Time::from_micros(100), // tcp_comp_sack_slack_ns
        }),
    },
    rto: RtoRules {
        initial: Time::from_secs(1), // TCP_TIMEOUT_INIT
        min: Time::from_millis(200), // TCP_RTO_MIN
        max: Time::from_secs(120),   // TCP_RTO_MAX
        granularity: Time::from_millis(1),
        floor: RtoFloor::Variance,
        clock: RttClock::SendTime,
        echo_of_retransmissions: true,
    },
    syn: SynRules {
        retries: 10, // tcp_syn_retries, and the linear ones on top
        linear_timeouts: 4,
        restart_from: 2,              // tcp_init_transfer
        fallback: Time::from_secs(3), // TCP_TIMEOUT_FALLBACK
    },
    recovery: Recovery::RackPrr,
    reorder_timer: CoarseTimer {
        slack: Time::from_millis(2), // TCP_TIMEOUT_MIN_US
        tick: Time::from_millis(1),  // CONFIG_HZ=1000
    },
    classic_variants: false,
    limited_transmit: true,
    careful_fast_retransmit: true,
    impatient: false, // every ACK that advances rearms the timer
    undo: true,
    idle_restart: true,
    bursts: Some(Bursts {
        rate_shift: 10,
        percent: 120,
        slow_start_percent: 200,
        least: 2,
        most: 65_536,
        rtt_log: 9,
        part_of_window: 3,
        patience: Time::from_millis(1),
    }),
    default_rwnd: DefaultRwnd::Growing(ReceiveBuffer {
        initial: 131_072,
        most: 6_291_456,
        moderated: true,
        overhead: 896, // on 64-bit machines
    }),
    sndbuf: u64::MAX,
    send_buffer: Some(SendBuffer {
        per_segment: 2 * 4_352, // twice a segment in a buffer of a power of two
        most: 4_194_304,
        packet: 65_160,
        overhead: 896,
    }),
    queue_limit_is_exclusive: false,
};

static RFC: Profile = Profile {
    name: "rfc",
    summary: "the standards as written: RFC 9293, 5681, 6298, 6582, 6675, 8985, 9937, 9438",
    wire: Wire {
        framing: 0,
        ..LINUX_6_12.wire
    },
    initial_window_segments: 10, // RFC 6928
    initial_ssthresh: InitialSsthresh::Unlimited,
    arithmetic: Arithmetic::Bytes,
    cubic_slow_start: SlowStart::HyStartPlusPlus,
    ack: AckPolicy {
        every: 2, // RFC 1122 section 4.2.3.2
        delay: AckDelay::Fixed(Time::from_millis(200)),
        quick_acks: 0,
        immediate_on_gap: true,
        at_push: false,
        compression: None,
    },
    rto: RtoRules {
        initial: Time::from_secs(1),
        min: Time::from_secs(1),
        max: Time::from_secs(60),
        granularity: Time::from_millis(1),
        floor: RtoFloor::Total,
        clock: RttClock::SendTime,
        echo_of_retransmissions: false,
    },
    syn: SynRules {
        retries: 7, // three minutes (RFC 9293 section 3.8.3)
        linear_timeouts: 0,
        restart_from: 1,
        fallback: Time::from_secs(3),
    },
    recovery: Recovery::RackPrr,
    reorder_timer: CoarseTimer::EXACT,
    classic_variants: true,
    limited_transmit: true,
    careful_fast_retransmit: true,
    impatient: true,
    undo: true,
    idle_restart: true,
    bursts: None,
    default_rwnd: DefaultRwnd::Bytes(65_535 << 14),
    sndbuf: u64::MAX,
    send_buffer: None,
    queue_limit_is_exclusive: false,
};

static NS2: Profile = Profile {
    name: "ns2",
    summary: "ns-2.35's one-way agents: 1000-byte packets, an ACK per packet, 10 ms tick",
    wire: Wire {
        mss: 1000,
        mss_includes_options: false,
        ip_header: 20,
        tcp_header: 20,
        framing: 0,
        timestamps: false,
        window_scaling: true,
        sack: true,
    },
    initial_window_segments: 2, // windowInit_
    initial_ssthresh: InitialSsthresh::Rwnd,
    arithmetic: Arithmetic::PerAckSegments,
    cubic_slow_start: SlowStart::LinuxHyStart,
    ack: AckPolicy {
        every: 1,
        delay: AckDelay::Fixed(Time::from_millis(100)),
        quick_acks: 0,
        immediate_on_gap: true,
        at_push: false,
        compression: None,
    },
    rto: RtoRules {
        initial: Time::from_secs(3),        // rtxcur_init_
        min: Time::from_millis(200),        // minrto_
        max: Time::from_secs(60),           // maxrto_
        granularity: Time::from_millis(10), // tcpTick_
        floor: RtoFloor::Total,
        clock: RttClock::OnePerRound(Time::from_millis(10)),
        echo_of_retransmissions: false,
    },
    syn: SynRules {
        retries: 6,
        linear_timeouts: 0,
        restart_from: 1,
        fallback: Time::from_secs(3),
    },
    recovery: Recovery::Sack,
    reorder_timer: CoarseTimer::EXACT,
    classic_variants: true,
    limited_transmit: true,        // singledup_
    careful_fast_retransmit: true, // bugFix_
    impatient: true,               // newreno_changes1_
    undo: false,
    idle_restart: false,
    bursts: None,
    default_rwnd: DefaultRwnd::Segments(20), // window_
    sndbuf: u64::MAX,
    send_buffer: None,
    queue_limit_is_exclusive: true, // a queue of N holds N - 1 beside the packet in transmission
};

static NS3_3_1X: Profile = Profile {
    name: "ns3-3.1x",
    summary: "ns-3.22 (2015): timestamps, no SACK, no window scaling, its own Tahoe and Reno",
    wire: Wire {
        mss: 536,
        mss_includes_options: false,
        ip_header: 20,
        tcp_header: 20,
        framing: 2, // point-to-point
        timestamps: true,
        window_scaling: false,
        sack: false,
    },
    initial_window_segments: 1,
    initial_ssthresh: InitialSsthresh::Bytes(65_535),
    arithmetic: Arithmetic::PerAckBytes,
    cubic_slow_start: SlowStart::Plain,
    ack: AckPolicy {
        every: 2,
        delay: AckDelay::Fixed(Time::from_millis(200)),
        quick_acks: 1, // the first data segment is answered at once
        immediate_on_gap: true,
        at_push: false,
        compression: None,
    },
    rto: RtoRules {
        initial: Time::from_secs(3),
        min: Time::from_secs(1), // not the documented 200 ms: what its data path uses
        max: Time::from_secs(60),
        granularity: Time::from_millis(1),
        floor: RtoFloor::Total,
        clock: RttClock::Echo(Time::from_millis(1)),
        echo_of_retransmissions: false,
    },
    syn: SynRules {
        retries: 6,
        linear_timeouts: 0,
        restart_from: 1,
        fallback: Time::from_secs(3),
    },
    recovery: Recovery::NewReno,
    reorder_timer: CoarseTimer::EXACT,
    classic_variants: true,
    limited_transmit: false,
    careful_fast_retransmit: false,
    impatient: false,
    undo: false,
    idle_restart: false,
    bursts: None,
    default_rwnd: DefaultRwnd::Bytes(65_535),
    sndbuf: 131_072,
    send_buffer: None,
    queue_limit_is_exclusive: true,
};
