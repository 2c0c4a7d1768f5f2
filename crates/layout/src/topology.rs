//! Topologies: generators of layouts, one file each. Each lays the bottlenecks first, then the
//! other links, then the way of each traveller.

mod chain;
mod dumbbell;
mod graph;
mod parking_lot;

use cclab_spec::Topology;

use crate::builder::{Builder, Traveller};

/// Lays the network of the builder's scenario, and the ways of all `travellers`.
pub(crate) fn lay(builder: &mut Builder<'_>, travellers: &[Traveller<'_>]) {
    let lay = match builder.scenario.network.topology {
        Topology::Chain => chain::lay,
        Topology::Dumbbell => dumbbell::lay,
        Topology::ParkingLot => parking_lot::lay,
        Topology::Graph => graph::lay,
    };
    lay(builder, travellers);
}
