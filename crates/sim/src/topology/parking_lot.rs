//! Several equal bottlenecks in a row; each flow and traffic crosses some of them, from a host of
//! its own to another.

use super::{Builder, Journey, dumbbell};

/// Lays the ways of all `journeys`. Bottleneck `i`, counted from 1, is the link `2 (i - 1)`, its
/// way back the next; they are there already.
pub(super) fn lay(builder: &mut Builder<'_>, journeys: &[Journey<'_>]) {
    let count = builder.scenario.network.bottlenecks;
    for journey in journeys {
        let crosses = journey.crosses.unwrap_or([1, count]);
        dumbbell::between_own_hosts(builder, journey, crosses);
    }
}
