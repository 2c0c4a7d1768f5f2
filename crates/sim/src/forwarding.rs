//! Where packets go from the far end of each link.

/// The packet has reached a host.
pub const HOST: u32 = u32::MAX;

/// Forwarding tables, one per link: packets carry no route, and the table of a link that leads
/// to one place only is that place.
///
/// A flow crosses a link in one direction either with its data or with its acknowledgements,
/// never with both: its index is all that a table needs.
#[derive(Debug)]
pub struct Forwarding {
    next: Vec<NextHop>,
    flows: usize,
}

#[derive(Clone, Debug)]
enum NextHop {
    Unused,
    Always(u32),
    ByFlow(Vec<u32>),
}

impl Forwarding {
    /// Empty tables for `flows` flows.
    pub fn new(flows: usize) -> Forwarding {
        Forwarding {
            next: Vec::new(),
            flows,
        }
    }

    /// Lets the packets of `flow` in one direction follow `route`, link after link.
    pub fn add_route(&mut self, flow: usize, route: &[u32]) {
        let onward = route[1..].iter().copied().chain([HOST]);
        for (&link, next) in route.iter().zip(onward) {
            self.set(link as usize, flow, next);
        }
    }

    fn set(&mut self, link: usize, flow: usize, next: u32) {
        if link >= self.next.len() {
            self.next.resize(link + 1, NextHop::Unused);
        }
        let hop = &mut self.next[link];
        match hop {
            NextHop::Unused => *hop = NextHop::Always(next),
            NextHop::Always(known) if *known == next => {}
            NextHop::Always(known) => {
                let mut table = vec![*known; self.flows];
                table[flow] = next;
                *hop = NextHop::ByFlow(table);
            }
            NextHop::ByFlow(table) => table[flow] = next,
        }
    }

    /// Where packets go from the far end of `link`, whatever their flow; a place may come twice.
    pub fn all_next(&self, link: usize) -> &[u32] {
        match self.next.get(link) {
            Some(NextHop::Always(next)) => std::slice::from_ref(next),
            Some(NextHop::ByFlow(table)) => table,
            Some(NextHop::Unused) | None => &[],
        }
    }

    /// Where a packet of `flow` goes from the far end of `link`: a link, or [`HOST`].
    #[inline]
    pub fn next(&self, link: usize, flow: u32) -> u32 {
        match &self.next[link] {
            NextHop::Always(next) => *next,
            NextHop::ByFlow(table) => table[flow as usize],
            NextHop::Unused => HOST,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shared_link_leads_each_flow_its_own_way() {
        let mut tables = Forwarding::new(3);
        tables.add_route(0, &[4, 0, 5]);
        tables.add_route(1, &[6, 0, 7]);
        tables.add_route(2, &[4, 0, 5]);
        let walk = |first: u32, flow: u32| {
            let onward = |&link: &u32| {
                let next = tables.next(link as usize, flow);
                (next != HOST).then_some(next)
            };
            std::iter::successors(Some(first), onward).collect::<Vec<u32>>()
        };
        assert_eq!(walk(4, 0), [4, 0, 5]);
        assert_eq!(walk(6, 1), [6, 0, 7]);
        assert_eq!(walk(4, 2), [4, 0, 5]);
    }
}
