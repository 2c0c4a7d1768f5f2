//! The standards as written today.

use cclab_cc::{Arithmetic, SlowStart};
use cclab_units::Time;

use super::linux::LINUX_6_12;
use super::{
    AckDelay, AckPolicy, CoarseTimer, DefaultRwnd, InitialSsthresh, Profile, Recovery,
    ReorderingWindow, RtoFloor, RtoRules, RttClock, SynRules, Wire,
};

pub(super) static RFC: Profile = Profile {
    name: "rfc",
    version: 1,
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
    timer: CoarseTimer::EXACT,
    reordering_window: ReorderingWindow::RFC_8985,
    tail_loss_probes: true,
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
