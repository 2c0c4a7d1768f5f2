//! Queues, and how many bottlenecks there are.

use cclab_units::{Rate, Time};

use super::params::params;
use super::{known, relations};
use crate::de::At;
use crate::error::Problem;
use crate::names::{DEFAULT_QDISC, Names};
use crate::quantity::LimitText;
use crate::scenario::{Limit, Queue, Topology};
use crate::text::TimeText;
use crate::written;

/// A queue that stands for none: no run fills it.
pub(super) const ENDLESS_QUEUE: u64 = 1 << 30;

/// Bottlenecks of a parking lot that does not say how many: the fewest in which a flow has rivals
/// at both ends and in the middle.
const DEFAULT_BOTTLENECKS: u32 = 3;
/// More are a slip.
const MAX_BOTTLENECKS: u32 = 64;

/// What the size of a queue is measured by.
pub(super) struct PathFacts {
    /// The largest base RTT of the flows, or why there are none.
    pub max_rtt: Result<Time, NoFlow>,
    /// The largest packet of the flows, headers and framing included.
    pub packet: u64,
    /// Whether a queue stays below its limit.
    pub limit_is_exclusive: bool,
    /// When the run ends, if that is known.
    pub duration: Option<Time>,
}

/// Why no flow has a round trip.
#[derive(Clone, Copy)]
pub(super) enum NoFlow {
    /// The study has cross traffic or probes alone.
    Written,
    /// A sweep leaves none beside them.
    Left,
}

impl NoFlow {
    /// What is wrong with a limit in bandwidth-delay products then.
    fn problem(self) -> Problem {
        let (why, help) = match self {
            NoFlow::Written => (
                "the study has none",
                "give the limit as a time, such as \"40ms\" for a path of 40 ms, or in bytes or packets",
            ),
            NoFlow::Left => (
                "no flow is left where every `count` is 0",
                "give the limit in bytes or packets, or let the counts begin at 1",
            ),
        };
        let message = "a limit in bandwidth-delay products needs the round trip of a flow, and";
        Problem::new(format!("{message} {why}"), help)
    }
}

impl PathFacts {
    /// The smallest queue in packets that can hold one.
    fn least_packets(&self) -> u64 {
        1 + u64::from(self.limit_is_exclusive)
    }

    /// A problem if `at`, the beginning of `what`, lies at or after the end of the run.
    pub fn begins(&self, what: &str, at: Time) -> Result<(), Problem> {
        match self.duration.filter(|&end| at >= end) {
            None => Ok(()),
            Some(end) => Err(Problem::new(
                format!("{what} begins at {at}, but the run ends at {end}"),
                "let it begin earlier or the run last longer",
            )),
        }
    }

    /// When `what` begins and stops, as its keys `start` and `stop` say.
    pub fn span(
        &self,
        what: &str,
        start: Option<&At<TimeText>>,
        stop: Option<&At<TimeText>>,
    ) -> Result<(Time, Option<Time>), Problem> {
        let begin = start.map_or(Time::ZERO, |start| start.value.0);
        if let Some(written) = start {
            let begins = self.begins(what, begin);
            begins.map_err(|problem| problem.or_at(written.at))?;
        }
        if let Some(stop) = stop.filter(|stop| stop.value.0 <= begin) {
            let message = format!("{what} stops at {} and starts at {begin}", stop.value.0);
            return Err(Problem::new(message, "`stop` lies after `start`").or_at(stop.at));
        }
        Ok((begin, stop.map(|stop| stop.value.0)))
    }
}

/// How many bottlenecks there are in a row.
pub(super) fn bottlenecks(written: Option<&At<u32>>, topology: Topology) -> Result<u32, Problem> {
    match (written, topology) {
        (None, Topology::ParkingLot) => Ok(DEFAULT_BOTTLENECKS),
        (None, _) => Ok(1),
        (Some(At { at, .. }), other) if other != Topology::ParkingLot => Err(Problem::new(
            "`bottlenecks` belongs to a parking lot",
            "write topology = \"parking-lot\", or leave it out",
        )
        .or_at(*at)),
        (Some(At { at, value }), _) if !(1..=MAX_BOTTLENECKS).contains(value) => Err(Problem::new(
            format!("a parking lot of {value} bottlenecks cannot be run"),
            format!("write 1 to {MAX_BOTTLENECKS}"),
        )
        .or_at(*at)),
        (Some(At { value, .. }), _) => Ok(*value),
    }
}

/// A queue as it is on a link of `rate`.
pub(super) fn queue(
    written: &written::Queue,
    rate: Option<Rate>,
    path: &PathFacts,
    names: &Names,
) -> Result<Queue, Problem> {
    let queue = sized(written, rate, path, names)?;
    relations::check(written, &queue, rate, path.packet, names)?;
    Ok(queue)
}

/// A queue of a known kind with known parameters and a limit that makes sense.
fn sized(
    written: &written::Queue,
    rate: Option<Rate>,
    path: &PathFacts,
    names: &Names,
) -> Result<Queue, Problem> {
    let kinds = names.qdiscs.iter().map(|qdisc| qdisc.name.as_str());
    let kind = known(
        "queueing discipline",
        written.kind.as_ref(),
        DEFAULT_QDISC,
        kinds,
    )?;
    let params = params(&written.params, &names.qdiscs, &kind, &["kind", "limit"])?;
    let at = written.limit.at;
    let place = |problem: Problem| problem.or_at(at);
    let too_large = || {
        place(Problem::new(
            "this queue is absurdly large",
            "no host holds as much",
        ))
    };
    let needs_rate = || {
        place(Problem::new(
            "a limit in bandwidth-delay products or time needs the link's rate",
            "give the link a `rate`, or the limit in bytes or packets",
        ))
    };
    let bytes = match written.limit.value.0 {
        LimitText::Packets(packets) if packets < path.least_packets() => {
            return Err(place(Problem::new(
                format!(
                    "a queue of {packets} packet holds none, as this stack's queues stay below \
                     their limit"
                ),
                format!("write at least \"{}p\"", path.least_packets()),
            )));
        }
        LimitText::Packets(packets) => {
            return Ok(Queue {
                kind,
                limit: Limit::Packets(packets),
                params,
            });
        }
        LimitText::Bytes(bytes) => bytes,
        LimitText::Time(time) => rate.ok_or_else(needs_rate)?.bytes_in(time),
        LimitText::Bdp(bdps) => {
            let rtt = path.max_rtt.map_err(|why| place(why.problem()))?;
            let rate = rate.ok_or_else(needs_rate)?;
            bdps.bdps(rate, rtt).ok_or_else(too_large)?
        }
    };
    if bytes > 1 << 53 {
        return Err(too_large());
    }
    let least = path.packet + u64::from(path.limit_is_exclusive);
    if bytes < least {
        return Err(place(Problem::new(
            format!(
                "a queue of {bytes} bytes is too small for one packet of {} bytes{}",
                path.packet,
                if path.limit_is_exclusive {
                    ", as this stack's queues stay below their limit"
                } else {
                    ""
                }
            ),
            format!(
                "write at least \"{least}B\" or \"{}p\"",
                path.least_packets()
            ),
        )));
    }
    Ok(Queue {
        kind,
        limit: Limit::Bytes(bytes),
        params,
    })
}
