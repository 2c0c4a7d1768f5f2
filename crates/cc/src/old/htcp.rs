//! H-TCP with a window of its own.

use cclab_units::{Stream, Time};

use crate::Config;
use crate::module::{CaState, HZ, Measured, Module};
use crate::window::SegmentWindow;

/// Binary digits of `alpha` and `beta`.
const SHIFT: u32 = 7;
/// `ALPHA_BASE`: 1.
const ALPHA_BASE: u64 = 1 << SHIFT;
/// `BETA_MIN`: 0.5.
const BETA_MIN: u64 = 1 << (SHIFT - 1);
/// `BETA_MAX`: 0.8.
const BETA_MAX: u64 = 102;
/// A longest round trip this far above the last is an outlier, in ticks.
const MAX_RTT_STEP: u64 = 20;
/// Round trips up to this tell nothing of the queue, in ticks.
const LEAST_RTT_FOR_BETA: u64 = 10;

/// The module's state (`struct htcp`). Times are in ticks, bandwidths in segments per second;
/// zero before the first.
pub(crate) struct HTcp {
    use_rtt_scaling: bool,
    use_bandwidth_switch: bool,
    /// Segments per round trip, in 128ths.
    alpha: u64,
    /// What remains of the window, in 128ths.
    beta: u64,
    /// Whether the delays may set `beta`: not at the first congestion.
    modeswitch: bool,
    /// What the next acknowledgement counts for.
    acked: u64,
    min_rtt: u64,
    max_rtt: u64,
    /// The end of the last congestion, or the connection's beginning.
    last_cong: Option<u64>,
    undo: Option<Undo>,
    bandwidth: Bandwidth,
}

/// What a congestion changed that may be taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Undo {
    last_cong: Option<u64>,
    max_rtt: u64,
    old_max: u64,
}

/// The throughput achieved (`minB`, which nothing reads, is left out).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Bandwidth {
    /// Smoothed.
    now: u64,
    /// The largest since the last congestion.
    max: u64,
    /// The largest before it.
    old_max: u64,
    /// Segments since `since`.
    packets: u64,
    /// `None` before the first sample, which is zero: the kernel measures it from boot.
    since: Option<u64>,
}

impl HTcp {
    pub(crate) fn new(config: &Config) -> HTcp {
        let is_on = |name| config.params.get(name) >= 0.5;
        HTcp {
            use_rtt_scaling: is_on("use_rtt_scaling"),
            use_bandwidth_switch: is_on("use_bandwidth_switch"),
            alpha: ALPHA_BASE,
            beta: BETA_MIN,
            modeswitch: false,
            acked: 1,
            min_rtt: 0,
            max_rtt: 0,
            last_cong: None,
            undo: None,
            bandwidth: Bandwidth::default(),
        }
    }

    /// `measure_rtt`.
    fn measure_rtt(&mut self, rtt: u64, is_open: bool) {
        if self.min_rtt == 0 || self.min_rtt > rtt {
            self.min_rtt = rtt;
        }
        if is_open {
            self.max_rtt = self.max_rtt.max(self.min_rtt);
            if self.max_rtt < rtt && rtt <= self.max_rtt + MAX_RTT_STEP {
                self.max_rtt = rtt;
            }
        }
    }

    /// `measure_achieved_throughput`: a sample for each window acknowledged.
    fn measure_bandwidth(&mut self, measured: &Measured, cwnd: u64) {
        let now = ticks(measured.now);
        let bandwidth = &mut self.bandwidth;
        if !matches!(measured.state, CaState::Open | CaState::Disorder) {
            bandwidth.packets = 0;
            bandwidth.since = Some(now);
            return;
        }
        bandwidth.packets += measured.acked;
        let took = bandwidth
            .since
            .map_or(u64::MAX, |since| now.saturating_sub(since));
        let window = cwnd.saturating_sub((self.alpha >> SHIFT).max(1));
        if bandwidth.packets < window || self.min_rtt == 0 || took < self.min_rtt {
            return;
        }
        let sample = bandwidth.packets * HZ / took;
        let since_congestion = now.saturating_sub(self.last_cong.unwrap_or(now));
        if since_congestion / self.min_rtt <= 3 {
            bandwidth.now = sample; // just after a reduction
            bandwidth.max = sample;
        } else {
            bandwidth.now = (3 * bandwidth.now + sample) / 4;
            bandwidth.max = bandwidth.max.max(bandwidth.now);
        }
        bandwidth.packets = 0;
        bandwidth.since = Some(now);
    }

    /// `htcp_beta_update`.
    fn update_beta(&mut self) {
        if self.use_bandwidth_switch {
            let Bandwidth { max, old_max, .. } = self.bandwidth;
            self.bandwidth.old_max = max;
            if !(4 * old_max..=6 * old_max).contains(&(5 * max)) {
                self.beta = BETA_MIN;
                self.modeswitch = false;
                return;
            }
        }
        if self.modeswitch && self.min_rtt > LEAST_RTT_FOR_BETA && self.max_rtt > 0 {
            let ratio = (self.min_rtt << SHIFT) / self.max_rtt;
            self.beta = ratio.clamp(BETA_MIN, BETA_MAX);
        } else {
            self.beta = BETA_MIN;
            self.modeswitch = true;
        }
    }

    /// `htcp_alpha_update`: after a second `1 + 10 D + (D/2)^2` for `D` seconds beyond it, scaled
    /// by the round trip over 100 ms, between a tenth and two.
    fn update_alpha(&mut self, now: u64) {
        let mut factor = 1;
        let since = now.saturating_sub(self.last_cong.unwrap_or(now));
        if since > HZ {
            let beyond = since - HZ;
            factor = 1 + (10 * beyond + (beyond / 2) * (beyond / 2) / HZ) / HZ;
        }
        if self.use_rtt_scaling && self.min_rtt > 0 {
            let scale = ((HZ << 3) / (10 * self.min_rtt)).clamp(1 << 2, 10 << 3);
            factor = ((factor << 3) / scale).max(1);
        }
        self.alpha = 2 * factor * ((1 << SHIFT) - self.beta);
        if self.alpha == 0 {
            self.alpha = ALPHA_BASE;
        }
    }
}

impl Module for HTcp {
    fn on_measured(&mut self, measured: &Measured, window: &mut SegmentWindow, _: &mut Stream) {
        let is_open = measured.state == CaState::Open;
        if is_open {
            self.acked = measured.acked;
        }
        if let Some(rtt) = measured.rtt {
            // The kernel's module starts with the handshake, a round trip before the first sample.
            self.last_cong.get_or_insert(ticks(measured.now - rtt));
            self.measure_rtt(rtt.as_micros().div_ceil(1_000).max(1), is_open);
        }
        if self.use_bandwidth_switch {
            self.measure_bandwidth(measured, window.cwnd);
        }
    }

    fn grow(&mut self, window: &mut SegmentWindow, acked: u64, now: Time) {
        if window.in_slow_start() {
            window.slow_start(acked); // what it leaves is not used
            return;
        }
        if (window.counter * self.alpha) >> SHIFT >= window.cwnd {
            window.cwnd += 1;
            window.counter = 0;
            self.update_alpha(ticks(now));
        } else {
            window.counter += self.acked;
        }
        self.acked = 1;
    }

    /// `htcp_recalc_ssthresh`, `htcp_param_update`.
    fn ssthresh(&mut self, window: &SegmentWindow, now: Time) -> u64 {
        self.update_beta();
        self.update_alpha(ticks(now));
        // The longest round trip fades, for routes change.
        if self.min_rtt > 0 && self.max_rtt > self.min_rtt {
            self.max_rtt = self.min_rtt + (self.max_rtt - self.min_rtt) * 95 / 100;
        }
        ((window.cwnd * self.beta) >> SHIFT).max(2)
    }

    /// `htcp_reset`.
    fn on_reduced(&mut self, _timeout: bool, now: Time) {
        self.undo = Some(Undo {
            last_cong: self.last_cong,
            max_rtt: self.max_rtt,
            old_max: self.bandwidth.old_max,
        });
        self.last_cong = Some(ticks(now));
    }

    fn on_open(&mut self, now: Time) {
        if self.undo.take().is_some() {
            self.last_cong = Some(ticks(now));
        }
    }

    fn on_undo(&mut self) {
        if let Some(undo) = self.undo.take() {
            self.last_cong = undo.last_cong;
            self.max_rtt = undo.max_rtt;
            self.bandwidth.old_max = undo.old_max;
        }
    }
}

/// `jiffies`.
fn ticks(time: Time) -> u64 {
    time.as_millis()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::htcp::VARIANT;
    use crate::module::Modular;
    use crate::tests::{Bench, ack, config_of, congestion};
    use crate::{AckSample, Arithmetic, Congestion, CongestionControl, SlowStart};

    fn module() -> HTcp {
        HTcp::new(&config_of(&VARIANT, Arithmetic::Segments, SlowStart::Plain))
    }

    #[test]
    fn the_increase_by_hand() {
        let mut htcp = module();
        let mut alpha = |min_rtt, now| {
            htcp.min_rtt = min_rtt;
            htcp.last_cong = Some(0);
            htcp.update_alpha(now);
            htcp.alpha
        };
        // Round trip of 100 ms: scale 8000 / 1000 = 8, a factor of one. 2 (1 - 0.5) = 1 in 128ths.
        assert_eq!(alpha(100, 1_000), 128);
        // 3 s: D = 2, 1 + (20000 + 1000 * 1000 / 1000) / 1000 = 22.
        assert_eq!(alpha(100, 3_000), 22 * 128);
        // 40 ms: scale 8000 / 400 = 20; 22 * 8 / 20 = 8. 400 ms: scale 4 at least, twice.
        assert_eq!(alpha(40, 3_000), 8 * 128);
        assert_eq!(alpha(400, 3_000), 44 * 128);
        // 1 ms: 80 at most; a tenth of one is still one.
        assert_eq!(alpha(1, 500), 128);
        // The tick after the second: 1 + 10 / 1000 = 1.
        assert_eq!(alpha(100, 1_001), 128);
    }

    #[test]
    fn the_decrease_by_hand() {
        let mut htcp = module();
        (htcp.min_rtt, htcp.max_rtt) = (40, 60);
        htcp.bandwidth.max = 1_000;
        htcp.update_beta();
        assert_eq!((htcp.beta, htcp.modeswitch), (64, false)); // nothing to compare with
        htcp.update_beta();
        assert_eq!((htcp.beta, htcp.modeswitch), (64, true)); // comparable from now on
        htcp.bandwidth.max = 1_200; // by a fifth more
        htcp.update_beta();
        assert_eq!(htcp.beta, 85); // 40 * 128 / 60
        htcp.max_rtt = 42;
        htcp.update_beta();
        assert_eq!(htcp.beta, 102); // 0.8 at most
        htcp.bandwidth.max = 959; // 1200 less a fifth is 960
        htcp.update_beta();
        assert_eq!((htcp.beta, htcp.modeswitch), (64, false));
    }

    #[test]
    fn the_longest_round_trip_is_approached_in_steps() {
        let mut htcp = module();
        htcp.measure_rtt(40, true);
        assert_eq!((htcp.min_rtt, htcp.max_rtt), (40, 40));
        htcp.measure_rtt(61, true);
        assert_eq!(htcp.max_rtt, 40); // more than 20 ms above: not believed
        htcp.measure_rtt(60, true);
        htcp.measure_rtt(70, false);
        assert_eq!(htcp.max_rtt, 60);
    }

    #[test]
    fn throughput_is_measured_over_windows() {
        let config = config_of(&VARIANT, Arithmetic::Segments, SlowStart::Plain);
        let mut flow = Bench::new(Modular::new(&config, module()));
        flow.cc.stack.window.ssthresh = 2;
        let sample = AckSample {
            rtt: Some(Time::from_micros(39_001)),
            ..ack(1_000)
        };
        flow.now = Time::from_secs(1);
        for _ in 0..9 {
            flow.ack(&sample);
        }
        // 9 segments are a window of 10 less one: the first sample, of no length.
        let module = &flow.cc.module;
        assert_eq!((module.min_rtt, module.last_cong), (40, Some(960)));
        assert_eq!((module.bandwidth.now, module.bandwidth.packets), (0, 0));
        // The window grows to 11 meanwhile: 10 segments in 100 ms, and 140 / 40 = 3 round trips
        // since the beginning. It counts as it is.
        flow.now = Time::from_millis(1_100);
        for _ in 0..10 {
            flow.ack(&sample);
        }
        assert_eq!(flow.cc.module.bandwidth.max, 100);
        // To 12, 11 segments in 100 ms, and 6 round trips: (3 * 100 + 110) / 4.
        flow.now = Time::from_millis(1_200);
        for _ in 0..11 {
            flow.ack(&sample);
        }
        assert_eq!(flow.cc.module.bandwidth.max, 102);
    }

    #[test]
    fn growth_and_reduction_by_hand() {
        let config = config_of(&VARIANT, Arithmetic::Segments, SlowStart::Plain);
        let mut flow = Bench::new(Modular::new(&config, module()));
        flow.cc.stack.window.ssthresh = 2;
        // Alpha 1: five ACKs of two segments are counted, the sixth grows.
        for _ in 0..5 {
            flow.ack(&ack(2_000));
        }
        assert_eq!(flow.cc.cwnd(), 10_000);
        flow.ack(&ack(2_000));
        assert_eq!(flow.cc.cwnd(), 11_000);
        flow.now = Time::from_millis(1_500);
        flow.congestion(Congestion::Loss, &congestion(0));
        assert_eq!((flow.cc.cwnd(), flow.cc.ssthresh()), (5_000, 5_000));
        assert_eq!(flow.cc.module.last_cong, Some(1_500));
        flow.undo();
        assert_eq!((flow.cc.cwnd(), flow.cc.module.last_cong), (11_000, None));
        // The clock starts again when what was outstanding is acknowledged.
        flow.congestion(Congestion::Loss, &congestion(0));
        flow.now = Time::from_millis(1_600);
        flow.ack(&ack(1_000));
        assert_eq!(flow.cc.module.last_cong, Some(1_600));
    }

    /// `htcp_param_update`: the longest round trip comes a twentieth nearer to the shortest.
    #[test]
    fn the_longest_round_trip_fades() {
        let config = config_of(&VARIANT, Arithmetic::Segments, SlowStart::Plain);
        let window = SegmentWindow::new(&config);
        let faded = |min_rtt, max_rtt| {
            let mut htcp = module();
            (htcp.min_rtt, htcp.max_rtt) = (min_rtt, max_rtt);
            htcp.ssthresh(&window, Time::from_secs(1));
            htcp.max_rtt
        };
        assert_eq!(faded(40, 60), 59);
        assert_eq!(faded(40, 240), 230);
        assert_eq!(faded(40, 40), 40);
        assert_eq!(faded(0, 60), 60);
    }
}
