//! Hosts of its own for each flow and traffic, on either side of one bottleneck or several.

use cclab_spec::Direction;
use cclab_units::Time;

use super::{Builder, Journey, Sides};

/// Lays the ways of all `journeys` over the two routers of a dumbbell.
pub(super) fn lay(builder: &mut Builder<'_>, journeys: &[Journey<'_>]) {
    for journey in journeys {
        between_own_hosts(builder, journey, [1, 1]);
    }
}

/// Lays the way of `journey` from a host of its own over the bottlenecks `first` to `last`,
/// counted from 1, to another. The delay that makes up its base RTT lies on the sender's side.
pub(super) fn between_own_hosts(
    builder: &mut Builder<'_>,
    journey: &Journey<'_>,
    [first, last]: [u32; 2],
) {
    let access = &builder.scenario.network.access;
    let (left_extra, right_extra) = match journey.direction {
        Direction::Forward => (journey.extra_delay, Time::ZERO),
        Direction::Reverse => (Time::ZERO, journey.extra_delay),
    };
    let name = |side: &str| format!("{}.{side}.access", journey.name);
    let left = builder.pair(&name("left"), access, left_extra);
    let right = builder.pair(&name("right"), access, right_extra);
    let forward = (first..=last).map(|number| 2 * (number - 1));
    let back = (first..=last).rev().map(|number| 2 * (number - 1) + 1);
    let sides = Sides {
        rightward: [left[0]]
            .into_iter()
            .chain(forward)
            .chain([right[0]])
            .collect(),
        leftward: [right[1]]
            .into_iter()
            .chain(back)
            .chain([left[1]])
            .collect(),
        access: Some([left, right]),
    };
    builder.route(journey, sides);
}
