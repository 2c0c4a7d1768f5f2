//! Sequence numbers: 32 bits on the wire that wrap, 64 bits inside that do not.

/// Whether `a` comes before `b` on the circle of sequence numbers (RFC 9293 section 3.4).
///
/// Two numbers exactly half the circle apart have no order (RFC 1982 section 3.2): neither
/// is before the other.
pub const fn before(a: u32, b: u32) -> bool {
    // The distance from b back to a, read as signed: negative on the nearer side only.
    let distance = a.wrapping_sub(b) as i32;
    distance < 0 && distance != i32::MIN
}

/// Whether `a` comes after `b` on the circle of sequence numbers.
pub const fn after(a: u32, b: u32) -> bool {
    before(b, a)
}

/// The 64-bit offset nearest to `near` whose low 32 bits are `wire`.
///
/// Of two equally near, half a circle away, the lower is taken; an offset below zero does
/// not exist, so that the nearest above is taken instead.
pub const fn unwrap(wire: u32, near: u64) -> u64 {
    let distance = wire.wrapping_sub(near as u32) as i32 as i64;
    match near.checked_add_signed(distance) {
        Some(offset) => offset,
        None => wire as u64 | (near & !0xffff_ffff),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn order_holds_across_the_wrap() {
        assert!(before(0xffff_fff0, 0x10));
        assert!(after(0x10, 0xffff_fff0));
        assert!(!before(5, 5) && !after(5, 5));
    }

    #[test]
    fn opposite_numbers_have_no_order() {
        assert!(!before(0, 0x8000_0000) && !after(0, 0x8000_0000));
        assert!(before(0, 0x7fff_ffff) && after(0, 0x8000_0001));
    }

    #[test]
    fn unwrap_crosses_the_wrap_both_ways() {
        assert_eq!(unwrap(0x10, 0xffff_fff0), 0x1_0000_0010);
        assert_eq!(unwrap(0xffff_fff0, 0x1_0000_0010), 0xffff_fff0);
        assert_eq!(unwrap(7, 0), 7);
    }

    #[test]
    fn nothing_lies_below_zero() {
        assert_eq!(unwrap(0xffff_ffff, 0), 0xffff_ffff);
        assert_eq!(unwrap(0x8000_0000, 0), 0x8000_0000);
    }

    proptest! {
        #[test]
        fn what_is_near_comes_back(near in 0..u64::MAX / 2, distance in -0x7fff_ffff_i64..0x7fff_ffff) {
            let offset = near.saturating_add_signed(distance);
            prop_assert_eq!(unwrap(offset as u32, near), offset);
        }

        #[test]
        fn order_is_that_of_the_offsets(near in 0..u64::MAX / 2, distance in 1..0x7fff_ffff_u64) {
            let (low, high) = (near as u32, (near + distance) as u32);
            prop_assert!(before(low, high) && after(high, low));
            prop_assert!(!before(high, low) && !after(low, high));
        }

        #[test]
        fn the_low_bits_are_those_of_the_wire(wire: u32, near in 0..u64::MAX / 2) {
            prop_assert_eq!(unwrap(wire, near) as u32, wire);
        }
    }
}
