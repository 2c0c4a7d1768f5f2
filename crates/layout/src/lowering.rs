//! From a scenario to its layout.

use cclab_spec::Scenario;

use crate::builder::{Builder, Traveller};
use crate::layout::Layout;
use crate::topology;

impl Layout {
    /// The layout of `scenario`, whose study was taken: it lacks nothing that its topology needs.
    ///
    /// # Panics
    /// If it does.
    pub fn of(scenario: &Scenario) -> Layout {
        let mut builder = Builder::new(scenario);
        let flows = scenario.flows.iter().map(Traveller::from);
        let traffic = scenario.traffic.iter().map(Traveller::from);
        let probes = scenario.probes.iter().map(Traveller::from);
        let travellers: Vec<Traveller<'_>> = flows.chain(traffic).chain(probes).collect();
        topology::lay(&mut builder, &travellers);
        let reaches = std::mem::take(&mut builder.reaches);
        builder.impair(&reaches);
        builder.layout
    }
}
