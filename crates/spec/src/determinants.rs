//! What determines a run beside its scenario and its seed: the versions of what the scenario uses.
//!
//! They are written as a list, `core 1, linux-6.12 1, cubic 1, droptail 1`, which is part of a run's
//! id and says in a results folder what the run was of.

use std::collections::BTreeSet;

use cclab_units::Time;

use crate::flow::{DelayAt, Flow};
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

/// The parts that `scenario` uses: those of its network, and the variants of its flows, each once and
/// in order.
pub fn parts(scenario: &Scenario) -> BTreeSet<Part<'_>> {
    let flows = scenario.flows.iter().filter(|flow| flow.udp.is_none());
    let mut found = parts_of_network(scenario);
    found.insert(Part::Stack(&scenario.stack));
    found.extend(flows.map(|flow| Part::Variant(&flow.cc)));
    found
}

/// The parts that `scenario` uses where the hosts of its flows are none of a simulator's: the core, the
/// disciplines of all its links, and where there is cross traffic, its variants and the stack, which
/// says how large its packets are.
pub fn parts_of_network(scenario: &Scenario) -> BTreeSet<Part<'_>> {
    let sources = scenario.traffic.iter().filter_map(|one| one.cc.as_deref());
    let mut found = BTreeSet::from([Part::Core]);
    found.extend(sources.map(Part::Variant));
    if !scenario.traffic.is_empty() {
        found.insert(Part::Stack(&scenario.stack));
    }
    found.extend(links(scenario).flat_map(both_ways).map(Part::Discipline));
    if has_plain_queues(scenario) {
        found.insert(Part::Discipline(DEFAULT_QDISC));
    }
    found
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
/// own delay is added to links that it shares, or as its data leave the sender.
fn has_plain_queues(scenario: &Scenario) -> bool {
    let network = &scenario.network;
    let shared = matches!(network.topology, Topology::Chain | Topology::Graph);
    let delays = scenario.flows.iter().map(|flow| flow.extra_delay);
    let delays = delays.chain(scenario.traffic.iter().map(|one| one.extra_delay));
    let mut delays = delays.chain(scenario.probes.iter().map(|one| one.extra_delay));
    let at_sender = |flow: &Flow| flow.delay_at == DelayAt::Sender && flow.extra_delay > Time::ZERO;
    network.router.is_some()
        || scenario
            .flows
            .iter()
            .any(|flow| flow.packet_rate.is_some() || at_sender(flow))
        || shared && delays.any(|delay| delay > Time::ZERO)
}

/// The disciplines of a link, there and back.
fn both_ways(link: &Link) -> impl Iterator<Item = &str> {
    let back = link.reverse.as_deref().unwrap_or(link);
    [link.queue.kind.as_str(), back.queue.kind.as_str()].into_iter()
}

/// What determines a run that uses `parts`, given the version of each. A part without one is left
/// out: a backend that does not have it refuses the scenario.
pub fn determinants(
    parts: BTreeSet<Part<'_>>,
    version: &dyn Fn(Part<'_>) -> Option<u32>,
) -> String {
    let each = parts.into_iter();
    let known = each.filter_map(|part| Some(format!("{} {}", part.name(), version(part)?)));
    known.collect::<Vec<_>>().join(COMMA)
}

/// What lists call a kernel by what a scenario calls it; `None`: the one used by default.
pub fn kernel_part(called: Option<&str>) -> String {
    called.map_or_else(|| "kernel".to_owned(), |name| format!("kernel {name}"))
}

/// What lists call the parts and the kernels that `scenario` uses.
fn names(scenario: &Scenario) -> BTreeSet<String> {
    let parts = parts(scenario).into_iter();
    let parts = parts.map(|part| part.name().to_owned());
    let kernels = scenario.kernels().into_iter().map(kernel_part);
    parts.chain(kernels).collect()
}

/// What determines a run of `scenario` that is made beside one of `whole`, which uses all that it uses,
/// and which `determinants` name. What is neither a part nor a kernel is the same for both.
pub fn determinants_beside(scenario: &Scenario, whole: &Scenario, determinants: &str) -> String {
    let used = names(scenario);
    let unused: BTreeSet<String> = names(whole).difference(&used).cloned().collect();
    let is_used = |listed: &&str| match listed.rsplit_once(' ') {
        Some((name, _)) => !unused.contains(name),
        None => true,
    };
    let each = determinants.split(COMMA).filter(is_used);
    each.collect::<Vec<_>>().join(COMMA)
}
