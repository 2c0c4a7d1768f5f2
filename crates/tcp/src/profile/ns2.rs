//! The one-way agents of ns-2.35.

use cclab_cc::{Arithmetic, SlowStart};
use cclab_units::Time;

use super::{
    AckDelay, AckPolicy, CoarseTimer, DefaultRwnd, InitialSsthresh, Profile, Recovery,
    ReorderingWindow, RtoFloor, RtoRules, RttClock, SynRules, Wire,
};

pub(super) static NS2: Profile = Profile {
    name: "ns2",
    version: 1,
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
    timer: CoarseTimer::EXACT,
    reordering_window: ReorderingWindow::RFC_8985,
    tail_loss_probes: true,
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
