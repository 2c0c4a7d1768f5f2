//! What a receiver does: when it acknowledges, and which window it offers.

use cclab_units::Time;

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
