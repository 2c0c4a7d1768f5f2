//! What a run needs of the kernel and the host beyond network namespaces: for a backend on a
//! kernel that may lack some of it.

use std::collections::BTreeSet;

use crate::orders::{Orders, Work};
use crate::probes::{PARTS, Part, PartKind};

/// Names of what a run uses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Queueing disciplines, as `tc` names them.
    pub qdiscs: BTreeSet<String>,
    /// What leads packets from one interface to another: names of [`PARTS`].
    pub parts: BTreeSet<String>,
    /// Variants of TCP.
    pub variants: BTreeSet<String>,
    /// Programs by which hosts do the flows' work.
    pub programs: BTreeSet<String>,
    /// Whether packets are dropped by iptables with its match `statistic`.
    pub iptables: bool,
}

/// What `orders` needs.
pub fn needs(orders: &Orders) -> Needs {
    let mut needs = Needs::default();
    let links = orders.links.iter();
    let set_up = orders
        .namespaces
        .iter()
        .flat_map(|n| n.ip.iter().chain(&n.tc));
    let changed = orders.changes.iter().flat_map(|change| &change.tc);
    for line in links.chain(set_up).chain(changed) {
        let parts = parts(line);
        // Some of them are added like the discipline of an interface.
        let of_line = qdisc(line).filter(|name| !parts.contains(&name.as_str()));
        needs.qdiscs.extend(of_line);
        needs.parts.extend(parts.into_iter().map(str::to_owned));
    }
    let namespaces = orders.namespaces.iter().map(|n| &n.iptables);
    let changes = orders.changes.iter().map(|c| &c.iptables);
    needs.iptables = namespaces.chain(changes).any(|lines| !lines.is_empty());
    for flow in &orders.flows {
        if !flow.cc.is_empty() {
            needs.variants.insert(flow.cc.clone());
        }
        if let Work::Command { client, server, .. } = &flow.work {
            let servers = server.iter().filter_map(|server| server.first());
            needs
                .programs
                .extend(client.first().into_iter().chain(servers).cloned());
        }
    }
    needs
}

/// Those of [`PARTS`] that a line of `ip -batch` or `tc -batch` uses.
fn parts(line: &str) -> Vec<&'static str> {
    let filter = line.strip_prefix("filter add dev ");
    // An interface may have any name.
    let words = filter.and_then(|filter| filter.split_once(' '));
    let uses = |part: &&Part| match part.kind {
        PartKind::Device => line.ends_with(&format!(" type {}", part.name)),
        PartKind::Qdisc => qdisc(line).is_some_and(|kind| kind == part.name),
        PartKind::Classifier | PartKind::Action => {
            words.is_some_and(|(_, words)| words.split(' ').any(|word| word == part.name))
        }
    };
    PARTS.iter().filter(uses).map(|part| part.name).collect()
}

/// The discipline that a line of `tc -batch` adds.
fn qdisc(line: &str) -> Option<String> {
    let mut words = line.strip_prefix("qdisc add ")?.split(' ');
    while let Some(word) = words.next() {
        match word {
            "dev" | "parent" | "handle" => drop(words.next()),
            "root" => {}
            kind => return Some(kind.to_owned()),
        }
    }
    None
}
