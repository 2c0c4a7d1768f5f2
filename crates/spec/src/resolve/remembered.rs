//! What a flow remembers of an earlier connection on its path.

use cclab_cc::Arithmetic;
use cclab_tcp::profile;
use cclab_units::Time;

use crate::de::At;
use crate::error::Problem;
use crate::scenario::Remembered;
use crate::variant_file::is_path;
use crate::written;

/// What the flow `written` with the variant `cc` on the stack `stack` remembers; none: nothing.
pub(super) fn remembered(
    written: &written::Flow,
    cc: &str,
    stack: &str,
) -> Result<Option<Remembered>, Problem> {
    let Some(At { at, value }) = &written.remembered else {
        return Ok(None);
    };
    if let Some(command) = &written.command {
        let problem = Problem::new(
            "`remembered` beside a `command`",
            "leave one out: a program's kernel remembers nothing",
        );
        return Err(problem.or_at(command.at));
    }
    let rtt = value.rtt.value.0;
    if rtt == Time::ZERO {
        let problem = Problem::new("a remembered round trip of `0s`", "it is positive");
        return Err(problem.or_at(value.rtt.at));
    }
    let window = value.window.value.0;
    if let Some(profile) = profile::find(stack) {
        resumes(written, cc, profile.arithmetic, stack).map_err(|problem| problem.or_at(*at))?;
        let mss = written.mss.as_ref().map(|mss| mss.value.0 as u32);
        let mss = profile.payload_of(mss.unwrap_or(profile.wire.mss));
        let initial = profile.initial_window_segments * u64::from(mss);
        if window / 2 <= initial {
            let problem = Problem::new(
                format!("a remembered window of {window} bytes"),
                format!(
                    "write more than {}B: a flow resumes at half of it, and begins with {initial} \
                     bytes in any case",
                    2 * initial + 1
                ),
            );
            return Err(problem.or_at(value.window.at));
        }
    }
    Ok(Some(Remembered { window, rtt }))
}

/// Whether a flow of `cc` can resume on a stack that counts windows so.
fn resumes(
    written: &written::Flow,
    cc: &str,
    arithmetic: Arithmetic,
    stack: &str,
) -> Result<(), Problem> {
    let of_file = written.cc.as_ref().is_some_and(|cc| is_path(&cc.value));
    let variant = cclab_cc::find(cc);
    let kept = arithmetic == Arithmetic::Segments;
    if variant.is_some_and(|variant| variant.resumes(arithmetic)) || (of_file && kept) {
        return Ok(());
    }
    let elsewhere = of_file || variant.is_some_and(|variant| variant.resumes(Arithmetic::Segments));
    Err(match elsewhere {
        true => Problem::new(
            format!("`remembered` of {cc} on the stack {stack}"),
            "leave the `stack` out: that of Linux alone keeps the window of the variant and can set it",
        ),
        false => Problem::new(
            format!("`remembered` of {cc}, which keeps a window of its own"),
            "choose a variant whose window the stack keeps, such as cubic or reno, or bbr or bbr3",
        ),
    })
}
