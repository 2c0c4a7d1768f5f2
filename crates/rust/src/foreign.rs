//! A variant behind a table, at one flow.

#![allow(unsafe_code, reason = "the functions of a table take pointers")]

use std::ffi::c_void;
use std::mem::MaybeUninit;

use cclab_cc::interface::{
    AckSample, CaEvent, CaState, Column, CongestionOps, RateSample, StateColumn, StateKind, States,
    Table, Tcp, Text,
};
use cclab_module::guard::{self, Watched};
use cclab_module::{Hook, windows};

use crate::loaded::Tables;

/// One that its table made.
pub(crate) struct Foreign {
    variant: *mut c_void,
    table: &'static Table,
    states: &'static States,
    /// What it tells traces.
    columns: &'static [StateColumn],
    /// Its file.
    file: Watched,
    has_cong_control: bool,
}

// SAFETY: `CongestionOps` is `Send`, and the table is one of a type that implements it: the
// interface's `Table::of` demands it.
unsafe impl Send for Foreign {}

impl Foreign {
    /// One with a value for each parameter that the table declares.
    pub(crate) fn start(
        tables: Tables,
        file: Watched,
        values: &[f64],
        columns: &'static [StateColumn],
    ) -> Foreign {
        let table = tables.variant;
        debug_assert_eq!(values.len(), table.params_len);
        file.enter(Hook::Init);
        // SAFETY: the table's library stays loaded, and there is a value for each parameter.
        let variant = unsafe { (table.start)(values.as_ptr(), values.len()) };
        // SAFETY: `start` made the variant.
        let has_cong_control = unsafe { (table.has_cong_control)(variant) };
        guard::leave();
        Foreign {
            variant,
            table,
            states: tables.states,
            columns,
            file,
            has_cong_control,
        }
    }

    /// The columns of the state that it tells, with texts that stay.
    pub(crate) fn columns(&self) -> Vec<StateColumn> {
        self.file.enter(Hook::TellState);
        let columns = (0..).map_while(|index| self.column(index)).collect();
        guard::leave();
        columns
    }

    fn column(&self, index: usize) -> Option<StateColumn> {
        let mut told = MaybeUninit::<Column>::uninit();
        // SAFETY: `start` made the variant; what is there is written.
        let Column {
            name,
            meaning,
            kind,
            words,
        } = unsafe {
            let there = (self.states.column)(self.variant, index, told.as_mut_ptr());
            there.then(|| told.assume_init())
        }?;
        let stays = |text: Text| -> &'static str {
            // SAFETY: a text of a library that stays loaded.
            unsafe { text.read() }.leak()
        };
        let word = |place| {
            // SAFETY: there are so many words.
            stays(unsafe { (self.states.word)(self.variant, index, place) })
        };
        let kind = match kind {
            0 => StateKind::Number,
            1 => StateKind::Count,
            2 => StateKind::Flag,
            _ => StateKind::Word(Vec::leak((0..words).map(word).collect())),
        };
        let [name, meaning] = [name, meaning].map(stays);
        Some(StateColumn {
            name,
            kind,
            meaning,
        })
    }

    /// Calls `hook`, and looks at the windows that it leaves.
    #[inline]
    fn call<R>(
        &mut self,
        hook: Hook,
        tcp: &mut Tcp,
        by: impl FnOnce(&Table, *mut c_void, *mut Tcp) -> R,
    ) -> R {
        self.file.enter(hook);
        let said = by(self.table, self.variant, tcp);
        guard::leave();
        windows::check(self.file, hook, tcp);
        said
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        self.file.enter(Hook::Release);
        // SAFETY: `start` made the variant, which ends here.
        unsafe { (self.table.end)(self.variant) };
        guard::leave();
    }
}

/// Zero is no say.
fn say(segments: u32) -> Option<u32> {
    (segments != 0).then_some(segments)
}

// SAFETY, of all hooks: `start` made the variant, which nobody else uses; the connection, and the sample
// if there is one, are lent for the time of the call.
impl CongestionOps for Foreign {
    fn init(&mut self, tcp: &mut Tcp) {
        // SAFETY: see above.
        self.call(Hook::Init, tcp, |table, own, tcp| unsafe {
            (table.init)(own, tcp)
        })
    }

    fn ssthresh(&mut self, tcp: &mut Tcp) -> u32 {
        // SAFETY: see above.
        let said = self.call(Hook::Ssthresh, tcp, |table, own, tcp| unsafe {
            (table.ssthresh)(own, tcp)
        });
        windows::segments(self.file, Hook::Ssthresh, said)
    }

    fn cong_avoid(&mut self, tcp: &mut Tcp, ack: u32, acked: u32) {
        // SAFETY: see above.
        self.call(Hook::CongAvoid, tcp, |table, own, tcp| unsafe {
            (table.cong_avoid)(own, tcp, ack, acked)
        })
    }

    fn set_state(&mut self, tcp: &mut Tcp, new: CaState) {
        // SAFETY: see above.
        self.call(Hook::SetState, tcp, |table, own, tcp| unsafe {
            (table.set_state)(own, tcp, new as u8)
        })
    }

    fn cwnd_event(&mut self, tcp: &mut Tcp, event: CaEvent) {
        // SAFETY: see above.
        self.call(Hook::CwndEvent, tcp, |table, own, tcp| unsafe {
            (table.cwnd_event)(own, tcp, event as u8)
        })
    }

    fn in_ack_event(&mut self, tcp: &mut Tcp, flags: u32) {
        // SAFETY: see above.
        self.call(Hook::InAckEvent, tcp, |table, own, tcp| unsafe {
            (table.in_ack_event)(own, tcp, flags)
        })
    }

    fn pkts_acked(&mut self, tcp: &mut Tcp, sample: &AckSample) {
        // SAFETY: see above.
        self.call(Hook::PktsAcked, tcp, |table, own, tcp| unsafe {
            (table.pkts_acked)(own, tcp, sample)
        })
    }

    fn has_cong_control(&self) -> bool {
        self.has_cong_control
    }

    fn cong_control(&mut self, tcp: &mut Tcp, ack: u32, flag: u32, sample: &RateSample) {
        // SAFETY: see above.
        self.call(Hook::CongControl, tcp, |table, own, tcp| unsafe {
            (table.cong_control)(own, tcp, ack, flag, sample)
        })
    }

    fn undo_cwnd(&mut self, tcp: &mut Tcp) -> u32 {
        // SAFETY: see above.
        let said = self.call(Hook::UndoCwnd, tcp, |table, own, tcp| unsafe {
            (table.undo_cwnd)(own, tcp)
        });
        windows::segments(self.file, Hook::UndoCwnd, said)
    }

    fn min_tso_segs(&mut self, tcp: &mut Tcp) -> Option<u32> {
        // SAFETY: see above.
        let said = self.call(Hook::MinTsoSegs, tcp, |table, own, tcp| unsafe {
            (table.min_tso_segs)(own, tcp)
        });
        say(said)
    }

    fn sndbuf_expand(&mut self, tcp: &mut Tcp) -> Option<u32> {
        // SAFETY: see above.
        let said = self.call(Hook::SndbufExpand, tcp, |table, own, tcp| unsafe {
            (table.sndbuf_expand)(own, tcp)
        });
        say(said)
    }

    fn state_columns(&self) -> &'static [StateColumn] {
        self.columns
    }

    fn tell_state(&self, tcp: &Tcp, values: &mut [f64]) {
        self.file.enter(Hook::TellState);
        // SAFETY: see above; the numbers are lent for the time of the call.
        unsafe { (self.states.tell)(self.variant, tcp, values.as_mut_ptr(), values.len()) };
        guard::leave();
    }
}
