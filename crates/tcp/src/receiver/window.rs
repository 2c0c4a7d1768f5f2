//! The window that a receiver grants, and what it follows.

use cclab_packet::Packet;
use cclab_units::Time;

use super::buffer::{Buffer, Charged};
use super::{Receiver, UNSCALED_MAX, timestamp};

/// Largest shift of the window (RFC 7323 section 2.3).
const MAX_SHIFT: u32 = 14;

impl Receiver {
    /// A segment of `payload` bytes is about to be kept: a buffer that grows offers more.
    #[inline]
    pub(super) fn grow_window(&mut self, payload: u64, charged: Charged) {
        let held = self.held();
        if let Some(buffer) = &mut self.buffer
            && buffer.on_data(payload, held, charged)
        {
            self.delayed.on_window_growth();
        }
    }

    /// What a growing buffer is measured by.
    #[inline]
    pub(super) fn measure_rtt(&mut self, now: Time, packet: &Packet) {
        let window = self.edge.saturating_sub(self.rcv_nxt);
        if let Some(buffer) = &mut self.buffer {
            if self.timestamps && u32::from(packet.payload) >= self.config.mss_payload {
                buffer.on_echo(packet.tsecr, timestamp(now));
            }
            buffer.on_window(now, self.rcv_nxt, window);
        }
    }

    /// Bytes in the buffer.
    #[inline]
    pub(super) fn held(&self) -> u64 {
        self.unread() + self.ranges.bytes()
    }

    /// The right edge that the buffer's free room allows.
    pub(super) fn free_edge(&self) -> u64 {
        let Some(buffer) = &self.buffer else {
            return self.consumed + self.rwnd_max;
        };
        // Rounded up, so that scaling takes nothing away.
        let step = 1 << self.shift;
        let window = buffer.window(self.held()).next_multiple_of(step);
        self.rcv_nxt + window.min(UNSCALED_MAX << self.shift)
    }

    /// The window of the SYN-ACK, which is never scaled.
    pub(super) fn first_window(&self) -> u64 {
        let buffered = self.buffer.as_ref().map(Buffer::first_window);
        buffered.unwrap_or(self.rwnd_max).min(UNSCALED_MAX)
    }

    /// Moves the right edge if it is worth it: an empty buffer is offered whole, a partly
    /// full one in steps that a full segment can use.
    pub(super) fn open_window(&mut self) {
        let free = self.free_edge();
        let empty = self.consumed == self.bytes_received();
        if free > self.edge && (empty || free - self.edge >= self.edge_step) {
            self.edge = free;
        }
    }
}

/// The least shift by which `rwnd_max` fits the 16 bits of the field.
pub(super) fn shift_for(rwnd_max: u64) -> u32 {
    let bits = u64::BITS - rwnd_max.leading_zeros();
    bits.saturating_sub(16).min(MAX_SHIFT)
}
