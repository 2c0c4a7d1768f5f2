//! Westwood+: Reno whose window after a loss is what the path delivered: the estimated bandwidth
//! times the smallest round-trip time, instead of half the window (Grieco and Mascolo 2004).
//!
//! Reacts to loss, timeouts and ECN. One form, that of Linux 6.12 (`tcp_westwood.c`) in integers
//! and milliseconds, on every stack.

use cclab_interface::{AckSample, CaEvent, CongestionOps, HZ, Tcp, ack_flags, usecs_to_jiffies};
use cclab_units::InKernel;

use crate::lent::lent;
use crate::variant::{Departure, EcnFeedback, Near, Signal, Variant, WindowInRecovery};

/// The entry of the registry.
pub(crate) const VARIANT: Variant = Variant {
    name: "westwood",
    version: 2,
    summary: "AIMD whose window after a loss is the measured bandwidth times the smallest RTT",
    reference: "L. Grieco and S. Mascolo, Westwood+, ACM CCR 34(2), 2004; Linux 6.12",
    near: &[Near::of("westwood+"), Near::of("tcpw")],
    kernel: Some(InKernel::Module {
        name: "tcp_westwood",
        symbol: "CONFIG_TCP_CONG_WESTWOOD",
    }),
    recovery: None,
    window: WindowInRecovery::Stack,
    paces: false,
    ecn: EcnFeedback::Classic,
    signal: Signal::Losses,
    departures: &[
        Departure::NarrowedByDelay,
        Departure::GrowsUnused,
        Departure::EndsAtItsEstimate,
    ],
    params: &[],
    relations: &[],
    ops: Some(|_| Box::new(Westwood::new())),
    build: Some(|config| lent(config, Westwood::new())),
};

/// `TCP_WESTWOOD_RTT_MIN`: bandwidth is measured over this at least, in ticks.
const RTT_MIN: u32 = HZ / 20;
/// `TCP_WESTWOOD_INIT_RTT`, in ticks: before the first sample.
const INIT_RTT: u32 = 20 * HZ;
/// The least window that the estimate makes.
const LEAST: u32 = 2;

/// The module at one flow (`struct westwood`), in the kernel's widths: what wraps there wraps
/// here. Times are in ticks, bandwidths in bytes per tick.
struct Westwood {
    /// Bandwidth filtered once (`bw_ns_est`) and twice (`bw_est`).
    bw_ns_est: u32,
    bw_est: u32,
    /// Where the interval being measured began (`rtt_win_sx`).
    began: u32,
    /// Bytes acknowledged in it (`bk`).
    acked: u32,
    /// `snd_una` when an acknowledgement was last counted.
    snd_una: u32,
    /// Bytes that duplicates counted and the acknowledgement to come counts again.
    accounted: u32,
    rtt: u32,
    rtt_min: u32,
    /// Whether no acknowledgement has come yet: the first is counted from itself on.
    first_ack: bool,
    /// Whether the next sample replaces `rtt_min`.
    reset_rtt_min: bool,
}

impl Westwood {
    fn new() -> Westwood {
        Westwood {
            bw_ns_est: 0,
            bw_est: 0,
            began: 0,
            acked: 0,
            snd_una: 0,
            accounted: 0,
            rtt: INIT_RTT,
            rtt_min: INIT_RTT,
            first_ack: true,
            reset_rtt_min: true,
        }
    }

    /// `westwood_update_window`: ends the interval if it is as long as a round trip.
    fn update_window(&mut self, tcp: &Tcp) {
        let interval = tcp.jiffies32().wrapping_sub(self.began);
        if self.first_ack {
            self.snd_una = tcp.snd_una;
            self.first_ack = false;
        }
        if self.rtt > 0 && interval > self.rtt.max(RTT_MIN) {
            self.filter(self.acked / interval);
            self.acked = 0;
            self.began = tcp.jiffies32();
        }
    }

    /// `westwood_filter`.
    fn filter(&mut self, sample: u32) {
        if self.bw_ns_est == 0 && self.bw_est == 0 {
            self.bw_ns_est = sample;
            self.bw_est = sample;
        } else {
            self.bw_ns_est = seven_to_one(self.bw_ns_est, sample);
            self.bw_est = seven_to_one(self.bw_est, self.bw_ns_est);
        }
    }

    /// `westwood_acked_count`: a duplicate counts a segment, which the acknowledgement that
    /// covers it then does not.
    fn acked_count(&mut self, tcp: &Tcp) -> u32 {
        let mss = tcp.mss_cache;
        let mut acked = tcp.snd_una.wrapping_sub(self.snd_una);
        if acked == 0 {
            self.accounted = self.accounted.wrapping_add(mss);
            acked = mss;
        }
        if acked > mss {
            match self.accounted.checked_sub(acked) {
                Some(left) => {
                    self.accounted = left;
                    acked = mss;
                }
                None => acked -= std::mem::take(&mut self.accounted),
            }
        }
        self.snd_una = tcp.snd_una;
        acked
    }

    /// `update_rtt_min`.
    fn update_rtt_min(&mut self) {
        self.rtt_min = match std::mem::take(&mut self.reset_rtt_min) {
            true => self.rtt,
            false => self.rtt_min.min(self.rtt),
        };
    }

    /// `tcp_westwood_bw_rttmin`, in segments.
    fn bw_rttmin(&self, tcp: &Tcp) -> u32 {
        (self.bw_est.wrapping_mul(self.rtt_min) / tcp.mss_cache).max(LEAST)
    }
}

/// `westwood_do_filter`.
fn seven_to_one(old: u32, new: u32) -> u32 {
    old.wrapping_mul(7).wrapping_add(new) >> 3
}

impl CongestionOps for Westwood {
    /// The first interval begins here, not at the first acknowledgement.
    fn init(&mut self, tcp: &mut Tcp) {
        *self = Westwood {
            began: tcp.jiffies32(),
            snd_una: tcp.snd_una,
            ..Westwood::new()
        };
    }

    fn ssthresh(&mut self, tcp: &mut Tcp) -> u32 {
        tcp.reno_ssthresh()
    }

    fn cong_avoid(&mut self, tcp: &mut Tcp, _ack: u32, acked: u32) {
        tcp.reno_cong_avoid(acked);
    }

    fn cwnd_event(&mut self, tcp: &mut Tcp, event: CaEvent) {
        match event {
            CaEvent::CompleteCwr => {
                tcp.snd_ssthresh = self.bw_rttmin(tcp);
                tcp.snd_cwnd = tcp.snd_ssthresh;
            }
            CaEvent::Loss => {
                tcp.snd_ssthresh = self.bw_rttmin(tcp);
                self.reset_rtt_min = true;
            }
            _ => {}
        }
    }

    /// `tcp_westwood_ack`; of an acknowledgement on the fast path all bytes are new.
    fn in_ack_event(&mut self, tcp: &mut Tcp, flags: u32) {
        self.update_window(tcp);
        let acked = match flags & ack_flags::SLOWPATH != 0 {
            true => self.acked_count(tcp),
            false => tcp.snd_una.wrapping_sub(self.snd_una),
        };
        self.acked = self.acked.wrapping_add(acked);
        self.snd_una = tcp.snd_una;
        self.update_rtt_min();
    }

    fn pkts_acked(&mut self, _tcp: &mut Tcp, sample: &AckSample) {
        if sample.rtt_us > 0 {
            self.rtt = usecs_to_jiffies(sample.rtt_us as u32);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::lent;

    /// A flow with segments of 1000 bytes whose handshake was done at one second.
    fn flow() -> (Westwood, Tcp) {
        let mut tcp = Tcp {
            mss_cache: 1_000,
            jiffies: 1_000,
            snd_una: u32::MAX - 9_999, // numbers wrap on the way
            ..lent(10, 2)
        };
        let mut westwood = Westwood::new();
        westwood.init(&mut tcp);
        (westwood, tcp)
    }

    fn measured(rtt_us: i32) -> AckSample {
        AckSample {
            pkts_acked: 1,
            rtt_us,
            in_flight: 0,
        }
    }

    /// A segment each of `acks` acknowledgements, a `gap` of ticks apart, of round trips of 40 ms.
    fn stream((westwood, tcp): &mut (Westwood, Tcp), acks: u32, gap: u64) {
        for _ in 0..acks {
            tcp.jiffies += gap;
            tcp.snd_una = tcp.snd_una.wrapping_add(1_000);
            westwood.pkts_acked(tcp, &measured(39_001));
            westwood.in_ack_event(tcp, 0);
        }
    }

    #[test]
    fn bandwidth_is_filtered_twice() {
        let mut flow = flow();
        stream(&mut flow, 50, 1);
        assert_eq!((flow.0.bw_est, flow.0.acked), (0, 49_000)); // 50 ms are not more than 50
        stream(&mut flow, 1, 1);
        // The interval began with the flow and its first acknowledgement is not counted: 49
        // segments in 51 ms, 960; the one that ends it belongs to the next.
        assert_eq!((flow.0.bw_ns_est, flow.0.bw_est), (960, 960));
        assert_eq!(flow.0.acked, 1_000);
        // Half the rate: 52 ms with 26 segments, 500; (7 * 960 + 500) / 8 = 902; (6720 + 902) / 8.
        stream(&mut flow, 26, 2);
        assert_eq!((flow.0.bw_ns_est, flow.0.bw_est), (902, 952));
    }

    /// An interval is a round trip at least: 200 ms of 1000 bytes a ms less the first.
    #[test]
    fn long_round_trips_make_long_intervals() {
        let (mut westwood, mut tcp) = flow();
        westwood.pkts_acked(&mut tcp, &measured(200_000));
        for _ in 0..200 {
            tcp.jiffies += 1;
            tcp.snd_una = tcp.snd_una.wrapping_add(1_000);
            westwood.in_ack_event(&mut tcp, 0);
        }
        assert_eq!((westwood.bw_est, westwood.acked), (0, 199_000));
        tcp.jiffies += 1;
        westwood.in_ack_event(&mut tcp, 0);
        assert_eq!(westwood.bw_est, 990); // 199000 / 201
    }

    #[test]
    fn the_window_after_recovery_is_what_the_path_holds() {
        let mut flow = flow();
        stream(&mut flow, 51, 1);
        let (mut westwood, mut tcp) = flow;
        tcp.snd_cwnd = 60;
        assert_eq!(westwood.ssthresh(&mut tcp), 30); // while losses are repaired: Reno's half
        for event in [CaEvent::TxStart, CaEvent::CwndRestart, CaEvent::EcnIsCe] {
            westwood.cwnd_event(&mut tcp, event);
            assert_eq!((tcp.snd_cwnd, tcp.snd_ssthresh), (60, 2));
        }
        // 960 bytes/ms * 40 ms / 1000 bytes.
        westwood.cwnd_event(&mut tcp, CaEvent::CompleteCwr);
        assert_eq!((tcp.snd_cwnd, tcp.snd_ssthresh), (38, 38));
        tcp.prior_cwnd = 60;
        assert_eq!(westwood.undo_cwnd(&mut tcp), 60);
    }

    #[test]
    fn before_the_first_interval_the_window_is_the_least() {
        let (mut westwood, mut tcp) = flow();
        westwood.cwnd_event(&mut tcp, CaEvent::CompleteCwr);
        assert_eq!((tcp.snd_cwnd, tcp.snd_ssthresh), (2, 2));
    }

    #[test]
    fn a_timeout_keeps_the_estimate_as_threshold_and_measures_anew() {
        let mut flow = flow();
        stream(&mut flow, 51, 1);
        let (mut westwood, mut tcp) = flow;
        assert_eq!(westwood.rtt_min, 40);
        westwood.cwnd_event(&mut tcp, CaEvent::Loss);
        assert_eq!((tcp.snd_cwnd, tcp.snd_ssthresh), (10, 38));
        for (rtt_us, rtt_min) in [(45_000, 45), (50_000, 45), (0, 45), (-1, 45), (44_000, 44)] {
            westwood.pkts_acked(&mut tcp, &measured(rtt_us));
            westwood.in_ack_event(&mut tcp, 0);
            assert_eq!(westwood.rtt_min, rtt_min);
        }
    }

    #[test]
    fn what_duplicates_counted_counts_once() {
        let (mut westwood, mut tcp) = flow();
        let mut counted = |bytes: u32, accounted: Option<u32>| {
            westwood.accounted = accounted.unwrap_or(westwood.accounted);
            westwood.acked = 0;
            tcp.snd_una = tcp.snd_una.wrapping_add(bytes);
            westwood.in_ack_event(&mut tcp, ack_flags::SLOWPATH);
            (westwood.acked, westwood.accounted)
        };
        // The first acknowledgement looks like a duplicate: it is counted from itself on.
        assert_eq!(counted(1_000, None), (1_000, 1_000));
        assert_eq!(counted(0, None), (1_000, 2_000));
        assert_eq!(counted(0, None), (1_000, 3_000));
        // 5000 bytes, of which 3000 were counted; then one segment, which none stood for.
        assert_eq!(counted(5_000, None), (2_000, 0));
        assert_eq!(counted(1_000, Some(4_000)), (1_000, 4_000));
        // More was counted than is acknowledged: a segment of it.
        assert_eq!(counted(3_000, None), (1_000, 1_000));
    }

    #[test]
    fn growth_is_renos() {
        let (mut westwood, mut tcp) = flow();
        westwood.cong_avoid(&mut tcp, 0, 10);
        assert_eq!(tcp.snd_cwnd, 11);
    }
}
