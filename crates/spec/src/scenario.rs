//! The resolved experiment: what a backend executes. Everything is in integers and in one
//! unit each; the text of the study file, sweeps and defaults are gone.

use std::collections::BTreeMap;

use cclab_units::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::flow::{self, Direction, Flow};
use crate::graph::Graph;
use crate::link::Link;
use crate::probe::Probe;
use crate::variant_file::VariantFile;

/// One sweep point of a study, ready to run. Holds only what can change a result, so that a
/// run's content hash does not depend on titles, questions or the order of keys.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// When the run ends; absent: when every flow has ended.
    pub duration: Option<Time>,
    /// Left out of the `steady_*` metrics.
    pub warmup: Time,
    /// Name of the profile of TCP behaviour.
    pub stack: String,
    /// The name of the kernel of hosts that have none of their own; absent: that which is used by
    /// default. (Backend `linux`.)
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// The network.
    pub network: Network,
    /// The flows, `count` unrolled, in the order of the study file.
    #[serde(deserialize_with = "flow::alike")]
    pub flows: Vec<Flow>,
    /// Cross traffic.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub traffic: Vec<Traffic>,
    /// Probes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub probes: Vec<Probe>,
    /// The files of variants that flows and cross traffic have, each once, in the order of their
    /// labels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variant_files: Vec<VariantFile>,
    /// What is recorded.
    pub trace: TraceOptions,
}

/// How hosts and routers are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Topology {
    /// One source host, two routers, one sink host; flows share the access links.
    Chain,
    /// Two routers; every flow has a host of its own on either side.
    Dumbbell,
    /// Several equal bottlenecks in a row between routers; each flow crosses some of them, from
    /// a host of its own to another.
    ParkingLot,
    /// An arbitrary graph.
    Graph,
}

/// Whose links carry the packets of a kernel's hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum By {
    /// The kernel's: its queueing disciplines, set up by `tc`.
    Kernel,
    /// The simulator's, between hosts of the kernel in virtual time.
    Simulator,
}

/// The network of a scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// How hosts and routers are joined.
    pub topology: Topology,
    /// Whose links carry the packets; absent: those that the backend likes best.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<By>,
    /// The link under study, and its mirror image for the way back.
    pub bottleneck: Link,
    /// The links between hosts and routers.
    pub access: Link,
    /// How many such bottlenecks there are in a row: 1 but in a parking lot.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub bottlenecks: u32,
    /// The links of a graph, of which the bottleneck is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graph: Option<Graph>,
    /// What each router forwards at most; absent: whatever comes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub router: Option<Forwarder>,
}

/// A router whose processor is the limit: it forwards one packet after the other, whatever
/// their size and direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Forwarder {
    /// Packets per second, both directions together.
    pub packet_rate: u64,
    /// Packets that may wait for it.
    pub backlog: u64,
}

fn one() -> u32 {
    1
}

fn is_one(count: &u32) -> bool {
    *count == 1
}

/// A queueing discipline and its limit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Queue {
    /// Name in the registry of queueing disciplines.
    pub kind: String,
    /// How much it holds.
    pub limit: Limit,
    /// Parameters of the discipline, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub params: BTreeMap<String, f64>,
}

/// The size of a queue. Times and bandwidth-delay products have become bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Limit {
    /// Bytes, headers and framing included.
    Bytes(u64),
    /// Packets.
    Packets(u64),
}

impl Scenario {
    /// The name of the kernel of the two hosts of `flow`; `None` of the one used by default.
    pub fn kernel_of<'a>(&'a self, flow: &'a Flow) -> Option<&'a str> {
        flow.kernel.as_deref().or(self.kernel.as_deref())
    }

    /// The kernels that it is run on, each once: those of its flows, in their order, and of probes.
    pub fn kernels(&self) -> Vec<Option<&str>> {
        let mut found: Vec<Option<&str>> = Vec::new();
        for kernel in self.flows.iter().map(|flow| self.kernel_of(flow)) {
            if !found.contains(&kernel) {
                found.push(kernel);
            }
        }
        let own = self.kernel.as_deref();
        let needed = !self.probes.is_empty() || found.is_empty();
        if needed && !found.contains(&own) {
            found.push(own);
        }
        found
    }

    /// The file of the variant that flows call `cc`; `None` of a built-in one.
    pub fn variant_file(&self, cc: &str) -> Option<&VariantFile> {
        self.variant_files.iter().find(|file| file.label == cc)
    }

    /// Drops the files of variants that no flow and no cross traffic has.
    pub(crate) fn drop_unused_variant_files(&mut self) {
        let flows = self.flows.iter().map(|flow| &flow.cc);
        let used: Vec<&String> = flows
            .chain(self.traffic.iter().filter_map(|one| one.cc.as_ref()))
            .collect();
        self.variant_files
            .retain(|file| used.contains(&&file.label));
    }

    /// The names of its groups of flows, in the order in which their first flows stand.
    pub fn groups(&self) -> Vec<&str> {
        let mut found: Vec<&str> = Vec::new();
        for group in self.flows.iter().filter_map(Flow::group) {
            if !found.contains(&group) {
                found.push(group);
            }
        }
        found
    }
}

/// Cross traffic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Traffic {
    /// Unique name.
    pub name: String,
    /// Its kind; `cclab list traffic` has them.
    pub kind: String,
    /// Extra one-way delay, each way, so that the path has the base RTT asked for.
    pub extra_delay: Time,
    /// Which way its data go.
    pub direction: Direction,
    /// The first and the last bottleneck that it crosses, counted from 1; absent: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crosses: Option<[u32; 2]>,
    /// The node of a graph that the data come from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The node of a graph that the data go to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// When it begins.
    pub start: Time,
    /// When it ends; absent: with the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Time>,
    /// Name of the variant, or the label of its file, of kinds that are TCP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cc: Option<String>,
    /// Parameters of the variant.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub cc_params: BTreeMap<String, f64>,
    /// Sizes of transfers, of kinds that have them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sizes: Option<Sizes>,
    /// The source whose random numbers it draws, and so its arrivals and sizes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub twin_of: Option<String>,
    /// Parameters by name, in SI units, defaults filled in.
    pub params: BTreeMap<String, f64>,
}

/// How large transfers are, in bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Sizes {
    /// All alike.
    Fixed {
        /// So large.
        bytes: u64,
    },
    /// Lognormal.
    Lognormal {
        /// Mean.
        mean: f64,
        /// Standard deviation of the logarithm.
        sigma: f64,
    },
    /// Pareto.
    Pareto {
        /// Mean.
        mean: f64,
        /// Exponent of the tail, above 1.
        shape: f64,
    },
    /// As measured: linear between points of the cumulative distribution, the first of which is
    /// the share of its own size.
    Empirical {
        /// Size and the share of transfers up to it, rising to 1.
        points: Vec<(u64, f64)>,
    },
}

impl Sizes {
    /// The mean.
    pub fn mean(&self) -> f64 {
        match self {
            Sizes::Fixed { bytes } => *bytes as f64,
            Sizes::Lognormal { mean, .. } | Sizes::Pareto { mean, .. } => *mean,
            Sizes::Empirical { points } => {
                let first = points
                    .first()
                    .map_or(0.0, |&(size, share)| size as f64 * share);
                let between = points.windows(2).map(|ends| {
                    let [(low, before), (high, reached)] = [ends[0], ends[1]];
                    (low + high) as f64 / 2.0 * (reached - before)
                });
                first + between.sum::<f64>()
            }
        }
    }
}

/// What is recorded. Everything costs nothing when it is off.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TraceOptions {
    /// Distance of the samples of each flow and queue; zero: none.
    pub interval: Time,
    /// One row per acknowledgement, per queue event, per drop.
    pub events: Vec<EventKind>,
    /// Points at which packets are captured: `bottleneck`, `FLOW.sender`, `FLOW.receiver`, and links
    /// by their names.
    pub capture: Vec<String>,
    /// Bytes of each captured packet that are kept.
    pub snaplen: u32,
    /// Events and captures begin here.
    pub from: Time,
    /// Events and captures end here; absent: at the run's end.
    pub until: Option<Time>,
}

/// A kind of traced event.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum EventKind {
    /// Each acknowledgement as the sender sees it.
    Ack,
    /// Each packet that enters and leaves the queue of a bottleneck, or of its way back.
    Queue,
    /// Each packet lost, wherever.
    Drop,
    /// The inner state of each flow's variant, wherever it becomes another.
    State,
}

/// A scenario with a seed: the unit of work and of storage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// Content hash of everything below.
    pub id: String,
    /// What runs.
    pub scenario: Scenario,
    /// Seed of every random stream.
    pub seed: u64,
    /// `sim`, `linux` or `netns`.
    pub backend: String,
    /// What else determines the result: the versions of what the scenario uses
    /// ([`crate::determinants`]), or of the kernel backends and the kernel.
    pub version: String,
}
