//! What a host is asked for before a run on it: the disciplines that links are made of, with the
//! least that `tc` takes for each.

use cclab_qdisc::of_kernel;
use cclab_units::InKernel;

/// A discipline of the kernel, and how a host is asked whether it has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Its name.
    pub kind: &'static str,
    /// The least that `tc` takes after its name.
    pub least: &'static str,
    /// Where the kernel has it.
    pub part: InKernel,
}

/// What links are made of beside the queues of studies.
const OF_LINKS: [Probe; 3] = [
    of_links(
        "netem",
        "delay 1ms limit 1000",
        "sch_netem",
        "CONFIG_NET_SCH_NETEM",
    ),
    of_links(
        "tbf",
        "rate 1mbit burst 3200 limit 64000",
        "sch_tbf",
        "CONFIG_NET_SCH_TBF",
    ),
    of_links("htb", "default 1", "sch_htb", "CONFIG_NET_SCH_HTB"),
];

const fn of_links(
    kind: &'static str,
    least: &'static str,
    name: &'static str,
    symbol: &'static str,
) -> Probe {
    Probe {
        kind,
        least,
        part: InKernel::Module { name, symbol },
    }
}

/// Every discipline that a run may need.
pub fn probes() -> impl Iterator<Item = Probe> {
    let queues = of_kernel().flat_map(|(_, tc)| {
        tc.kinds.iter().map(|kind| Probe {
            kind: kind.name,
            least: kind.least,
            part: tc.part,
        })
    });
    OF_LINKS.into_iter().chain(queues)
}
