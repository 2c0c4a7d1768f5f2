//! Whose packet or socket it is.

use std::collections::HashMap;
use std::net::Ipv4Addr;

use cclab_testbed::orders::{Flow, Work};

use crate::event::Ends;

/// A flow, and the direction in which a packet of it goes or an end of it looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    /// Index of the flow.
    pub flow: usize,
    /// From the receiver to the sender.
    pub backward: bool,
}

/// Flows by their addresses. Only where two flows share both do ports tell them apart.
#[derive(Debug, Default)]
pub struct Addresses {
    by_addresses: HashMap<(Ipv4Addr, Ipv4Addr), Vec<Owner>>,
    ports: Vec<Option<(u16, u16)>>,
}

impl Addresses {
    /// The addresses of `flows`.
    pub fn new(flows: &[Flow]) -> Addresses {
        let mut addresses = Addresses::default();
        for (index, flow) in flows.iter().enumerate() {
            let mut add = |from, to, backward| {
                let owner = Owner {
                    flow: index,
                    backward,
                };
                addresses
                    .by_addresses
                    .entry((from, to))
                    .or_default()
                    .push(owner);
            };
            add(flow.source, flow.destination, false);
            add(flow.destination, flow.source, true);
            // Programs choose ports of their own.
            let fixed = matches!(flow.work, Work::Bulk { .. });
            let ports = fixed.then_some((flow.source_port, flow.destination_port));
            addresses.ports.push(ports);
        }
        addresses
    }

    /// The flow between `ends`.
    pub fn owner(&self, ends: &Ends) -> Option<Owner> {
        let owners = self.by_addresses.get(&(ends.source, ends.destination))?;
        let [owner] = owners.as_slice() else {
            return owners.iter().copied().find(|owner| self.fits(*owner, ends));
        };
        Some(*owner)
    }

    fn fits(&self, owner: Owner, ends: &Ends) -> bool {
        let (from, to) = if owner.backward {
            (ends.destination_port, ends.source_port)
        } else {
            (ends.source_port, ends.destination_port)
        };
        self.ports[owner.flow].is_none_or(|ports| ports == (from, to))
    }
}
