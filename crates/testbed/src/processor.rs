//! A router whose processor is the limit: so many packets per second, whatever their size, both
//! directions together.
//!
//! What arrives at any of its interfaces is led through one more, an `ifb`, and goes on from
//! there as if it had just arrived (drivers/net/ifb.c). That interface's netem takes the same
//! time for every packet: its `rate` counts whole cells (net/sched/sch_netem.c,
//! packet_time_ns), and a cell is as large as the largest packet.

use cclab_spec::Forwarder;

use crate::orders::Namespace;

/// The interface that stands for the processor.
const INTERFACE: &str = "processor";

/// Gives `namespace`, which has all its interfaces, its processor; no packet there is larger than
/// `cell` bytes.
pub(crate) fn install(router: &Forwarder, cell: u32, namespace: &mut Namespace) {
    let Forwarder {
        packet_rate,
        backlog,
    } = router;
    let rate = packet_rate * u64::from(cell) * 8;
    // netem counts the packet in service, too.
    let limit = backlog + 1;
    let lead = |from: &String| {
        [
            format!("qdisc add dev {from} clsact"),
            format!(
                "filter add dev {from} ingress matchall action mirred egress redirect dev \
                 {INTERFACE}"
            ),
        ]
    };
    let leads: Vec<String> = namespace.interfaces.iter().flat_map(lead).collect();
    namespace.tc.extend(leads);
    namespace.tc.push(format!(
        "qdisc add dev {INTERFACE} root handle 1: netem limit {limit} rate {rate}bit 0 {cell}"
    ));
    namespace.ip.extend([
        format!("link add {INTERFACE} type ifb"),
        format!("link set {INTERFACE} up"),
    ]);
}
