//! DCTCP with a window of its own.

use cclab_units::Time;

use crate::window::{SegmentWindow, StackWindow, may_grow};
use crate::{AckSample, Config, Congestion, CongestionControl, CongestionSample, Cx};

/// `DCTCP_MAX_ALPHA`: all data is marked.
const MOST: u64 = 1 << 10;

/// The variant at one flow.
pub(crate) struct Dctcp {
    stack: StackWindow,
    shift: u32,
    /// Estimated share of marked data, in 1/1024 (`DCTCP.Alpha`).
    alpha: u64,
    /// The round ends when this offset is acknowledged (`DCTCP.WindowEnd`).
    round_end: u64,
    /// Bytes delivered in this round, and how many of them an echo covered
    /// (`DCTCP.BytesAcked`, `DCTCP.BytesMarked`).
    delivered: u64,
    marked: u64,
}

impl Dctcp {
    pub(crate) fn new(config: &Config) -> Dctcp {
        Dctcp {
            stack: StackWindow::new(config),
            shift: config.params.get("dctcp_shift_g") as u32,
            alpha: config.params.get("dctcp_alpha_on_init") as u64,
            round_end: 0,
            delivered: 0,
            marked: 0,
        }
    }

    /// RFC 8257 section 3.3, steps 4 to 8 (`dctcp_update_alpha`): once a round, and by what was
    /// delivered up to the acknowledgement that ends it.
    fn end_round(&mut self, ack: &AckSample) {
        let fade = match self.alpha >> self.shift {
            0 => self.alpha,
            part => part,
        };
        self.alpha -= fade;
        if self.marked > 0 {
            let share = (self.marked << (10 - self.shift)) / self.delivered.max(1);
            self.alpha = (self.alpha + share).min(MOST);
        }
        self.round_end = ack.snd_nxt;
        self.delivered = 0;
        self.marked = 0;
    }
}

/// Section 3.3 step 9 (`dctcp_ssthresh`).
fn remaining(alpha: u64, window: &SegmentWindow) -> u64 {
    (window.cwnd - ((window.cwnd * alpha) >> 11)).max(2)
}

impl CongestionControl for Dctcp {
    fn on_ack(&mut self, ack: &AckSample, _cx: &mut Cx<'_>) {
        self.delivered += ack.newly_delivered;
        if ack.ece {
            self.marked += ack.newly_delivered;
        }
        if ack.snd_una >= self.round_end {
            self.end_round(ack);
        }
        if may_grow(ack) {
            let acked = self.stack.acked(ack);
            self.stack.window.reno(acked);
        }
    }

    fn on_congestion(&mut self, kind: Congestion, at: &CongestionSample, _cx: &mut Cx<'_>) {
        let alpha = self.alpha;
        self.stack.reduce(kind, at, |window| match kind {
            Congestion::Ecn => remaining(alpha, window),
            // Section 3.5: a loss costs what it costs other variants.
            Congestion::Loss | Congestion::Rto => window.half(),
        });
    }

    fn on_undo(&mut self, _cx: &mut Cx<'_>) {
        self.stack.undo();
    }

    fn on_restart(&mut self, idle: Time, rto: Time, _cx: &mut Cx<'_>) {
        self.stack.restart(idle, rto);
    }

    fn cwnd(&self) -> u64 {
        self.stack.cwnd()
    }

    fn ssthresh(&self) -> u64 {
        self.stack.ssthresh()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dctcp::VARIANT;
    use crate::tests::{Bench, ack, config_of, congestion};
    use crate::{Arithmetic, SlowStart};

    fn flow() -> Bench<Dctcp> {
        let config = config_of(&VARIANT, Arithmetic::Segments, SlowStart::Plain);
        Bench::new(Dctcp::new(&config))
    }

    /// An acknowledgement up to `una` of `segments`, with or without an echo; the next round ends
    /// at `end`.
    fn told(segments: u64, una: u64, end: u64, ece: bool) -> AckSample {
        AckSample {
            snd_una: una * 1_000,
            snd_nxt: end * 1_000,
            ece,
            in_recovery: true, // the window stands still
            ..ack(segments * 1_000)
        }
    }

    /// RFC 8257 section 3.3 with g = 1/16, by hand, in 1/1024.
    #[test]
    fn the_estimate_follows_the_share_of_marked_data() {
        let mut flow = flow();
        flow.ack(&told(1, 1, 11, false));
        // Nothing was marked: 1024 - 64.
        assert_eq!(flow.cc.alpha, 960);
        for n in 2..=10 {
            flow.ack(&told(1, n, 11, n > 5));
        }
        assert_eq!(flow.cc.alpha, 960, "within a round nothing moves");
        flow.ack(&told(1, 11, 21, true));
        // Six of ten: 960 - 60 + (6 << 6) / 10.
        assert_eq!(flow.cc.alpha, 938);
        assert_eq!((flow.cc.delivered, flow.cc.marked), (0, 0));
    }

    #[test]
    fn an_estimate_below_a_step_is_forgotten() {
        let mut flow = flow();
        flow.cc.alpha = 15;
        flow.ack(&told(1, 1, 11, false));
        assert_eq!(flow.cc.alpha, 0); // 15 >> 4 is nothing: all of it goes
    }

    #[test]
    fn marks_cut_by_half_the_share_and_losses_by_half() {
        let mut flow = flow();
        flow.cc.stack.window.cwnd = 20;
        flow.cc.alpha = 512;
        flow.congestion(Congestion::Ecn, &congestion(20_000));
        // 20 - (20 * 512 >> 11): half of the data marked costs a quarter.
        assert_eq!((flow.cc.cwnd(), flow.cc.ssthresh()), (15_000, 15_000));
        flow.cc.alpha = 100;
        flow.congestion(Congestion::Ecn, &congestion(15_000));
        assert_eq!(flow.cc.cwnd(), 15_000); // 15 * 100 >> 11 is nothing yet
        flow.congestion(Congestion::Loss, &congestion(15_000));
        assert_eq!((flow.cc.cwnd(), flow.cc.ssthresh()), (7_000, 7_000));
        flow.undo();
        assert_eq!(flow.cc.cwnd(), 15_000);
        flow.congestion(Congestion::Rto, &congestion(15_000));
        assert_eq!((flow.cc.cwnd(), flow.cc.ssthresh()), (1_000, 7_000));
    }

    /// All data marked is Reno.
    #[test]
    fn the_first_mark_halves() {
        let mut flow = flow();
        flow.congestion(Congestion::Ecn, &congestion(10_000));
        assert_eq!(flow.cc.cwnd(), 5_000);
    }

    #[test]
    fn the_gain_is_a_parameter() {
        let mut params = std::collections::BTreeMap::new();
        params.insert("dctcp_shift_g".to_string(), 1.0);
        params.insert("dctcp_alpha_on_init".to_string(), 0.0);
        let config = Config {
            params: cclab_units::parameter::Params::new(VARIANT.params, &params)
                .expect("values in their ranges"),
            ..config_of(&VARIANT, Arithmetic::Segments, SlowStart::Plain)
        };
        let mut flow = Bench::new(Dctcp::new(&config));
        assert_eq!(flow.cc.alpha, 0);
        flow.ack(&told(1, 1, 11, true));
        // One of one was marked: (1 << 9) / 1.
        assert_eq!(flow.cc.alpha, 512);
        flow.ack(&told(10, 11, 21, false));
        assert_eq!(flow.cc.alpha, 256); // none of ten
    }
}
