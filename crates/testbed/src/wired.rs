//! Hosts without a network of the kernel's: each end of a flow or probe is a namespace with one
//! interface, whose other end is a wire of our own.

use cclab_spec::{Flow, Scenario};

use crate::cable::{End, MAC};
use crate::network::{Network, Path};
use crate::orders::Namespace;
use crate::settings;

/// The interface of a host.
const INTERFACE: &str = "eth0";

/// Lines of `ip -batch` that give each of these hosts its device of a guest's wire: they are numbered
/// as the hosts are.
pub(crate) fn links(hosts: &[Namespace]) -> Vec<String> {
    let device = |(number, host): (usize, &Namespace)| {
        format!("link set eth{number} netns {} name {INTERFACE}", host.name)
    };
    hosts.iter().enumerate().map(device).collect()
}

/// The hosts of `scenario`, in which flows stand for probes.
pub(crate) fn hosts<'a>(network: &mut Network<'a>, scenario: &'a Scenario) {
    for flow in &scenario.flows {
        let sender = host(network, flow, "sender", &[flow], &[]);
        let receiver = host(network, flow, "receiver", &[], &[flow]);
        network.paths.push(Path::direct(sender, receiver));
    }
    network.links = links(&network.namespaces);
}

/// The host of `flow` called by its `side`, which sends or receives it.
fn host(
    network: &mut Network<'_>,
    flow: &Flow,
    side: &str,
    sent: &[&Flow],
    received: &[&Flow],
) -> End {
    let name = format!("{}.{side}", flow.name);
    let host = network.namespace(&name, settings::of_host(sent, received));
    let mtu = network.mtu;
    let line = format!("link set {INTERFACE} address {MAC} arp off mtu {mtu}");
    network.namespaces[host].ip.push(line);
    network.bring_up(host, INTERFACE);
    End::of(host, INTERFACE.to_owned())
}
