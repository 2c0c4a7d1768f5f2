//! Who talks to whom.

use std::net::{IpAddr, Ipv4Addr};

use cclab_trace::captured::Endpoint;

/// Two to the 64th over the golden ratio, which is odd.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// Who sends to whom: two endpoints, and which way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Between {
    pub ends: Endpoints,
    /// Whether the greater of them sends.
    pub turned: bool,
}

impl Between {
    /// From `source` to `destination`.
    #[inline]
    pub fn of(source: Endpoint, destination: Endpoint) -> Between {
        if let (IpAddr::V4(from), IpAddr::V4(to)) = (source.address, destination.address) {
            let number =
                |address: Ipv4Addr, port| u64::from(address.to_bits()) << 16 | u64::from(port);
            return Between::v4(number(from, source.port), number(to, destination.port));
        }
        let (from, to) = (words(source), words(destination));
        Between {
            ends: Endpoints::V6(from.min(to), from.max(to)),
            turned: from > to,
        }
    }

    /// Likewise, each an address of IPv4 before a port, as one number.
    #[inline]
    pub fn v4(source: u64, destination: u64) -> Between {
        Between {
            ends: Endpoints::V4(source.min(destination), source.max(destination)),
            turned: source > destination,
        }
    }
}

/// Two endpoints, whichever of them sends: the same for both directions. Words, not addresses: a
/// key that is put together of bytes is read again before it is there as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Endpoints {
    /// Addresses and ports, the lesser pair first.
    V4(u64, u64),
    V6([u64; 3], [u64; 3]),
}

impl Endpoints {
    /// Which of `parts` counts what is between them: always the same, whichever comes first.
    #[inline]
    pub fn part_of(self, parts: usize) -> usize {
        let sum = match self {
            Endpoints::V4(a, b) => a.wrapping_add(b),
            Endpoints::V6(a, b) => a.into_iter().chain(b).fold(0, u64::wrapping_add),
        };
        // Twice, each time after the high half came to the low one: a product is spread by what is low in
        // it, and subnets that differ, or ports, may be anywhere in the sum.
        let mixed = (sum ^ (sum >> 32)).wrapping_mul(SPREAD);
        let mixed = (mixed ^ (mixed >> 32)).wrapping_mul(SPREAD);
        (((mixed >> 32) * parts as u64) >> 32) as usize
    }
}

fn words(end: Endpoint) -> [u64; 3] {
    let bits = match end.address {
        IpAddr::V4(address) => address.to_ipv6_mapped().to_bits(),
        IpAddr::V6(address) => address.to_bits(),
    };
    [(bits >> 64) as u64, bits as u64, u64::from(end.port)]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The addresses and ports of the two ends of a connection, by its number.
    type Plan = fn(u8) -> [([u8; 4], u16); 2];

    /// Forty connections.
    fn connections(ends: Plan) -> impl Iterator<Item = Endpoints> {
        (0..40).map(move |number| {
            let [a, b] = ends(number).map(|(address, port)| Endpoint {
                address: IpAddr::from(address),
                port,
            });
            let there = Between::of(a, b);
            assert_eq!(there.ends, Between::of(b, a).ends);
            assert_ne!(there.turned, Between::of(b, a).turned);
            there.ends
        })
    }

    #[test]
    fn connections_of_every_plan_of_addresses_fall_on_all_parts() {
        let plans: [Plan; 6] = [
            |n| [([10, n, 0, 1], 5001), ([10, n, 1, 1], 5001)],
            |n| [([10, n, 0, 2], 40_000), ([10, n, 0, 1], 80)],
            |n| [([10, 0, n, 1], 40_000), ([10, 1, n, 1], 80)],
            |n| [([192, 168, 1, n], 5201), ([192, 168, 2, n], 5201)],
            |n| [([10, 0, 0, 1], 40_000 + u16::from(n)), ([10, 0, 0, 2], 80)],
            |n| {
                [
                    ([10, 0, 0, 1], 40_000 + 2 * u16::from(n)),
                    ([10, 0, 0, 2], 80),
                ]
            },
        ];
        for (plan, ends) in plans.into_iter().enumerate() {
            for parts in 2..=4 {
                let mut counts = vec![0; parts];
                for connection in connections(ends) {
                    counts[connection.part_of(parts)] += 1;
                }
                let fair = 40 / parts;
                let most = counts.iter().max().copied().unwrap_or(0);
                assert!(most <= 2 * fair, "plan {plan}: {counts:?}");
                assert!(!counts.contains(&0), "plan {plan}: {counts:?}");
            }
        }
    }
}
