//! What a flow remembers of an earlier connection on its path.

use cclab_tcp::profile;
use cclab_units::Time;

use crate::de::At;
use crate::error::Problem;
use crate::flow::Remembered;
use crate::written;

/// What the flow `written` on the stack `stack` remembers; none: nothing.
pub(super) fn remembered(
    written: &written::Flow,
    stack: &str,
) -> Result<Option<Remembered>, Problem> {
    let Some(At { value, .. }) = &written.remembered else {
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
