//! Scalable with a window of its own (`tcp_scalable.c`).

use cclab_units::Time;

use crate::module::{Module, past_slow_start};
use crate::window::SegmentWindow;

/// The module of Linux.
pub(crate) struct LinuxScalable {
    pub(crate) per_segment: u64,
    pub(crate) b: f64,
}

impl Module for LinuxScalable {
    fn grow(&mut self, window: &mut SegmentWindow, acked: u64, _now: Time) {
        let left = past_slow_start(window, acked);
        if left > 0 {
            window.avoid(window.cwnd.min(self.per_segment), left);
        }
    }

    fn ssthresh(&mut self, window: &SegmentWindow, _now: Time) -> u64 {
        let given_up = (window.cwnd as f64 * self.b) as u64; // cwnd >> 3 for an eighth
        (window.cwnd - given_up).max(2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::module::Modular;
    use crate::tests::{Bench, ack, config_of, congestion};
    use crate::{Arithmetic, Config, Congestion, CongestionControl, SlowStart};

    fn flow(cwnd: u64) -> Bench<Modular<LinuxScalable>> {
        let config = Config {
            initial_window: cwnd,
            initial_ssthresh: 2_000,
            ..config_of(
                &crate::scalable::VARIANT,
                Arithmetic::Segments,
                SlowStart::Plain,
            )
        };
        let module = LinuxScalable {
            per_segment: 100,
            b: 0.125,
        };
        Bench::new(Modular::new(&config, module))
    }

    #[test]
    fn linux_counts_a_hundred_to_a_segment() {
        let mut flow = flow(200_000);
        for _ in 0..49 {
            flow.ack(&ack(2_000));
        }
        assert_eq!(flow.cc.cwnd(), 200_000);
        flow.ack(&ack(2_000));
        assert_eq!(flow.cc.cwnd(), 201_000);
        // 201 >> 3 = 25.
        flow.congestion(Congestion::Loss, &congestion(150_000));
        assert_eq!((flow.cc.cwnd(), flow.cc.ssthresh()), (176_000, 176_000));
    }

    #[test]
    fn linux_is_no_slower_than_reno_in_a_small_window() {
        let mut flow = flow(10_000);
        for _ in 0..10 {
            flow.ack(&ack(1_000));
        }
        assert_eq!(flow.cc.cwnd(), 11_000);
        flow.congestion(Congestion::Ecn, &congestion(11_000));
        assert_eq!(flow.cc.cwnd(), 10_000); // 11 >> 3 = 1
        flow.congestion(Congestion::Rto, &congestion(10_000));
        assert_eq!((flow.cc.cwnd(), flow.cc.ssthresh()), (1_000, 9_000));
    }
}
