//! What determines a run beside its scenario and its seed: the versions of what the scenario uses.
//!
//! They are written as a list, `core 1, linux-6.12 1, cubic 1, droptail 1`, which is part of a run's
//! id and says in a results folder what the run was of.

use std::collections::BTreeSet;

use cclab_units::Time;

use crate::link::Link;
use crate::names::DEFAULT_QDISC;
use crate::scenario::{Scenario, Topology};

/// Between two of the list.
const COMMA: &str = ", ";

/// What of a simulator behaves in a way of its own, and has a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part<'a> {
    /// What every run goes through: network, hosts, the machinery of TCP.
    Core,
    /// A profile of TCP behaviour.
    Stack(&'a str),
    /// A congestion control.
    Variant(&'a str),
    /// A queueing discipline.
    Discipline(&'a str),
}

impl<'a> Part<'a> {
    /// Its name; no two parts have one.
    pub fn name(self) -> &'a str {
        match self {
            Part::Core => "core",
            Part::Stack(name) | Part::Variant(name) | Part::Discipline(name) => name,
        }
    }
}

/// The parts that `scenario` uses: the core, its stack, the variants of its flows and of its cross
/// traffic, and the disciplines of all its links, each once and in order.
pub fn parts(scenario: &Scenario) -> Vec<Part<'_>> {
    let flows = scenario.flows.iter().filter(|flow| flow.udp.is_none());
    let flows = flows.map(|flow| flow.cc.as_str());
    let sources = scenario.traffic.iter().filter_map(|one| one.cc.as_deref());
    let mut found = BTreeSet::from([Part::Core, Part::Stack(&scenario.stack)]);
    found.extend(flows.chain(sources).map(Part::Variant));
    found.extend(links(scenario).flat_map(both_ways).map(Part::Discipline));
    if has_plain_queues(scenario) {
        found.insert(Part::Discipline(DEFAULT_QDISC));
    }
    found.into_iter().collect()
}

/// The links that packets cross: those of a graph are all that it has.
fn links(scenario: &Scenario) -> impl Iterator<Item = &Link> {
    let network = &scenario.network;
    let own = [&network.bottleneck, &network.access].into_iter();
    let own = own.filter(|_| network.graph.is_none());
    let listed = network.graph.iter().flat_map(|graph| &graph.links);
    own.chain(listed.map(|one| &one.link))
}

/// Whether packets wait in queues that no link of the study has: for a processor, or where a flow's
/// own delay is added to links that it shares.
fn has_plain_queues(scenario: &Scenario) -> bool {
    let network = &scenario.network;
    let shared = matches!(network.topology, Topology::Chain | Topology::Graph);
    let delays = scenario.flows.iter().map(|flow| flow.extra_delay);
    let delays = delays.chain(scenario.traffic.iter().map(|one| one.extra_delay));
    let mut delays = delays.chain(scenario.probes.iter().map(|one| one.extra_delay));
    network.router.is_some()
        || scenario.flows.iter().any(|flow| flow.packet_rate.is_some())
        || shared && delays.any(|delay| delay > Time::ZERO)
}

/// The disciplines of a link, there and back.
fn both_ways(link: &Link) -> impl Iterator<Item = &str> {
    let back = link.reverse.as_deref().unwrap_or(link);
    [link.queue.kind.as_str(), back.queue.kind.as_str()].into_iter()
}

/// What determines a run of `scenario`, given the version of each part. A part without one is left
/// out: a backend that does not have it refuses the scenario.
pub fn determinants(scenario: &Scenario, version: &dyn Fn(Part<'_>) -> Option<u32>) -> String {
    let each = parts(scenario).into_iter();
    let known = each.filter_map(|part| Some(format!("{} {}", part.name(), version(part)?)));
    known.collect::<Vec<_>>().join(COMMA)
}

/// What determines a run of `scenario` that is made beside another, which `determinants` name and
/// which uses all that it uses. What names no parts, such as a kernel, is the same for both.
pub fn determinants_beside(scenario: &Scenario, determinants: &str) -> String {
    let listed: Vec<(&str, &str)> = determinants
        .split(COMMA)
        .filter_map(|part| part.rsplit_once(' '))
        .collect();
    let found = |part: Part<'_>| listed.iter().find(|(name, _)| *name == part.name());
    if found(Part::Core).is_none() {
        return determinants.to_owned();
    }
    let version = |part: Part<'_>| found(part)?.1.parse().ok();
    self::determinants(scenario, &version)
}
