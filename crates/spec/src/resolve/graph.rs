//! The links of a graph, as written and as run.

use std::collections::BTreeSet;

use cclab_units::Time;

use super::link::Links;
use crate::de::At;
use crate::error::{Problem, unknown};
use crate::graph::{Graph, GraphLink, Reroute, Routing};
use crate::link::Place;
use crate::path::link_name;
use crate::routes::{Arc, Routes};
use crate::scenario::Topology;
use crate::text::BriefOrFull;
use crate::written;

/// More links are a slip.
const MAX_LINKS: usize = 10_000;

/// The names of a graph's links, as written or made from their nodes; their order is the file's.
pub(super) fn link_names(network: &written::Network) -> Vec<String> {
    let name = |link: &At<written::GraphLink>| match &link.value.name {
        Some(name) => name.value.clone(),
        None => link_name(&link.value.from.value, &link.value.to.value),
    };
    network.link.iter().map(name).collect()
}

/// The ways through `network` if it is a graph; checked, as far as names go.
pub(super) fn routes<'a>(
    network: &'a written::Network,
    names: &'a [String],
    topology: Topology,
) -> Result<Option<Routes<'a>>, Problem> {
    if topology != Topology::Graph {
        if let Some(link) = network.link.first() {
            return Err(Problem::new(
                "links are listed for a graph",
                "write topology = \"graph\", or leave the list out",
            )
            .or_at(link.at));
        }
        if let Some(reroute) = network.reroute.0.first() {
            return Err(Problem::new(
                "there is one way through this network, and no routes change",
                "write topology = \"graph\" and its links, or leave `reroute` out",
            )
            .or_at(reroute.at.at));
        }
        if let Some(routing) = &network.routing {
            return Err(Problem::new(
                "there is one way through this network, and none to choose",
                "write topology = \"graph\" and its links, or leave `routing` out",
            )
            .or_at(routing.at));
        }
        if let Some(link) = &network.bottleneck_link {
            return Err(Problem::new(
                "`bottleneck_link` belongs to a graph",
                "write topology = \"graph\", or leave it out",
            )
            .or_at(link.at));
        }
        return Ok(None);
    }
    if let Some(written) = &network.bottleneck {
        return Err(Problem::new(
            "a graph has no `bottleneck` beside its links",
            "describe it as a [[network.link]] with bottleneck = true",
        )
        .or_at(written.at));
    }
    if let Some(access) = &network.access {
        return Err(Problem::new(
            "a graph has no access links beside its links",
            "write each as a [[network.link]]",
        )
        .or_at(access.at));
    }
    if network.link.len() > MAX_LINKS {
        return Err(Problem::new(
            format!("a graph of {} links cannot be run", network.link.len()),
            format!("at most {MAX_LINKS}"),
        )
        .or_at(network.link[MAX_LINKS].at));
    }
    let mut arcs = Vec::new();
    let mut known = BTreeSet::new();
    for (At { at, value: link }, name) in network.link.iter().zip(names) {
        for node in [&link.from, &link.to] {
            plain(&node.value).map_err(|problem| problem.or_at(node.at))?;
        }
        if link.from.value == link.to.value {
            return Err(Problem::new(
                format!("a link from `{0}` to `{0}` leads nowhere", link.from.value),
                "let `from` and `to` name two nodes",
            )
            .or_at(link.to.at));
        }
        let place = link.name.as_ref().map_or(*at, |name| name.at);
        plain(name).map_err(|problem| problem.or_at(place))?;
        if !known.insert(name) {
            return Err(Problem::new(
                format!("the link `{name}` is there twice"),
                "give each a `name` of its own",
            )
            .or_at(place));
        }
        arcs.push(Arc {
            name,
            from: &link.from.value,
            to: &link.to.value,
            one_way: link.one_way,
            delay: link.delay.map_or(Time::ZERO, |delay| delay.0),
        });
    }
    let reroutes = reroutes(network, names)?;
    Ok(Some(Routes::new(arcs, routing(network), &reroutes)))
}

/// Which of several shortest ways packets take.
fn routing(network: &written::Network) -> Routing {
    network
        .routing
        .as_ref()
        .map_or_else(Routing::default, |routing| routing.value)
}

/// The changes of routes, in the order of time.
fn reroutes(network: &written::Network, names: &[String]) -> Result<Vec<Reroute>, Problem> {
    let mut reroutes = Vec::new();
    for written in &network.reroute.0 {
        let mut without = Vec::new();
        let left_out = written.without.iter();
        for (name, place) in left_out.flat_map(|at| at.value.0.iter().map(|name| (name, at.at))) {
            let index = names.iter().position(|link| link == name);
            let known = names.iter().map(String::as_str);
            let index = index.ok_or_else(|| unknown("link", name, known).or_at(place))?;
            without.push(index as u32);
        }
        without.sort_unstable();
        without.dedup();
        let at = written.at.value.0;
        reroutes.push(Reroute { at, without });
    }
    reroutes.sort_by_key(|reroute| reroute.at);
    Ok(reroutes)
}

fn plain(name: &str) -> Result<(), Problem> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !name.is_empty() && name.len() <= 64 && name.chars().all(plain) {
        return Ok(());
    }
    Err(Problem::new(
        format!("\"{name}\" cannot be a name"),
        "use up to 64 letters, digits, `-` and `_`",
    ))
}

/// The links of a graph, resolved, and the one under study.
pub(super) fn graph(
    network: &written::Network,
    link_names: &[String],
    resolved: &mut Links<'_, '_>,
) -> Result<Graph, Problem> {
    let bottleneck = under_study(network, link_names)?;
    for reroute in &network.reroute.0 {
        let begins = resolved
            .path
            .begins("a change of routes", reroute.at.value.0);
        begins.map_err(|problem| problem.or_at(reroute.at.at))?;
    }
    let mut links = Vec::new();
    for (written, name) in network.link.iter().zip(link_names) {
        let value = &written.value;
        elsewhere(value)?;
        links.push(GraphLink {
            name: name.clone(),
            from: value.from.value.clone(),
            to: value.to.value.clone(),
            one_way: value.one_way,
            link: resolved.graph_link(written)?,
        });
    }
    if links[bottleneck].link.rate.is_none() {
        return Err(Problem::new(
            format!(
                "the link under study, `{}`, is infinitely fast",
                link_names[bottleneck]
            ),
            "give it a `rate` and a `queue`",
        )
        .or_at(network.link[bottleneck].at));
    }
    Ok(Graph {
        links,
        bottleneck: bottleneck as u32,
        routing: routing(network),
        reroutes: reroutes(network, link_names)?,
    })
}

/// The index of the link under study: named, or marked.
fn under_study(network: &written::Network, names: &[String]) -> Result<usize, Problem> {
    let marked: Vec<usize> = (0..names.len())
        .filter(|&index| network.link[index].value.bottleneck)
        .collect();
    let remedy = "mark one link with bottleneck = true, or name it by `bottleneck_link`";
    match (&network.bottleneck_link, &marked[..]) {
        (Some(name), []) => {
            let known = names.iter().map(String::as_str);
            names
                .iter()
                .position(|link| *link == name.value)
                .ok_or_else(|| unknown("link", &name.value, known).or_at(name.at))
        }
        (None, [one]) => Ok(*one),
        (None, []) => Err(Problem::new(
            "no link of the graph is the one under study",
            remedy,
        )),
        (_, [.., last]) => Err(Problem::new(
            "more than one link is said to be the one under study",
            remedy,
        )
        .or_at(network.link[*last].at)),
    }
}

/// Losses and outages of a graph's link happen where packets enter it: another place is another
/// link.
fn elsewhere(written: &written::GraphLink) -> Result<(), Problem> {
    let losses = written.loss.0.iter().filter_map(|loss| match loss {
        BriefOrFull::Brief(_) => None,
        BriefOrFull::Full(loss) => loss.at,
    });
    let outages = written.outage.0.iter().filter_map(|outage| outage.at);
    let mut places = losses.chain(outages);
    match places.find(|place| *place != Place::Router) {
        None => Ok(()),
        Some(_) => Err(Problem::new(
            "a link of a graph loses packets where they enter it",
            "leave `at` out, and give the loss to the first or the last link of the path instead",
        )
        .or_at(written.from.at)),
    }
}
