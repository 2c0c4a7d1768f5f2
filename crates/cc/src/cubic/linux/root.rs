//! The cube root of `tcp_cubic.c`: a table of 64 roots and one step of Newton's, good to about
//! 0.2%. An exact root differs by a segment now and then.

/// `v`: 64 times the cube root of the index, less ten and then adjusted, as the module has it.
const ROOTS: [u8; 64] = [
    0, 54, 54, 54, 118, 118, 118, 118, 123, 129, 134, 138, 143, 147, 151, 156, //
    157, 161, 164, 168, 170, 173, 176, 179, 181, 185, 187, 190, 192, 194, 197, 199, //
    200, 202, 204, 206, 209, 211, 213, 215, 217, 219, 221, 222, 224, 225, 227, 229, //
    231, 232, 234, 236, 237, 239, 240, 242, 244, 245, 246, 248, 250, 251, 252, 254,
];

/// `cubic_root`.
pub(super) fn cube_root(a: u64) -> u32 {
    let entry = |index: u64| u32::from(ROOTS[index as usize]);
    let bits = u64::BITS - a.leading_zeros();
    if bits < 7 {
        return (entry(a) + 35) >> 6;
    }
    // A third of the digits, by 84/256: what is left of `a` after three times as many is below 64.
    let third = ((bits * 84) >> 8) - 1;
    let guess = ((entry(a >> (3 * third)) + 10) << third) >> 6;
    let step = a / (u64::from(guess) * u64::from(guess - 1));
    // A third once more, by 341/1024.
    ((2 * guess + step as u32).wrapping_mul(341)) >> 10
}

#[cfg(test)]
mod tests {
    use super::cube_root;

    /// Below 64 the table alone, rounded: (168 + 35) / 64 for 19, and so on. Exact roots of 7, 26
    /// and 63 are smaller by one.
    #[test]
    fn small_roots_are_the_tables() {
        let roots = [0, 1, 3, 4, 7, 8, 19, 26, 27, 63].map(cube_root);
        assert_eq!(roots, [0, 1, 1, 2, 2, 2, 3, 3, 3, 4]);
    }

    #[test]
    fn large_roots_by_hand() {
        // 7 digits: third 1, entry 64 >> 3 = 8: 133 << 1 >> 6 = 4; 8 + 64 / 12 = 13; 4433 >> 10.
        assert_eq!(cube_root(64), 4);
        // 10 digits: third 2, entry 15: 166 << 2 >> 6 = 10; 20 + 1000 / 90 = 31; 10571 >> 10.
        assert_eq!(cube_root(1_000), 10);
        // 37 digits: third 11, entry 9: 139 << 11 >> 6 = 4448; 8896 + 80452070310 / 19780256 =
        // 12963; 4420383 >> 10.
        assert_eq!(cube_root(80_452_070_310), 4_316);
        // 61 digits: third 19, entry 8: 133 << 19 >> 6 = 1089536; 2179072 + 971218 = 3150290;
        // 1074248890 >> 10. The exact root is 1048576.
        assert_eq!(cube_root(1 << 60), 1_049_071);
    }

    #[test]
    fn roots_are_good_to_half_a_percent_wherever_the_table_reaches() {
        let mut a = 1_000_000_u64;
        while let Some(next) = a.checked_add(a / 97) {
            let exact = (a as f64).cbrt();
            let off = (f64::from(cube_root(a)) - exact).abs();
            assert!(off < 0.005 * exact + 1.0, "{a}: off by {off}");
            a = next;
        }
        assert!(cube_root(u64::MAX).abs_diff(2_642_245) < 13_000);
    }
}
