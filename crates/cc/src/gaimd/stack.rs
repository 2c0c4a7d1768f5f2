//! General AIMD where Linux's stack keeps the window, in whole segments.

use cclab_interface::{CongestionOps, Tcp};

use super::Rule;

/// A rule at one flow.
pub(crate) struct StackAimd<R> {
    rule: R,
    /// What the window has grown by since its last whole segment.
    part: f64,
}

impl<R: Rule> StackAimd<R> {
    pub(crate) fn new(rule: R) -> StackAimd<R> {
        StackAimd { rule, part: 0.0 }
    }
}

impl<R: Rule> CongestionOps for StackAimd<R> {
    fn ssthresh(&mut self, tcp: &mut Tcp) -> u32 {
        let w = f64::from(tcp.snd_cwnd);
        self.part = 0.0;
        ((w * (1.0 - self.rule.decrease(w))) as u32).max(2)
    }

    fn cong_avoid(&mut self, tcp: &mut Tcp, _ack: u32, mut acked: u32) {
        if !tcp.is_cwnd_limited() {
            return;
        }
        if tcp.in_slow_start() {
            acked = tcp.slow_start(acked);
        }
        let w = f64::from(tcp.snd_cwnd);
        // An ACK of more than a window, after a gap was filled, is worth one window.
        self.part += self.rule.increase(w) * (f64::from(acked) / w).min(1.0);
        let whole = self.part.floor();
        self.part -= whole;
        tcp.snd_cwnd = (tcp.snd_cwnd.saturating_add(whole as u32)).min(tcp.snd_cwnd_clamp);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::lent;

    /// Three segments for each window, and a quarter given up.
    struct Three;

    impl Rule for Three {
        fn increase(&mut self, _w: f64) -> f64 {
            3.0
        }

        fn decrease(&mut self, _w: f64) -> f64 {
            0.25
        }
    }

    #[test]
    fn a_window_acknowledged_is_worth_what_the_rule_says() {
        let mut flow = StackAimd::new(Three);
        let mut tcp = lent(16, 2);
        let mut seen = Vec::new();
        for _ in 0..4 {
            flow.cong_avoid(&mut tcp, 0, 2);
            seen.push(tcp.snd_cwnd);
        }
        // 3 * 2 / 16 = 0.375 for each acknowledgement: the third makes 1.125.
        assert_eq!(seen, [16, 16, 17, 17]);
        flow.cong_avoid(&mut tcp, 0, 1_000);
        assert_eq!(tcp.snd_cwnd, 20); // 0.125 + 6 / 17 and three: one window
        // 20 * 0.75, and no growth is left over.
        assert_eq!((flow.ssthresh(&mut tcp), flow.part), (15, 0.0));
        tcp.is_cwnd_limited = 0;
        flow.cong_avoid(&mut tcp, 0, 1_000);
        assert_eq!(tcp.snd_cwnd, 20);
    }
}
