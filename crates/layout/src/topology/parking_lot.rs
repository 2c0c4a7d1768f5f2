//! Several equal bottlenecks in a row; each flow and traffic crosses some of them, from a host of
//! its own to another.

use crate::builder::{Builder, Traveller};

use super::dumbbell;

/// Lays the row of bottlenecks and the ways of all `travellers`.
pub(super) fn lay(builder: &mut Builder<'_>, travellers: &[Traveller<'_>]) {
    let routers = builder.row();
    let count = builder.scenario.network.bottlenecks;
    for traveller in travellers {
        let crosses = traveller.crosses.unwrap_or([1, count]);
        dumbbell::between_own_hosts(builder, &routers, traveller, crosses);
    }
}
