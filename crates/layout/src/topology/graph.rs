//! An arbitrary graph with static shortest-path routes.

use std::collections::BTreeMap;

use cclab_spec::{Graph, Routes, Step};
use cclab_units::Time;

use crate::builder::{Builder, Sides, Traveller};
use crate::layout::{LinkId, NodeId, Role};

/// Lays the links, that under study first, and the ways of all `travellers`.
pub(super) fn lay(builder: &mut Builder<'_>, travellers: &[Traveller<'_>]) {
    let graph = builder.scenario.network.graph.as_ref();
    let graph = graph.expect("a graph without links is refused with the study");
    let nodes = nodes(builder, graph);
    let ways = Ways {
        routes: graph.routes(),
        changes: graph.reroutes.iter().map(|change| change.at).collect(),
        links: links(builder, graph, &nodes),
    };
    for traveller in travellers {
        let (from, to) = traveller
            .nodes
            .expect("in a graph everything runs between nodes");
        let [rightward, leftward] = ways.at_the_start(traveller.name, [from, to]);
        let sides = Sides {
            nodes: [nodes[from], nodes[to]],
            rightward,
            leftward,
            detours: ways.after_changes(traveller.name, [from, to]),
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

/// The ways through a graph, over the links of the layout.
struct Ways<'a> {
    routes: Routes<'a>,
    /// When they change.
    changes: Vec<Time>,
    links: Vec<[LinkId; 2]>,
}

impl Ways<'_> {
    /// The ways there and back of what is called `traveller`.
    fn at_the_start(&self, traveller: &str, ends: [&str; 2]) -> [Vec<LinkId>; 2] {
        self.there_and_back(ends, |from, to| self.routes.way(traveller, from, to))
    }

    /// The same after each change of routes.
    fn after_changes(&self, traveller: &str, ends: [&str; 2]) -> Vec<(Time, [Vec<LinkId>; 2])> {
        let after = |index, from: &str, to: &str| self.routes.way_after(index, traveller, from, to);
        let changes = self.changes.iter().enumerate();
        let ways = changes.map(|(index, &at)| {
            let ways = self.there_and_back(ends, |from, to| after(index, from, to));
            (at, ways)
        });
        ways.collect()
    }

    fn there_and_back(
        &self,
        [from, to]: [&str; 2],
        way: impl Fn(&str, &str) -> Option<Vec<Step>>,
    ) -> [Vec<LinkId>; 2] {
        [way(from, to), way(to, from)].map(|steps| {
            let steps = steps.expect("nodes without a way are refused with the study");
            let link = |step: Step| self.links[step.link][usize::from(step.back)];
            steps.into_iter().map(link).collect()
        })
    }
}
