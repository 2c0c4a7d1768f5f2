//! The machines of a run on a wire: each has a kernel of its own and the hosts of some of its flows.

use std::collections::BTreeSet;

use cclab_spec::Scenario;

use crate::orders::Orders;
use crate::{Target, settings, wired};

/// What one kernel has of a run, and what of the run it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// What it is told: of its own flows, probes and hosts alone.
    pub orders: Orders,
    /// Which flows of the run its flows are.
    pub flows: Vec<usize>,
    /// Which probes of the run its probes are.
    pub probes: Vec<usize>,
    /// Which hosts of the run its namespaces are.
    pub namespaces: Vec<usize>,
}

impl Machine {
    /// The machine that carries `orders` out alone.
    pub fn whole(orders: Orders) -> Machine {
        Machine {
            flows: (0..orders.flows.len()).collect(),
            probes: (0..orders.probes.len()).collect(),
            namespaces: (0..orders.namespaces.len()).collect(),
            orders,
        }
    }

    /// The machine that has the `flows` and `probes` of the run of `scenario` on a wire by `orders`,
    /// while other machines have the rest.
    pub fn part(
        scenario: &Scenario,
        orders: &Orders,
        flows: Vec<usize>,
        probes: Vec<usize>,
    ) -> Machine {
        let ends = flows.iter().map(|&index| &orders.flows[index]);
        let ends = ends.flat_map(|flow| [flow.sender, flow.receiver]);
        let asked = probes.iter().map(|&index| &orders.probes[index]);
        let asked = asked.flat_map(|probe| [probe.sender, probe.receiver]);
        let hosts: BTreeSet<usize> = ends.chain(asked).collect();
        let namespaces: Vec<usize> = hosts.into_iter().collect();
        let place = |host: usize| {
            let place = namespaces.iter().position(|&own| own == host);
            place.expect("the host of a flow or a probe")
        };
        let mut own = Orders {
            sysctl: settings::of_machine(
                flows.iter().map(|&index| &scenario.flows[index]),
                Target::Wire,
            ),
            namespaces: namespaces
                .iter()
                .map(|&host| orders.namespaces[host].clone())
                .collect(),
            flows: flows
                .iter()
                .map(|&index| orders.flows[index].clone())
                .collect(),
            probes: probes
                .iter()
                .map(|&index| orders.probes[index].clone())
                .collect(),
            ..orders.clone()
        };
        for flow in &mut own.flows {
            [flow.sender, flow.receiver] = [flow.sender, flow.receiver].map(place);
        }
        for probe in &mut own.probes {
            [probe.sender, probe.receiver] = [probe.sender, probe.receiver].map(place);
        }
        own.links = wired::links(&own.namespaces);
        if let Some(wire) = &mut own.wire {
            wire.news = Some(namespaces.len() as u32);
            wire.looks_back = (0..)
                .zip(&orders.flows)
                .any(|(index, flow)| !flows.contains(&index) && flow.work.may_end(orders.end));
        }
        Machine {
            orders: own,
            flows,
            probes,
            namespaces,
        }
    }
}
