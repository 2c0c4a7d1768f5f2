//! Changes of links during a run.

use cclab_units::Time;

use super::jitter::slots;
use super::link::Links;
use crate::change::{Change, Triggered, When};
use crate::de::At;
use crate::error::{Position, Problem};
use crate::link::{Link, Slots};
use crate::written;

/// What a change waits for.
enum Waits {
    /// For an instant.
    Until(Time),
    /// For a state; `None`: for one of a flow that this sweep point counts zero times.
    For(Option<When>),
}

impl Links<'_, '_> {
    /// Adds a change to `link`, which has its jitter already.
    pub(super) fn change(&self, written: &written::Change, link: &mut Link) -> Result<(), Problem> {
        let (waits, at) = self.waits(written)?;
        let problem = |message: &str, help: &str| Problem::new(message, help).or_at(at);
        only_what_can_change(written, link, problem)?;
        let after = match (&waits, &written.after) {
            (Waits::Until(instant), _) => *instant,
            (Waits::For(_), after) => after.as_ref().map_or(Time::ZERO, |after| after.value.0),
        };
        let change = Change {
            at: after,
            rate: written.rate.as_ref().map(|rate| rate.value.0),
            delay: written.delay.as_ref().map(|delay| delay.value.0),
            loss: written.loss.as_ref().map(|loss| loss.value.0),
            jitter: written.jitter.as_ref().map(|jitter| jitter.value.0),
            slots: match &written.slots {
                None => None,
                Some(new) => Some(slots(Some(new), link.jitter)?.unwrap_or(Slots::NONE)),
            },
        };
        match waits {
            Waits::Until(instant) => {
                if link.schedule.iter().any(|earlier| earlier.at == instant) {
                    return Err(problem(
                        &format!("another change of this schedule is at {instant} too"),
                        "write one change with all that is new",
                    ));
                }
                link.schedule.push(change);
            }
            Waits::For(None) => {}
            Waits::For(Some(when)) => {
                let same = |earlier: &Triggered| earlier.when == when && earlier.change.at == after;
                if link.triggered.iter().any(same) {
                    return Err(problem(
                        "another change of this schedule waits for the same",
                        "write one change with all that is new",
                    ));
                }
                link.triggered.push(Triggered { when, change });
            }
        }
        Ok(())
    }

    /// What the change that is `written` waits for, and where that is written.
    fn waits(&self, written: &written::Change) -> Result<(Waits, Position), Problem> {
        match (&written.at, &written.when, &written.after) {
            (Some(_), Some(when), _) => {
                let problem = Problem::new(
                    "this change is at an instant and waits for a state as well",
                    "leave out `at` or `when`",
                );
                Err(problem.or_at(when.at))
            }
            (None, None, _) => {
                let problem = Problem::new(
                    "this change has no instant and no state that it waits for",
                    "give it an `at`, such as \"10s\", or a `when`, such as { flow = \"x\", column = \
                     \"phase\", is = \"drain\" }",
                );
                Err(match place_of_what_is_new(written) {
                    Some(at) => problem.or_at(at),
                    None => problem,
                })
            }
            (Some(_), None, Some(after)) => {
                let problem = Problem::new(
                    "`after` is counted from a state, and this change is at an instant",
                    "leave it out, or write a `when` instead of `at`",
                );
                Err(problem.or_at(after.at))
            }
            (Some(instant), None, None) => {
                let At { at, value } = instant;
                self.path
                    .begins("this change", value.0)
                    .map_err(|problem| problem.or_at(*at))?;
                Ok((Waits::Until(value.0), *at))
            }
            (None, Some(At { at, value }), _) => Ok((Waits::For(self.when(value)?), *at)),
        }
    }

    fn when(&self, written: &written::When) -> Result<Option<When>, Problem> {
        let nth = written.nth.as_ref();
        if let Some(nth) = nth.filter(|nth| nth.value == 0) {
            let problem = Problem::new("there is no time 0", "times are counted from 1");
            return Err(problem.or_at(nth.at));
        }
        Ok(self.has_flow(&written.flow)?.then(|| When {
            flow: written.flow.value.clone(),
            column: written.column.clone(),
            is: written.is.clone(),
            nth: nth.map_or(1, |nth| nth.value),
        }))
    }
}

fn place_of_what_is_new(written: &written::Change) -> Option<Position> {
    let rate = written.rate.as_ref().map(|rate| rate.at);
    let times = [&written.delay, &written.jitter, &written.after];
    let times = times.into_iter().flatten().map(|time| time.at);
    let loss = written.loss.as_ref().map(|loss| loss.at);
    let slots = written.slots.as_ref().map(|slots| slots.at);
    rate.into_iter()
        .chain(times)
        .chain(loss)
        .chain(slots)
        .next()
}

/// A problem if the change `written` of `link` changes nothing, or what cannot change.
fn only_what_can_change(
    written: &written::Change,
    link: &Link,
    problem: impl Fn(&str, &str) -> Problem,
) -> Result<(), Problem> {
    let changes = written.rate.is_some() || written.delay.is_some() || written.slots.is_some();
    if !changes && written.loss.is_none() && written.jitter.is_none() {
        return Err(problem(
            "this change changes nothing",
            "give it a rate, a delay, a loss, a jitter or slots",
        ));
    }
    if written.jitter.is_some() && link.jitter.is_none() {
        return Err(problem(
            "this change sets the jitter of a link that has none",
            "give the link a `jitter` to begin with, such as \"0s\"",
        ));
    }
    if written.rate.is_some() && link.trace.is_some() {
        return Err(problem(
            "this change sets the rate of a link that follows a trace",
            "leave out `trace`, or the change's `rate`",
        ));
    }
    if written.rate.is_some() && link.rate.is_none() {
        return Err(problem(
            "this change sets the rate of a link that is infinitely fast",
            "give the link a `rate` to begin with",
        ));
    }
    Ok(())
}
