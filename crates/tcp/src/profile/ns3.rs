//! ns-3 as it was up to 2015 (the release matched is 3.22).

use cclab_cc::{Arithmetic, SlowStart};
use cclab_units::Time;

use super::{
    AckDelay, AckPolicy, CoarseTimer, DefaultRwnd, InitialSsthresh, Profile, Recovery,
    ReorderingWindow, RtoFloor, RtoRules, RttClock, SynRules, Wire,
};

pub(super) static NS3_3_1X: Profile = Profile {
    name: "ns3-3.1x",
    version: 1,
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
    timer: CoarseTimer::EXACT,
    reordering_window: ReorderingWindow::RFC_8985,
    tail_loss_probes: true,
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
