//! What a fair network would have given.

/// What asks for a part of some links.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// The links that it crosses, as indices of the capacities.
    pub links: Vec<usize>,
    /// What it takes from each of them for one unit of its rate.
    pub cost: f64,
    /// The largest rate that it can use; infinite if it takes what it gets.
    pub demand: f64,
}

/// The max-min fair rates of `claims` on links of these `capacities` (infinite ones limit nothing):
/// none can be larger without making one smaller that is not larger already. Progressive filling
/// (Bertsekas and Gallager, Data Networks, 2nd edition, 1992, section 6.5.2): all rates rise
/// together; one stops when it reaches its demand or fills a link of its way. A rate that nothing
/// stops is infinite.
pub fn max_min(capacities: &[f64], claims: &[Claim]) -> Vec<f64> {
    let mut left = capacities.to_vec();
    let mut rates = vec![f64::INFINITY; claims.len()];
    let mut rising: Vec<usize> = (0..claims.len()).collect();
    let mut level = 0.0;
    while !rising.is_empty() {
        let mut load = vec![0.0; left.len()];
        for &claim in &rising {
            for &link in &claims[claim].links {
                load[link] += claims[claim].cost;
            }
        }
        // How much further all can rise before each link is full.
        let room: Vec<f64> = left
            .iter()
            .zip(&load)
            .map(|(left, &load)| {
                if load > 0.0 {
                    left / load
                } else {
                    f64::INFINITY
                }
            })
            .collect();
        let stop = |claim: &Claim| {
            let links = claim.links.iter().map(|&link| room[link]);
            links.fold(claim.demand - level, f64::min).max(0.0)
        };
        let step = rising
            .iter()
            .map(|&claim| stop(&claims[claim]))
            .fold(f64::INFINITY, f64::min);
        if step.is_infinite() {
            break;
        }
        for (left, load) in left.iter_mut().zip(&load) {
            *left = (*left - step * load).max(0.0);
        }
        rising.retain(|&claim| {
            // At least one stops each time, so that this ends.
            let goes_on = stop(&claims[claim]) > step;
            if !goes_on {
                rates[claim] = level + step;
            }
            goes_on
        });
        level += step;
    }
    rates
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn claim(links: &[usize], demand: f64) -> Claim {
        Claim {
            links: links.to_vec(),
            cost: 1.0,
            demand,
        }
    }

    #[test]
    fn worked_examples() {
        let all = f64::INFINITY;
        assert_eq!(max_min(&[], &[]), [] as [f64; 0]);
        assert_eq!(
            max_min(&[10.0], &[claim(&[0], all), claim(&[0], all)]),
            [5.0, 5.0]
        );
        // A service that uses 10 of 50 leaves 40 to the other (the example of Prudentia).
        assert_eq!(
            max_min(&[50.0], &[claim(&[0], 10.0), claim(&[0], all)]),
            [10.0, 40.0]
        );
        assert_eq!(
            max_min(&[8.0], &[claim(&[0], 10.0), claim(&[0], all)]),
            [4.0, 4.0]
        );
        // Data Networks, section 6.5.2: a parking lot; one crosses both links, the second is wider.
        let lot = [claim(&[0, 1], all), claim(&[0], all), claim(&[1], all)];
        assert_eq!(max_min(&[1.0, 2.0], &lot), [0.5, 0.5, 1.5]);
        // What no link binds is bounded by its demand alone.
        assert_eq!(
            max_min(&[all], &[claim(&[0], all), claim(&[], 3.0)]),
            [all, 3.0]
        );
        // Packets with more headers cost more for the same payload: 3 x + 1 x = 8.
        let dear = Claim {
            cost: 3.0,
            ..claim(&[0], all)
        };
        assert_eq!(max_min(&[8.0], &[dear, claim(&[0], all)]), [2.0, 2.0]);
        assert_eq!(max_min(&[0.0], &[claim(&[0], all)]), [0.0]);
    }

    fn networks() -> impl Strategy<Value = (Vec<f64>, Vec<Claim>)> {
        let demand = prop_oneof![Just(f64::INFINITY), 0.1..20.0_f64];
        let claims = (
            prop::collection::btree_set(0..4_usize, 1..4),
            0.5..2.0_f64,
            demand,
        );
        let claims = claims.prop_map(|(links, cost, demand)| Claim {
            links: links.into_iter().collect(),
            cost,
            demand,
        });
        (
            prop::collection::vec(0.1..30.0_f64, 4),
            prop::collection::vec(claims, 1..8),
        )
    }

    proptest! {
        /// The definition: each has its demand, or crosses a full link on which none has more.
        #[test]
        fn each_has_its_demand_or_a_bottleneck((capacities, claims) in networks()) {
            let rates = max_min(&capacities, &claims);
            let load = |link: usize| -> f64 {
                let on = claims.iter().zip(&rates).filter(|(claim, _)| claim.links.contains(&link));
                on.map(|(claim, rate)| claim.cost * rate).sum()
            };
            for (link, capacity) in capacities.iter().enumerate() {
                prop_assert!(load(link) <= capacity * (1.0 + 1e-9));
            }
            for (claim, &rate) in claims.iter().zip(&rates) {
                let largest_on = |link: usize| {
                    let on = claims.iter().zip(&rates).filter(|(c, _)| c.links.contains(&link));
                    on.map(|(_, &rate)| rate).fold(0.0, f64::max)
                };
                let bottleneck = claim.links.iter().any(|&link| {
                    load(link) >= capacities[link] * (1.0 - 1e-9)
                        && rate >= largest_on(link) * (1.0 - 1e-9)
                });
                prop_assert!(rate >= claim.demand * (1.0 - 1e-9) || bottleneck, "{:?}", rates);
                prop_assert!(rate <= claim.demand * (1.0 + 1e-9));
            }
        }
    }
}
