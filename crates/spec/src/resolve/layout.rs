//! Where flows and traffic run: the ends of each, and the propagation between them.

use cclab_units::Time;

use crate::de::At;
use crate::error::{Position, Problem, unknown};
use crate::flow::Direction;
use crate::routes::Routes;
use crate::scenario::Topology;
use crate::written::PlaceKeys;

/// What the propagation delay of a path is made of.
pub(super) struct Layout<'a> {
    /// How hosts and routers are joined.
    pub topology: Topology,
    /// One way over one bottleneck.
    pub bottleneck: Time,
    /// The way back over it.
    pub back: Time,
    /// One way over one access link.
    pub access: Time,
    /// How many bottlenecks there are in a row.
    pub bottlenecks: u32,
    /// The ways through a graph.
    pub graph: Option<Routes<'a>>,
}

/// What a flow or traffic says about where it runs.
pub(super) struct Written<'a> {
    /// Where its table begins.
    pub at: Position,
    /// Its name.
    pub name: &'a str,
    /// What it is: `flow` or `traffic`.
    pub what: &'a str,
    /// Its keys.
    pub keys: PlaceKeys<'a>,
}

/// Where a flow or traffic runs.
#[derive(Clone, Debug)]
pub(super) struct Ends {
    pub direction: Direction,
    pub crosses: Option<[u32; 2]>,
    pub from: Option<String>,
    pub to: Option<String>,
    /// Added one way, each way, so that the base RTT is as asked for.
    pub extra_delay: Time,
    /// Propagation there and back, without what is added.
    pub own_rtt: Time,
}

impl Layout<'_> {
    /// The ends of what is `written`.
    pub fn ends(&self, written: &Written<'_>) -> Result<Ends, Problem> {
        let mut ends = match &self.graph {
            Some(routes) => in_graph(routes, written)?,
            None => self.in_row(written)?,
        };
        if let Some(rtt) = written.keys.rtt {
            let own = ends.own_rtt;
            if rtt.value.0 < own {
                return Err(Problem::new(
                    format!(
                        "a base RTT of {} is shorter than the path's own, {own}",
                        rtt.value.0
                    ),
                    format!("write at least \"{own}\", or shorten the delays of the network"),
                )
                .or_at(rtt.at));
            }
            ends.extra_delay = (rtt.value.0 - own) / 2;
        }
        Ok(ends)
    }

    /// In a chain, a dumbbell or a parking lot.
    fn in_row(&self, written: &Written<'_>) -> Result<Ends, Problem> {
        if let Some(node) = written.keys.from.or(written.keys.to) {
            return Err(Problem::new(
                "`from` and `to` name nodes of a graph",
                "write topology = \"graph\" and its links, or leave them out",
            )
            .or_at(node.at));
        }
        let crosses = self.crosses(written.keys.crosses)?;
        let crossed = crosses.map_or(self.bottlenecks, |[first, last]| last - first + 1);
        Ok(Ends {
            direction: written.keys.direction.unwrap_or_default(),
            crosses,
            from: None,
            to: None,
            extra_delay: Time::ZERO,
            own_rtt: (self.bottleneck + self.back) * u64::from(crossed) + self.access * 4,
        })
    }

    /// The bottlenecks that are crossed; `None`: all there are.
    fn crosses(&self, written: Option<&At<[u32; 2]>>) -> Result<Option<[u32; 2]>, Problem> {
        let Some(At { at, value }) = written else {
            return Ok(None);
        };
        let [first, last] = *value;
        let count = self.bottlenecks;
        if self.topology != Topology::ParkingLot {
            return Err(not_a_parking_lot(*at));
        }
        if first == 0 || first > last || last > count {
            let problem = Problem::new(
                format!("a flow cannot cross bottlenecks {first} to {last} of {count}"),
                format!("write the first and the last of them, such as [1, {count}]"),
            );
            return Err(problem.or_at(*at));
        }
        Ok((*value != [1, count]).then_some(*value))
    }
}

fn not_a_parking_lot(at: Position) -> Problem {
    Problem::new(
        "`crosses` belongs to a parking lot",
        "write topology = \"parking-lot\", or leave it out",
    )
    .or_at(at)
}

/// The ends in a graph, where data go from `from` to `to`, or back if the direction is reverse.
fn in_graph(routes: &Routes<'_>, written: &Written<'_>) -> Result<Ends, Problem> {
    if let Some(crosses) = written.keys.crosses {
        return Err(not_a_parking_lot(crosses.at));
    }
    let (Some(from), Some(to)) = (written.keys.from, written.keys.to) else {
        return Err(Problem::new(
            format!(
                "{} `{}` does not say between which nodes of the graph it runs",
                written.what, written.name
            ),
            "give it `from` and `to`",
        )
        .or_at(written.at));
    };
    for node in [from, to] {
        if !routes.has(&node.value) {
            return Err(unknown("node", &node.value, routes.nodes()).or_at(node.at));
        }
    }
    if from.value == to.value {
        return Err(Problem::new(
            format!("from `{0}` to `{0}` there is no network", from.value),
            "let `from` and `to` name two nodes",
        )
        .or_at(to.at));
    }
    let (from, to) = match written.keys.direction.unwrap_or_default() {
        Direction::Forward => (from, to),
        Direction::Reverse => (to, from),
    };
    let delay = |a: &At<String>, b: &At<String>| {
        routes.delay(&a.value, &b.value).ok_or_else(|| {
            Problem::new(
                format!("there is no way from `{}` to `{}`", a.value, b.value),
                "join them by links, one of which leads each way",
            )
            .or_at(b.at)
        })
    };
    let own_rtt = delay(from, to)? + delay(to, from)?;
    for (index, at) in routes.changes().enumerate() {
        for (a, b) in [(from, to), (to, from)] {
            if !routes.leads_after(index, &a.value, &b.value) {
                return Err(Problem::new(
                    format!(
                        "from {at} on there is no way from `{}` to `{}`",
                        a.value, b.value
                    ),
                    "let `without` of the `reroute` leave one; for a time in which all is lost \
                     write `outage`",
                )
                .or_at(b.at));
            }
        }
    }
    Ok(Ends {
        direction: Direction::Forward,
        crosses: None,
        from: Some(from.value.clone()),
        to: Some(to.value.clone()),
        extra_delay: Time::ZERO,
        own_rtt,
    })
}
