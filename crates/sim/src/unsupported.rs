//! What a scenario asks for that this simulator does not do: found before a run, by name.

use cclab_spec::{Scenario, Topology};
use cclab_tcp::profile;
use cclab_units::parameter::Params;

use crate::stack;

/// One thing that the simulator does not do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsupported {
    /// The key of the study file.
    pub path: String,
    /// What is asked for there.
    pub what: String,
}

/// Everything in `scenario` that the simulator does not do; empty if it can run.
pub fn unsupported(scenario: &Scenario) -> Vec<Unsupported> {
    let mut found = Vec::new();
    let mut refuse = |path: String, what: String| found.push(Unsupported { path, what });

    if profile::find(&scenario.stack).is_none() {
        refuse("stack".into(), format!("stack {:?}", scenario.stack));
    }
    let network = &scenario.network;
    match network.topology {
        Topology::Chain | Topology::Dumbbell => {}
        Topology::ParkingLot => refuse("network.topology".into(), "topology parking-lot".into()),
        Topology::Graph => refuse("network.topology".into(), "topology graph".into()),
    }
    for (name, link) in [
        ("bottleneck", &network.bottleneck),
        ("access", &network.access),
    ] {
        let at = |key: &str| format!("network.{name}.{key}");
        match cclab_qdisc::find(&link.queue.kind) {
            None => refuse(at("queue.kind"), format!("queue {}", link.queue.kind)),
            Some(discipline) => {
                if let Err(why) = Params::new(discipline.params, &link.queue.params) {
                    refuse(at("queue"), format!("queue {}: {why}", link.queue.kind));
                }
            }
        }
    }
    let shares_hosts = network.topology == Topology::Chain && scenario.flows.len() > 1;
    for flow in &scenario.flows {
        let at = |key: &str| format!("flow.{}.{key}", flow.name);
        match cclab_cc::find(&flow.cc) {
            None => refuse(at("cc"), format!("variant {}", flow.cc)),
            Some(variant) => {
                if let Err(why) = Params::new(variant.params, &flow.cc_params) {
                    refuse(at("cc_params"), format!("variant {}: {why}", flow.cc));
                }
            }
        }
        if let Some(application) = flow.application.as_deref().filter(|name| *name != "bulk") {
            refuse(at("application"), format!("application {application}"));
        }
        if flow.command.is_some() {
            refuse(at("command"), "programs of the host".into());
        }
        if flow.packet_rate.is_some() && shares_hosts {
            let what = "the packet rate of hosts that flows share (use a dumbbell)";
            refuse(at("packet_rate"), what.into());
        }
        if flow.delay_at != cclab_spec::DelayAt::Router {
            refuse(at("delay_at"), "delay on the sending host".into());
        }
        for (name, value) in &flow.sysctl {
            if let Some(what) = stack::unsupported_setting(name, value) {
                refuse(at("sysctl"), what);
            }
        }
    }
    for traffic in &scenario.traffic {
        refuse(
            format!("traffic.{}", traffic.name),
            format!("cross traffic {}", traffic.kind),
        );
    }
    found
}
