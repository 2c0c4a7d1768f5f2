//! A variant behind a table, at one flow.

#![allow(unsafe_code, reason = "the functions of a table take pointers")]

use std::ffi::c_void;

use cclab_cc::interface::{AckSample, CaEvent, CaState, CongestionOps, RateSample, Table, Tcp};

/// One that its table made.
pub(crate) struct Foreign {
    variant: *mut c_void,
    table: &'static Table,
    has_cong_control: bool,
}

// SAFETY: `CongestionOps` is `Send`, and the table is one of a type that implements it: the
// interface's `Table::of` demands it.
unsafe impl Send for Foreign {}

impl Foreign {
    /// One with a value for each parameter that the table declares.
    pub(crate) fn start(table: &'static Table, values: &[f64]) -> Foreign {
        debug_assert_eq!(values.len(), table.params_len);
        // SAFETY: the table's library stays loaded, and there is a value for each parameter.
        let variant = unsafe { (table.start)(values.as_ptr(), values.len()) };
        let mut foreign = Foreign {
            variant,
            table,
            has_cong_control: false,
        };
        // SAFETY: `start` made the variant.
        foreign.has_cong_control = unsafe { (table.has_cong_control)(foreign.variant) };
        foreign
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        // SAFETY: `start` made the variant, which ends here.
        unsafe { (self.table.end)(self.variant) };
    }
}

/// Zero is no say.
fn say(segments: u32) -> Option<u32> {
    (segments != 0).then_some(segments)
}

// Each hook lends the connection, and the sample if there is one, for the time of the call.
impl CongestionOps for Foreign {
    fn init(&mut self, tcp: &mut Tcp) {
        // SAFETY: `start` made the variant, which nobody else uses.
        unsafe { (self.table.init)(self.variant, tcp) }
    }

    fn ssthresh(&mut self, tcp: &mut Tcp) -> u32 {
        // SAFETY: see `init`.
        unsafe { (self.table.ssthresh)(self.variant, tcp) }
    }

    fn cong_avoid(&mut self, tcp: &mut Tcp, ack: u32, acked: u32) {
        // SAFETY: see `init`.
        unsafe { (self.table.cong_avoid)(self.variant, tcp, ack, acked) }
    }

    fn set_state(&mut self, tcp: &mut Tcp, new: CaState) {
        // SAFETY: see `init`.
        unsafe { (self.table.set_state)(self.variant, tcp, new as u8) }
    }

    fn cwnd_event(&mut self, tcp: &mut Tcp, event: CaEvent) {
        // SAFETY: see `init`.
        unsafe { (self.table.cwnd_event)(self.variant, tcp, event as u8) }
    }

    fn in_ack_event(&mut self, tcp: &mut Tcp, flags: u32) {
        // SAFETY: see `init`.
        unsafe { (self.table.in_ack_event)(self.variant, tcp, flags) }
    }

    fn pkts_acked(&mut self, tcp: &mut Tcp, sample: &AckSample) {
        // SAFETY: see `init`.
        unsafe { (self.table.pkts_acked)(self.variant, tcp, sample) }
    }

    fn has_cong_control(&self) -> bool {
        self.has_cong_control
    }

    fn cong_control(&mut self, tcp: &mut Tcp, ack: u32, flag: u32, sample: &RateSample) {
        // SAFETY: see `init`.
        unsafe { (self.table.cong_control)(self.variant, tcp, ack, flag, sample) }
    }

    fn undo_cwnd(&mut self, tcp: &mut Tcp) -> u32 {
        // SAFETY: see `init`.
        unsafe { (self.table.undo_cwnd)(self.variant, tcp) }
    }

    fn min_tso_segs(&mut self, tcp: &mut Tcp) -> Option<u32> {
        // SAFETY: see `init`.
        say(unsafe { (self.table.min_tso_segs)(self.variant, tcp) })
    }

    fn sndbuf_expand(&mut self, tcp: &mut Tcp) -> Option<u32> {
        // SAFETY: see `init`.
        say(unsafe { (self.table.sndbuf_expand)(self.variant, tcp) })
    }
}
