//! HighSpeed TCP with a window of its own (`tcp_highspeed.c`): the table of RFC 3649 appendix B,
//! one step per acknowledgement whatever it covers.

use cclab_units::Time;

use crate::highspeed::TABLE;
use crate::module::Module;
use crate::window::SegmentWindow;

/// The module's state.
pub(crate) struct HighSpeed {
    /// The row in force (`ai`).
    row: usize,
}

impl HighSpeed {
    pub(crate) fn new() -> HighSpeed {
        HighSpeed { row: 0 }
    }

    fn look_up(&mut self, cwnd: u64) {
        while self.row + 1 < TABLE.len() && cwnd > u64::from(TABLE[self.row].0) {
            self.row += 1;
        }
        while self.row > 0 && cwnd <= u64::from(TABLE[self.row - 1].0) {
            self.row -= 1;
        }
    }
}

impl Module for HighSpeed {
    fn grow(&mut self, window: &mut SegmentWindow, acked: u64, _now: Time) {
        if window.in_slow_start() {
            window.slow_start(acked); // what it leaves is not used
            return;
        }
        self.look_up(window.cwnd);
        window.counter += self.row as u64 + 1;
        if window.counter >= window.cwnd {
            window.counter -= window.cwnd;
            window.cwnd += 1;
        }
    }

    /// By the row of the last growth, which may be another than the window's after slow start.
    fn ssthresh(&mut self, window: &SegmentWindow, _now: Time) -> u64 {
        let given_up = (window.cwnd * u64::from(TABLE[self.row].1)) >> 8;
        (window.cwnd - given_up).max(2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::module::Modular;
    use crate::tests::{Bench, ack, config_of, congestion};
    use crate::{Arithmetic, Congestion, CongestionControl, SlowStart};

    fn flow(cwnd: u64) -> Bench<Modular<HighSpeed>> {
        let config = config_of(
            &crate::highspeed::VARIANT,
            Arithmetic::Segments,
            SlowStart::Plain,
        );
        let mut flow = Bench::new(Modular::new(&config, HighSpeed::new()));
        flow.cc.stack.window.cwnd = cwnd;
        flow.cc.stack.window.ssthresh = 2;
        flow
    }

    #[test]
    fn rows_hold_up_to_their_window() {
        let mut module = HighSpeed::new();
        for (cwnd, row) in [
            (38, 0),
            (39, 1),
            (118, 1),
            (119, 2),
            (1_058, 7),
            (89_053, 71),
            (1 << 30, 71),
            (38, 0),
        ] {
            module.look_up(cwnd);
            assert_eq!(module.row, row, "{cwnd}");
        }
        assert_eq!(TABLE[71], (89_053, 24));
    }

    #[test]
    fn a_step_is_an_acknowledgement_not_a_segment() {
        let mut flow = flow(100);
        // Row 1: two per ACK, so that 50 ACKs of two segments each are one segment.
        for _ in 0..49 {
            flow.ack(&ack(2_000));
        }
        assert_eq!(flow.cc.cwnd(), 100_000);
        flow.ack(&ack(2_000));
        assert_eq!(flow.cc.cwnd(), 101_000);
        // 101 * 112 / 256 = 44 are given up.
        flow.congestion(Congestion::Loss, &congestion(101_000));
        assert_eq!((flow.cc.cwnd(), flow.cc.ssthresh()), (57_000, 57_000));
        // Row 1 is still in force: 57 * 112 / 256 = 24.
        flow.congestion(Congestion::Rto, &congestion(57_000));
        assert_eq!((flow.cc.cwnd(), flow.cc.ssthresh()), (1_000, 33_000));
        flow.undo();
        assert_eq!((flow.cc.cwnd(), flow.cc.ssthresh()), (57_000, 57_000));
    }

    #[test]
    fn the_first_loss_after_slow_start_halves() {
        let mut flow = flow(10);
        flow.cc.stack.window.ssthresh = u64::MAX;
        for _ in 0..100 {
            flow.ack(&ack(10_000));
        }
        flow.congestion(Congestion::Loss, &congestion(0));
        assert_eq!(flow.cc.cwnd(), 505_000); // no avoidance yet: the first row
    }
}
