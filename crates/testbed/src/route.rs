//! Addresses and routes. What a flow's TCP is told, its routes tell: variant, segment size,
//! window, ECN, acknowledgements.

use std::net::Ipv4Addr;

use cclab_packet::address;
use cclab_spec::{Direction, Flow, Scenario};

use crate::cable::End;
use crate::modules::name_in_kernel;
use crate::network::{DEFAULT_MSS, Network};

/// Adds the addresses of every flow's hosts and the routes between them to `network`.
pub(crate) fn add(scenario: &Scenario, network: &mut Network<'_>) {
    for (index, flow) in scenario.flows.iter().enumerate() {
        let (from, to) = (address(index as u32, false), address(index as u32, true));
        let path = network.paths[index].clone();
        let (sender, receiver) = path.ends();
        host(network, sender, from, to, &sending(scenario, flow));
        host(network, receiver, to, from, &receiving(scenario, flow));
        let (left, right) = match flow.direction {
            Direction::Forward => (from, to),
            Direction::Reverse => (to, from),
        };
        for [towards_left, towards_right] in path.routers() {
            let line = |(to, end): (Ipv4Addr, &End)| {
                format!("route add {to}/32 dev {} scope link", end.interface)
            };
            let lines = [(left, towards_left), (right, towards_right)].map(line);
            network.namespaces[towards_left.namespace].ip.extend(lines);
        }
    }
}

fn host(network: &mut Network<'_>, end: &End, own: Ipv4Addr, peer: Ipv4Addr, metrics: &str) {
    let interface = &end.interface;
    let lines = [
        format!("addr add {own}/32 dev {interface}"),
        format!("route add {peer}/32 dev {interface} scope link src {own}{metrics}"),
    ];
    network.namespaces[end.namespace].ip.extend(lines);
}

/// What the sender's TCP is told.
fn sending(scenario: &Scenario, flow: &Flow) -> String {
    let ecn = if flow.ecn.is_on() {
        " features ecn"
    } else {
        ""
    };
    both(scenario, flow) + ecn
}

/// What the receiver's TCP is told.
fn receiving(scenario: &Scenario, flow: &Flow) -> String {
    let window = flow
        .rwnd
        .map(|rwnd| format!(" window {}", rwnd.min(MAX_WINDOW)));
    let quick = if flow.delayed_ack == Some(1) {
        " quickack 1"
    } else {
        ""
    };
    both(scenario, flow) + &window.unwrap_or_default() + quick
}

/// The largest window that TCP can advertise (RFC 7323, section 2.3).
pub(crate) const MAX_WINDOW: u64 = 65_535 << 14;

/// What both are told; nothing of a flow without TCP. The receiver answers with the same variant, as some, such as DCTCP, have
/// the receiver do its part.
fn both(scenario: &Scenario, flow: &Flow) -> String {
    if flow.udp.is_some() {
        return String::new();
    }
    format!(
        " congctl {} advmss {}",
        name_in_kernel(scenario, &flow.cc),
        flow.mss.unwrap_or(DEFAULT_MSS)
    )
}
