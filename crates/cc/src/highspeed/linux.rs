//! HighSpeed TCP as Linux 6.12 has it (`tcp_highspeed.c`): the table of RFC 3649 appendix B,
//! one step per acknowledgement whatever it covers.

use cclab_interface::{CongestionOps, Tcp};

/// Table 12 of RFC 3649: row `i` holds for windows up to its own, adds `i + 1` segments per
/// window of acknowledgements, and gives up its share, here in 256ths.
#[rustfmt::skip]
pub(crate) const TABLE: [(u32, u32); 72] = [
    (38, 128), (118, 112), (221, 104), (347, 98), (495, 93), (663, 89), (851, 86), (1058, 83),
    (1284, 81), (1529, 78), (1793, 76), (2076, 74), (2378, 72), (2699, 71), (3039, 69), (3399, 68),
    (3778, 66), (4177, 65), (4596, 64), (5036, 62), (5497, 61), (5979, 60), (6483, 59), (7009, 58),
    (7558, 57), (8130, 56), (8726, 55), (9346, 54), (9991, 53), (10661, 52), (11358, 52), (12082, 51),
    (12834, 50), (13614, 49), (14424, 48), (15265, 48), (16137, 47), (17042, 46), (17981, 45), (18955, 45),
    (19965, 44), (21013, 43), (22101, 43), (23230, 42), (24402, 41), (25618, 41), (26881, 40), (28193, 39),
    (29557, 39), (30975, 38), (32450, 38), (33986, 37), (35586, 36), (37253, 36), (38992, 35), (40808, 35),
    (42707, 34), (44694, 33), (46776, 33), (48961, 32), (51258, 32), (53677, 31), (56230, 30), (58932, 30),
    (61799, 29), (64851, 28), (68113, 28), (71617, 27), (75401, 26), (79517, 26), (84035, 25), (89053, 24),
];

/// No window is larger (`hstcp_init`): its product with a share of the table fits 32 bits.
const LARGEST: u32 = u32::MAX / 128;

/// The module's state (`struct hstcp`).
pub(super) struct HighSpeed {
    /// The row in force (`ai`).
    row: usize,
}

impl HighSpeed {
    pub(super) fn new() -> HighSpeed {
        HighSpeed { row: 0 }
    }

    fn look_up(&mut self, cwnd: u32) {
        while self.row + 1 < TABLE.len() && cwnd > TABLE[self.row].0 {
            self.row += 1;
        }
        while self.row > 0 && cwnd <= TABLE[self.row - 1].0 {
            self.row -= 1;
        }
    }
}

impl CongestionOps for HighSpeed {
    fn init(&mut self, tcp: &mut Tcp) {
        self.row = 0;
        tcp.snd_cwnd_clamp = tcp.snd_cwnd_clamp.min(LARGEST);
    }

    /// By the row of the last growth, which may be another than the window's after slow start.
    fn ssthresh(&mut self, tcp: &mut Tcp) -> u32 {
        let given_up = tcp.snd_cwnd.wrapping_mul(TABLE[self.row].1) >> 8;
        tcp.snd_cwnd.wrapping_sub(given_up).max(2)
    }

    fn cong_avoid(&mut self, tcp: &mut Tcp, _ack: u32, acked: u32) {
        if !tcp.is_cwnd_limited() {
            return;
        }
        if tcp.in_slow_start() {
            tcp.slow_start(acked); // what it leaves is not used
            return;
        }
        self.look_up(tcp.snd_cwnd);
        if tcp.snd_cwnd < tcp.snd_cwnd_clamp {
            tcp.snd_cwnd_cnt = tcp.snd_cwnd_cnt.wrapping_add(self.row as u32 + 1);
            if tcp.snd_cwnd_cnt >= tcp.snd_cwnd {
                tcp.snd_cwnd_cnt -= tcp.snd_cwnd;
                tcp.snd_cwnd += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::lent;

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

    /// Row 1 adds two per acknowledgement, so that 50 of them are a window of 100.
    #[test]
    fn a_step_is_an_acknowledgement_not_a_segment() {
        let mut module = HighSpeed::new();
        let mut tcp = lent(100, 2);
        for _ in 0..49 {
            module.cong_avoid(&mut tcp, 0, 2);
        }
        assert_eq!((tcp.snd_cwnd, tcp.snd_cwnd_cnt), (100, 98));
        module.cong_avoid(&mut tcp, 0, 2);
        assert_eq!((tcp.snd_cwnd, tcp.snd_cwnd_cnt), (101, 0));
        // At the clamp nothing is counted either.
        tcp.snd_cwnd_clamp = 101;
        module.cong_avoid(&mut tcp, 0, 2);
        assert_eq!((tcp.snd_cwnd, tcp.snd_cwnd_cnt), (101, 0));
        tcp.is_cwnd_limited = 0;
        tcp.snd_cwnd_clamp = 200;
        module.cong_avoid(&mut tcp, 0, 2);
        assert_eq!(tcp.snd_cwnd_cnt, 0);
    }

    /// Row 1: 101 * 112 >> 8 = 44 are given up, of 57 then 24, though 57 is a window of row 1
    /// too; of 30, which is row 0's, 30 * 112 >> 8 = 13 until the window grows.
    #[test]
    fn a_loss_costs_the_row_of_the_last_growth() {
        let mut module = HighSpeed::new();
        let mut tcp = lent(101, 2);
        assert_eq!(module.ssthresh(&mut tcp), 51); // 101 >> 1 = 50: no growth yet
        module.cong_avoid(&mut tcp, 0, 1);
        assert_eq!(module.ssthresh(&mut tcp), 57);
        tcp.snd_cwnd = 57;
        assert_eq!(module.ssthresh(&mut tcp), 33);
        tcp.snd_cwnd = 30;
        assert_eq!(module.ssthresh(&mut tcp), 17);
        module.cong_avoid(&mut tcp, 0, 1);
        assert_eq!(module.ssthresh(&mut tcp), 15);
        tcp.prior_cwnd = 101;
        assert_eq!(module.undo_cwnd(&mut tcp), 101);
    }

    /// Of 12 acknowledged 4 lead to the threshold; the 8 left over are lost.
    #[test]
    fn slow_start_hands_nothing_on() {
        let mut module = HighSpeed::new();
        let mut tcp = lent(10, 14);
        module.cong_avoid(&mut tcp, 0, 12);
        assert_eq!((tcp.snd_cwnd, tcp.snd_cwnd_cnt), (14, 0));
    }

    #[test]
    fn the_window_is_limited_from_the_start() {
        let mut module = HighSpeed { row: 5 };
        let mut tcp = lent(10, 14);
        module.init(&mut tcp);
        assert_eq!((module.row, tcp.snd_cwnd_clamp), (0, 33_554_431));
        tcp.snd_cwnd_clamp = 1_000;
        module.init(&mut tcp);
        assert_eq!(tcp.snd_cwnd_clamp, 1_000);
    }
}
