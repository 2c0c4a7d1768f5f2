//! Hosts without a network of the kernel's: each end of a flow or probe is a namespace with one
//! interface, whose other end is a wire of our own.

use cclab_spec::{Flow, Scenario};

use crate::cable::{End, MAC};
use crate::network::{Network, Path};
use crate::settings;

/// The interface of a host.
const INTERFACE: &str = "eth0";

/// Which device of a guest's wire is the receiver's of the flow with that number, or its sender's:
/// they are numbered as the hosts are. Probes stand behind the flows.
pub fn device(flow: usize, receiver: bool) -> u32 {
    2 * flow as u32 + u32::from(receiver)
}

/// The hosts of `scenario`, in which flows stand for probes.
pub(crate) fn hosts<'a>(network: &mut Network<'a>, scenario: &'a Scenario) {
    for flow in &scenario.flows {
        let sender = host(network, flow, "sender", &[flow], &[]);
        let receiver = host(network, flow, "receiver", &[], &[flow]);
        network.paths.push(Path::direct(sender, receiver));
    }
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
    let device = network.namespaces.len();
    let host = network.namespace(&name, settings::of_host(sent, received));
    let mtu = network.mtu;
    let line = format!("link set eth{device} netns {name} name {INTERFACE}");
    network.links.push(line);
    let line = format!("link set {INTERFACE} address {MAC} arp off mtu {mtu}");
    network.namespaces[host].ip.push(line);
    network.bring_up(host, INTERFACE);
    End::of(host, INTERFACE.to_owned())
}
