//! How the receiver of a flow behaves.

use std::ops::RangeInclusive;

use crate::de::At;
use crate::error::{Problem, unknown};
use crate::kinds::RECEIVERS;
use crate::misbehaviour::Misbehaviour;
use crate::text::BriefOrFull;
use crate::written;

const PIECES: RangeInclusive<u32> = 2..=100;
const DEFAULT_PIECES: u32 = 4;
const COPIES: RangeInclusive<u32> = 1..=100;
/// As many as begin a fast retransmit (RFC 5681 section 3.2).
const DEFAULT_COPIES: u32 = 3;
const AHEAD: RangeInclusive<u32> = 1..=10_000;
const DEFAULT_AHEAD: u32 = 4;

/// The misbehaviour of the receiver of `flow`; none: it is honest.
pub(super) fn receiver(flow: &written::Flow) -> Result<Option<Misbehaviour>, Problem> {
    let Some(At { at, value }) = &flow.receiver else {
        return Ok(None);
    };
    let brief;
    let written = match value {
        BriefOrFull::Full(written) => written,
        BriefOrFull::Brief(kind) => {
            brief = written::Receiver {
                kind: kind.clone(),
                pieces: None,
                copies: None,
                ahead: None,
            };
            &brief
        }
    };
    let kind = written.kind.as_str();
    let Some(own) = RECEIVERS.iter().find(|known| known.name == kind) else {
        let names = RECEIVERS.iter().map(|known| known.name);
        return Err(unknown("behaviour of a receiver", kind, names).or_at(*at));
    };
    let numbers = [
        ("pieces", &written.pieces),
        ("copies", &written.copies),
        ("ahead", &written.ahead),
    ];
    for (name, number) in numbers {
        let Some(number) = number else { continue };
        if !own.keys.iter().any(|key| key.name == name) {
            let owner = |kind: &&crate::kinds::Kind| kind.keys.iter().any(|key| key.name == name);
            let owner = RECEIVERS.iter().find(owner).map_or("", |kind| kind.name);
            let problem = Problem::new(
                format!("`{name}` of the receiver {kind}"),
                format!("it belongs to {owner}"),
            );
            return Err(problem.or_at(number.at));
        }
    }
    if let Some(command) = flow.command.as_ref().filter(|_| kind != "honest") {
        let problem = Problem::new(
            "a receiver that misbehaves beside a `command`",
            "leave one out: a program has the receiver of its kernel",
        );
        return Err(problem.or_at(command.at));
    }
    Ok(match kind {
        "ack-division" => Some(Misbehaviour::AckDivision {
            pieces: within(&written.pieces, "pieces", PIECES, DEFAULT_PIECES)?,
        }),
        "duplicate-acks" => Some(Misbehaviour::DuplicateAcks {
            copies: within(&written.copies, "copies", COPIES, DEFAULT_COPIES)?,
        }),
        "optimistic-acks" => Some(Misbehaviour::OptimisticAcks {
            ahead: within(&written.ahead, "segments ahead", AHEAD, DEFAULT_AHEAD)?,
        }),
        "loss-concealment" => Some(Misbehaviour::LossConcealment),
        "mark-concealment" => Some(Misbehaviour::MarkConcealment),
        "mark-exaggeration" => Some(Misbehaviour::MarkExaggeration),
        _ => None, // honest
    })
}

/// The number that is `written`, or its default.
fn within(
    written: &Option<At<u32>>,
    what: &str,
    bounds: RangeInclusive<u32>,
    default: u32,
) -> Result<u32, Problem> {
    match written {
        None => Ok(default),
        Some(number) if bounds.contains(&number.value) => Ok(number.value),
        Some(number) => Err(Problem::new(
            format!("`{}` {what}", number.value),
            format!("write {} to {}", bounds.start(), bounds.end()),
        )
        .or_at(number.at)),
    }
}
