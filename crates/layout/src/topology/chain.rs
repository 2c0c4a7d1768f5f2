//! One source host, two routers, one sink host: flows and traffic share the access links.

use cclab_spec::SHARED_ACCESS;
use cclab_units::Time;

use crate::builder::{Builder, Sides, Traveller};
use crate::layout::{BOTTLENECK, BOTTLENECK_REVERSE, Role};

/// Lays the network and the ways of all `travellers`.
pub(super) fn lay(builder: &mut Builder<'_>, travellers: &[Traveller<'_>]) {
    let routers = builder.row();
    let source = builder.node("source".to_owned(), Role::SharedHost);
    let sink = builder.node("sink".to_owned(), Role::SharedHost);
    let access = builder.access();
    let mut pair = |name: &str, ends| builder.pair(name.to_owned(), ends, access, Time::ZERO);
    let left = pair(SHARED_ACCESS[0], [source, routers[0]]);
    let right = pair(SHARED_ACCESS[1], [routers[1], sink]);
    for traveller in travellers {
        let sides = Sides {
            nodes: [source, sink],
            rightward: vec![left[0], BOTTLENECK, right[0]],
            leftward: vec![right[1], BOTTLENECK_REVERSE, left[1]],
            detours: Vec::new(),
            access: Some([left, right]),
        };
        builder.route_with_own_delay(traveller, sides);
    }
}
