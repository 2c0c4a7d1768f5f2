//! What a wire adds to the delay of packets: jitter and slots.

use std::num::NonZero;

use cclab_units::Time;

use crate::de::At;
use crate::error::{Position, Problem, missing};
use crate::link::{Jitter, Slots};
use crate::text::{BriefOrFull, TimeText};
use crate::written::{self, Distribution};

/// Jitter as written.
pub(super) fn jitter(
    written: &At<BriefOrFull<TimeText, written::Jitter>>,
) -> Result<Jitter, Problem> {
    let table = match &written.value {
        BriefOrFull::Brief(max) => {
            return Ok(Jitter::Uniform {
                max: max.0,
                reorder: false,
            });
        }
        BriefOrFull::Full(table) => table,
    };
    let distribution = table.distribution.unwrap_or_default();
    let (name, size, foreign) = match distribution {
        Distribution::Uniform | Distribution::Normal => ("max", &table.max, &table.average),
        Distribution::Wifi => ("average", &table.average, &table.max),
    };
    if let Some(At { at, .. }) = foreign {
        let problem = match distribution {
            Distribution::Wifi => Problem::new(
                "`max` belongs to a jitter that is \"uniform\" or \"normal\": one that is \"wifi\" \
                 has no largest",
                "write `average`, or leave out `distribution`",
            ),
            Distribution::Uniform | Distribution::Normal => Problem::new(
                "`average` belongs to a jitter that is \"wifi\"",
                "write `max`, the largest extra delay, or `distribution = \"wifi\"`",
            ),
        };
        return Err(problem.or_at(*at));
    }
    let Some(size) = size else {
        let problem = Problem {
            help: format!("such as `{name} = \"7ms\"`"),
            ..missing(name)
        };
        return Err(problem.or_at(written.at));
    };
    let size = size.value.0;
    let reorder = table.reorder.unwrap_or(false);
    Ok(match distribution {
        Distribution::Uniform => Jitter::Uniform { max: size, reorder },
        Distribution::Normal => Jitter::Normal { max: size, reorder },
        Distribution::Wifi => Jitter::Wifi {
            average: size,
            reorder,
        },
    })
}

/// Slots as written, behind `jitter`; `None` where packets wait for none: `every = "0s"` in a sweep
/// is the point without.
pub(super) fn slots(
    written: Option<&At<written::Slots>>,
    jitter: Option<Jitter>,
) -> Result<Option<Slots>, Problem> {
    let Some(At { at, value: table }) = written else {
        return Ok(None);
    };
    let every = match *table.every.value.0.as_slice() {
        [always] => [always.0; 2],
        [shortest, longest] if shortest.0 <= longest.0 => [shortest.0, longest.0],
        [shortest, longest] => {
            let problem = Problem::new(
                format!("the shortest time, {}, is above {}", shortest.0, longest.0),
                "write the shorter time first",
            );
            return Err(problem.or_at(table.every.at));
        }
        ref times => {
            let problem = Problem::new(
                format!(
                    "slots open after a time or between two, not {}",
                    times.len()
                ),
                "write one time, or the shortest and the longest",
            );
            return Err(problem.or_at(table.every.at));
        }
    };
    let packets = table.packets.as_ref().map(|limit| (limit.at, limit.value));
    let bytes = table.bytes.as_ref().map(|limit| (limit.at, limit.value.0));
    let packets = packets.map(limit).transpose()?;
    let bytes = bytes.map(limit).transpose()?;
    if every[1] == Time::ZERO {
        return Ok(None);
    }
    if jitter.is_some_and(Jitter::reorders) {
        let problem = Problem::new(
            "packets wait for slots in order, and this link's jitter lets them overtake each other \
             before",
            "leave out `reorder = true` of `jitter`; the key `reorder` of the link acts behind the \
             slots",
        );
        return Err(problem.or_at(*at));
    }
    Ok(Some(Slots {
        every,
        packets,
        bytes,
    }))
}

/// The limit of a slot that is written at `at`.
fn limit((at, limit): (Position, u64)) -> Result<NonZero<u64>, Problem> {
    NonZero::new(limit).ok_or_else(|| {
        let problem = Problem::new(
            "a slot of 0 lets nothing pass",
            "write more, or leave it out for all that wait",
        );
        problem.or_at(at)
    })
}
