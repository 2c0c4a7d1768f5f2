//! A graph of links, and what says which way packets go in it.

use cclab_units::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::link::Link;
use crate::routes::{Arc, Routes};

/// The links of a `topology = "graph"`. Nodes are what links join: hosts and routers are told
/// apart by what runs on them alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Graph {
    /// Every link, in the order of the study file.
    pub links: Vec<GraphLink>,
    /// Index of the link under study, in the direction from `from` to `to`.
    pub bottleneck: u32,
    /// Which of several shortest ways packets take.
    #[serde(default, skip_serializing_if = "Routing::is_default")]
    pub routing: Routing,
    /// Changes of routes during the run, in the order of time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reroutes: Vec<Reroute>,
}

/// Which of several shortest ways packets take: those of the same delay and as many links.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Routing {
    /// All take the first in the order of the links' names.
    #[default]
    Shortest,
    /// Equal-cost multi-path: each flow, source of traffic and probe takes one of them, which a
    /// hash of its name chooses anew at each node.
    Ecmp,
}

impl Routing {
    fn is_default(&self) -> bool {
        *self == Routing::default()
    }
}

/// A change of routes: from then on they are the shortest ways without some links.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reroute {
    /// When.
    pub at: Time,
    /// Indices in [`Graph::links`] of those that no route crosses.
    pub without: Vec<u32>,
}

/// A link of a graph.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GraphLink {
    /// Unique name.
    pub name: String,
    /// Node at its beginning.
    pub from: String,
    /// Node at its end.
    pub to: String,
    /// Whether there is no way back.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub one_way: bool,
    /// What it is like, both ways; losses, outages and the rest act from `from` to `to`.
    pub link: Link,
}

impl Graph {
    /// The ways through it.
    pub fn routes(&self) -> Routes<'_> {
        let arcs = self.links.iter().map(|link| Arc {
            name: &link.name,
            from: &link.from,
            to: &link.to,
            one_way: link.one_way,
            delay: link.link.delay,
        });
        Routes::new(arcs.collect(), self.routing, &self.reroutes)
    }
}
