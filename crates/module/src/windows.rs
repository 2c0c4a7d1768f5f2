//! Windows that cannot be: told as what the hook did that left or returned them.

use std::ffi::CStr;

use cclab_interface::Tcp;

use crate::guard;
use crate::hook::Hook;

/// Sees to it that the window and the threshold that `hook` of `file` left are neither zero nor, as
/// Linux reads them, negative: another one is [told](guard::told).
#[inline]
pub fn check(file: &'static CStr, hook: Hook, tcp: &Tcp) {
    let fits = |segments: u32| segments.wrapping_sub(1) < i32::MAX as u32;
    if !(fits(tcp.snd_cwnd) && fits(tcp.snd_ssthresh)) {
        absurd(file, hook, tcp);
    }
}

#[cold]
fn absurd(file: &'static CStr, hook: Hook, tcp: &Tcp) -> ! {
    let (name, value) = match tcp.snd_cwnd as i32 {
        ..=0 => ("snd_cwnd", tcp.snd_cwnd),
        _ => ("snd_ssthresh", tcp.snd_ssthresh),
    };
    guard::told(
        file,
        hook,
        &format!("it leaves {name} at {}", signed(value)),
    );
}

/// The number of segments that `hook` of `file` returned, seen to likewise.
#[inline]
pub fn segments(file: &'static CStr, hook: Hook, said: u32) -> u32 {
    if said as i32 <= 0 {
        guard::told(file, hook, &format!("it returns {} segments", signed(said)));
    }
    said
}

/// A count with what it is as a negative number.
fn signed(count: u32) -> String {
    match count as i32 {
        negative @ ..0 => format!("{count} ({negative})"),
        _ => count.to_string(),
    }
}
