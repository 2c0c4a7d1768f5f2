//! From orders to a network.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use cclab_testbed::Orders;
use cclab_testbed::orders::Setting;

use crate::command;
use crate::failure::{During, Step, failure};
use crate::namespaces::Namespaces;
use crate::offload;

/// Builds the network of `orders`.
pub fn network(orders: &Orders) -> Step<Namespaces> {
    for setting in &orders.sysctl {
        write(setting, "kernel settings")?;
    }
    let names = orders.namespaces.iter().map(|n| n.name.as_str());
    let namespaces = Namespaces::make(names)?;
    command::batch("ip", &orders.links, "links")?;
    for (index, namespace) in orders.namespaces.iter().enumerate() {
        let name = &namespace.name;
        namespaces.within(index, || {
            for setting in &namespace.sysctl {
                write(setting, &format!("kernel settings of {name}"))?;
            }
            offload::up("lo").during(&format!("interface lo of {name}"))?;
            for interface in &namespace.interfaces {
                offload::disable(interface)
                    .during(&format!("offloads of {interface} of {name}"))?;
            }
            command::batch(
                "ip",
                &namespace.ip,
                &format!("addresses and routes of {name}"),
            )?;
            command::batch(
                "tc",
                &namespace.tc,
                &format!("queueing disciplines of {name}"),
            )?;
            for arguments in &namespace.iptables {
                command::iptables(arguments, &format!("losses at {name}"))?;
            }
            Ok(())
        })?;
    }
    Ok(namespaces)
}

/// Settings of IPv6 hold nothing where the kernel does without it.
const IPV6: &str = "/proc/sys/net/ipv6";

/// Writes a kernel setting and makes sure that it holds.
fn write(setting: &Setting, step: &str) -> Step<()> {
    let Setting { name, value } = setting;
    if name.starts_with("net.ipv6.") && !Path::new(IPV6).is_dir() {
        return Ok(());
    }
    let path = format!("/proc/sys/{}", name.replace('.', "/"));
    fs::write(&path, value).map_err(|error| {
        let why = match error.kind() {
            ErrorKind::NotFound => ": this kernel has no such setting, or not for one host alone",
            ErrorKind::InvalidInput => ": the kernel does not take this value",
            ErrorKind::PermissionDenied => ": the kernel lets only root of the machine set it",
            _ => "",
        };
        failure(step, format_args!("{name} = {value}: {error}{why}"))
    })?;
    let held = fs::read_to_string(&path).map_err(|e| failure(step, format_args!("{name}: {e}")))?;
    let words = |text: &str| {
        text.split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    if words(&held) != words(value) {
        let problem = format!("{name} is {} after {value} was written", held.trim());
        return Err(failure(step, problem));
    }
    Ok(())
}
