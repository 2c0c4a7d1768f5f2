//! One source host, two routers, one sink host: flows and traffic share the access links.

use cclab_units::Time;

use super::{BOTTLENECK, BOTTLENECK_REVERSE, Builder, Journey, Sides};

/// Lays the ways of all `journeys`.
pub(super) fn lay(builder: &mut Builder<'_>, journeys: &[Journey<'_>]) {
    let access = &builder.scenario.network.access;
    let left = builder.pair("source.access", access, Time::ZERO);
    let right = builder.pair("sink.access", access, Time::ZERO);
    for journey in journeys {
        let mut sides = Sides {
            rightward: vec![left[0], BOTTLENECK as u32, right[0]],
            leftward: vec![right[1], BOTTLENECK_REVERSE as u32, left[1]],
            access: Some([left, right]),
        };
        if journey.extra_delay > Time::ZERO {
            let [forward, reverse] = builder.own_delay(journey);
            sides.rightward.insert(0, forward);
            sides.leftward.push(reverse);
        }
        builder.route(journey, sides);
    }
}
