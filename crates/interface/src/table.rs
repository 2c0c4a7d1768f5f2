//! How a variant that was compiled apart is reached: a table of C functions.
//!
//! A shared object exports `cclab_variant`, which [`variant!`](crate::variant) writes; it returns
//! the [`Table`] of its variant. Both sides are compiled from this crate; a table whose
//! [`Table::interface`] is another's is refused by that number.

#![allow(
    unsafe_code,
    reason = "tables cross from one shared object to another by pointer"
)]

use std::ffi::c_void;

use crate::{AckSample, RateSample, Tcp};

/// Raised whenever [`Table`], [`Tcp`] or a sample changes its layout or meaning.
pub const INTERFACE_VERSION: u32 = 1;

/// UTF-8 text that lives as long as what tells it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Text {
    start: *const u8,
    len: usize,
}

impl Text {
    /// Of a literal.
    pub const fn of(text: &'static str) -> Text {
        Text::lent(text)
    }

    /// Of a text that outlives whoever is told it.
    pub(crate) const fn lent(text: &str) -> Text {
        Text {
            start: text.as_ptr(),
            len: text.len(),
        }
    }

    /// Its bytes.
    ///
    /// # Safety
    /// The text comes from a shared object that is still loaded, or from a [`Fault`] that is being
    /// told.
    pub unsafe fn bytes(&self) -> &[u8] {
        // SAFETY: the caller's promise; an empty slice has an address, too.
        unsafe { std::slice::from_raw_parts(self.start, self.len) }
    }

    /// As a string.
    ///
    /// # Safety
    /// See [`Text::bytes`].
    pub unsafe fn read(&self) -> String {
        // SAFETY: the caller's promise.
        String::from_utf8_lossy(unsafe { self.bytes() }).into_owned()
    }
}

/// A parameter that a variant takes (`cc_params` of a study).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Its name.
    pub name: Text,
    /// What it does.
    pub meaning: Text,
    /// Its value where none is given.
    pub default: f64,
    /// The smallest value that it may take.
    pub least: f64,
    /// The largest value that it may take.
    pub most: f64,
}

// SAFETY: the texts are literals.
unsafe impl Sync for Parameter {}

impl Parameter {
    /// A parameter called `name`, between `least` and `most`.
    pub const fn new(
        name: &'static str,
        meaning: &'static str,
        default: f64,
        [least, most]: [f64; 2],
    ) -> Parameter {
        Parameter {
            name: Text::of(name),
            meaning: Text::of(meaning),
            default,
            least,
            most,
        }
    }
}

/// A panic of a variant.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    /// The hook that was called, `start` or `end`.
    pub hook: Text,
    /// What the panic said.
    pub message: Text,
    /// The source file; empty: not known.
    pub file: Text,
    /// Its line, from 1.
    pub line: u32,
    /// Its column, from 1.
    pub column: u32,
}

/// Whom a variant tells its panic: it does not return to the hook, but may unwind through it.
pub type Tell = unsafe extern "C-unwind" fn(*const Fault) -> !;

/// A variant that was compiled apart. A hook that panics tells whoever watches and does not return.
#[repr(C)]
pub struct Table {
    /// [`INTERFACE_VERSION`] of the crate that it was compiled against, or which the file asks for.
    pub interface: u32,
    /// Its name.
    pub name: Text,
    /// Its parameters, and how many.
    pub params: *const Parameter,
    /// See `params`.
    pub params_len: usize,
    /// Whether the flow always negotiates ECN (`TCP_CONG_NEEDS_ECN`).
    pub needs_ecn: bool,
    /// Says whom panics are told, before anything else is called; without it they end the process.
    pub watch: unsafe extern "C" fn(Tell),
    /// Makes one for a flow, with a value for each parameter.
    pub start: unsafe extern "C-unwind" fn(values: *const f64, len: usize) -> *mut c_void,
    /// Ends it.
    pub end: unsafe extern "C-unwind" fn(*mut c_void),
    /// [`init`](crate::CongestionOps::init).
    pub init: unsafe extern "C-unwind" fn(*mut c_void, *mut Tcp),
    /// [`ssthresh`](crate::CongestionOps::ssthresh).
    pub ssthresh: unsafe extern "C-unwind" fn(*mut c_void, *mut Tcp) -> u32,
    /// [`cong_avoid`](crate::CongestionOps::cong_avoid).
    pub cong_avoid: unsafe extern "C-unwind" fn(*mut c_void, *mut Tcp, u32, u32),
    /// [`set_state`](crate::CongestionOps::set_state).
    pub set_state: unsafe extern "C-unwind" fn(*mut c_void, *mut Tcp, u8),
    /// [`cwnd_event`](crate::CongestionOps::cwnd_event).
    pub cwnd_event: unsafe extern "C-unwind" fn(*mut c_void, *mut Tcp, u8),
    /// [`in_ack_event`](crate::CongestionOps::in_ack_event).
    pub in_ack_event: unsafe extern "C-unwind" fn(*mut c_void, *mut Tcp, u32),
    /// [`pkts_acked`](crate::CongestionOps::pkts_acked).
    pub pkts_acked: unsafe extern "C-unwind" fn(*mut c_void, *mut Tcp, *const AckSample),
    /// [`has_cong_control`](crate::CongestionOps::has_cong_control).
    pub has_cong_control: unsafe extern "C-unwind" fn(*mut c_void) -> bool,
    /// [`cong_control`](crate::CongestionOps::cong_control).
    pub cong_control:
        unsafe extern "C-unwind" fn(*mut c_void, *mut Tcp, u32, u32, *const RateSample),
    /// [`undo_cwnd`](crate::CongestionOps::undo_cwnd).
    pub undo_cwnd: unsafe extern "C-unwind" fn(*mut c_void, *mut Tcp) -> u32,
    /// [`min_tso_segs`](crate::CongestionOps::min_tso_segs); zero: no say.
    pub min_tso_segs: unsafe extern "C-unwind" fn(*mut c_void, *mut Tcp) -> u32,
    /// [`sndbuf_expand`](crate::CongestionOps::sndbuf_expand); zero: no say.
    pub sndbuf_expand: unsafe extern "C-unwind" fn(*mut c_void, *mut Tcp) -> u32,
}

/// A column of the inner state of a variant that was compiled apart.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Its name.
    pub name: Text,
    /// What it means.
    pub meaning: Text,
    /// What its numbers are: 0 real, 1 counts, 2 flags, 3 places in a list of words.
    pub kind: u8,
    /// How many words there are.
    pub words: usize,
}

/// How the inner state of a variant that was compiled apart is asked for: a table beside [`Table`], for
/// what it is asked changes nothing of what that says.
#[repr(C)]
pub struct States {
    /// Writes the column at an index; false: there is none.
    pub column: unsafe extern "C-unwind" fn(*mut c_void, usize, *mut Column) -> bool,
    /// A word of the column at an index, both of which there are.
    pub word: unsafe extern "C-unwind" fn(*mut c_void, usize, usize) -> Text,
    /// [`tell_state`](crate::CongestionOps::tell_state), with the place of so many numbers.
    pub tell: unsafe extern "C-unwind" fn(*mut c_void, *const Tcp, *mut f64, usize),
}

// SAFETY: a table is made of constants.
unsafe impl Sync for Table {}
// SAFETY: see above.
unsafe impl Send for Table {}
