//! What a scenario is before anything runs: its links, each flow's path over them, and the
//! windows and packet sizes that its stack gives it.

use std::collections::BTreeMap;

use cclab_cc::Arithmetic;
use cclab_spec::{Scenario, Traffic};
use cclab_tcp::profile::Profile;
use serde::Serialize;

use crate::forwarding::{Forwarding, HOST};
use crate::topology::{self, Network};
use crate::traffic::ideal::Ideal;
use crate::{flow, stack};

/// Any seed: the network does not depend on it.
const SEED: u64 = 1;

/// A scenario's network and flows, for people. Lists are in the scenario's order.
#[derive(Clone, Debug, Serialize)]
pub struct Description {
    /// Every link in one direction.
    pub links: Vec<LinkFacts>,
    /// Every flow.
    pub flows: Vec<FlowFacts>,
    /// Every source of cross traffic.
    pub traffic: Vec<TrafficFacts>,
}

/// A source of cross traffic.
#[derive(Clone, Debug, Serialize)]
pub struct TrafficFacts {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: String,
    /// Links that its data crosses, in order, as indices of [`Description::links`].
    pub data: Vec<usize>,
    /// Links that acknowledgements, requests and replies cross.
    pub acks: Vec<usize>,
    /// Propagation over the whole path and back, in seconds.
    pub base_rtt_s: f64,
    /// Bytes that its transfers or answers have on average; `None` of kinds without.
    pub mean_size_bytes: Option<f64>,
    /// Payload bytes of a full segment of its connections.
    pub payload_bytes: u64,
    /// Bytes on a link beyond the payload of a segment of its connections.
    pub header_bytes: u64,
    /// Bytes of link framing of a packet.
    pub framing_bytes: u64,
}

/// A link in one direction.
#[derive(Clone, Debug, Serialize)]
pub struct LinkFacts {
    /// Its name in traces.
    pub name: String,
    /// Bits per second; `None`: infinitely fast.
    pub rate_bps: Option<u64>,
    /// One-way propagation delay in seconds.
    pub delay_s: f64,
}

/// A flow.
#[derive(Clone, Debug, Serialize)]
pub struct FlowFacts {
    /// Its name.
    pub name: String,
    /// Its variant.
    pub cc: String,
    /// Whether the simulator has that variant.
    pub cc_simulated: bool,
    /// The variant's parameters: as given, else their defaults; those that have none are left out.
    pub cc_params: BTreeMap<String, f64>,
    /// Whether its window counts whole segments, as the modules of Linux do.
    pub counts_segments: bool,
    /// Links that its data crosses, in order, as indices of [`Description::links`].
    pub data: Vec<usize>,
    /// Links that its acknowledgements cross.
    pub acks: Vec<usize>,
    /// Propagation over the whole path and back, in seconds.
    pub base_rtt_s: f64,
    /// Payload bytes of a full segment.
    pub payload_bytes: u64,
    /// Bytes of a full packet on a link.
    pub packet_bytes: u64,
    /// Bytes of an acknowledgement on a link.
    pub ack_bytes: u64,
    /// Segments per acknowledgement.
    pub ack_every: u32,
    /// Segments acknowledged for each step of the window: 1 where the stack counts what an
    /// acknowledgement covers, `ack_every` where it counts acknowledgements.
    pub segments_per_step: u32,
    /// Largest window that the receiver advertises, in bytes.
    pub rwnd_bytes: u64,
    /// Send buffer in bytes; `None`: no limit.
    pub sndbuf_bytes: Option<u64>,
    /// Initial window in bytes.
    pub initial_window_bytes: u64,
    /// Smallest retransmission timeout, in seconds.
    pub rto_min_s: f64,
    /// How long its transfer takes alone on the empty path, in seconds (docs/traffic.md); `None`
    /// of a flow without one, and where something else than the path sets its pace: its
    /// application, its writes, a program, the packet rate of a host or router.
    pub alone_s: Option<f64>,
}

/// Describes `scenario`. A variant that only the kernel has changes nothing of the network.
///
/// # Errors
/// What [`crate::unsupported`] names first: there is no network to describe then.
pub fn describe(scenario: &Scenario) -> Result<Description, crate::SimError> {
    let mut description = described(&with_variants_of_its_own(scenario))?;
    for (facts, spec) in description.flows.iter_mut().zip(&scenario.flows) {
        facts.cc.clone_from(&spec.cc);
        facts.cc_simulated = cclab_cc::find(&spec.cc).is_some();
    }
    Ok(description)
}

/// Describes `scenario` as [`describe`] does, and also what only a kernel can run: packets and paths
/// are those of its stack, whatever program writes and whatever discipline the queues have.
///
/// # Errors
/// If the simulator cannot lay out such a network.
pub fn describe_paths(scenario: &Scenario) -> Result<Description, crate::SimError> {
    let mut scenario = with_variants_of_its_own(scenario);
    let network = &mut scenario.network;
    let edges = network.graph.iter_mut().flat_map(|graph| &mut graph.links);
    let edges = edges.map(|edge| &mut edge.link);
    for link in edges.chain([&mut network.bottleneck, &mut network.access]) {
        let back = link.reverse.as_deref_mut().map(|back| &mut back.queue);
        for queue in back.into_iter().chain([&mut link.queue]) {
            "droptail".clone_into(&mut queue.kind);
            queue.params.clear();
        }
    }
    for flow in &mut scenario.flows {
        flow.delay_at = cclab_spec::DelayAt::Router;
        flow.sysctl
            .retain(|name, value| stack::unsupported_setting(name, value).is_none());
        if flow.command.take().is_some() {
            // How much a program sends is its own affair.
            flow.transfer = None;
        }
    }
    described(&scenario)
}

/// `scenario` with Reno for the variants of flows that the simulator does not have.
fn with_variants_of_its_own(scenario: &Scenario) -> Scenario {
    let mut scenario = scenario.clone();
    for flow in &mut scenario.flows {
        if cclab_cc::find(&flow.cc).is_none() {
            flow.cc = "reno".to_owned();
            flow.cc_params.clear();
        }
    }
    scenario
}

fn described(scenario: &Scenario) -> Result<Description, crate::SimError> {
    if let Some(crate::Unsupported { path, what }) = crate::unsupported(scenario).into_iter().next()
    {
        return Err(crate::SimError::Unsupported { path, what });
    }
    let profile =
        cclab_tcp::profile::find(&scenario.stack).expect("unknown stacks are refused before this");
    let network = topology::build(scenario, profile, SEED);
    let flows = (0..scenario.flows.len()).map(|index| flow_facts(scenario, index, &network));
    let flows = flows.collect();
    let links = network.links.iter().map(|link| LinkFacts {
        name: link.name.to_string(),
        rate_bps: link.rate.map(|rate| rate.bps()),
        delay_s: link.delay().as_secs_f64(),
    });
    let traffic = scenario.traffic.iter().zip(&network.ways);
    let traffic = traffic.map(|(spec, ways)| traffic_facts(spec, ways, profile, &network));
    Ok(Description {
        links: links.collect(),
        flows,
        traffic: traffic.collect(),
    })
}

fn traffic_facts(
    spec: &Traffic,
    ways: &topology::Ways,
    profile: &Profile,
    network: &Network,
) -> TrafficFacts {
    let indices =
        |links: &[u32]| -> Vec<usize> { links.iter().map(|&link| link as usize).collect() };
    let (data, acks) = (indices(&ways.data), indices(&ways.acks));
    let payload = flow::payload_of(profile.wire.mss, profile);
    TrafficFacts {
        name: spec.name.clone(),
        kind: spec.kind.clone(),
        base_rtt_s: one_way(network, &data) + one_way(network, &acks),
        data,
        acks,
        mean_size_bytes: spec.sizes.as_ref().map(cclab_spec::Sizes::mean),
        payload_bytes: u64::from(payload),
        header_bytes: headers(profile),
        framing_bytes: u64::from(profile.wire.framing),
    }
}

/// Bytes on a link beyond the payload of a segment.
fn headers(profile: &Profile) -> u64 {
    let wire = &profile.wire;
    let options = if wire.timestamps { 12 } else { 0 };
    u64::from(wire.ip_header + wire.tcp_header + wire.framing + options)
}

/// Propagation over `links` in seconds.
fn one_way(network: &Network, links: &[usize]) -> f64 {
    let delays = links.iter().map(|&link| network.links[link].delay());
    delays.map(|delay| delay.as_secs_f64()).sum()
}

fn flow_facts(scenario: &Scenario, index: usize, network: &Network) -> FlowFacts {
    let spec = &scenario.flows[index];
    let profile = stack::profile_of(scenario, spec);
    let wire = &profile.wire;
    let payload = flow::payload_of(spec.mss.unwrap_or(wire.mss), &profile);
    let headers = headers(&profile);
    let path = network.paths[index];
    let data = route(&network.forwarding, path.data, index, false);
    let acks = route(&network.forwarding, path.acks, index, true);
    let ack_every = spec.delayed_ack.unwrap_or(profile.ack.every);
    FlowFacts {
        name: spec.name.clone(),
        cc: spec.cc.clone(),
        cc_simulated: true,
        cc_params: parameters(spec),
        counts_segments: profile.arithmetic == Arithmetic::Segments,
        base_rtt_s: one_way(network, &data) + one_way(network, &acks),
        payload_bytes: u64::from(payload),
        packet_bytes: u64::from(payload) + headers,
        ack_bytes: headers,
        ack_every,
        segments_per_step: match profile.arithmetic {
            Arithmetic::Bytes | Arithmetic::Segments => 1,
            Arithmetic::PerAckBytes | Arithmetic::PerAckSegments => ack_every,
        },
        rwnd_bytes: flow::rwnd_of(spec, &profile, payload),
        sndbuf_bytes: Some(profile.sndbuf).filter(|&bytes| bytes != u64::MAX),
        initial_window_bytes: profile.initial_window_segments * u64::from(payload),
        rto_min_s: profile.rto.min.as_secs_f64(),
        alone_s: alone(scenario, spec, network, (&data, &acks)),
        data,
        acks,
    }
}

/// How long the transfer of `spec` takes alone over the links `data` and `acks`.
fn alone(
    scenario: &Scenario,
    spec: &cclab_spec::Flow,
    network: &Network,
    (data, acks): (&[usize], &[usize]),
) -> Option<f64> {
    let transfer = spec.transfer?;
    let paced = spec.application.is_some()
        || spec.writes_per_second.is_some()
        || spec.duration.is_some()
        || spec.packet_rate.is_some()
        || scenario.network.router.is_some();
    if paced {
        return None;
    }
    let indices = |way: &[usize]| -> Vec<u32> { way.iter().map(|&link| link as u32).collect() };
    let ideal = Ideal::of(
        scenario,
        spec,
        &network.links,
        &indices(data),
        &indices(acks),
    );
    Some(ideal.completion(transfer).as_secs_f64())
}

/// What the parameters of the variant of `spec` are, as far as they are not derived.
fn parameters(spec: &cclab_spec::Flow) -> BTreeMap<String, f64> {
    let declared = cclab_cc::find(&spec.cc).map_or(&[][..], |variant| variant.params);
    let value = |name| spec.cc_params.get(name).copied();
    let values = declared
        .iter()
        .map(|p| (p.name, value(p.name).unwrap_or(p.default)));
    let fixed = values.filter(|(_, value)| !value.is_nan());
    fixed
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

/// The links from `first` to a host, for the data of `flow` or (`backward`) its acknowledgements.
fn route(forwarding: &Forwarding, first: u32, flow: usize, backward: bool) -> Vec<usize> {
    let onward = |&link: &usize| match forwarding.next(link, flow as u32, backward) {
        HOST => None,
        next => Some(next as usize),
    };
    std::iter::successors(Some(first as usize), onward).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_study(text: &str) -> Description {
        let study = cclab_spec::Study::load(text, "study.toml").expect("a good study");
        let plan = study
            .plan(&cclab_spec::Overrides::default(), &|_, _| String::new())
            .expect("a plan");
        describe(&plan.runs[0].run.scenario).expect("the simulator can do it")
    }

    #[test]
    fn a_dumbbell_flow_crosses_three_links_each_way() {
        let found = of_study(
            "duration = \"1s\"\n[network.bottleneck]\nrate = \"10Mbit\"\ndelay = \"5ms\"\n\
             queue = { limit = \"100p\" }\n[network.access]\ndelay = \"1ms\"\n\
             [[flow]]\nname = \"a\"\nrtt = \"40ms\"\n[[flow]]\nname = \"b\"\n",
        );
        let names = |links: &[usize]| -> Vec<&str> {
            let names = links.iter().map(|&link| found.links[link].name.as_str());
            names.collect()
        };
        let a = &found.flows[0];
        assert_eq!(
            names(&a.data),
            ["a.left.access", "bottleneck", "a.right.access"]
        );
        assert_eq!(
            names(&a.acks),
            [
                "a.right.access.reverse",
                "bottleneck.reverse",
                "a.left.access.reverse"
            ]
        );
        assert!((a.base_rtt_s - 0.040).abs() < 1e-9, "{}", a.base_rtt_s);
        assert!((found.flows[1].base_rtt_s - 0.014).abs() < 1e-9);
        // linux-6.12: 1460 of MSS less 12 of timestamps; 14 of Ethernet.
        assert_eq!(
            (a.payload_bytes, a.packet_bytes, a.ack_bytes),
            (1448, 1514, 66)
        );
    }
}
