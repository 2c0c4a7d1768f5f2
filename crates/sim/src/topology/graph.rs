//! An arbitrary graph with static shortest-path routes.

use std::collections::BTreeMap;

use cclab_spec::{Graph, Step};
use cclab_units::Time;

use super::{Builder, Journey, Sides};
use cclab_net::impairment::Installer;

/// Lays the links, but the one under study, which is there already, and the ways of all
/// `journeys`.
pub(super) fn lay(builder: &mut Builder<'_>, journeys: &[Journey<'_>]) {
    let scenario = builder.scenario;
    let graph = scenario.network.graph.as_ref();
    let graph = graph.expect("a graph without links is refused before a run");
    let links: Vec<[u32; 2]> = (0..)
        .zip(&graph.links)
        .map(|(index, link)| {
            if index == graph.bottleneck {
                return [super::BOTTLENECK as u32, super::BOTTLENECK_REVERSE as u32];
            }
            if link.one_way {
                let only = builder.one(link.name.clone(), &link.link, Time::ZERO);
                return [only, only];
            }
            builder.pair(&link.name, &link.link, Time::ZERO)
        })
        .collect();
    let mut routes = Routes {
        graph,
        links,
        known: BTreeMap::new(),
    };
    for journey in journeys {
        let (from, to) = journey
            .nodes
            .expect("in a graph everything runs between nodes");
        let mut sides = Sides {
            rightward: routes.between(from, to),
            leftward: routes.between(to, from),
            access: None,
        };
        if journey.extra_delay > Time::ZERO {
            let [forward, reverse] = builder.own_delay(journey);
            sides.rightward.insert(0, forward);
            sides.leftward.push(reverse);
        }
        builder.route(journey, sides);
    }
    let links = routes.links;
    let mut installer = Installer {
        scenario,
        seed: builder.seed,
        framing: builder.profile.wire.framing,
        links: &mut builder.network.links,
    };
    for (link, [forward, reverse]) in graph.links.iter().zip(links) {
        if forward == super::BOTTLENECK as u32 {
            continue; // impaired as every bottleneck is
        }
        installer.link(forward, &link.link);
        if reverse != forward {
            installer.link(reverse, &link.link.way_back());
        }
    }
}

/// Routes, each computed once.
struct Routes<'a> {
    graph: &'a Graph,
    /// The simulator's links for each of the graph's, there and back.
    links: Vec<[u32; 2]>,
    known: BTreeMap<(&'a str, &'a str), Vec<u32>>,
}

impl<'a> Routes<'a> {
    fn between(&mut self, from: &'a str, to: &'a str) -> Vec<u32> {
        let Routes {
            graph,
            links,
            known,
        } = self;
        let steps = known.entry((from, to)).or_insert_with(|| {
            let steps = graph.route(from, to);
            let steps = steps.expect("nodes without a way are refused with the study");
            let link = |step: Step| links[step.link][usize::from(step.back)];
            steps.into_iter().map(link).collect()
        });
        steps.clone()
    }
}
