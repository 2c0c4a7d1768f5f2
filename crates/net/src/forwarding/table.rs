//! What a link has to know of each flow, in as little memory as the flows that cross it take.

use std::collections::HashMap;

use foldhash::fast::FixedState;

/// A value for each flow.
#[derive(Clone, Debug)]
pub(super) enum Table<T> {
    /// A link of a large network is crossed by few of the flows.
    Some(Box<Own<T>>),
    /// As many as there are flows.
    Each(Vec<T>),
}

/// Some flows have their own, the others have the same.
#[derive(Clone, Debug)]
pub(super) struct Own<T> {
    own: HashMap<u32, T, FixedState>,
    others: T,
}

impl<T: Copy> Own<T> {
    /// Apart: what decides about a packet is short, and small networks never come here.
    #[inline(never)]
    fn of(&self, flow: u32) -> T {
        *self.own.get(&flow).unwrap_or(&self.others)
    }
}

/// An entry of a map takes so many times the memory of an entry of a vector.
const ROOM: usize = 4;

impl<T: Copy> Table<T> {
    /// `value` for every flow.
    pub fn new(value: T) -> Table<T> {
        Table::Some(Box::new(Own {
            own: HashMap::default(),
            others: value,
        }))
    }

    /// That of `flow`.
    #[inline(always)]
    pub fn of(&self, flow: u32) -> T {
        match self {
            Table::Each(values) => values[flow as usize],
            Table::Some(some) => some.of(flow),
        }
    }

    /// `flow`, of so many, has `value`.
    pub fn set(&mut self, flow: u32, value: T, count: usize) {
        match self {
            Table::Each(values) => values[flow as usize] = value,
            Table::Some(some) => {
                some.own.insert(flow, value);
                if ROOM * some.own.len() >= count {
                    let mut values = vec![some.others; count];
                    #[expect(clippy::iter_over_hash_type, reason = "each has a place of its own")]
                    for (&flow, &value) in &some.own {
                        values[flow as usize] = value;
                    }
                    *self = Table::Each(values);
                }
            }
        }
    }

    /// The flow `added`, the next in order, has what `like` has.
    pub fn add_like(&mut self, added: u32, like: u32) {
        match self {
            Table::Each(values) => values.push(values[like as usize]),
            Table::Some(some) => {
                if let Some(&value) = some.own.get(&like) {
                    some.own.insert(added, value);
                }
            }
        }
    }

    /// What any of so many flows has, in no order; a value may come twice.
    pub fn all(&self, count: usize) -> impl Iterator<Item = &T> {
        let (each, some) = match self {
            Table::Each(values) => (&values[..], None),
            Table::Some(some) => (&[][..], Some(some)),
        };
        let own = some.into_iter().flat_map(|some| some.own.values());
        let others = some.filter(|some| some.own.len() < count);
        let others = others.map(|some| &some.others);
        each.iter().chain(own).chain(others)
    }

    /// The same with `made` of each value.
    pub fn map<U: Copy>(self, made: impl Fn(T) -> U) -> Table<U> {
        match self {
            Table::Each(values) => Table::Each(values.into_iter().map(made).collect()),
            Table::Some(some) => {
                let own = some.own.into_iter();
                Table::Some(Box::new(Own {
                    own: own.map(|(flow, value)| (flow, made(value))).collect(),
                    others: made(some.others),
                }))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Beside a vector with a value for each flow, whatever is set in whatever order.
    #[test]
    fn it_says_what_a_vector_says() {
        for (count, step) in [(5_u32, 3_u32), (64, 13), (1_000, 997), (1_000, 37)] {
            for crossing in [1, count / 7 + 1, count / 2, count] {
                let mut table = Table::new(9_u32);
                let mut plain = vec![9; count as usize];
                for k in 0..crossing {
                    let flow = k * step % count;
                    table.set(flow, k, count as usize);
                    plain[flow as usize] = k;
                }
                for like in [0, step % count, count - 1] {
                    table.add_like(plain.len() as u32, like);
                    plain.push(plain[like as usize]);
                }
                let told: Vec<u32> = (0..plain.len() as u32).map(|flow| table.of(flow)).collect();
                assert_eq!(told, plain, "{crossing} of {count}");
                let mut all: Vec<u32> = table.all(plain.len()).copied().collect();
                all.sort_unstable();
                all.dedup();
                plain.sort_unstable();
                plain.dedup();
                assert_eq!(all, plain, "{crossing} of {count}");
            }
        }
    }

    #[test]
    fn few_flows_of_many_take_little() {
        let mut table = Table::new(0_u32);
        for flow in 0..100 {
            table.set(flow * 7, flow, 100_000);
        }
        assert!(matches!(&table, Table::Some(some) if some.own.len() == 100));
        for flow in 0..100_000 {
            table.set(flow, 1, 100_000);
        }
        assert!(matches!(table, Table::Each(values) if values.len() == 100_000));
    }
}
