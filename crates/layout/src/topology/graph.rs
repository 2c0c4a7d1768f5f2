//! An arbitrary graph with static shortest-path routes.

use std::collections::BTreeMap;

use cclab_spec::{Graph, Reroute, Step};
use cclab_units::Time;

use crate::builder::{Builder, Sides, Traveller};
use crate::layout::{LinkId, NodeId, Role};

/// Lays the links, that under study first, and the ways of all `travellers`.
pub(super) fn lay(builder: &mut Builder<'_>, travellers: &[Traveller<'_>]) {
    let graph = builder.scenario.network.graph.as_ref();
    let graph = graph.expect("a graph without links is refused with the study");
    let nodes = nodes(builder, graph);
    let links = links(builder, graph, &nodes);
    let mut routes = Routes {
        graph,
        links,
        known: BTreeMap::new(),
    };
    for traveller in travellers {
        let (from, to) = traveller
            .nodes
            .expect("in a graph everything runs between nodes");
        let sides = Sides {
            nodes: [nodes[from], nodes[to]],
            rightward: routes.between(from, to),
            leftward: routes.between(to, from),
            detours: routes.detours(from, to),
            access: None,
        };
        builder.route_with_own_delay(traveller, sides);
    }
}

/// The nodes by their names, in the order in which the links name them.
fn nodes<'a>(builder: &mut Builder<'_>, graph: &'a Graph) -> BTreeMap<&'a str, NodeId> {
    let mut nodes = BTreeMap::new();
    let ends = graph.links.iter().flat_map(|link| [&link.from, &link.to]);
    for name in ends {
        nodes
            .entry(name.as_str())
            .or_insert_with(|| builder.node(name.clone(), Role::Any));
    }
    nodes
}

/// The links of the layout for each of the graph's, there and back: the same for one without a way
/// back.
fn links(
    builder: &mut Builder<'_>,
    graph: &Graph,
    nodes: &BTreeMap<&str, NodeId>,
) -> Vec<[LinkId; 2]> {
    let ends = |index: usize| {
        let link = &graph.links[index];
        [nodes[link.from.as_str()], nodes[link.to.as_str()]]
    };
    let under_study = graph.bottleneck as usize;
    let name = graph.links[under_study].name.clone();
    let bottleneck = builder.bottleneck(name, ends(under_study));
    let mut links = Vec::new();
    for (index, link) in graph.links.iter().enumerate() {
        if index == under_study {
            links.push(bottleneck);
            continue;
        }
        let lines = builder.lines(&link.link);
        let name = link.name.clone();
        let pair = match link.one_way {
            true => [builder.one_way(name, ends(index), lines[0]); 2],
            false => builder.pair(name, ends(index), lines, Time::ZERO),
        };
        builder.impair_link(pair[0], lines[0]);
        if !link.one_way {
            builder.impair_link(pair[1], lines[1]);
        }
        links.push(pair);
    }
    links
}

/// Routes, each computed once.
struct Routes<'a> {
    graph: &'a Graph,
    links: Vec<[LinkId; 2]>,
    known: BTreeMap<(&'a str, &'a str), Vec<LinkId>>,
}

impl<'a> Routes<'a> {
    /// The ways there and back after each change of routes.
    fn detours(&self, from: &str, to: &str) -> Vec<(Time, [Vec<LinkId>; 2])> {
        let way = |reroute: &Reroute, from: &str, to: &str| {
            let steps = self.graph.route_after(reroute, from, to);
            let steps = steps.expect("nodes without a way are refused with the study");
            self.over(steps)
        };
        let reroutes = self.graph.reroutes.iter();
        let detours = reroutes.map(|r| (r.at, [way(r, from, to), way(r, to, from)]));
        detours.collect()
    }

    fn over(&self, steps: Vec<Step>) -> Vec<LinkId> {
        let link = |step: Step| self.links[step.link][usize::from(step.back)];
        steps.into_iter().map(link).collect()
    }

    fn between(&mut self, from: &'a str, to: &'a str) -> Vec<LinkId> {
        if let Some(way) = self.known.get(&(from, to)) {
            return way.clone();
        }
        let steps = self.graph.route(from, to);
        let way = self.over(steps.expect("nodes without a way are refused with the study"));
        self.known.insert((from, to), way.clone());
        way
    }
}
