//! What the links of a study are called, and where its packets can be captured.

use crate::error::{Problem, nearest};
use crate::scenario::{Network, Scenario, Topology};

/// The point of capture at the link under study, whatever its name.
pub const BOTTLENECK_POINT: &str = "bottleneck";
/// The access links of a chain, which all share.
pub const SHARED_ACCESS: [&str; 2] = ["source.access", "sink.access"];

/// The name of the bottleneck of that number in a row, counted from 1.
pub fn bottleneck_name(number: u32) -> String {
    match number {
        1 => BOTTLENECK_POINT.to_owned(),
        number => format!("bottleneck{number}"),
    }
}

/// The hosts that a flow, source of traffic or probe has to itself, left and right.
pub fn own_hosts(name: &str) -> [String; 2] {
    ["left", "right"].map(|side| format!("{name}.{side}"))
}

/// The name of the access link of `host`.
pub fn access_name(host: &str) -> String {
    format!("{host}.access")
}

/// The name of the way back of `link`.
pub fn way_back_name(link: &str) -> String {
    format!("{link}.reverse")
}

impl Scenario {
    /// Where packets can be captured: the bottleneck, the hosts of flows, and every link, each end
    /// by the direction that leaves there.
    pub fn points(&self) -> Vec<String> {
        let flows = self.flows.iter().map(|flow| flow.name.as_str());
        let traffic = self.traffic.iter().map(|source| source.name.as_str());
        let probes = self.probes.iter().map(|probe| probe.name.as_str());
        let points = Points {
            network: &self.network,
            flows: flows.collect(),
            others: traffic.chain(probes).collect(),
        };
        points.all()
    }
}

/// What the points of capture of a scenario depend on.
pub(crate) struct Points<'a> {
    pub network: &'a Network,
    /// The names of flows.
    pub flows: Vec<&'a str>,
    /// The names of sources of traffic and of probes.
    pub others: Vec<&'a str>,
}

impl Points<'_> {
    /// All of them.
    pub fn all(&self) -> Vec<String> {
        let hosts = self
            .flows
            .iter()
            .flat_map(|flow| ["sender", "receiver"].map(|end| format!("{flow}.{end}")));
        let links = links(self.network, self.flows.iter().chain(&self.others));
        let own = [BOTTLENECK_POINT.to_owned()].into_iter().chain(hosts);
        let links = links.into_iter().filter(|link| link != BOTTLENECK_POINT);
        own.chain(links).collect()
    }

    /// The problem of `point`, which is none of them.
    pub fn unknown(&self, point: &str) -> Problem {
        let known = self.all();
        let help = match nearest(point, known.iter().map(String::as_str)) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!(
                "one of `bottleneck`, `FLOW.sender` and `FLOW.receiver`, or a link: {}; at the far \
                 end of one that goes both ways, its name and `.reverse`",
                link_forms(self.network)
            ),
        };
        Problem::new(format!("unknown point of capture `{point}`"), help)
    }
}

/// The names of all links, each direction by itself.
fn links<'a>(network: &Network, travellers: impl Iterator<Item = &'a &'a str>) -> Vec<String> {
    let there_and_back = |name: String| {
        let back = way_back_name(&name);
        [name, back]
    };
    if let Some(graph) = &network.graph {
        let names = graph.links.iter().enumerate().flat_map(|(index, link)| {
            let one_way = link.one_way && index != graph.bottleneck as usize;
            let ways = if one_way { 1 } else { 2 };
            there_and_back(link.name.clone()).into_iter().take(ways)
        });
        return names.collect();
    }
    let access: Vec<String> = match network.topology {
        Topology::Chain => SHARED_ACCESS.map(str::to_owned).to_vec(),
        _ => travellers
            .flat_map(|name| own_hosts(name))
            .map(|host| access_name(&host))
            .collect(),
    };
    let row = (1..=network.bottlenecks).map(bottleneck_name);
    row.chain(access).flat_map(there_and_back).collect()
}

/// The names of links in words: where each flow has its own, their form.
fn link_forms(network: &Network) -> String {
    let names: Vec<String> = match (&network.graph, network.topology) {
        (Some(graph), _) => graph.links.iter().map(|link| link.name.clone()).collect(),
        (None, Topology::Chain) => {
            let access = SHARED_ACCESS.map(str::to_owned);
            [bottleneck_name(1)].into_iter().chain(access).collect()
        }
        (None, _) => {
            let row = (1..=network.bottlenecks).map(bottleneck_name);
            let access = own_hosts("FLOW").map(|host| access_name(&host));
            row.chain(access).collect()
        }
    };
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}
