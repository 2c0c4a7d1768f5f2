//! Where packets go from the far end of each link.

mod table;

use std::collections::BTreeSet;

use cclab_packet::Packet;
use cclab_units::Time;

use table::Table;

/// The packet has reached a host.
pub const HOST: u32 = u32::MAX;

/// No packet has a way yet.
const UNUSED: u32 = u32::MAX - 1;

/// From here on numbers are those of tables: packets go more ways than one.
const TABLES: u32 = 1 << 31;

/// Forwarding tables, one per link: packets carry no route, and the table of a link that leads
/// to one place only is that place.
///
/// Nearly always a flow crosses a link in one direction either with its data or with its
/// acknowledgements: its index is all that a table needs. In a graph with one-way links both may
/// cross one; its table tells them apart.
#[derive(Debug)]
pub struct Forwarding {
    /// Of each link: the one to which everything goes, [`HOST`], [`UNUSED`], or [`TABLES`] and the place
    /// of its table.
    next: Vec<u32>,
    tables: Vec<Ways>,
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

/// Where flows go.
#[derive(Clone, Debug)]
enum Ways {
    ByFlow(Table<u32>),
    /// For data and for acknowledgements.
    ByFlowAndWay(Table<[u32; 2]>),
}

impl Forwarding {
    /// Empty tables for `flows` flows.
    pub fn new(flows: usize) -> Forwarding {
        Forwarding {
            next: Vec::new(),
            tables: Vec::new(),
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
        let ways = self.ways(link);
        if let Ways::ByFlow(table) = ways {
            let table = std::mem::replace(table, Table::new(HOST));
            *ways = Ways::ByFlowAndWay(table.map(|next| [next; 2]));
        }
        match ways {
            Ways::ByFlowAndWay(table) => table,
            Ways::ByFlow(_) => unreachable!("it was made so"),
        }
    }

    /// The table of `link`, which gets one.
    fn ways(&mut self, link: usize) -> &mut Ways {
        let new = TABLES + self.tables.len() as u32;
        let next = self.next_mut(link);
        let place = match *next {
            known @ (HOST | UNUSED | ..TABLES) => {
                *next = new;
                let known = if known == UNUSED { HOST } else { known };
                self.tables.push(Ways::ByFlow(Table::new(known)));
                new
            }
            place => place,
        };
        &mut self.tables[(place - TABLES) as usize]
    }

    fn next_mut(&mut self, link: usize) -> &mut u32 {
        if link >= self.next.len() {
            self.next.resize(link + 1, UNUSED);
        }
        &mut self.next[link]
    }

    /// Lets another flow, the next in order, go where the flow `like` goes.
    pub fn add_like(&mut self, like: u32) {
        let added = self.flows as u32;
        for ways in &mut self.tables {
            match ways {
                Ways::ByFlow(table) => table.add_like(added, like),
                Ways::ByFlowAndWay(table) => table.add_like(added, like),
            }
        }
        self.flows += 1;
        if !self.coming.is_empty() {
            self.likes.push(like);
        }
    }

    fn set(&mut self, link: usize, flow: usize, next: u32) {
        let known = self.next_mut(link);
        if *known == UNUSED || *known == next {
            *known = next;
            return;
        }
        let flows = self.flows;
        match self.ways(link) {
            Ways::ByFlow(table) => table.set(flow as u32, next, flows),
            Ways::ByFlowAndWay(table) => table.set(flow as u32, [next; 2], flows),
        }
    }

    /// The places to which packets go from the far end of `link`, whatever their flow.
    pub fn all_next(&self, link: usize) -> BTreeSet<u32> {
        match self.next.get(link).copied().unwrap_or(UNUSED) {
            UNUSED => BTreeSet::new(),
            only @ (HOST | ..TABLES) => BTreeSet::from([only]),
            place => match &self.tables[(place - TABLES) as usize] {
                Ways::ByFlow(table) => table.all(self.flows).copied().collect(),
                Ways::ByFlowAndWay(table) => table.all(self.flows).flatten().copied().collect(),
            },
        }
    }

    /// What [`Forwarding::next_of`] has to know of `link`: where every packet goes from its far end, or
    /// which table tells.
    pub fn leads_to(&self, link: usize) -> u32 {
        match self.next.get(link).copied().unwrap_or(UNUSED) {
            UNUSED => HOST,
            known => known,
        }
    }

    /// Where a packet goes from the far end of a link of which [`Forwarding::leads_to`] is known: to a
    /// link, or to [`HOST`].
    #[inline(always)]
    pub fn next_of(&self, packet: &Packet, leads_to: u32) -> u32 {
        self.next(leads_to, packet.flow, packet.backward)
    }

    #[inline(always)]
    fn next(&self, leads_to: u32, flow: u32, backward: bool) -> u32 {
        // HOST is the largest number: one more is the least.
        match leads_to.wrapping_add(1) <= TABLES {
            true => leads_to,
            false => self.next_by_table(leads_to, flow, backward),
        }
    }

    #[inline(always)]
    fn next_by_table(&self, leads_to: u32, flow: u32, backward: bool) -> u32 {
        match &self.tables[(leads_to - TABLES) as usize] {
            Ways::ByFlow(table) => table.of(flow),
            Ways::ByFlowAndWay(table) => table.of(flow)[usize::from(backward)],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(tables: &Forwarding, link: usize, flow: u32, backward: bool) -> u32 {
        tables.next(tables.leads_to(link), flow, backward)
    }

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
        assert_eq!(next(&tables, 0, 0, false), 1);
        tables.change(Time::from_secs(3));
        assert_eq!(tables.next_change(), Time::NEVER);
        for (flow, link) in [(0, 3), (1, 1), (2, 3), (3, 1)] {
            assert_eq!(next(&tables, 0, flow, false), link, "flow {flow}");
        }
        let way = [0, 3, 4, 2].map(|link| next(&tables, link, 0, false));
        assert_eq!(way, [3, 4, 2, HOST]);
        // A packet that is on the old way goes on.
        assert_eq!(next(&tables, 1, 0, false), 2);
        assert_eq!(next(&tables, 5, 0, true), 6);
    }

    #[test]
    fn a_shared_link_leads_each_flow_its_own_way() {
        let mut tables = Forwarding::new(3);
        tables.add_routes(0, &[4, 0, 5], &[8, 1, 9]);
        tables.add_routes(1, &[6, 0, 7], &[8, 1, 9]);
        tables.add_routes(2, &[4, 0, 5], &[8, 1, 9]);
        let walk = |tables: &Forwarding, first: u32, flow: u32| {
            let onward = |&link: &u32| {
                let next = next(tables, link as usize, flow, false);
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
        assert_eq!(
            [next(&tables, 0, 0, false), next(&tables, 0, 0, true)],
            [5, 7]
        );
        assert_eq!(next(&tables, 0, 1, false), 8);
        assert_eq!(
            [next(&tables, 7, 0, true), next(&tables, 9, 1, true)],
            [HOST; 2]
        );
    }
}
