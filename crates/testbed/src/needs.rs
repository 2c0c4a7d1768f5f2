//! What a run needs of the kernel and the host beyond network namespaces: for a backend on a
//! kernel that may lack some of it.

use std::collections::BTreeSet;

use crate::orders::{Orders, Work};

/// Names of what a run uses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Queueing disciplines, as `tc` names them.
    pub qdiscs: BTreeSet<String>,
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
    let namespaces = orders.namespaces.iter().map(|n| (&n.tc, &n.iptables));
    let changes = orders.changes.iter().map(|c| (&c.tc, &c.iptables));
    for (tc, iptables) in namespaces.chain(changes) {
        needs
            .qdiscs
            .extend(tc.iter().filter_map(|line| qdisc(line)));
        needs.iptables |= !iptables.is_empty();
    }
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
