//! What becomes of a panic in a variant that was compiled apart: it is told, with its place, to
//! whoever loaded the variant.
//!
//! A panic must not unwind into the program that called: that was compiled apart, too. It ends
//! within the hook, and what it said is handed over.

#![allow(
    unsafe_code,
    reason = "whom a panic is told is a function of another program"
)]

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, set_hook};
use std::sync::OnceLock;

use crate::table::{Fault, Tell, Text};

/// Whom panics are told.
static TELL: OnceLock<Tell> = OnceLock::new();

/// A panic's words and place.
#[derive(Default)]
struct Said {
    message: String,
    file: String,
    line: u32,
    column: u32,
}

thread_local! {
    /// The last panic of this thread.
    static SAID: RefCell<Said> = RefCell::default();
}

/// [`Table::watch`](crate::Table::watch).
pub(crate) unsafe extern "C" fn watch(tell: Tell) {
    if TELL.set(tell).is_ok() {
        set_hook(Box::new(keep));
    }
}

/// Keeps what a panic says until the hook in which it happened has ended.
fn keep(info: &PanicHookInfo<'_>) {
    let payload = info.payload();
    let message = (payload.downcast_ref::<&str>().copied())
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("a panic with a value that is no text");
    let mut said = Said {
        message: message.to_owned(),
        ..Said::default()
    };
    if let Some(at) = info.location() {
        said.file = at.file().to_owned();
        (said.line, said.column) = (at.line(), at.column());
    }
    SAID.with(|last| *last.borrow_mut() = said);
}

/// What `call` returns; a panic in it is told as one of `hook`.
#[inline(always)]
pub(crate) fn watched<R>(hook: &'static str, call: impl FnOnce() -> R) -> R {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(said) => said,
        Err(payload) => {
            // A value that panics when it is dropped would do so here.
            std::mem::forget(payload);
            failed(hook)
        }
    }
}

/// Tells the last panic.
#[cold]
#[inline(never)]
fn failed(hook: &'static str) -> ! {
    let Some(tell) = TELL.get() else {
        std::process::abort();
    };
    let said = SAID.with(RefCell::take);
    let fault = Fault {
        hook: Text::of(hook),
        message: Text::lent(&said.message),
        file: Text::lent(&said.file),
        line: said.line,
        column: said.column,
    };
    // SAFETY: whoever watches gave the function; the fault and its texts outlive the call.
    unsafe { tell(&fault) }
}
