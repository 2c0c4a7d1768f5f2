//! Prague: DCTCP for the Internet's queues of low latency (draft-briscoe-iccrg-prague-congestion-control;
//! `tcp_prague.c`, version 0.7 of its authors' tree of Linux).
//!
//! Reacts to marks in proportion, to loss as Reno. Needs counts of marks ([`EcnFeedback::Accurate`]);
//! without them it is Reno, and its packets cannot be marked. Below its target for the round trip it
//! grows as a flow with that round trip does, so that flows with shorter ones get the same rate. With
//! marks of probability p a flow's rate is there about (1/p - 1) x 2 segments in 25 ms. One form,
//! on every stack, in floating point where the module has fixed point.
//!
//! Left out: smaller segments below 1 Mbit/s, and the ends of a round trip in which nothing is
//! acknowledged.

use cclab_interface::state::columns::{ALPHA, ENABLED};
use cclab_interface::state::{counted, flagged};
use cclab_interface::{
    CaEvent, CaState, CongestionOps, PacingStatus, RateSample, StateColumn, Tcp, before,
};
use cclab_units::Measure;
use cclab_units::parameter::Parameter;

use crate::Config;
use crate::lent::lent;
use crate::variant::{ECT1, EcnFeedback, Near, Signal, Variant, WindowInRecovery};

/// The entry of the registry.
pub(crate) const VARIANT: Variant = Variant {
    name: "prague",
    version: 1,
    summary: "DCTCP for the Internet: for queues of low latency (L4S), with rates that depend less on the round trip",
    reference: "draft-briscoe-iccrg-prague-congestion-control; RFC 9331; tcp_prague.c 0.7",
    near: &[Near::with("l4s", "a queue `dualpi2`")],
    kernel: None,
    recovery: None,
    window: WindowInRecovery::Own,
    paces: true,
    ecn: EcnFeedback::Accurate,
    signal: Signal::Losses,
    departures: &[],
    params: &[
        Parameter {
            name: "prague_rtt_target",
            measure: Measure::Time,
            meaning: "the round trip below which rates no longer depend on it (RTT_virt)",
            default: 0.025,
            least: 0.0,
            most: 0.1,
        },
        Parameter {
            name: "prague_rtt_transition",
            measure: Measure::Whole,
            meaning: "round trips after slow start from which on that holds",
            default: 4.0,
            least: 0.0,
            most: 1_000_000.0,
        },
        Parameter {
            name: ECT1,
            measure: Measure::Switch,
            meaning: "packets are ECT(1), for the L4S queue of dualpi2, instead of ECT(0)",
            default: 1.0,
            least: 0.0,
            most: 1.0,
        },
    ],
    relations: &[],
    ops: Some(|config| Box::new(Prague::new(config))),
    build: Some(|config| lent(config, Prague::new(config))),
};

/// `TCP_ECN_OK`: the flow negotiated feedback that counts.
const ECN_OK: u32 = 1;
/// The gain of the moving average of marks (g; `PRAGUE_SHIFT_G`).
const GAIN: f64 = 1.0 / 16.0;
/// The least window of the stack (`MIN_CWND_RTT`).
const LEAST_WINDOW: f64 = 2.0;
/// The least rate, in bytes a second (`MINIMUM_RATE`).
const LEAST_RATE: f64 = 12_500.0;
/// Longer round trips are not scaled (`MAX_SCALED_RTT`).
const LONGEST_SCALED_US: f64 = 100_000.0;
/// By how much the rate swings above and below itself in each virtual round trip (`RATE_OFFSET`).
const SWING: f64 = 4.0 / 128.0;
/// The part of the way by which the slow average of round trips moves (`HSRTT_SHIFT`).
const SLOW_GAIN: f64 = 1.0 / 128.0;
/// A burst lasts 2^-12 seconds at the rate (`prague_burst_shift`).
const BURSTS_PER_SECOND: f64 = 4_096.0;
/// Bursts that wait in a host's discipline (`tcp_small_queue_check`).
const WAITING: u32 = 2;
/// Bytes of a window up to which the rate is what is kept (`prague_cwnd_transit`, full packets).
const RATE_BELOW: u32 = 4 * 1_500;
/// Bytes of headers beside payload (`tcp_mss_to_mtu`, with timestamps).
const HEADERS: u32 = 52;
/// `TCP_CLOSE` and `TCP_LISTEN`: what the flow negotiates is not known yet.
const UNCONNECTED: [u8; 2] = [7, 10];

/// What leads while the other follows (`cwnd_mode`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kept {
    Window,
    Rate,
}

/// The module at one flow (`struct prague`).
struct Prague {
    target_us: f64,
    transition: u32,
    /// Without feedback that counts: Reno (`prague_reno`).
    is_reno: bool,
    /// Moving average of the share of marked segments.
    alpha: f64,
    /// The window in segments and parts of them (`frac_cwnd`), and the rate in bytes a second.
    window: f64,
    rate: f64,
    kept: Kept,
    /// A mark has come: there is a queue on the path that marks.
    saw_mark: bool,
    /// Losses are being repaired: the window does not grow.
    in_loss: bool,
    /// Window and rate before the last loss.
    loss_cwnd: u32,
    loss_rate: f64,
    /// The round ends when this number is acknowledged; how many have ended since slow start.
    next_seq: u32,
    rounds: u32,
    /// `delivered` and `delivered_ce` when it began, and the latter at the last acknowledgement.
    old_delivered: u32,
    old_delivered_ce: u32,
    told_ce: u32,
    /// When the average was last updated, and the window last reduced for marks.
    averaged_us: u64,
    reduced_us: u64,
    /// The slow average of round trips, in microseconds (`hsrtt_us`).
    slow_rtt_us: f64,
    /// Segments of a burst.
    burst: u32,
}

impl Prague {
    fn new(config: &Config) -> Prague {
        Prague {
            target_us: config.params.get("prague_rtt_target") * 1e6,
            transition: config.params.get("prague_rtt_transition") as u32,
            is_reno: false,
            alpha: 0.0,
            window: 0.0,
            rate: LEAST_RATE,
            kept: Kept::Window,
            saw_mark: false,
            in_loss: false,
            loss_cwnd: 0,
            loss_rate: 0.0,
            next_seq: 0,
            rounds: 0,
            old_delivered: 0,
            old_delivered_ce: 0,
            told_ce: 0,
            averaged_us: 0,
            reduced_us: 0,
            slow_rtt_us: 0.0,
            burst: 1,
        }
    }

    /// Whether the rate no longer depends on the round trip (`prague_is_rtt_indep`).
    fn is_independent(&self, tcp: &Tcp) -> bool {
        !tcp.in_slow_start() && self.rounds >= self.transition
    }

    /// Whether the rate is what is kept.
    fn keeps_rate(&self, tcp: &Tcp) -> bool {
        self.kept == Kept::Rate && self.is_independent(tcp)
    }

    /// The draft's `RTT_virt` (`prague_virtual_rtt`).
    fn virtual_rtt_us(&self, tcp: &Tcp) -> f64 {
        rtt_us(tcp).max(self.target_us)
    }

    /// What a round trip without marks adds to the window, in segments (`prague_ai_ack_increase`):
    /// 1/M^2 where the round trip is M times shorter than the virtual one.
    fn increase(&self, tcp: &Tcp) -> f64 {
        let rtt_us = rtt_us(tcp);
        let scaled = self.rounds >= self.transition && rtt_us > 0.0 && rtt_us <= LONGEST_SCALED_US;
        match scaled && rtt_us < self.target_us {
            true => (rtt_us / self.target_us).powi(2),
            false => 1.0,
        }
    }

    fn rate_of_window(&self, tcp: &Tcp) -> f64 {
        let rtt_us = rtt_us(tcp);
        match rtt_us > 0.0 {
            true => (self.window * f64::from(tcp.mss_cache) * 1e6 / rtt_us).max(LEAST_RATE),
            false => self.rate,
        }
    }

    fn window_of_rate(&self, tcp: &Tcp) -> f64 {
        let rtt_us = match self.slow_rtt_us > 0.0 {
            true => self.slow_rtt_us,
            false => rtt_us(tcp),
        };
        self.rate * rtt_us / 1e6 / f64::from(tcp.mss_cache)
    }

    /// Whether the window limits the sender. The module is for hosts whose discipline `fq` spaces
    /// packets out: those that wait there are in flight, as many as two bursts. Here the stack itself
    /// holds them back, and they are not.
    fn is_window_used(&self, tcp: &Tcp, sample: &RateSample) -> bool {
        tcp.is_cwnd_limited() || sample.prior_in_flight + WAITING * self.burst >= tcp.snd_cwnd
    }

    /// `prague_update_cwnd`: grows by what was acknowledged and not marked, and lets the stack's window
    /// follow by a segment.
    fn update_window(&mut self, tcp: &mut Tcp, sample: &RateSample, marked: u32) {
        if marked > 0 && !self.saw_mark {
            self.window /= 2.0; // out of slow start, as for a loss
            self.saw_mark = true;
        }
        let unmarked = sample.acked_sacked.saturating_sub(marked);
        if unmarked > 0 && !self.in_loss && self.is_window_used(tcp, sample) {
            let mut left = unmarked;
            if tcp.in_slow_start() {
                left = tcp.slow_start(unmarked);
                self.window = f64::from(tcp.snd_cwnd);
                if left == 0 {
                    return;
                }
            }
            self.grow(tcp, f64::from(left));
        }
        let clamp = f64::from(tcp.snd_cwnd_clamp);
        let wanted = self.window.ceil().max(LEAST_WINDOW).min(clamp) as u32;
        if tcp.snd_cwnd > wanted {
            tcp.snd_cwnd -= 1;
            tcp.snd_ssthresh = tcp.snd_cwnd;
        } else if tcp.snd_cwnd < wanted {
            tcp.snd_cwnd += 1;
        }
        tcp.snd_cwnd_stamp = tcp.jiffies32();
    }

    /// Additive increase for `acked` segments without a mark.
    fn grow(&mut self, tcp: &Tcp, acked: f64) {
        if self.keeps_rate(tcp) {
            // A segment more in each virtual round trip.
            let mss = f64::from(tcp.mss_cache);
            let virtual_s = self.virtual_rtt_us(tcp) / 1e6;
            let segments = (self.rate * virtual_s / mss).ceil().max(1.0);
            self.rate += acked * mss / virtual_s / segments;
            self.window = self.window.max(self.window_of_rate(tcp));
        } else {
            self.window += acked * self.increase(tcp) / self.window.max(1.0);
            self.rate = self.rate.max(self.rate_of_window(tcp));
        }
    }

    /// `prague_should_update_ewma`: a round trip is over, and a virtual one.
    fn is_round_over(&self, tcp: &Tcp) -> bool {
        !before(tcp.snd_una, self.next_seq)
            && (!self.is_independent(tcp) || self.since(tcp, self.averaged_us) >= self.target_us)
    }

    /// Microseconds since the instant `then`.
    fn since(&self, tcp: &Tcp, then: u64) -> f64 {
        tcp.tcp_mstamp.saturating_sub(then) as f64
    }

    /// `prague_update_alpha`: the draft's `alpha += g * (frac - alpha)`.
    fn end_round(&mut self, tcp: &Tcp) {
        if self.saw_mark {
            let delivered = tcp.delivered.wrapping_sub(self.old_delivered).max(1);
            let marked = tcp.delivered_ce.wrapping_sub(self.old_delivered_ce);
            let share = f64::from(marked) / f64::from(delivered);
            self.alpha = (self.alpha + GAIN * (share - self.alpha)).min(1.0);
            self.averaged_us = tcp.tcp_mstamp;
        }
        self.slow_rtt_us += SLOW_GAIN * (rtt_us(tcp) - self.slow_rtt_us);
        self.begin_round(tcp);
    }

    /// `prague_new_round`.
    fn begin_round(&mut self, tcp: &Tcp) {
        self.next_seq = tcp.snd_nxt;
        self.old_delivered = tcp.delivered;
        self.old_delivered_ce = tcp.delivered_ce;
        if !tcp.in_slow_start() {
            self.rounds = self.rounds.saturating_add(1);
        }
    }

    /// `prague_enter_cwr`: once in a virtual round trip, by half of the average.
    fn reduce_for_marks(&mut self, tcp: &Tcp) {
        if self.is_independent(tcp) && self.since(tcp, self.reduced_us) < self.target_us {
            return;
        }
        self.reduced_us = tcp.tcp_mstamp;
        let left = 1.0 - self.alpha / 2.0;
        self.reduce_to(tcp, left);
    }

    /// `prague_enter_loss`: a loss costs half, once.
    fn reduce_for_loss(&mut self, tcp: &Tcp) {
        self.loss_cwnd = tcp.snd_cwnd;
        self.loss_rate = self.rate;
        self.in_loss = true;
        self.reduce_to(tcp, 0.5);
    }

    /// Keeps the part `left` of window and rate.
    fn reduce_to(&mut self, tcp: &Tcp, left: f64) {
        if self.keeps_rate(tcp) {
            self.rate = (self.rate * left).max(LEAST_RATE);
            self.window = self.window_of_rate(tcp);
        } else {
            self.window *= left;
            self.rate = self.rate_of_window(tcp);
        }
    }

    /// `prague_update_pacing_rate`: the window spread over the round trip, or a rate that swings about
    /// the one that is kept, so that a queue that marks above a step marks some of each round trip.
    fn update_pacing_rate(&mut self, tcp: &mut Tcp) {
        let mut rate = if self.keeps_rate(tcp) {
            let half = self.virtual_rtt_us(tcp) / 2.0;
            let swing = match self.since(tcp, self.averaged_us) >= half {
                true => -SWING,
                false => SWING,
            };
            self.rate * (1.0 + swing)
        } else {
            let rtt_us = rtt_us(tcp);
            if rtt_us <= 0.0 {
                return;
            }
            let segments = self.window.floor().max(f64::from(tcp.packets_in_flight()));
            self.rate = (segments * f64::from(tcp.mss_cache) * 1e6 / rtt_us).max(LEAST_RATE);
            self.rate
        };
        if tcp.snd_cwnd < tcp.snd_ssthresh / 2 {
            rate *= 2.0;
        }
        let burst = rate / f64::from(tcp.mss_cache) / BURSTS_PER_SECOND;
        self.burst = (burst as u32).max(1);
        tcp.pacing_rate = (rate as u64).min(tcp.max_pacing_rate);
    }

    /// Small windows are too coarse to follow: the rate is kept then.
    fn choose_what_is_kept(&mut self, tcp: &Tcp) {
        let bytes = tcp.snd_cwnd.saturating_mul(tcp.mss_cache + HEADERS);
        if self.saw_mark && bytes <= RATE_BELOW {
            self.kept = Kept::Rate;
            self.window = self.window_of_rate(tcp);
        } else {
            self.kept = Kept::Window;
            self.rate = self.rate_of_window(tcp);
        }
    }
}

/// What traces are told.
const STATE: &[StateColumn] = &[
    ENABLED,
    ALPHA,
    StateColumn::number(
        "fractional_window_bytes",
        "Window with its part of a segment, which the stack's follows.",
    ),
    StateColumn::number(
        "kept_rate_bps",
        "Rate that it keeps where windows are small.",
    ),
    StateColumn::flag("keeps_rate", "Whether it keeps the rate, not the window."),
    StateColumn::count(
        "virtual_rtt_ns",
        "Round-trip time by which it grows and reduces (`RTT_virt`).",
    ),
    StateColumn::count(
        "rounds_outside_slow_start",
        "Rounds in which it was not in slow start.",
    ),
];

/// The smoothed round trip in microseconds.
fn rtt_us(tcp: &Tcp) -> f64 {
    f64::from(tcp.srtt_us) / 8.0
}

impl CongestionOps for Prague {
    fn init(&mut self, tcp: &mut Tcp) {
        self.is_reno = tcp.ecn_flags & ECN_OK == 0 && !UNCONNECTED.contains(&tcp.state);
        if self.is_reno {
            return;
        }
        if tcp.pacing_status == PacingStatus::None as u32 {
            tcp.pacing_status = PacingStatus::Needed as u32;
        }
        self.averaged_us = tcp.tcp_mstamp;
        self.told_ce = tcp.delivered_ce;
        self.saw_mark = tcp.delivered_ce > 0;
        self.window = f64::from(tcp.snd_cwnd);
        self.slow_rtt_us = rtt_us(tcp);
        self.rate = self.rate_of_window(tcp);
        self.update_pacing_rate(tcp);
        self.begin_round(tcp);
    }

    fn ssthresh(&mut self, tcp: &mut Tcp) -> u32 {
        match self.is_reno {
            true => tcp.reno_ssthresh(),
            false => tcp.snd_ssthresh, // it falls with the window
        }
    }

    fn cong_avoid(&mut self, tcp: &mut Tcp, _ack: u32, acked: u32) {
        tcp.reno_cong_avoid(acked);
    }

    fn set_state(&mut self, tcp: &mut Tcp, new: CaState) {
        if self.is_reno || new == tcp.ca() {
            return;
        }
        match new {
            CaState::Recovery => self.reduce_for_loss(tcp),
            CaState::Cwr => self.reduce_for_marks(tcp),
            CaState::Open => self.in_loss = false,
            CaState::Disorder | CaState::Loss => {}
        }
    }

    fn cwnd_event(&mut self, tcp: &mut Tcp, event: CaEvent) {
        if !self.is_reno && event == CaEvent::Loss {
            self.reduce_for_loss(tcp);
        }
    }

    fn has_cong_control(&self) -> bool {
        !self.is_reno
    }

    fn cong_control(&mut self, tcp: &mut Tcp, _ack: u32, _flag: u32, sample: &RateSample) {
        let marked = tcp.delivered_ce.wrapping_sub(self.told_ce);
        self.told_ce = tcp.delivered_ce;
        self.update_window(tcp, sample, marked);
        if self.is_round_over(tcp) {
            self.end_round(tcp);
        }
        self.update_pacing_rate(tcp);
        self.choose_what_is_kept(tcp);
    }

    fn undo_cwnd(&mut self, tcp: &mut Tcp) -> u32 {
        if self.is_reno {
            return tcp.reno_undo_cwnd();
        }
        self.in_loss = false;
        self.rate = self.rate.max(self.loss_rate);
        self.window = self.window_of_rate(tcp);
        tcp.snd_cwnd.max(self.loss_cwnd)
    }

    fn tso_segs(&mut self, _tcp: &mut Tcp) -> Option<u32> {
        (!self.is_reno).then_some(self.burst)
    }

    fn state_columns(&self) -> &'static [StateColumn] {
        STATE
    }

    fn tell_state(&self, tcp: &Tcp, values: &mut [f64]) {
        values.copy_from_slice(&[
            flagged(!self.is_reno),
            self.alpha,
            self.window * f64::from(tcp.mss_cache),
            self.rate * 8.0,
            flagged(self.keeps_rate(tcp)),
            (self.virtual_rtt_us(tcp) * 1e3).round(),
            counted(u64::from(self.rounds)),
        ]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cclab_units::Stream;

    use crate::tests::{config_with, lent};

    /// A flow in congestion avoidance with a window of `cwnd` segments, its round trip long over.
    fn flow(cwnd: u32, rtt_us: u32) -> (Prague, Tcp) {
        let mut prague = Prague::new(&config_with(&VARIANT, &[]));
        let mut tcp = Tcp {
            ecn_flags: ECN_OK,
            srtt_us: rtt_us << 3,
            delivered: 1, // the SYN
            tcp_mstamp: 1_000_000,
            is_cwnd_limited: 1,
            mss_cache: 1_000,
            ..lent(cwnd, 2)
        };
        prague.init(&mut tcp);
        prague.saw_mark = true;
        prague.rounds = 4;
        prague.next_seq = u32::MAX / 2;
        (prague, tcp)
    }

    /// An acknowledgement of so many segments, of which so many came marked.
    fn ack((prague, tcp): &mut (Prague, Tcp), acked: u32, marked: u32) {
        tcp.delivered += acked;
        tcp.delivered_ce += marked;
        let sample = RateSample {
            acked_sacked: acked,
            ..RateSample::default()
        };
        prague.cong_control(tcp, 0, 0, &sample);
    }

    fn state((prague, tcp): &mut (Prague, Tcp), new: CaState) {
        prague.set_state(tcp, new);
        tcp.ca_state = new as u8;
    }

    /// The draft, section 2.4.2: alpha += (frac - alpha) / 16, by hand.
    #[test]
    fn the_average_follows_the_share_of_marked_segments() {
        let mut flow = flow(20, 30_000);
        let mut round = |acked, marked| {
            flow.0.next_seq = flow.1.snd_una;
            flow.1.tcp_mstamp += 30_000;
            ack(&mut flow, acked, marked);
            flow.0.alpha
        };
        assert_eq!(round(10, 0), 0.0);
        assert_eq!(round(10, 4), 0.4 / 16.0);
        assert!((round(10, 10) - (0.025 + 0.975 / 16.0)).abs() < 1e-12);
        assert!((round(10, 0) - 0.085_937_5 * 15.0 / 16.0).abs() < 1e-12);
    }

    /// The draft, section 2.4.4: the average, too, has the virtual round trip.
    #[test]
    fn short_round_trips_are_averaged_over_a_virtual_one() {
        let mut flow = flow(20, 5_000);
        let mut after = |us| {
            flow.0.next_seq = flow.1.snd_una;
            flow.1.tcp_mstamp += us;
            ack(&mut flow, 10, 10);
            flow.0.alpha
        };
        assert_eq!(after(24_000), 0.0);
        assert_eq!(after(1_000), 1.0 / 16.0);
        assert_eq!(after(5_000), 1.0 / 16.0);
    }

    /// The draft, section 2.4.4, with its example: of 25 ms and 5 ms, M = 5, and a round trip of `cwnd`
    /// packets adds 1/M^2.
    #[test]
    fn increase_is_a_segment_in_a_virtual_round_trip_of_the_reference_window() {
        for (rtt_us, added) in [
            (5_000, 1.0 / 25.0),
            (12_500, 1.0 / 4.0),
            (25_000, 1.0),
            (50_000, 1.0),
        ] {
            let mut flow = flow(1_000, rtt_us);
            for _ in 0..1_000 {
                ack(&mut flow, 1, 0);
            }
            let grown = flow.0.window - 1_000.0;
            assert!((grown / added - 1.0).abs() < 1e-3, "{rtt_us} us: {grown}");
        }
        let mut young = flow(1_000, 5_000);
        young.0.rounds = 3;
        ack(&mut young, 1_000, 0);
        assert_eq!(young.0.window, 1_001.0, "not before the transition");
    }

    /// The draft, section 2.4.3: cwnd += (acked_sacked - ece_delta) * ai_per_rtt / cwnd, in any state.
    #[test]
    fn only_what_came_without_a_mark_adds() {
        let mut flow = flow(100, 25_000);
        state(&mut flow, CaState::Cwr);
        let before = flow.0.window;
        ack(&mut flow, 10, 4);
        assert_eq!(flow.0.window, before + 6.0 / before);
        let before = flow.0.window;
        ack(&mut flow, 2, 3);
        assert_eq!(flow.0.window, before, "control packets were marked as well");
    }

    /// The draft, section 2.4.2: ssthresh = (1 - alpha/2) * cwnd, once in a virtual round trip. The
    /// stack's window follows by a segment for each acknowledgement.
    #[test]
    fn marks_cost_half_of_the_average_once() {
        let mut flow = flow(100, 5_000);
        flow.0.alpha = 0.1;
        let mut cut = |us| {
            flow.1.tcp_mstamp += us;
            flow.1.ca_state = CaState::Open as u8;
            state(&mut flow, CaState::Cwr);
            flow.0.window
        };
        assert_eq!(cut(0), 95.0);
        assert_eq!(cut(24_999), 95.0);
        assert_eq!(cut(1), 90.25);
        let windows = [1; 3].map(|marked| {
            ack(&mut flow, 1, marked);
            (flow.1.snd_cwnd, flow.1.snd_ssthresh)
        });
        assert_eq!(windows, [(99, 99), (98, 98), (97, 97)]);
    }

    #[test]
    fn the_first_mark_ends_slow_start_with_half_the_window() {
        let mut prague = Prague::new(&config_with(&VARIANT, &[]));
        let mut tcp = Tcp {
            ecn_flags: ECN_OK,
            srtt_us: 30_000 << 3,
            is_cwnd_limited: 1,
            tcp_mstamp: 1_000_000,
            ..lent(10, 2)
        };
        tcp.snd_ssthresh = u32::MAX / 2;
        prague.init(&mut tcp);
        let mut flow = (prague, tcp);
        ack(&mut flow, 10, 0);
        assert_eq!((flow.1.snd_cwnd, flow.0.window), (20, 20.0));
        state(&mut flow, CaState::Cwr);
        assert_eq!(
            flow.0.window, 20.0,
            "nothing is known of how much is marked"
        );
        ack(&mut flow, 2, 2);
        assert_eq!((flow.1.snd_cwnd, flow.1.snd_ssthresh), (19, 19));
        assert_eq!(flow.0.window, 10.0);
        assert!(!flow.1.in_slow_start());
    }

    /// The draft, section 2.4.1: a loss costs what it costs Reno, and stops growth until it is repaired.
    #[test]
    fn losses_halve_and_are_taken_back() {
        let mut flow = flow(40, 25_000);
        state(&mut flow, CaState::Recovery);
        assert_eq!(flow.0.window, 20.0);
        ack(&mut flow, 5, 0);
        assert_eq!((flow.0.window, flow.1.snd_cwnd), (20.0, 39));
        state(&mut flow, CaState::Open);
        ack(&mut flow, 5, 0);
        assert_eq!(flow.0.window, 20.25);
        flow.0.cwnd_event(&mut flow.1, CaEvent::Loss);
        assert_eq!(flow.0.window, 10.125);
        let cwnd = flow.1.snd_cwnd;
        assert_eq!(flow.0.undo_cwnd(&mut flow.1), cwnd);
        assert!((flow.0.window - 20.0).abs() < 0.5, "{}", flow.0.window);
    }

    /// Of 20 segments 18 are in flight: two wait to be paced. With 17 the application has no more.
    #[test]
    fn a_window_that_pacing_keeps_from_being_full_grows() {
        let mut flow = flow(20, 25_000);
        flow.1.is_cwnd_limited = 0;
        let mut grown = |prior_in_flight| {
            let before = flow.0.window;
            flow.1.delivered += 1;
            let sample = RateSample {
                acked_sacked: 1,
                prior_in_flight,
                ..RateSample::default()
            };
            flow.0.cong_control(&mut flow.1, 0, 0, &sample);
            flow.0.window > before
        };
        assert_eq!([17, 18, 20].map(&mut grown), [false, true, true]);
    }

    #[test]
    fn without_feedback_that_counts_it_is_reno() {
        let mut prague = Prague::new(&config_with(&VARIANT, &[]));
        let mut tcp = Tcp {
            ecn_flags: 0,
            ..lent(20, 2)
        };
        prague.init(&mut tcp);
        assert!(!prague.has_cong_control());
        assert_eq!(prague.ssthresh(&mut tcp), 10);
        prague.cong_avoid(&mut tcp, 0, 20);
        assert_eq!(tcp.snd_cwnd, 21);
        assert_eq!(tcp.pacing_status, PacingStatus::None as u32);
        assert_eq!(prague.tso_segs(&mut tcp), None);
    }

    /// The draft, section 2.4.6: MTU * max(cwnd, inflight) / srtt, twice that in slow start, in bursts of
    /// a quarter of a millisecond.
    #[test]
    fn the_window_is_spread_over_the_round_trip() {
        let mut flow = flow(100, 25_000);
        ack(&mut flow, 1, 1);
        assert_eq!(flow.1.pacing_rate, 100 * 1_000 * 40);
        assert_eq!(flow.0.tso_segs(&mut flow.1), Some(1));
        flow.1.packets_out = 110;
        ack(&mut flow, 1, 1);
        assert_eq!(flow.1.pacing_rate, 110 * 1_000 * 40);
        flow.1.snd_ssthresh = 202;
        ack(&mut flow, 1, 1);
        assert_eq!(flow.1.pacing_rate, 2 * 110 * 1_000 * 40);
        flow.1.srtt_us = 1_000 << 3;
        flow.1.snd_ssthresh = 2;
        ack(&mut flow, 1, 1);
        assert_eq!(flow.1.pacing_rate, 110_000_000);
        assert_eq!(flow.0.tso_segs(&mut flow.1), Some(26), "110,000 a second");
    }

    /// Windows of four packets and less: the rate is kept, and swings by 1/32 about itself.
    #[test]
    fn small_windows_keep_a_rate() {
        let mut flow = flow(3, 2_000);
        ack(&mut flow, 1, 1);
        assert_eq!(flow.0.kept, Kept::Rate);
        flow.0.rate = 100_000.0; // a fifth of a segment in a round trip
        flow.0.averaged_us = flow.1.tcp_mstamp;
        ack(&mut flow, 1, 1);
        assert_eq!(flow.1.pacing_rate, 103_125);
        assert!((flow.0.window - 0.2).abs() < 1e-9 && flow.1.snd_cwnd >= 2);
        flow.1.tcp_mstamp += 12_500;
        ack(&mut flow, 1, 1);
        assert_eq!(flow.1.pacing_rate, 96_875);
        // 2.5 segments in 25 ms, rounded up: a third of one in 25 ms for each acknowledged.
        ack(&mut flow, 1, 0);
        assert!((flow.0.rate - (100_000.0 + 40_000.0 / 3.0)).abs() < 1e-6);
        flow.0.alpha = 1.0;
        for _ in 0..20 {
            flow.1.tcp_mstamp += 25_000;
            flow.1.ca_state = CaState::Open as u8;
            state(&mut flow, CaState::Cwr);
        }
        assert_eq!(flow.0.rate, LEAST_RATE);
    }

    /// In a virtual round trip a flow gains 1 - p segments of its reference window, and loses p/2 of it.
    /// With a mark whenever it may lose that is 2 (1 - p)/p segments, what the module's authors print
    /// as 1/p - 1 Mbit/s, whatever the round trip below the target, and by so much less above. Marks at
    /// random let it wait for one on average 1/m virtual round trips, where m is how many come in one:
    /// m/2 = (1 - p)(1 + 1/m), so m is (1 + sqrt(3)) (1 - p) for small p.
    #[test]
    fn the_rate_is_that_of_the_marks_whatever_the_round_trip() {
        for (rtt_us, virtual_us) in [(5_000, 25_000), (12_500, 25_000), (50_000, 50_000)] {
            for p in [0.01, 0.03] {
                let mut flow = flow((2.0 / p) as u32, rtt_us);
                let mut dice = Stream::new(1, "marks");
                let (mut sent, mut from_us) = (0_u64, 0);
                let (mut una, mut high, mut clock_us) = (0_u64, 0_u64, 0.0);
                for step in 0..1_000_000_u64 {
                    clock_us += f64::from(rtt_us) / f64::from(flow.1.snd_cwnd);
                    flow.1.tcp_mstamp = 1_000_000 + clock_us as u64;
                    una += 1;
                    flow.1.snd_una = una as u32;
                    flow.1.snd_nxt = (una + u64::from(flow.1.snd_cwnd)) as u32;
                    if step == 0 {
                        flow.0.next_seq = flow.1.snd_nxt;
                    }
                    let marked = dice.chance(p);
                    if flow.1.ca() == CaState::Cwr && una > high {
                        state(&mut flow, CaState::Open);
                    }
                    if marked && flow.1.ca() == CaState::Open {
                        high = u64::from(flow.1.snd_nxt);
                        state(&mut flow, CaState::Cwr);
                    }
                    ack(&mut flow, 1, u32::from(marked));
                    match step {
                        ..300_000 => from_us = flow.1.tcp_mstamp,
                        _ => sent += 1,
                    }
                }
                let span = (flow.1.tcp_mstamp - from_us) as f64;
                let in_virtual = sent as f64 * f64::from(virtual_us) / span;
                let expected = (1.0 + 3.0_f64.sqrt()) * (1.0 - p) / p;
                let ratio = in_virtual / expected;
                assert!((0.85..1.15).contains(&ratio), "{rtt_us} us, {p}: {ratio}");
            }
        }
    }
}
