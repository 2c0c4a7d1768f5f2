//! When the kernel's timers expire (`kernel/time/timer.c`): they are set in ticks, and the wheel
//! that holds them is the coarser the longer they wait.

/// How many ticks the first level of the wheel reaches, and how much coarser each further one is
/// (`LVL_START`, `LVL_CLK_SHIFT`).
const REACH: u64 = 63;
const SHIFT: u32 = 3;

/// The tick at which a timer expires that is set at tick `now` for tick `due`: its level of the
/// wheel rounds up, and the first one too (`calc_wheel_index`).
pub(crate) fn expiry(now: u64, due: u64) -> u64 {
    let mut shift = 0;
    while due - now >= REACH << shift {
        shift += SHIFT;
    }
    ((due >> shift) + 1) << shift
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn further_levels_are_coarser() {
        assert_eq!(expiry(5, 6), 7);
        assert_eq!(expiry(5, 67), 68);
        // The second level, from 63 ticks on, rounds up to eight; the third, from 504, to 64.
        assert_eq!(expiry(5, 68), 72);
        assert_eq!(expiry(5, 72), 80);
        assert_eq!(expiry(100, 604), 640);
    }
}
