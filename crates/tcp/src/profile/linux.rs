//! Linux 6.12, as configured by default.

use cclab_cc::{Arithmetic, SlowStart};
use cclab_units::Time;

use super::{
    AckDelay, AckPolicy, Bursts, CoarseTimer, Compression, DefaultRwnd, InitialSsthresh,
    PacketMemory, Profile, ReceiveBuffer, Recovery, ReorderingWindow, RtoFloor, RtoRules, RttClock,
    SendBuffer, SynRules, Wire,
};

/// Bytes of payload of a packet at most (`GSO_LEGACY_MAX_SIZE` without `MAX_TCP_HEADER` and one).
const GSO_MOST: u64 = 65_279;
/// Ethernet without its preamble, gap and checksum, as Linux's queueing layer counts it.
const ETHERNET_HEADER: u16 = 14;

pub(super) static LINUX_6_12: Profile = Profile {
    name: "linux-6.12",
    version: 4,
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
    timer: CoarseTimer {
        slack: Time::from_millis(2), // TCP_TIMEOUT_MIN_US
        tick: Time::from_millis(1),  // CONFIG_HZ=1000
    },
    reordering_window: ReorderingWindow::RFC_8985,
    tail_loss_probes: true,
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
        most: GSO_MOST,
        rtt_log: 9,
        part_of_window: 3,
        patience: Time::from_millis(1),
    }),
    default_rwnd: DefaultRwnd::Growing(ReceiveBuffer {
        initial: 131_072,
        most: 6_291_456,
        moderated: true,
        packet: PacketMemory {
            descriptor: 256,
            shared: 320,
            headers: 64 + 2 + 66, // NET_SKB_PAD, NET_IP_ALIGN; Ethernet, IP, TCP and a timestamp
            line: 64,
            page: 4_096,
        },
    }),
    sndbuf: u64::MAX,
    send_buffer: Some(SendBuffer {
        per_segment: 2 * 2_304, // twice a segment and its headers in a buffer of 2 KiB
        most: 4_194_304,
        packet: 65_160,
        overhead: 896,
        packet_most: GSO_MOST,
        is_fixed: false,
    }),
    queue_limit_is_exclusive: false,
};
