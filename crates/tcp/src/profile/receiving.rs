//! What a receiver does: when it acknowledges, and which window it offers.

use cclab_units::Time;
use cclab_units::hint::rarely;

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
    /// What an arriving segment takes of it.
    pub packet: PacketMemory,
}

/// The memory that a packet from the network takes (`__netdev_alloc_skb`): a descriptor, and a
/// head of whole cache lines with room before the frame and its bookkeeping after it. A head that
/// a page does not hold takes a power of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketMemory {
    /// The descriptor (`struct sk_buff`).
    pub descriptor: u64,
    /// What follows the frame (`struct skb_shared_info`).
    pub shared: u64,
    /// Room before the frame, and the frame's headers.
    pub headers: u64,
    /// Bytes of a cache line, a power of two.
    pub line: u64,
    /// Bytes of a page.
    pub page: u64,
}

impl PacketMemory {
    /// Bytes of memory of a segment of `payload` bytes (`skb->truesize`).
    pub(crate) fn of(&self, payload: u64) -> u64 {
        debug_assert!(self.line.is_power_of_two(), "{} bytes a line", self.line);
        let lines = (self.headers + payload + self.line - 1) & !(self.line - 1);
        let head = lines + self.shared;
        let head = match head > self.page {
            true => {
                rarely();
                head.next_power_of_two()
            }
            false => head,
        };
        head + self.descriptor
    }
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
        (mss * SHARES / self.packet.of(mss)).clamp(1, SHARES - 1)
    }
}
