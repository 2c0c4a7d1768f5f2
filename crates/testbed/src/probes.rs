//! What a host is asked for before a run on it: the disciplines that links are made of, with the
//! least that `tc` takes for each, and the parts that lead packets from one interface to another.

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

/// What a part of the kernel is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartKind {
    /// A kind of interface.
    Device,
    /// A hook of an interface, which is added like a discipline.
    Qdisc,
    /// What chooses packets.
    Classifier,
    /// What is done to them.
    Action,
}

impl PartKind {
    /// What users call it.
    pub fn name(self) -> &'static str {
        match self {
            PartKind::Device => "device",
            PartKind::Qdisc => "qdisc",
            PartKind::Classifier => "classifier",
            PartKind::Action => "action",
        }
    }
}

/// What leads packets to where they are counted or held up, and how a host is asked whether it has
/// it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// What `ip` and `tc` call it.
    pub name: &'static str,
    /// What it is.
    pub kind: PartKind,
    /// Commands that succeed one after the other in a namespace of their own if the kernel has it
    /// and the parts before it.
    pub trial: &'static [&'static str],
    /// Where the kernel has it.
    pub part: InKernel,
}

/// Every such part that a run may need, each after those that its trial uses.
pub const PARTS: [Part; 5] = [
    part(
        "ifb",
        PartKind::Device,
        &["ip link add trial type ifb"],
        "ifb",
        "CONFIG_IFB",
    ),
    part(
        "clsact",
        PartKind::Qdisc,
        &["tc qdisc add dev lo clsact"],
        "sch_ingress",
        "CONFIG_NET_SCH_INGRESS",
    ),
    part(
        "u32",
        PartKind::Classifier,
        &[
            "tc qdisc add dev lo clsact",
            "tc filter add dev lo egress protocol ip u32 match ip protocol 17 0xff",
        ],
        "cls_u32",
        "CONFIG_NET_CLS_U32",
    ),
    part(
        "matchall",
        PartKind::Classifier,
        &[
            "tc qdisc add dev lo clsact",
            "tc filter add dev lo ingress matchall",
        ],
        "cls_matchall",
        "CONFIG_NET_CLS_MATCHALL",
    ),
    part(
        "mirred",
        PartKind::Action,
        &["tc actions add action mirred egress mirror dev lo"],
        "act_mirred",
        "CONFIG_NET_ACT_MIRRED",
    ),
];

const fn part(
    name: &'static str,
    kind: PartKind,
    trial: &'static [&'static str],
    module: &'static str,
    symbol: &'static str,
) -> Part {
    Part {
        name,
        kind,
        trial,
        part: InKernel::Module {
            name: module,
            symbol,
        },
    }
}
