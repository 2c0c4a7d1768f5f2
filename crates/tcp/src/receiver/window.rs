//! The window that a receiver grants, and what it follows.

use cclab_units::hint::rarely;

use super::buffer::Buffer;
use super::{Receiver, UNSCALED_MAX};

/// Largest shift of the window (RFC 7323 section 2.3).
const MAX_SHIFT: u32 = 14;

impl Receiver {
    /// The right edge that the free room allows where the buffer is all there from the start.
    pub(super) fn free_edge(&self) -> u64 {
        self.consumed + self.rwnd_max
    }

    /// The window of the SYN-ACK, which is never scaled.
    pub(super) fn first_window(&self) -> u64 {
        let buffered = self.buffer.as_ref().map(Buffer::first_window);
        buffered.unwrap_or(self.rwnd_max).min(UNSCALED_MAX)
    }

    /// Moves the right edge if it is worth it: an empty buffer is offered whole, a partly
    /// full one in steps that a full segment can use.
    pub(super) fn open_window(&mut self) {
        if self.buffer.is_some() {
            return self.select_window();
        }
        rarely();
        let free = self.free_edge();
        let empty = self.consumed == self.data_end();
        if free > self.edge && (empty || free - self.edge >= self.edge_step) {
            self.edge = free;
        }
    }

    /// The window that the buffer allows, if that is no less than what was offered, of which no
    /// part of a step of the scale is lost (`tcp_select_window`).
    fn select_window(&mut self) {
        let offered = self.window();
        let allowed = self.allowed_window();
        self.edge = self.rcv_nxt
            + match allowed < offered {
                true => {
                    rarely();
                    offered.next_multiple_of(1 << self.shift)
                }
                false => allowed,
            };
    }
}

/// The least shift by which `rwnd_max` fits the 16 bits of the field.
pub(super) fn shift_for(rwnd_max: u64) -> u32 {
    let bits = u64::BITS - rwnd_max.leading_zeros();
    bits.saturating_sub(16).min(MAX_SHIFT)
}
