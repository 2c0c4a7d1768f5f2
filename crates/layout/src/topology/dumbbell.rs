//! Hosts of its own for each flow and traffic, on either side of one bottleneck or several.

use cclab_spec::{Direction, access_name, own_hosts};
use cclab_units::Time;

use crate::builder::{Builder, Sides, Traveller};
use crate::layout::{LinkId, NodeId, Role};

/// Lays two routers with the bottleneck between them, and the ways of all `travellers`.
pub(super) fn lay(builder: &mut Builder<'_>, travellers: &[Traveller<'_>]) {
    let routers = builder.row();
    for traveller in travellers {
        between_own_hosts(builder, &routers, traveller, [1, 1]);
    }
}

/// Lays the way of `traveller` from a host of its own over the bottlenecks `first` to `last`,
/// counted from 1, to another. The delay that makes up its base RTT lies on the sender's side.
pub(super) fn between_own_hosts(
    builder: &mut Builder<'_>,
    routers: &[NodeId],
    traveller: &Traveller<'_>,
    [first, last]: [u32; 2],
) {
    let (first, last) = (first as usize - 1, last as usize);
    let names = own_hosts(traveller.name);
    let [left, right] = names
        .each_ref()
        .map(|name| builder.node(name.clone(), Role::Host));
    let extra = traveller.on_both_ways();
    let (left_extra, right_extra) = match traveller.direction {
        Direction::Forward => (extra, Time::ZERO),
        Direction::Reverse => (Time::ZERO, extra),
    };
    let access = builder.access();
    let mut pair = |host: &str, ends, extra| builder.pair(access_name(host), ends, access, extra);
    let at_left = pair(&names[0], [left, routers[first]], left_extra);
    let at_right = pair(&names[1], [routers[last], right], right_extra);
    let crossed = &builder.layout.bottlenecks[first..last];
    let between = |from: LinkId, way: usize, to: LinkId| -> Vec<LinkId> {
        let middle = crossed.iter().map(|pair| pair[way]);
        [from].into_iter().chain(middle).chain([to]).collect()
    };
    let mut leftward = between(at_left[1], 1, at_right[1]);
    leftward.reverse();
    let sides = Sides {
        nodes: [left, right],
        rightward: between(at_left[0], 0, at_right[0]),
        leftward,
        detours: Vec::new(),
        access: Some([at_left, at_right]),
    };
    builder.route(traveller, sides);
}
