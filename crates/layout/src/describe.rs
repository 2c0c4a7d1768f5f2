//! What a scenario is before anything runs, for people: its links, each flow's path over them, and
//! the windows and packet sizes that its stack gives it.

use std::collections::BTreeMap;

use cclab_cc::Arithmetic;
use cclab_spec::{Flow, Probe, Scenario, Traffic};
use cclab_tcp::profile::{self, Profile};
use cclab_units::Time;
use schemars::JsonSchema;
use serde::Serialize;

use crate::ends::{Ends, profile_of};
use crate::ideal::alone;
use crate::layout::{Journey, Layout, LinkId};

/// A scenario's network and flows, for people. Lists are in the scenario's order.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Description {
    /// Every link in one direction.
    pub links: Vec<LinkFacts>,
    /// Every flow.
    pub flows: Vec<FlowFacts>,
    /// Every source of cross traffic.
    pub traffic: Vec<TrafficFacts>,
    /// Every probe.
    pub probes: Vec<ProbeFacts>,
}

/// A probe.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ProbeFacts {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: String,
    /// Links that its requests cross, in order, as indices of [`Description::links`].
    pub data: Vec<usize>,
    /// Links that its answers cross.
    pub acks: Vec<usize>,
    /// Propagation over the whole path and back, in seconds.
    pub base_rtt_s: f64,
    /// The round trip on the empty path: that and the transmission of request and answer.
    pub idle_rtt_s: f64,
    /// Bytes of a packet on a link.
    pub packet_bytes: u64,
    /// What it sends each way.
    pub load_bps: f64,
}

/// A source of cross traffic.
#[derive(Clone, Debug, Serialize, JsonSchema)]
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
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LinkFacts {
    /// Its name in traces.
    pub name: String,
    /// Bits per second; `None`: infinitely fast.
    pub rate_bps: Option<u64>,
    /// One-way propagation delay in seconds.
    pub delay_s: f64,
}

/// A flow.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FlowFacts {
    /// Its name.
    pub name: String,
    /// Its variant; empty over UDP.
    pub cc: String,
    /// Over UDP, the payload that its source sends in the mean, in bit/s.
    pub source_bps: Option<f64>,
    /// Whether the simulator has that variant.
    pub cc_simulated: bool,
    /// The variant's parameters: as given, else their defaults; those without either are absent.
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
    /// Largest window that the receiver advertises, in bytes; `None` over UDP.
    pub rwnd_bytes: Option<u64>,
    /// Bytes of payload that the send buffer ever holds; `None`: no limit.
    pub sndbuf_bytes: Option<u64>,
    /// Bytes of payload that it lets go in a round trip, at most: fewer than it holds where the
    /// application writes again only when a part is free.
    pub sndbuf_round_bytes: Option<u64>,
    /// Initial window in bytes.
    pub initial_window_bytes: u64,
    /// Smallest retransmission timeout, in seconds.
    pub rto_min_s: f64,
    /// How long its transfer takes alone on the empty path, in seconds (docs/traffic.md); `None`
    /// of a flow without one, and where something else than the path sets its pace: its
    /// application, its writes, a program, the packet rate of a host or router.
    pub alone_s: Option<f64>,
}

/// The JSON Schema of a [`Description`] as it is written.
pub fn description_schema() -> String {
    cclab_spec::schema_as_written::<Description>()
}

/// Describes `scenario`; `None` if there is no stack of its name.
pub fn describe(scenario: &Scenario) -> Option<Description> {
    let layout = Layout::of(scenario);
    let profile = profile::find(&scenario.stack)?;
    let links = layout.ids().map(|(id, link)| LinkFacts {
        name: link.name.clone(),
        rate_bps: layout.rate(id).map(|rate| rate.bps()),
        delay_s: layout.delay(id).as_secs_f64(),
    });
    let flows = scenario.flows.iter().zip(&layout.flows);
    let flows = flows.map(|(spec, journey)| flow_facts(scenario, spec, &layout, journey));
    let traffic = scenario.traffic.iter().zip(&layout.traffic);
    let traffic = traffic.map(|(spec, journey)| traffic_facts(spec, profile, &layout, journey));
    let probes = scenario.probes.iter().zip(&layout.probes);
    let probes = probes.map(|(spec, journey)| probe_facts(spec, profile, &layout, journey));
    Some(Description {
        links: links.collect(),
        flows: flows.collect::<Option<_>>()?,
        traffic: traffic.collect(),
        probes: probes.collect(),
    })
}

fn traffic_facts(
    spec: &Traffic,
    profile: &Profile,
    layout: &Layout,
    journey: &Journey,
) -> TrafficFacts {
    let ends = Ends::of(profile, &Flow::bulk(&spec.name, "reno"));
    TrafficFacts {
        name: spec.name.clone(),
        kind: spec.kind.clone(),
        base_rtt_s: layout.base_rtt_s(journey),
        data: indices(&journey.data),
        acks: indices(&journey.acks),
        mean_size_bytes: spec.sizes.as_ref().map(cclab_spec::Sizes::mean),
        payload_bytes: ends.payload,
        header_bytes: ends.overhead,
        framing_bytes: u64::from(profile.wire.framing),
    }
}

fn probe_facts(spec: &Probe, profile: &Profile, layout: &Layout, journey: &Journey) -> ProbeFacts {
    let bytes = u64::from(spec.packet_bytes(profile.wire.framing));
    let ways = journey.data.iter().chain(&journey.acks);
    let sent = ways.filter_map(|&link| Some(layout.rate(link)?.time_of(bytes)));
    ProbeFacts {
        name: spec.name.clone(),
        kind: spec.kind.name().to_owned(),
        data: indices(&journey.data),
        acks: indices(&journey.acks),
        base_rtt_s: layout.base_rtt_s(journey),
        idle_rtt_s: (layout.base_rtt(journey) + sent.sum::<Time>()).as_secs_f64(),
        packet_bytes: bytes,
        load_bps: bytes as f64 * 8.0 / spec.interval.as_secs_f64(),
    }
}

fn indices(way: &[LinkId]) -> Vec<usize> {
    way.iter().map(|link| link.index()).collect()
}

fn flow_facts(
    scenario: &Scenario,
    spec: &Flow,
    layout: &Layout,
    journey: &Journey,
) -> Option<FlowFacts> {
    let profile = profile_of(scenario, spec)?;
    let ends = Ends::of(&profile, spec);
    let variant = cclab_cc::find_simulated(&spec.cc);
    let buffer = profile.send_buffer.filter(|_| spec.udp.is_none());
    Some(FlowFacts {
        name: spec.name.clone(),
        cc: spec.cc.clone(),
        source_bps: spec.udp.map(|source| source.mean_bps()),
        cc_simulated: variant.is_some() || scenario.variant_file(&spec.cc).is_some(),
        cc_params: parameters(spec),
        counts_segments: profile.arithmetic == Arithmetic::Segments,
        base_rtt_s: layout.base_rtt_s(journey),
        payload_bytes: ends.payload,
        packet_bytes: ends.packet(),
        ack_bytes: ends.overhead,
        ack_every: ends.ack_every,
        segments_per_step: match profile.arithmetic {
            Arithmetic::Bytes | Arithmetic::Segments => 1,
            Arithmetic::PerAckBytes | Arithmetic::PerAckSegments => ends.ack_every,
        },
        rwnd_bytes: spec.udp.is_none().then_some(ends.rwnd),
        sndbuf_bytes: buffer.map_or(ends.sndbuf, |buffer| Some(buffer.most_payload())),
        sndbuf_round_bytes: buffer.map_or(ends.sndbuf, |buffer| {
            let least = profile.bursts.map_or(1, |bursts| bursts.least);
            Some(buffer.payload_of_round(least * ends.payload))
        }),
        initial_window_bytes: ends.initial_window * ends.payload,
        rto_min_s: profile.rto.min.as_secs_f64(),
        alone_s: alone(scenario, spec, layout, journey, &ends).map(Time::as_secs_f64),
        data: indices(&journey.data),
        acks: indices(&journey.acks),
    })
}

/// What the parameters of the variant of `spec` are, as far as they are not derived.
fn parameters(spec: &Flow) -> BTreeMap<String, f64> {
    let declared = cclab_cc::find_simulated(&spec.cc).map_or(&[][..], |variant| variant.params);
    let value = |name| spec.cc_params.get(name).copied();
    let values = declared
        .iter()
        .map(|p| (p.name, value(p.name).unwrap_or(p.default)));
    let fixed = values.filter(|(_, value)| !value.is_nan());
    fixed
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_study(text: &str) -> Description {
        let study = cclab_spec::Study::load(text, "study.toml").expect("a good study");
        let plan = study
            .plan(&cclab_spec::Overrides::default(), &|_, _| String::new())
            .expect("a plan");
        describe(&plan.runs[0].run.scenario).expect("a stack that there is")
    }

    #[test]
    fn a_send_buffer_that_grows_is_known_and_what_it_lets_go_in_a_round_trip() {
        let with = |stack: &str, flow: &str| {
            let found = of_study(&format!(
                "duration = \"1s\"\nstack = \"{stack}\"\n[network.bottleneck]\nrate = \"10Mbit\"\n\
                 queue = {{ limit = \"100p\" }}\n[[flow]]\nname = \"a\"\nrtt = \"40ms\"\n{flow}",
            ));
            let a = &found.flows[0];
            (a.sndbuf_bytes, a.sndbuf_round_bytes)
        };
        // 4 MiB are 64 packets of 65,160 bytes and 896 beside; a third of them takes 22.
        assert_eq!(
            with("linux-6.12", ""),
            (Some(64 * 65_160), Some(2 * 22 * 65_160))
        );
        // The last packet goes in whole, and fills more than two thirds.
        let one = Some(65_160);
        assert_eq!(with("linux-6.12", "sndbuf = \"64kB\""), (one, one));
        // Where the buffer is of payload, it lets go what it holds.
        let held = Some(1_000_000);
        assert_eq!(with("rfc", "sndbuf = \"1MB\""), (held, held));
        assert_eq!(with("rfc", ""), (None, None));
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
