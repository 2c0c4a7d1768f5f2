//! What a scenario asks for that a kernel backend does not do: found before a run, by name.

use std::collections::BTreeMap;

use cclab_layout::{Layout, Role};
use cclab_packet::MAX_ADDRESSED_FLOWS;
use cclab_spec::{
    Application, BOTTLENECK_POINT, By, DelayAt, Direction, Ecn, EventKind, Flow, Forwarder, Jitter,
    Link, Loss, LossModel, Place, Scenario, Topology,
};
use cclab_units::{Rate, Time};

use crate::access::shared_by_different;
use crate::impairment::bursts;
use crate::lowering::host_of;
use crate::{Target, discipline, modules, probe, settings};

/// One thing that the backend does not do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsupported {
    /// The key of the study file.
    pub path: String,
    /// What is asked for there.
    pub what: String,
}

/// The stack that a kernel is.
const STACK: &str = "linux-6.12";

/// The smallest segment size that the kernel works with (TCP_MIN_MSS).
const MIN_MSS: u32 = 88;
/// The smallest window that the kernel clamps to (SOCK_MIN_RCVBUF / 2).
const MIN_WINDOW: u64 = 1152;
/// netem's jitter is a signed 32-bit number of nanoseconds on either side of the mean.
const MAX_JITTER: Time = Time::from_secs(4);
/// netem counts the packets and bytes of a slot in a signed number of 32 bits.
const MAX_OF_SLOT: u64 = i32::MAX as u64;
/// Below it the kernel's clock of a shaper overflows.
const MIN_RATE: u64 = 1000;
/// netem counts time in nanoseconds: above it a packet's is less than one.
const MAX_PACKET_RATE: u64 = 1_000_000_000;

/// What only the kernel of the guest does.
fn on_a_host(scenario: &Scenario, found: &mut Found) {
    for event in &scenario.trace.events {
        let name = match event {
            EventKind::Ack | EventKind::State => continue,
            EventKind::Queue => "queue",
            EventKind::Drop => "drop",
        };
        found.refuse("trace.events", format!("events {name:?}"));
    }
    if scenario.network.by == Some(By::Simulator) {
        let what = "the simulator's network (its time is virtual, and that of this machine is not)";
        found.refuse("network.by", what);
    }
    let jitter = scenario.network.bottleneck.jitter;
    if jitter.is_some_and(|jitter| !jitter.reorders()) {
        // There the wire has no rate of its own, by which netem keeps packets in order.
        found.refuse(
            "network.bottleneck.jitter",
            "jitter (its packets would overtake one another)",
        );
    }
}

/// Everything in `scenario` that a kernel backend does not do; empty if it can run.
pub fn unsupported(scenario: &Scenario, target: Target) -> Vec<Unsupported> {
    let mut found = Found::default();
    if scenario.stack != STACK {
        let what = format!("stack {:?} (a kernel is {STACK:?})", scenario.stack);
        found.refuse("stack", what);
    }
    if target == Target::Host {
        on_a_host(scenario, &mut found);
    }
    if target != Target::Wire {
        kernels_network(scenario, target, &mut found);
    }
    triggered(scenario, &mut found);
    if scenario
        .network
        .graph
        .iter()
        .any(|graph| !graph.reroutes.is_empty())
    {
        let what = "routes that change (kernels are told ahead of the packets that come to them; \
                    write changes of a link's rate and delay as its `schedule`)";
        found.refuse("network.reroute", what);
    }
    kernels(scenario, target, &mut found);
    for flow in &scenario.flows {
        self::flow(scenario, flow, target, &mut found);
    }
    modules::check(scenario, target, &mut found);
    let travellers = scenario.flows.len() + scenario.probes.len();
    if travellers > MAX_ADDRESSED_FLOWS {
        let what =
            format!("{travellers} flows and probes (addresses suffice for {MAX_ADDRESSED_FLOWS})");
        found.refuse("flow", what);
    }
    machine(scenario, &mut found);
    found.0
}

/// Kernels by name: a host has its own, and where the network is a kernel's all hosts share it.
fn kernels(scenario: &Scenario, target: Target, found: &mut Found) {
    let named = scenario.flows.iter().filter_map(|flow| {
        let name = flow.kernel.as_deref()?;
        Some((format!("flow.{}.kernel", flow.name), name))
    });
    let refused = match target {
        Target::Wire => return,
        Target::Host => "whose hosts have the kernel of this machine",
        Target::Guest if scenario.kernels().len() == 1 => return,
        Target::Guest => "beside another, where one has the network and all hosts",
    };
    let of_study = scenario
        .kernel
        .as_deref()
        .filter(|_| target == Target::Host);
    let of_study = of_study.map(|name| ("kernel".to_owned(), name));
    for (path, name) in of_study.into_iter().chain(named) {
        found.refuse(path, format!("the kernel {name}, {refused}"));
    }
}

/// What was found so far.
#[derive(Default)]
pub(crate) struct Found(Vec<Unsupported>);

impl Found {
    /// Adds what is asked for at `path`.
    pub fn refuse(&mut self, path: impl Into<String>, what: impl Into<String>) {
        self.0.push(Unsupported {
            path: path.into(),
            what: what.into(),
        });
    }
}

/// What a network of the kernel's own does not do.
fn kernels_network(scenario: &Scenario, target: Target, found: &mut Found) {
    let network = &scenario.network;
    if network.topology == Topology::Graph {
        found.refuse("network.topology", "topology graph");
    }
    match &network.graph {
        Some(graph) => {
            for edge in &graph.links {
                link(&format!("link.{}", edge.name), &edge.link, found);
            }
        }
        None => {
            link("bottleneck", &network.bottleneck, found);
            link("access", &network.access, found);
            if !network.access.is_plain() {
                found.refuse("network.access", "impairments of access links");
            }
        }
    }
    if let Some(router) = &network.router {
        self::router(router, target, found);
    }
    if Layout::of(scenario).has(Role::SharedHost) {
        shared_links(scenario, found);
        shared_hosts(&scenario.flows, found);
    }
    for traffic in &scenario.traffic {
        let what = format!("cross traffic {}", traffic.kind);
        found.refuse(format!("traffic.{}", traffic.name), what);
    }
    for point in &scenario.trace.capture {
        if point != BOTTLENECK_POINT && host_of(scenario, point).is_none() {
            let what = format!("a capture at {point} (at the bottleneck and hosts alone)");
            found.refuse(format!("trace.capture.{point}"), what);
        }
    }
}

/// Changes that wait for a state: a kernel tells the state of a variant at the samples alone.
fn triggered(scenario: &Scenario, found: &mut Found) {
    let network = &scenario.network;
    let edges = network.graph.iter().flat_map(|graph| &graph.links);
    let edges = edges.map(|edge| (format!("link.{}", edge.name), &edge.link));
    let own = [
        ("bottleneck".to_owned(), &network.bottleneck),
        ("access".to_owned(), &network.access),
    ];
    let own = own.into_iter().filter(|_| network.graph.is_none());
    for (name, link) in own.chain(edges) {
        let back = link.reverse.as_deref();
        let back = back.map(|back| (format!("{name}.reverse"), back));
        for (name, link) in [Some((name, link)), back].into_iter().flatten() {
            if !link.triggered.is_empty() {
                let what = "a change at a flow's state (take the instant from a first run, and write \
                            it as `at`)";
                found.refuse(format!("network.{name}.schedule.when1"), what);
            }
        }
    }
}

fn router(router: &Forwarder, target: Target, found: &mut Found) {
    if target == Target::Host {
        let what = "a router that forwards so many packets per second (in real time its timer is \
                    later than a packet takes)";
        found.refuse("network.router_packet_rate", what);
    }
    if router.packet_rate > MAX_PACKET_RATE {
        let what = format!(
            "{} packets per second (a kernel's processor does at most {MAX_PACKET_RATE})",
            router.packet_rate
        );
        found.refuse("network.router_packet_rate", what);
    }
    if router.backlog >= u64::from(u32::MAX) {
        let what = format!("a backlog of {} packets", router.backlog);
        found.refuse("network.router_backlog", what);
    }
}

fn link(name: &str, link: &Link, found: &mut Found) {
    let at = |key: &str| format!("network.{name}.{key}");
    let slow = |rate: &Rate| rate.bps() < MIN_RATE;
    let scheduled = link.schedule.iter().filter_map(|change| change.rate);
    if let Some(rate) = link.rate.into_iter().chain(scheduled).find(slow) {
        let what = format!("a rate of {rate} (a kernel's shaper does at least 1kbit)");
        found.refuse(at("rate"), what);
    }
    if link.rate.is_none() && link.schedule.iter().any(|change| change.rate.is_some()) {
        found.refuse(at("schedule"), "a rate for a link that is infinitely fast");
    }
    if let Some(jitter) = &link.jitter {
        if jitter.size() >= MAX_JITTER {
            let what = format!(
                "a jitter of {} (netem stays below {MAX_JITTER})",
                jitter.size()
            );
            found.refuse(at("jitter"), what);
        }
        if !matches!(jitter, Jitter::Uniform { .. }) {
            found.refuse(at("jitter"), "jitter that is not uniform");
        }
    }
    if link.schedule.iter().any(|change| change.jitter.is_some()) {
        found.refuse(at("schedule"), "a jitter that changes");
    }
    if link.schedule.iter().any(|change| change.slots.is_some()) {
        found.refuse(at("schedule"), "slots that change");
    }
    let largest = [
        link.slots.map(|slots| slots.packets),
        link.slots.map(|slots| slots.bytes),
    ];
    let largest = largest.into_iter().flatten().flatten().max();
    if let Some(limit) = largest.filter(|limit| limit.get() > MAX_OF_SLOT) {
        let what = format!("slots of {limit} (netem counts to {MAX_OF_SLOT})");
        found.refuse(at("slots"), what);
    }
    losses(link, &at("loss"), found);
    if link.duplicate.is_some() && meets_losses(link, Place::Router) {
        // netem draws the copy before the loss, which then takes one of the two.
        let what = "packets that come twice where others are lost";
        found.refuse(at("duplicate"), what);
    }
    let absent = [
        (
            "corrupt",
            link.corrupt.is_some(),
            "packets that are corrupted (netem changes any of their bits: the next router drops \
             many, and what hits an Ethernet address hurts nobody)",
        ),
        (
            "remark",
            !link.remark.is_empty(),
            "codepoints of ECN that are changed (netem changes none)",
        ),
        (
            "trace",
            link.trace.is_some(),
            "a trace of delivery opportunities",
        ),
        (
            "reverse",
            link.reverse.as_ref().is_some_and(|back| back.is_impaired()),
            "a way back that disturbs packets (it may have another rate, delay and queue)",
        ),
    ];
    for (key, given, what) in absent {
        if given {
            found.refuse(at(key), what);
        }
    }
    if let Some(rate) = link.rate
        && let Err((key, what)) = discipline::child(&link.queue, rate, 1514)
    {
        found.refuse(at(&format!("queue.{key}")), what);
    }
    if let Some(back) = &link.reverse {
        self::link(&format!("{name}.reverse"), back, found);
    }
}

/// Whether packets can be lost at `place` of `link`, but for losses in bursts.
fn loses_otherwise(link: &Link, place: Place) -> bool {
    let bursty = |loss: &&Loss| matches!(loss.model, LossModel::GilbertElliott(_));
    let mut others = link
        .loss
        .iter()
        .filter(|loss| loss.at == place && !bursty(loss));
    let scheduled = link.schedule.iter().any(|change| change.loss.is_some());
    others.next().is_some()
        || link.outage.iter().any(|outage| outage.at == place)
        || (scheduled && place == Place::Router)
}

/// Whether packets can be lost at `place` of `link`.
fn meets_losses(link: &Link, place: Place) -> bool {
    loses_otherwise(link, place) || bursts(link, place).is_some()
}

/// What a kernel does not lose as the study says, at the key `at`.
fn losses(link: &Link, at: &str, found: &mut Found) {
    if link
        .loss
        .iter()
        .any(|loss| matches!(loss.model, LossModel::Packets(_)))
    {
        found.refuse(at, "losses of listed packets");
    }
    for place in [Place::Sender, Place::Router] {
        let model =
            |loss: &&Loss| loss.at == place && matches!(loss.model, LossModel::GilbertElliott(_));
        let channels = link.loss.iter().filter(model).count();
        if channels > 1 || (channels == 1 && loses_otherwise(link, place)) {
            // A netem has one model of loss, and begins anew when it is changed.
            found.refuse(
                at,
                "losses in bursts beside other losses or outages of the same place",
            );
        }
    }
    if bursts(link, Place::Receiver).is_some() {
        let what = "losses in bursts at the receiver (its firewall has independent ones)";
        found.refuse(at, what);
    }
}

fn flow(scenario: &Scenario, flow: &Flow, target: Target, found: &mut Found) {
    let of_file = scenario.variant_file(&flow.cc).is_some();
    if !flow.cc_params.is_empty() && !of_file {
        let what = format!("parameters of the kernel's {}", flow.cc);
        found.refuse(format!("flow.{}.cc_params", flow.name), what);
    }
    let at = |key: &str| format!("flow.{}.{key}", flow.name);
    let known = cclab_cc::of_kernel().map(|variant| variant.name);
    if flow.udp.is_none() && !of_file && !known.clone().any(|name| name == flow.cc) {
        let known: Vec<&str> = known.collect();
        let what = format!("variant {} (the kernel has: {})", flow.cc, known.join(", "));
        found.refuse(at("cc"), what);
    }
    if let Some(application) = &flow.application
        && !matches!(application, Application::Scheduled { .. })
    {
        found.refuse(
            at("application"),
            format!("application {}", application.name()),
        );
    }
    if flow.packet_rate.is_some() && target != Target::Wire {
        let what = "hosts that handle so many packets per second (a kernel handles what comes)";
        found.refuse(at("packet_rate"), what);
    }
    if flow.ecn == Ecn::Accurate {
        let what = "ecn \"accecn\" (Linux counts marks from 6.18 on)";
        found.refuse(at("ecn"), what);
    }
    if flow.receiver_ecn.is_some() {
        found.refuse(
            at("ecn.receiver"),
            "another feedback of marks than the sender's",
        );
    }
    if let Some(every) = flow.delayed_ack.filter(|&every| every > 2) {
        let what =
            format!("an acknowledgement for every {every} segments (the kernel's are for 1 or 2)");
        found.refuse(at("delayed_ack"), what);
    }
    if let Some(receiver) = flow.receiver {
        let what = format!("a receiver with {} (a kernel's is honest)", receiver.name());
        found.refuse(at("receiver"), what);
    }
    if flow.remembered.is_some() {
        let what = "what a connection remembers (a kernel's resumes from nothing)";
        found.refuse(at("remembered"), what);
    }
    if let Some(mss) = flow.mss.filter(|&mss| mss < MIN_MSS) {
        found.refuse(
            at("mss"),
            format!("segments of {mss} bytes (the kernel's least is {MIN_MSS})"),
        );
    }
    if let Some(rwnd) = flow.rwnd {
        if rwnd < MIN_WINDOW {
            let what = format!("a window of {rwnd} bytes (the kernel's least is {MIN_WINDOW})");
            found.refuse(at("rwnd"), what);
        }
        if flow.command.is_some() {
            found.refuse(at("rwnd"), "the window of a program's own socket");
        }
    }
    for (name, value) in &flow.sysctl {
        if !settings::is_of_network(name) || value.contains('\n') {
            found.refuse(
                at("sysctl"),
                format!("{name:?}, which is no kernel setting of the network"),
            );
        } else if settings::is_machine_wide(name) && target == Target::Host {
            let what = format!("kernel setting {name}, which holds for the whole machine");
            found.refuse(at("sysctl"), what);
        }
    }
}

/// What flows that share the links of their hosts cannot have.
fn shared_links(scenario: &Scenario, found: &mut Found) {
    let flows = &scenario.flows;
    let travellers = probe::as_flows(scenario);
    let layout = Layout::of(&travellers);
    if bursts(&scenario.network.bottleneck, Place::Sender).is_some() {
        let what =
            "losses in bursts at the sender of a chain, which all flows share (use a dumbbell)";
        found.refuse("network.bottleneck.loss", what);
    }
    if scenario.network.access.rate.is_some() && shared_by_different(&travellers, &layout) {
        let what = "flows of a chain with different base RTTs over access links of a finite rate \
                    (give the access links no rate, or use a dumbbell)";
        found.refuse("network.access.rate", what);
    }
    let from_sink = |flow: &&Flow| flow.direction == Direction::Reverse;
    let at_sender =
        |flow: &&Flow| flow.delay_at == DelayAt::Sender && flow.extra_delay > Time::ZERO;
    for flow in flows.iter().filter(from_sink).filter(at_sender) {
        let what = "delay on the sink of a chain, which all flows share (use a dumbbell)";
        found.refuse(format!("flow.{}.delay_at", flow.name), what);
    }
    for flow in flows.iter().filter(|flow| flow.delay_limit.is_some()) {
        let what = "a limit on the source of a chain, which all flows share (use a dumbbell)";
        found.refuse(format!("flow.{}.delay_limit", flow.name), what);
    }
}

/// What flows that share their hosts cannot have.
fn shared_hosts(flows: &[Flow], found: &mut Found) {
    let Some(first) = flows.first() else { return };
    for flow in &flows[1..] {
        let names = first.sysctl.keys().chain(flow.sysctl.keys());
        let differs = |name: &&String| flow.sysctl.get(*name) != first.sysctl.get(*name);
        if let Some(name) = names
            .filter(|name| !settings::is_machine_wide(name))
            .find(differs)
        {
            let what = format!(
                "kernel setting {name} different from that of flow {}: in a chain they share \
                 their hosts (use a dumbbell)",
                first.name
            );
            found.refuse(format!("flow.{}.sysctl", flow.name), what);
        }
    }
    for direction in [Direction::Forward, Direction::Reverse] {
        let mut alike = flows.iter().filter(|flow| flow.direction == direction);
        let Some(first) = alike.next() else { continue };
        for flow in alike.filter(|flow| flow.rwnd.is_some() != first.rwnd.is_some()) {
            let what = format!(
                "rwnd where only one of this flow and {} has one: in a chain they share the \
                 receiving host (give both one, or use a dumbbell)",
                first.name
            );
            found.refuse(format!("flow.{}.rwnd", flow.name), what);
        }
        for flow in flows.iter().filter(|flow| flow.direction == direction) {
            if flow.sndbuf != first.sndbuf {
                let what = format!(
                    "sndbuf different from that of flow {}: in a chain they share the sending \
                     host (give all the same, or use a dumbbell)",
                    first.name
                );
                found.refuse(format!("flow.{}.sndbuf", flow.name), what);
            }
        }
    }
}

/// Settings of the whole machine are the same for every flow on a kernel that names them.
fn machine(scenario: &Scenario, found: &mut Found) {
    let mut first: BTreeMap<(Option<&str>, &str), (&str, &str)> = BTreeMap::new();
    for flow in &scenario.flows {
        let kernel = scenario.kernel_of(flow);
        for (name, value) in flow
            .sysctl
            .iter()
            .filter(|(name, _)| settings::is_machine_wide(name))
        {
            let (known, by) = *first.entry((kernel, name)).or_insert((value, &flow.name));
            if known != value {
                let what = format!(
                    "kernel setting {name} different from that of flow {by}: it holds for the \
                     whole machine"
                );
                found.refuse(format!("flow.{}.sysctl", flow.name), what);
            }
        }
    }
}
