//! Which way packets go in a graph: static shortest paths.
//!
//! What is searched is kept for each destination: which links lie on some shortest way there, a bit
//! for each. A way is then read off in the time that its links take, so that many flows between few
//! nodes cost a search for each node.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use cclab_units::{Time, hash, mixed};

use crate::graph::{Reroute, Routing};

/// A link in the direction in which a route crosses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Index in [`Graph::links`](crate::Graph::links).
    pub link: usize,
    /// Whether it is crossed from `to` to `from`.
    pub back: bool,
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

/// The ways through a graph: least propagation delay, then fewest links, then as its [`Routing`]
/// says. The order of links in the file decides nothing.
#[derive(Debug)]
pub struct Routes<'a> {
    nodes: BTreeMap<&'a str, usize>,
    routing: Routing,
    /// Every link in each direction that it has.
    exits: Vec<Exit>,
    /// Indices of the exits of each node, in the order of their links' names.
    leaving: Vec<Vec<usize>>,
    /// Indices of the exits that lead to each node.
    entering: Vec<Vec<usize>>,
    /// At the start, and after each change of routes in the order of time.
    states: Vec<State>,
}

/// A way out of a node.
#[derive(Debug)]
struct Exit {
    step: Step,
    from: usize,
    to: usize,
    delay: Time,
    /// Of the names of the node and the link.
    hash: u64,
}

/// What routes are from an instant on.
#[derive(Debug)]
struct State {
    at: Time,
    /// The links that they avoid.
    without: BTreeSet<usize>,
    /// For each destination, once it is asked for: the exits on the shortest ways there.
    towards: Vec<OnceCell<Bits>>,
}

impl<'a> Routes<'a> {
    pub(crate) fn new(arcs: Vec<Arc<'a>>, routing: Routing, reroutes: &[Reroute]) -> Routes<'a> {
        let names: BTreeSet<&str> = arcs.iter().flat_map(|arc| [arc.from, arc.to]).collect();
        let nodes: BTreeMap<&str, usize> = names.into_iter().zip(0..).collect();
        let mut by_name: Vec<(usize, &Arc<'a>)> = arcs.iter().enumerate().collect();
        by_name.sort_by_key(|(_, arc)| arc.name);
        let mut exits = Vec::new();
        for (link, arc) in by_name {
            let exit = |from: &str, to: &str, back| Exit {
                step: Step { link, back },
                from: nodes[from],
                to: nodes[to],
                delay: arc.delay,
                hash: hash([from, arc.name]),
            };
            exits.push(exit(arc.from, arc.to, false));
            if !arc.one_way {
                exits.push(exit(arc.to, arc.from, true));
            }
        }
        let mut leaving = vec![Vec::new(); nodes.len()];
        let mut entering = vec![Vec::new(); nodes.len()];
        for (index, exit) in exits.iter().enumerate() {
            leaving[exit.from].push(index);
            entering[exit.to].push(index);
        }
        let changes = reroutes
            .iter()
            .map(|change| (change.at, &change.without[..]));
        let states = [(Time::ZERO, &[][..])].into_iter().chain(changes);
        let states = states.map(|(at, without)| State {
            at,
            without: without.iter().map(|&link| link as usize).collect(),
            towards: vec![OnceCell::new(); nodes.len()],
        });
        Routes {
            states: states.collect(),
            nodes,
            routing,
            exits,
            leaving,
            entering,
        }
    }

    /// Every node, sorted.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = &'a str> + Clone {
        self.nodes.keys().copied()
    }

    /// Whether there is a node of that name.
    pub(crate) fn has(&self, node: &str) -> bool {
        self.nodes.contains_key(node)
    }

    /// When they change.
    pub(crate) fn changes(&self) -> impl Iterator<Item = Time> {
        self.states[1..].iter().map(|state| state.at)
    }

    /// The way of what is called `traveller` from one node to another at the start; `None` if there
    /// is none.
    pub fn way(&self, traveller: &str, from: &str, to: &str) -> Option<Vec<Step>> {
        self.way_in(0, traveller, from, to)
    }

    /// The same from the change of routes on that is the one of `index` in the order of time.
    pub fn way_after(
        &self,
        index: usize,
        traveller: &str,
        from: &str,
        to: &str,
    ) -> Option<Vec<Step>> {
        self.way_in(index + 1, traveller, from, to)
    }

    /// Propagation from one node to another at the start, which is the same by all shortest ways;
    /// `None` if there is none.
    pub(crate) fn delay(&self, from: &str, to: &str) -> Option<Time> {
        let exits = self.exits_in(0, "", from, to)?;
        Some(exits.into_iter().map(|exit| self.exits[exit].delay).sum())
    }

    /// Whether a way leads from one node to another after the change of routes of `index`.
    pub(crate) fn leads_after(&self, index: usize, from: &str, to: &str) -> bool {
        self.exits_in(index + 1, "", from, to).is_some()
    }

    fn way_in(&self, state: usize, traveller: &str, from: &str, to: &str) -> Option<Vec<Step>> {
        let exits = self.exits_in(state, traveller, from, to)?;
        Some(
            exits
                .into_iter()
                .map(|exit| self.exits[exit].step)
                .collect(),
        )
    }

    fn exits_in(&self, state: usize, traveller: &str, from: &str, to: &str) -> Option<Vec<usize>> {
        let (mut node, destination) = (*self.nodes.get(from)?, *self.nodes.get(to)?);
        let state = &self.states[state];
        let towards = state.towards[destination].get_or_init(|| self.towards(state, destination));
        let packets = hash([traveller, to]);
        let mut way = Vec::new();
        while node != destination {
            let shortest = self.leaving[node].iter().copied();
            let mut shortest = shortest.filter(|&exit| towards.has(exit));
            let exit = match self.routing {
                Routing::Shortest => shortest.next()?,
                Routing::Ecmp => shortest.max_by_key(|&exit| self.weight(packets, exit))?,
            };
            way.push(exit);
            node = self.exits[exit].to;
        }
        Some(way)
    }

    /// How much packets of that hash like an exit: they take the one of the highest weight (RFC 2991
    /// section 3), so that one that goes takes along those that went over it alone.
    fn weight(&self, packets: u64, exit: usize) -> u64 {
        mixed(packets ^ self.exits[exit].hash)
    }

    /// The exits on the shortest ways to `destination`, searched from there (Dijkstra 1959).
    fn towards(&self, state: &State, destination: usize) -> Bits {
        let usable = |exit: &Exit| !state.without.contains(&exit.step.link);
        let mut known: Vec<Option<(Time, usize)>> = vec![None; self.nodes.len()];
        let mut open = BTreeSet::from([((Time::ZERO, 0), destination)]);
        while let Some((distance, node)) = open.pop_first() {
            if known[node].is_some() {
                continue;
            }
            known[node] = Some(distance);
            for exit in self.entering[node].iter().map(|&exit| &self.exits[exit]) {
                if known[exit.from].is_none() && usable(exit) {
                    let (delay, hops) = distance;
                    open.insert(((delay + exit.delay, hops + 1), exit.from));
                }
            }
        }
        let is_shortest = |exit: &Exit| {
            let [here, there] = [known[exit.from], known[exit.to]];
            let over = there.map(|(delay, hops)| (delay + exit.delay, hops + 1));
            usable(exit) && over.is_some() && over == here
        };
        Bits::of(self.exits.iter().map(is_shortest))
    }
}

/// A bit for each of many.
#[derive(Clone, Debug)]
struct Bits(Vec<u64>);

impl Bits {
    fn of(bits: impl ExactSizeIterator<Item = bool>) -> Bits {
        let mut words = vec![0; bits.len().div_ceil(64)];
        for (index, bit) in bits.enumerate() {
            words[index / 64] |= u64::from(bit) << (index % 64);
        }
        Bits(words)
    }

    fn has(&self, index: usize) -> bool {
        self.0[index / 64] >> (index % 64) & 1 == 1
    }
}

#[cfg(test)]
mod tests;
