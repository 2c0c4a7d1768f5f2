//! What a scenario asks for that this simulator does not do: found before a run, by name.

use cclab_cc::{Arithmetic, Variant};
use cclab_layout::{Layout, Role};
use cclab_spec::{By, Flow, Scenario, VariantFile};
use cclab_tcp::profile::{self, Profile};
use cclab_units::parameter::Params;

use crate::own::OwnVariants;
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
    unsupported_beside(scenario, &OwnVariants::default())
}

/// As [`unsupported`], where the variants of the scenario's files are `own`.
pub fn unsupported_beside(scenario: &Scenario, own: &OwnVariants) -> Vec<Unsupported> {
    unsupported_with(scenario, &Known::Made(own))
}

/// As [`unsupported`], where the variants of the scenario's files that `runs` holds of will be made
/// for the run.
pub fn unsupported_but_files(
    scenario: &Scenario,
    runs: &dyn Fn(&VariantFile) -> bool,
) -> Vec<Unsupported> {
    unsupported_with(scenario, &Known::ToBe(runs))
}

/// Which variants of files there are.
enum Known<'a> {
    /// These.
    Made(&'a OwnVariants),
    /// Those of the files that this holds of.
    ToBe(&'a dyn Fn(&VariantFile) -> bool),
}

impl Known<'_> {
    /// Whether the variant that flows of `scenario` call `cc` is among them, with these parameters if
    /// they are given.
    fn has(&self, scenario: &Scenario, cc: &str, flow: Option<&Flow>) -> bool {
        match (self, flow) {
            (Known::Made(own), Some(flow)) => own.of(flow).is_some(),
            (Known::Made(own), None) => own.knows(cc),
            (Known::ToBe(runs), _) => scenario.variant_file(cc).is_some_and(runs),
        }
    }
}

fn unsupported_with(scenario: &Scenario, known: &Known<'_>) -> Vec<Unsupported> {
    let mut found = Vec::new();
    if profile::find(&scenario.stack).is_none() {
        found.push(Unsupported {
            path: "stack".into(),
            what: format!("stack {:?}", scenario.stack),
        });
    }
    found.extend(unsupported_network(scenario));
    found.extend(unsupported_flows(scenario, known));
    found.extend(traffic_refused(scenario, known));
    found
}

/// The keys of `scenario` that the simulator takes no notice of: which kernel a host has, and that
/// the network is a kernel's. It has none of them, though it runs what they are in.
pub fn disregarded(scenario: &Scenario) -> Vec<String> {
    let own = [
        ("kernel", scenario.kernel.is_some()),
        ("network.by", scenario.network.by == Some(By::Kernel)),
    ];
    let own = own.into_iter().filter(|(_, given)| *given);
    let flows = scenario.flows.iter().filter(|flow| flow.kernel.is_some());
    own.map(|(key, _)| key.to_owned())
        .chain(flows.map(|flow| format!("flow.{}.kernel", flow.name)))
        .collect()
}

/// What of the network of `scenario`, to which delays and processors of hosts belong, the simulator
/// does not do.
pub fn unsupported_network(scenario: &Scenario) -> Vec<Unsupported> {
    let mut found = Vec::new();
    let mut refuse = |path: String, what: String| found.push(Unsupported { path, what });
    let network = &scenario.network;
    let own = [
        ("bottleneck".to_owned(), &network.bottleneck),
        ("access".to_owned(), &network.access),
    ];
    let graph = network.graph.iter().flat_map(|graph| &graph.links);
    let graph = graph.map(|edge| (format!("link.{}", edge.name), &edge.link));
    let own = own.into_iter().filter(|_| network.graph.is_none());
    for (name, link) in own.chain(graph) {
        let at = |key: &str| format!("network.{name}.{key}");
        match cclab_qdisc::find_simulated(&link.queue.kind) {
            None => refuse(at("queue.kind"), format!("queue {}", link.queue.kind)),
            Some(discipline) => {
                if let Err(why) = Params::new(discipline.params, &link.queue.params) {
                    refuse(at("queue"), format!("queue {}: {why}", link.queue.kind));
                }
            }
        }
    }
    if network.graph.is_some() && network.router.is_some() {
        let what = "packet rates of the routers of a graph";
        refuse("network.router_packet_rate".into(), what.into());
    }
    // Asked once, not of each of many flows: it lays out the whole network.
    let shared =
        scenario.flows.iter().any(|flow| flow.packet_rate.is_some()) && shares_hosts(scenario);
    for flow in &scenario.flows {
        let mut refuse = |key: &str, what: &str| {
            refuse(format!("flow.{}.{key}", flow.name), what.into());
        };
        if flow.packet_rate.is_some() && shared {
            let what = "the packet rate of hosts that flows share (use a dumbbell)";
            refuse("packet_rate", what);
        }
        if flow.delay_limit.is_some() {
            refuse("delay_limit", "a limit of what a host delays");
        }
    }
    found
}

fn unsupported_flows(scenario: &Scenario, known: &Known<'_>) -> Vec<Unsupported> {
    let mut found = Vec::new();
    let mut refuse = |path: String, what: String| found.push(Unsupported { path, what });
    for flow in &scenario.flows {
        let at = |key: &str| format!("flow.{}.{key}", flow.name);
        match cclab_cc::find_simulated(&flow.cc) {
            _ if flow.udp.is_some() || known.has(scenario, &flow.cc, Some(flow)) => {}
            None => refuse(at("cc"), unsupported_variant(scenario, &flow.cc)),
            Some(variant) => {
                if let Err(why) = Params::new(variant.params, &flow.cc_params) {
                    refuse(at("cc_params"), format!("variant {}: {why}", flow.cc));
                }
            }
        }
        if flow.command.is_some() {
            refuse(at("command"), "programs of the host".into());
        }
        let built_in = cclab_cc::find_simulated(&flow.cc);
        if let Some(profile) = profile::find(&scenario.stack).filter(|_| flow.remembered.is_some())
            && let Some(what) = unsupported_memory(flow, built_in, profile)
        {
            refuse(at("remembered"), what);
        }
        for (name, value) in &flow.sysctl {
            if let Some(what) = stack::unsupported_setting(name, value) {
                refuse(at("sysctl"), what);
            }
        }
    }
    found
}

/// Why `flow`, whose variant is `built_in` or of a file, cannot resume on a stack from what it
/// remembers; `None`: it can.
fn unsupported_memory(
    flow: &Flow,
    built_in: Option<&Variant>,
    profile: &Profile,
) -> Option<String> {
    let kept = Arithmetic::Segments;
    let resumes = |arithmetic| match built_in {
        Some(variant) => variant.resumes(arithmetic),
        None => arithmetic == kept,
    };
    let what = match (resumes(profile.arithmetic), resumes(kept)) {
        (true, _) => return None,
        (false, true) => format!(
            "what {} remembers on the stack {} (leave the `stack` out: that of Linux keeps the window)",
            flow.cc, profile.name
        ),
        (false, false) => format!(
            "what {} remembers, which sets its window itself (use a variant whose window the stack \
             keeps, such as cubic, or bbr or bbr3)",
            flow.cc
        ),
    };
    Some(what)
}

/// What is said of the variant `cc` of `scenario`, which is none of the simulator's own.
fn unsupported_variant(scenario: &Scenario, cc: &str) -> String {
    let Some(file) = scenario.variant_file(cc) else {
        return format!("variant {cc}");
    };
    format!(
        "the variant {cc} of {} (backend sim alone runs the files of simulated hosts)",
        file.file
    )
}

/// What of the cross traffic of `scenario` the simulator does not do, where the variants of its files
/// are `own`.
pub fn unsupported_traffic(scenario: &Scenario, own: &OwnVariants) -> Vec<Unsupported> {
    traffic_refused(scenario, &Known::Made(own))
}

fn traffic_refused(scenario: &Scenario, known: &Known<'_>) -> Vec<Unsupported> {
    let mut found = Vec::new();
    let mut refuse = |path: String, what: String| found.push(Unsupported { path, what });
    for traffic in &scenario.traffic {
        let at = |key: &str| format!("traffic.{}.{key}", traffic.name);
        if !cclab_spec::TRAFFIC_KINDS
            .iter()
            .any(|kind| kind.name == traffic.kind)
        {
            refuse(at("kind"), format!("cross traffic {}", traffic.kind));
        }
        if let Some(cc) = traffic
            .cc
            .as_deref()
            .filter(|cc| cclab_cc::find_simulated(cc).is_none() && !known.has(scenario, cc, None))
        {
            refuse(at("cc"), unsupported_variant(scenario, cc));
        }
    }
    found
}

/// Whether a host sends or receives for more than one flow, source of traffic or probe, or may.
fn shares_hosts(scenario: &Scenario) -> bool {
    let users = scenario.flows.len() + scenario.traffic.len() + scenario.probes.len();
    let several = users > 1;
    let layout = Layout::of(scenario);
    layout.has(Role::Any) || several && layout.has(Role::SharedHost)
}
