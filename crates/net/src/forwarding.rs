//! Where packets go from the far end of each link.

mod table;

use std::collections::BTreeSet;

use cclab_packet::Packet;
use cclab_units::Time;

use table::Table;

/// The packet has reached a host.
pub const HOST: u32 = u32::MAX;

/// Packets go more ways than one.
pub const MIXED: u32 = u32::MAX - 1;

/// Forwarding tables, one per link: packets carry no route, and the table of a link that leads
/// to one place only is that place.
///
/// Nearly always a flow crosses a link in one direction either with its data or with its
/// acknowledgements: its index is all that a table needs. In a graph with one-way links both may
/// cross one; its table tells them apart.
#[derive(Debug)]
pub struct Forwarding {
    next: Vec<NextHop>,
    flows: usize,
    /// Of each flow that was added the one that it is like, where routes change.
    likes: Vec<u32>,
    /// Changes of routes that are yet to come, the next one last.
    coming: Vec<Change>,
}

/// The ways of a flow from an instant on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// When.
    pub at: Time,
    /// The flow.
    pub flow: usize,
    /// The links of its data, in order.
    pub data: Vec<u32>,
    /// The links of its acknowledgements, in order.
    pub acks: Vec<u32>,
}

#[derive(Clone, Debug)]
enum NextHop {
    Unused,
    Always(u32),
    ByFlow(Table<u32>),
    /// For data and for acknowledgements.
    ByFlowAndWay(Table<[u32; 2]>),
}

impl Forwarding {
    /// Empty tables for `flows` flows.
    pub fn new(flows: usize) -> Forwarding {
        Forwarding {
            next: Vec::new(),
            flows,
            likes: Vec::new(),
            coming: Vec::new(),
        }
    }

    /// Lets routes change during the run. Whatever crosses a link then has a way of its own.
    pub fn will_change(&mut self, mut changes: Vec<Change>) {
        for change in &changes {
            for &link in change.data.iter().chain(&change.acks) {
                self.tell_apart(link as usize);
            }
        }
        changes.sort_by_key(|change| change.at);
        changes.reverse();
        self.coming = changes;
    }

    /// Whether routes change during the run.
    pub fn changes(&self) -> bool {
        !self.coming.is_empty()
    }

    /// When they do next; [`Time::NEVER`] if they do no more.
    pub fn next_change(&self) -> Time {
        self.coming.last().map_or(Time::NEVER, |change| change.at)
    }

    /// Routes are those of `now`. A packet on a link that its flow crosses no more goes on as
    /// before, until it comes to a link that the flow crosses still.
    #[cold]
    pub fn change(&mut self, now: Time) {
        while let Some(change) = self.coming.pop_if(|change| change.at <= now) {
            let first_added = self.flows - self.likes.len();
            let added = self.likes.iter().enumerate();
            let alike = added.filter(|&(_, &like)| like as usize == change.flow);
            let flows: Vec<usize> = [change.flow]
                .into_iter()
                .chain(alike.map(|(index, _)| first_added + index))
                .collect();
            for flow in flows {
                for (way, route) in [&change.data, &change.acks].into_iter().enumerate() {
                    let onward = route[1..].iter().copied().chain([HOST]);
                    for (&link, next) in route.iter().zip(onward) {
                        self.set_way(link as usize, flow, way, next);
                    }
                }
            }
        }
    }

    /// Lets the data of `flow` go the way `data`, link after link, and its acknowledgements the
    /// way `acks`.
    pub fn add_routes(&mut self, flow: usize, data: &[u32], acks: &[u32]) {
        for (way, route) in [data, acks].into_iter().enumerate() {
            let onward = route[1..].iter().copied().chain([HOST]);
            for (&link, next) in route.iter().zip(onward) {
                match [acks, data][way].contains(&link) {
                    true => self.set_way(link as usize, flow, way, next),
                    false => self.set(link as usize, flow, next),
                }
            }
        }
    }

    /// The table of `link` becomes one that tells data and acknowledgements apart.
    fn set_way(&mut self, link: usize, flow: usize, way: usize, next: u32) {
        let flows = self.flows;
        let table = self.tell_apart(link);
        let mut ways = table.of(flow as u32);
        ways[way] = next;
        table.set(flow as u32, ways, flows);
    }

    /// The table of `link`, which becomes one that tells data and acknowledgements apart.
    fn tell_apart(&mut self, link: usize) -> &mut Table<[u32; 2]> {
        let hop = self.hop(link);
        let known = std::mem::replace(hop, NextHop::Unused);
        *hop = NextHop::ByFlowAndWay(match known {
            NextHop::ByFlowAndWay(table) => table,
            NextHop::ByFlow(table) => table.map(|next| [next; 2]),
            NextHop::Always(next) => Table::new([next; 2]),
            NextHop::Unused => Table::new([HOST; 2]),
        });
        match hop {
            NextHop::ByFlowAndWay(table) => table,
            _ => unreachable!("it was made so"),
        }
    }

    fn hop(&mut self, link: usize) -> &mut NextHop {
        if link >= self.next.len() {
            self.next.resize(link + 1, NextHop::Unused);
        }
        &mut self.next[link]
    }

    /// Lets another flow, the next in order, go where the flow `like` goes.
    pub fn add_like(&mut self, like: u32) {
        let added = self.flows as u32;
        for hop in &mut self.next {
            match hop {
                NextHop::Unused | NextHop::Always(_) => {}
                NextHop::ByFlow(table) => table.add_like(added, like),
                NextHop::ByFlowAndWay(table) => table.add_like(added, like),
            }
        }
        self.flows += 1;
        if !self.coming.is_empty() {
            self.likes.push(like);
        }
    }

    fn set(&mut self, link: usize, flow: usize, next: u32) {
        let flows = self.flows;
        let hop = self.hop(link);
        match hop {
            NextHop::Unused => *hop = NextHop::Always(next),
            NextHop::Always(known) if *known == next => {}
            NextHop::Always(known) => {
                let mut table = Table::new(*known);
                table.set(flow as u32, next, flows);
                *hop = NextHop::ByFlow(table);
            }
            NextHop::ByFlow(table) => table.set(flow as u32, next, flows),
            NextHop::ByFlowAndWay(table) => table.set(flow as u32, [next; 2], flows),
        }
    }

    /// The places to which packets go from the far end of `link`, whatever their flow.
    pub fn all_next(&self, link: usize) -> BTreeSet<u32> {
        match self.next.get(link) {
            Some(NextHop::Always(next)) => BTreeSet::from([*next]),
            Some(NextHop::ByFlow(table)) => table.all(self.flows).copied().collect(),
            Some(NextHop::ByFlowAndWay(table)) => {
                table.all(self.flows).flatten().copied().collect()
            }
            Some(NextHop::Unused) | None => BTreeSet::new(),
        }
    }

    /// Where every packet goes from the far end of `link`, or [`MIXED`].
    pub fn only_next(&self, link: usize) -> u32 {
        match self.next.get(link) {
            Some(NextHop::Always(next)) => *next,
            Some(NextHop::ByFlow(_) | NextHop::ByFlowAndWay(_)) => MIXED,
            Some(NextHop::Unused) | None => HOST,
        }
    }

    /// Where a packet goes from the far end of `link`, whose [`Forwarding::only_next`] is `only`.
    #[inline(always)]
    pub fn next_of(&self, packet: &Packet, link: usize, only: u32) -> u32 {
        match only {
            MIXED => self.next(link, packet.flow, packet.backward),
            only => only,
        }
    }

    /// Where a packet of `flow`, data or (`backward`) an acknowledgement, goes from the far end of
    /// `link`: a link, or [`HOST`].
    #[inline]
    pub fn next(&self, link: usize, flow: u32, backward: bool) -> u32 {
        match &self.next[link] {
            NextHop::Always(next) => *next,
            NextHop::ByFlow(table) => table.of(flow),
            NextHop::ByFlowAndWay(table) => table.of(flow)[usize::from(backward)],
            NextHop::Unused => HOST,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_change_for_a_flow_and_for_those_like_it() {
        let mut tables = Forwarding::new(2);
        tables.add_routes(0, &[0, 1, 2], &[5, 6]);
        tables.add_routes(1, &[0, 1, 2], &[5, 6]);
        let change = Change {
            at: Time::from_secs(3),
            flow: 0,
            data: vec![0, 3, 4, 2],
            acks: vec![5, 6],
        };
        tables.will_change(vec![change]);
        tables.add_like(0);
        tables.add_like(1);
        assert_eq!(tables.next_change(), Time::from_secs(3));
        tables.change(Time::from_secs(2));
        assert_eq!(tables.next(0, 0, false), 1);
        tables.change(Time::from_secs(3));
        assert_eq!(tables.next_change(), Time::NEVER);
        for (flow, next) in [(0, 3), (1, 1), (2, 3), (3, 1)] {
            assert_eq!(tables.next(0, flow, false), next, "flow {flow}");
        }
        let way = [0, 3, 4, 2].map(|link| tables.next(link, 0, false));
        assert_eq!(way, [3, 4, 2, HOST]);
        // A packet that is on the old way goes on.
        assert_eq!(tables.next(1, 0, false), 2);
        assert_eq!(tables.next(5, 0, true), 6);
    }

    #[test]
    fn a_shared_link_leads_each_flow_its_own_way() {
        let mut tables = Forwarding::new(3);
        tables.add_routes(0, &[4, 0, 5], &[8, 1, 9]);
        tables.add_routes(1, &[6, 0, 7], &[8, 1, 9]);
        tables.add_routes(2, &[4, 0, 5], &[8, 1, 9]);
        let walk = |tables: &Forwarding, first: u32, flow: u32| {
            let onward = |&link: &u32| {
                let next = tables.next(link as usize, flow, false);
                (next != HOST).then_some(next)
            };
            std::iter::successors(Some(first), onward).collect::<Vec<u32>>()
        };
        assert_eq!(walk(&tables, 4, 0), [4, 0, 5]);
        assert_eq!(walk(&tables, 6, 1), [6, 0, 7]);
        assert_eq!(walk(&tables, 4, 2), [4, 0, 5]);
        tables.add_like(1);
        assert_eq!(walk(&tables, 6, 3), [6, 0, 7]);
    }

    #[test]
    fn data_and_acknowledgements_may_cross_one_link() {
        let mut tables = Forwarding::new(2);
        tables.add_routes(0, &[4, 0, 5], &[6, 0, 7]);
        tables.add_routes(1, &[4, 0, 8], &[9]);
        assert_eq!([tables.next(0, 0, false), tables.next(0, 0, true)], [5, 7]);
        assert_eq!(tables.next(0, 1, false), 8);
        assert_eq!(
            [tables.next(7, 0, true), tables.next(9, 1, true)],
            [HOST; 2]
        );
    }
}
