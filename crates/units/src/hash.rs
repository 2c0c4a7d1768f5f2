//! Hashes of names, which stay as they are: random streams and the choice of ways hang on them.

/// A hash of `names` in their order (FNV-1a, a byte of zero between two). Names that are alike have
/// hashes with bits in common: see [`mixed`].
pub fn hash<const N: usize>(names: [&str; N]) -> u64 {
    let bytes = names.iter().enumerate().flat_map(|(index, name)| {
        let between = (index > 0).then_some(0);
        between.into_iter().chain(name.bytes())
    });
    bytes.fold(0xcbf2_9ce4_8422_2325_u64, |h, b| {
        (h ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// `x` with every bit hanging on all of its bits (SplitMix64: Steele, Lea and Flood 2014).
pub fn mixed(x: u64) -> u64 {
    let mut z = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_that_of_the_published_vectors_and_of_names_apart() {
        // The test vectors of FNV-1a, 64 bits.
        assert_eq!(hash([""]), 0xcbf2_9ce4_8422_2325);
        assert_eq!(hash(["a"]), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(hash(["foobar"]), 0x8594_4171_f739_67e8);
        assert_ne!(hash(["ab", "c"]), hash(["a", "bc"]));
        assert_ne!(hash(["ab"]), hash(["a", "b"]));
    }

    #[test]
    fn mixing_is_split_mix() {
        // The first numbers of the generator from seed 0, whose state grows by the constant.
        assert_eq!(mixed(0), 0xe220_a839_7b1d_cdaf);
        assert_eq!(mixed(0x9e37_79b9_7f4a_7c15), 0x6e78_9e6a_a1b9_65f4);
    }
}
