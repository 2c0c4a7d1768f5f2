//! Where datagrams are seen as they leave a host: before any discipline of its interface, so that
//! what waits or is lost there has been sent.

use std::collections::BTreeSet;

use cclab_spec::{Flow, Scenario};

use crate::cable::{End, MAC};
use crate::network::Network;
use crate::orders::Taps;

/// Whether the datagrams of a flow are looked for: it is made of them, or a program may send them.
fn is_watched(flow: &Flow) -> bool {
    flow.udp.is_some() || flow.command.is_some()
}

/// The interface that gets a copy of each packet of UDP that leaves by `interface`.
fn copies_of(interface: &str) -> String {
    format!("udp-{interface}")
}

/// The taps of the flow at `index`; `None` if its datagrams are not looked for.
pub(crate) fn taps(scenario: &Scenario, network: &Network<'_>, index: usize) -> Option<Taps> {
    is_watched(&scenario.flows[index]).then(|| {
        let (sender, receiver) = network.paths[index].ends();
        Taps {
            sender: copies_of(&sender.interface),
            receiver: copies_of(&receiver.interface),
        }
    })
}

/// Adds the taps of every flow, both ways, to `network`, whose paths are laid.
pub(crate) fn add(scenario: &Scenario, network: &mut Network<'_>) {
    let watched = scenario.flows.iter().zip(&network.paths);
    let watched = watched.filter(|(flow, _)| is_watched(flow));
    let ends = watched.flat_map(|(_, path)| <[&End; 2]>::from(path.ends()));
    // Flows may share an interface.
    let ends: BTreeSet<End> = ends.cloned().collect();
    for End {
        namespace,
        interface,
    } in ends
    {
        let copies = copies_of(&interface);
        let host = &network.namespaces[namespace].name;
        // An interface of this kind discards what it is given, and the kernels of distributions
        // have it. What a program hands over as one (UDP_SEGMENT) is cut before it is seen there, as
        // it is before it leaves the host.
        network.links.push(format!(
            "link add {copies} netns {host} mtu {} address {MAC} gso_max_segs 1 arp off type ifb",
            network.mtu
        ));
        network.bring_up(namespace, &copies);
        network.namespaces[namespace].tc.extend([
            format!("qdisc add dev {interface} clsact"),
            format!(
                "filter add dev {interface} egress protocol ip u32 match ip protocol 17 0xff \
                 action mirred egress mirror dev {copies}"
            ),
        ]);
    }
}
