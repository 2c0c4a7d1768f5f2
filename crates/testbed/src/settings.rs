//! Kernel settings of hosts, routers and the whole machine.

use std::collections::BTreeMap;

use cclab_spec::Flow;

use crate::Target;
use crate::orders::Setting;

/// `tcp_rmem` and `tcp_wmem` of a machine with enough memory: the kernel derives smaller ones
/// from the memory of a guest.
const RMEM: &str = "4096 131072 6291456";
const WMEM: &str = "4096 16384 4194304";

/// The smallest receive buffer of a flow with a window of its own.
const WINDOW_BUFFER: u64 = 6_291_456;
/// A small segment takes up to this many times its payload of a receive buffer.
const BUFFER_PER_WINDOW: u64 = 32;
/// Buffers are signed 32-bit numbers, which the kernel doubles here and there.
const MAX_BUFFER: u64 = 1 << 30;

/// What a guest's machine has, and no host of it: (name, value).
const MACHINE: [(&str, &str); 2] = [
    // Bursts of a sender wait here between two interfaces. The default, 1000, drops from them.
    ("net.core.netdev_max_backlog", "100000"),
    // Pages for all of TCP, of a machine with 16 GB.
    ("net.ipv4.tcp_mem", "376848 502464 753696"),
];

/// Settings that hold for the whole machine, beside most of `net.core`.
const GLOBAL: [&str; 7] = [
    "net.ipv4.tcp_mem",
    "net.ipv4.udp_mem",
    "net.ipv4.tcp_max_orphans",
    "net.ipv4.tcp_allowed_congestion_control",
    "net.ipv4.inet_peer_threshold",
    "net.ipv4.inet_peer_minttl",
    "net.ipv4.inet_peer_maxttl",
];

/// The settings of `net.core` that each namespace has for itself.
const OWN_CORE: [&str; 3] = [
    "net.core.somaxconn",
    "net.core.optmem_max",
    "net.core.txrehash",
];

/// Whether a setting holds for the whole machine rather than for one host.
pub fn is_machine_wide(name: &str) -> bool {
    GLOBAL.contains(&name) || (name.starts_with("net.core.") && !OWN_CORE.contains(&name))
}

/// Whether this is the name of a setting of the network at all.
pub(crate) fn is_of_network(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    name.starts_with("net.")
        && name
            .split('.')
            .all(|part| !part.is_empty() && part.chars().all(plain))
}

/// The settings of the agent's own namespace: none on a host, which is not ours to change.
pub(crate) fn of_machine<'a>(
    flows: impl IntoIterator<Item = &'a Flow>,
    target: Target,
) -> Vec<Setting> {
    if target == Target::Host {
        return Vec::new();
    }
    let mut all: BTreeMap<&str, &str> = MACHINE.into();
    for (name, value) in flows.into_iter().flat_map(|flow| &flow.sysctl) {
        if is_machine_wide(name) {
            all.insert(name, value);
        }
    }
    listed(all)
}

/// The settings of a host that sends the flows `sent` and receives `received`.
pub(crate) fn of_host(sent: &[&Flow], received: &[&Flow]) -> Vec<Setting> {
    let window = received.iter().filter_map(|flow| flow.rwnd).max();
    let buffer = window.map(|window| {
        let buffer = window.saturating_mul(BUFFER_PER_WINDOW);
        let buffer = buffer.clamp(WINDOW_BUFFER, MAX_BUFFER);
        format!("4096 {buffer} {buffer}")
    });
    // Where the default is the maximum, the buffer is that large from the start. A program that
    // sets its socket's own is not bound by it.
    let send_buffer = sent.iter().find_map(|flow| flow.sndbuf);
    let send_buffer = send_buffer.map(|bytes| format!("4096 {bytes} {bytes}"));
    let mut all = BTreeMap::from(NO_IPV6);
    // Every run begins without metrics of earlier connections.
    all.insert("net.ipv4.tcp_no_metrics_save", "1");
    all.insert("net.ipv4.tcp_rmem", buffer.as_deref().unwrap_or(RMEM));
    all.insert("net.ipv4.tcp_wmem", send_buffer.as_deref().unwrap_or(WMEM));
    if window.is_some() {
        // Tuning the receive buffer, the kernel forgets a window's clamp.
        all.insert("net.ipv4.tcp_moderate_rcvbuf", "0");
    }
    for (name, value) in sent.iter().chain(received).flat_map(|flow| &flow.sysctl) {
        if !is_machine_wide(name) {
            all.insert(name, value);
        }
    }
    listed(all)
}

/// The settings of a router.
pub(crate) fn of_router() -> Vec<Setting> {
    let mut all = BTreeMap::from(NO_IPV6);
    all.insert("net.ipv4.ip_forward", "1");
    listed(all)
}

/// The settings of the namespace of wires.
pub(crate) fn of_wires() -> Vec<Setting> {
    listed(BTreeMap::from(NO_IPV6))
}

/// Its announcements would be packets that no flow sent.
const NO_IPV6: [(&str, &str); 2] = [
    ("net.ipv6.conf.all.disable_ipv6", "1"),
    ("net.ipv6.conf.default.disable_ipv6", "1"),
];

fn listed(settings: BTreeMap<&str, &str>) -> Vec<Setting> {
    let setting = |(name, value): (&str, &str)| Setting {
        name: name.to_owned(),
        value: value.to_owned(),
    };
    settings.into_iter().map(setting).collect()
}
