//! Who talks to whom.

use std::net::IpAddr;

use cclab_trace::captured::Endpoint;

/// Two endpoints, whichever of them sends: the same for both directions. Words, not addresses: a
/// key that is put together of bytes is read again before it is there as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Endpoints {
    /// Addresses and ports, the lesser pair first.
    V4(u64, u64),
    V6([u64; 3], [u64; 3]),
}

impl Endpoints {
    /// `a` and `b`.
    #[inline]
    pub fn between(a: Endpoint, b: Endpoint) -> Endpoints {
        if let (IpAddr::V4(from), IpAddr::V4(to)) = (a.address, b.address) {
            let a = u64::from(from.to_bits()) << 16 | u64::from(a.port);
            let b = u64::from(to.to_bits()) << 16 | u64::from(b.port);
            return Endpoints::V4(a.min(b), a.max(b));
        }
        let (a, b) = (words(a), words(b));
        Endpoints::V6(a.min(b), a.max(b))
    }

    /// Which of `parts` counts what is between them: always the same, whichever comes first.
    #[inline]
    pub fn part_of(self, parts: usize) -> usize {
        let sum = match self {
            Endpoints::V4(a, b) => a.wrapping_add(b),
            Endpoints::V6(a, b) => a.into_iter().chain(b).fold(0, u64::wrapping_add),
        };
        // By the golden ratio: addresses and ports in a row fall on parts evenly.
        let spread = sum.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        ((spread * parts as u64) >> 32) as usize
    }
}

fn words(end: Endpoint) -> [u64; 3] {
    let bits = match end.address {
        IpAddr::V4(address) => address.to_ipv6_mapped().to_bits(),
        IpAddr::V6(address) => address.to_bits(),
    };
    [(bits >> 64) as u64, bits as u64, u64::from(end.port)]
}
