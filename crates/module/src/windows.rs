//! Windows that cannot be: told as what the hook did that left or returned them.

use cclab_interface::Tcp;

use crate::guard::Watched;
use crate::hook::Hook;

/// Sees to it that the window and the threshold that `hook` of `file` left are neither zero nor, as
/// Linux reads them, negative: another one is [told](Watched::told).
#[inline]
pub fn check(file: Watched, hook: Hook, tcp: &Tcp) {
    // One below a count that fits has no sign: one question for both.
    let below = tcp.snd_cwnd.wrapping_sub(1) | tcp.snd_ssthresh.wrapping_sub(1);
    if (below as i32) < 0 {
        absurd(file, hook, tcp);
    }
}

#[cold]
fn absurd(file: Watched, hook: Hook, tcp: &Tcp) -> ! {
    let (name, value) = match tcp.snd_cwnd as i32 {
        ..=0 => ("snd_cwnd", tcp.snd_cwnd),
        _ => ("snd_ssthresh", tcp.snd_ssthresh),
    };
    file.told(hook, &format!("it leaves {name} at {}", signed(value)));
}

/// The number of segments that `hook` of `file` returned, seen to likewise.
#[inline]
pub fn segments(file: Watched, hook: Hook, said: u32) -> u32 {
    if said as i32 <= 0 {
        file.told(hook, &format!("it returns {} segments", signed(said)));
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
