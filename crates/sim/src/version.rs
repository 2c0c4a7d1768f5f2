//! What determines what the simulator makes of a scenario.

use cclab_spec::{Part, Scenario};

/// The version of the core's behaviour: the event loop, links, impairments, applications, cross
/// traffic and the machinery of TCP. Whoever changes what they do raises it: runs of the older
/// version are then other runs. Stacks, variants and disciplines have versions of their own.
pub const VERSION: u32 = 6;

/// The version of a part of the simulator; `None` if it has no such part.
pub fn version(part: Part<'_>) -> Option<u32> {
    match part {
        Part::Core => Some(VERSION),
        Part::Stack(name) => cclab_tcp::profile::find(name).map(|stack| stack.version),
        Part::Variant(name) => cclab_cc::find(name).map(|variant| variant.version),
        Part::Discipline(name) => cclab_qdisc::find(name).map(|discipline| discipline.version),
    }
}

/// What determines a run of `scenario` beside its seed: the versions of the parts that it uses.
pub fn determinants(scenario: &Scenario) -> String {
    cclab_spec::determinants(cclab_spec::parts(scenario), &version)
}

/// What determines the network of a run of `scenario` whose flows' hosts are others': the versions of
/// the parts that it uses then.
pub fn determinants_of_network(scenario: &Scenario) -> String {
    cclab_spec::determinants(cclab_spec::parts_of_network(scenario), &version)
}
