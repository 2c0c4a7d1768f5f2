//! Hosts without a network of the kernel's: each node that sends or receives is a namespace with one
//! interface, whose other end is a wire of our own.

use std::collections::BTreeMap;

use cclab_layout::{Layout, NodeId};
use cclab_spec::{Flow, Scenario};

use crate::cable::{End, MAC};
use crate::network::{Network, Path};
use crate::settings;

/// The interface of a host.
const INTERFACE: &str = "eth0";

/// Which device of a guest's wire is which host's: they are numbered as the hosts are.
pub fn devices(layout: &Layout) -> BTreeMap<NodeId, u32> {
    let journeys = layout.flows.iter().chain(&layout.probes);
    let mut nodes: Vec<NodeId> = journeys
        .flat_map(|journey| [journey.sender, journey.receiver])
        .collect();
    nodes.sort_unstable();
    nodes.dedup();
    nodes.into_iter().zip(0..).collect()
}

/// The hosts of `scenario`, in which flows stand for probes.
pub(crate) fn hosts<'a>(network: &mut Network<'a>, scenario: &'a Scenario) {
    let layout = Layout::of(scenario);
    let mut flows: BTreeMap<NodeId, (Vec<&Flow>, Vec<&Flow>)> = BTreeMap::new();
    for (flow, journey) in scenario.flows.iter().zip(&layout.flows) {
        flows.entry(journey.sender).or_default().0.push(flow);
        flows.entry(journey.receiver).or_default().1.push(flow);
    }
    for (node, (sent, received)) in &flows {
        let name = &layout.node(*node).name;
        let device = network.namespaces.len();
        let host = network.namespace(name, settings::of_host(sent, received));
        let mtu = network.mtu;
        let line = format!("link set eth{device} netns {name} name {INTERFACE}");
        network.links.push(line);
        let line = format!("link set {INTERFACE} address {MAC} arp off mtu {mtu}");
        network.namespaces[host].ip.push(line);
        network.bring_up(host, INTERFACE);
    }
    let place: BTreeMap<NodeId, usize> = flows.into_keys().zip(0..).collect();
    let end = |node: &NodeId| End::of(place[node], INTERFACE.to_owned());
    network.paths = layout
        .flows
        .iter()
        .map(|journey| Path::direct(end(&journey.sender), end(&journey.receiver)))
        .collect();
}
