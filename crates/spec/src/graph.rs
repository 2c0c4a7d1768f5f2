//! Which way packets go in a graph: static shortest paths.

use std::collections::{BTreeMap, BTreeSet};

use cclab_units::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::link::Link;

/// The links of a `topology = "graph"`. Nodes are what links join: hosts and routers are told
/// apart by what runs on them alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Graph {
    /// Every link, in the order of the study file.
    pub links: Vec<GraphLink>,
    /// Index of the link under study, in the direction from `from` to `to`.
    pub bottleneck: u32,
    /// Changes of routes during the run, in the order of time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reroutes: Vec<Reroute>,
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

/// A link in the direction in which a route crosses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Index in [`Graph::links`].
    pub link: usize,
    /// Whether it is crossed from `to` to `from`.
    pub back: bool,
}

impl Graph {
    /// The way from one node to another; `None` if there is none.
    pub fn route(&self, from: &str, to: &str) -> Option<Vec<Step>> {
        self.map().route(from, to, &[])
    }

    /// The way from one node to another after a change of routes; `None` if there is none.
    pub fn route_after(&self, reroute: &Reroute, from: &str, to: &str) -> Option<Vec<Step>> {
        self.map().route(from, to, &reroute.without)
    }

    fn map(&self) -> Map<'_> {
        let arcs = self.links.iter().map(|link| Arc {
            name: &link.name,
            from: &link.from,
            to: &link.to,
            one_way: link.one_way,
            delay: link.link.delay,
        });
        Map {
            arcs: arcs.collect(),
            reroutes: self.reroutes.clone(),
        }
    }
}

/// What routes depend on.
#[derive(Debug)]
pub(crate) struct Map<'a> {
    pub arcs: Vec<Arc<'a>>,
    /// In the order of time.
    pub reroutes: Vec<Reroute>,
}

/// What routes depend on of a link.
#[derive(Debug)]
pub(crate) struct Arc<'a> {
    pub name: &'a str,
    pub from: &'a str,
    pub to: &'a str,
    pub one_way: bool,
    pub delay: Time,
}

/// How far a node is: delay, then hops, then the names of the links on the way. No two ways
/// compare equal, so that the order of the file decides nothing.
type Distance<'a> = (Time, usize, Vec<&'a str>);

impl<'a> Map<'a> {
    /// Every node, sorted.
    pub fn nodes(&self) -> BTreeSet<&'a str> {
        let ends = self.arcs.iter().flat_map(|arc| [arc.from, arc.to]);
        ends.collect()
    }

    /// The shortest way from `from` to `to` (Dijkstra 1959): least propagation delay, then fewest
    /// hops, then the first in the order of the links' names. It crosses no link of `without`.
    pub fn route(&self, from: &str, to: &str, without: &[u32]) -> Option<Vec<Step>> {
        let nodes = self.nodes();
        let (from, to) = (*nodes.get(from)?, *nodes.get(to)?);
        let mut known: BTreeMap<&str, Vec<Step>> = BTreeMap::new();
        let mut open: BTreeMap<(Distance<'_>, &str), Vec<Step>> = BTreeMap::new();
        open.insert(((Time::ZERO, 0, Vec::new()), from), Vec::new());
        while let Some(((distance, node), way)) = open.pop_first() {
            if known.contains_key(node) {
                continue;
            }
            if node == to {
                return Some(way);
            }
            for (link, arc) in self.arcs.iter().enumerate() {
                if without.contains(&(link as u32)) {
                    continue;
                }
                let ahead = (arc.from == node).then_some((arc.to, false));
                let behind = (arc.to == node && !arc.one_way).then_some((arc.from, true));
                for (next, back) in ahead.into_iter().chain(behind) {
                    if known.contains_key(next) {
                        continue;
                    }
                    let (delay, hops, names) = &distance;
                    let names = names.iter().copied().chain([arc.name]).collect();
                    let farther = (*delay + arc.delay, hops + 1, names);
                    let way = way.iter().copied().chain([Step { link, back }]).collect();
                    open.insert((farther, next), way);
                }
            }
            known.insert(node, way);
        }
        None
    }

    /// Propagation along `way`.
    pub fn delay_of(&self, way: &[Step]) -> Time {
        way.iter().map(|step| self.arcs[step.link].delay).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map<'a>(arcs: &[(&'a str, &'a str, &'a str, u64, bool)]) -> Map<'a> {
        let arc = |&(name, from, to, ms, one_way): &(&'a str, &'a str, &'a str, u64, bool)| Arc {
            name,
            from,
            to,
            one_way,
            delay: Time::from_millis(ms),
        };
        Map {
            arcs: arcs.iter().map(arc).collect(),
            reroutes: Vec::new(),
        }
    }

    fn names<'a>(map: &Map<'a>, from: &str, to: &str) -> Option<Vec<&'a str>> {
        let way = map.route(from, to, &[])?;
        Some(way.iter().map(|step| map.arcs[step.link].name).collect())
    }

    #[test]
    fn delay_decides_then_hops_then_names() {
        let arcs = [
            ("slow", "a", "d", 9, false),
            ("x", "a", "b", 2, false),
            ("y", "b", "d", 2, false),
            ("p", "a", "c", 2, false),
            ("q", "c", "d", 2, false),
        ];
        assert_eq!(names(&map(&arcs), "a", "d"), Some(vec!["p", "q"]));
        assert_eq!(names(&map(&arcs), "d", "a"), Some(vec!["q", "p"]));
        let mut direct = arcs.to_vec();
        direct.push(("straight", "d", "a", 4, false));
        let map = map(&direct);
        assert_eq!(names(&map, "a", "d"), Some(vec!["straight"]));
        let way = map.route("a", "d", &[]).expect("a way");
        assert!(way[0].back);
        assert_eq!(map.delay_of(&way), Time::from_millis(4));
    }

    #[test]
    fn the_order_of_the_file_decides_nothing() {
        let arcs = [
            ("a1", "a", "b", 1, false),
            ("a2", "a", "b", 1, false),
            ("b1", "b", "c", 1, true),
            ("b0", "b", "c", 1, true),
        ];
        let mut reversed = arcs.to_vec();
        reversed.reverse();
        assert_eq!(names(&map(&arcs), "a", "c"), Some(vec!["a1", "b0"]));
        assert_eq!(names(&map(&reversed), "a", "c"), Some(vec!["a1", "b0"]));
    }

    #[test]
    fn one_way_links_have_no_way_back() {
        let map = map(&[("there", "a", "b", 1, true), ("on", "b", "c", 1, false)]);
        assert_eq!(names(&map, "a", "c"), Some(vec!["there", "on"]));
        assert_eq!(names(&map, "c", "a"), None);
        assert_eq!(names(&map, "a", "nowhere"), None);
    }

    #[test]
    fn a_way_without_a_link_is_the_next_shortest() {
        let arcs = [
            ("short", "a", "b", 1, false),
            ("long", "a", "c", 5, false),
            ("on", "c", "b", 5, false),
        ];
        let map = map(&arcs);
        let way = map.route("a", "b", &[0]).expect("a way");
        assert_eq!(map.delay_of(&way), Time::from_millis(10));
        assert_eq!(map.route("a", "b", &[0, 2]), None);
    }
}
