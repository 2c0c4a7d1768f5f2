use cclab_units::parameter::Params;

use super::*;
use crate::tests::config_of;
use crate::{Arithmetic, SlowStart};

/// A flow of segments of 1000 bytes over a path of 100 ms, which the handshake measured.
pub(super) struct Path {
    pub(super) bbr: Bbr,
    pub(super) tcp: Tcp,
}

fn of(given: &[(&str, f64)]) -> Path {
    let given = given.iter().map(|(n, v)| ((*n).to_owned(), *v)).collect();
    let mut bbr = Bbr::new(&Config {
        params: Params::new(VARIANT.params, &given).expect("in range"),
        ..config_of(&VARIANT, Arithmetic::Segments, SlowStart::Plain)
    });
    let mut tcp = Tcp {
        mss_cache: 1_000,
        srtt_us: 100_000 << 3,
        rtt_min_us: 100_000,
        tcp_mstamp: 1_000_000,
        delivered_mstamp: 1_000_000,
        tcp_clock_cache: 1_000_000_000,
        jiffies: 1_000,
        ..Tcp::default()
    };
    bbr.init(&mut tcp);
    Path { bbr, tcp }
}

impl Path {
    pub(super) fn new() -> Path {
        of(&[])
    }

    /// Lets time go by.
    pub(super) fn pass(&mut self, millis: u64) {
        self.tcp.tcp_mstamp += millis * 1_000;
        self.tcp.tcp_clock_cache += millis * 1_000_000;
        self.tcp.jiffies += millis;
    }

    /// The acknowledgement that ends a round: `segments` were delivered in the 100 ms before it,
    /// and as many are in flight.
    pub(super) fn round(&mut self, segments: u32, change: impl FnOnce(&mut Tcp, &mut RateSample)) {
        self.pass(100);
        let tcp = &mut self.tcp;
        tcp.delivered_mstamp = tcp.tcp_mstamp;
        let mut sample = RateSample {
            prior_delivered: tcp.delivered,
            delivered: segments as i32,
            interval_us: 100_000,
            rtt_us: 100_000,
            acked_sacked: segments,
            prior_in_flight: segments,
            ..RateSample::default()
        };
        tcp.delivered += segments;
        tcp.packets_out = segments;
        change(tcp, &mut sample);
        self.bbr.cong_control(tcp, 0, 0, &sample);
    }

    /// Through Startup and Drain at 100 segments a round.
    pub(super) fn in_probe_bw() -> Path {
        let mut path = Path::new();
        for segments in [10, 20, 40, 80, 100, 100, 100, 100] {
            path.round(segments, |_, _| {});
        }
        assert_eq!(path.bbr.mode, Mode::ProbeBw);
        path
    }
}

/// 10 segments in 100 ms are floor(10 2^24 / 100000) = 1677; 1677 * 1000 * 739 >> 8 = 4841027;
/// times 990000 >> 24 is 285662 bytes a second.
#[test]
fn the_first_rate_is_the_initial_window_over_the_handshakes_round_trip() {
    let mut path = Path::new();
    assert_eq!(path.tcp.pacing_rate, 285_662);
    assert_eq!(path.tcp.pacing_status, PacingStatus::Needed as u32);
    assert_eq!(path.tcp.snd_ssthresh, TCP_INFINITE_SSTHRESH);
    path.tcp.pacing_status = PacingStatus::Fq as u32;
    path.bbr.init(&mut path.tcp);
    assert_eq!(path.tcp.pacing_status, PacingStatus::Fq as u32);
    assert!(path.bbr.has_cong_control());
    assert_eq!(path.bbr.sndbuf_expand(&mut path.tcp), Some(3));
}

/// A connection that begins again has forgotten its model, and rounds count from what was
/// delivered, the SYN included.
#[test]
fn it_begins_anew() {
    let mut path = Path::in_probe_bw();
    path.bbr.init(&mut path.tcp);
    assert_eq!((path.bbr.mode, path.bbr.bw()), (Mode::Startup, 0));
    let delivered = path.tcp.delivered;
    path.round(10, |_, sample| sample.prior_delivered = delivered - 1);
    assert!(!path.bbr.bandwidth.round_start);
}

#[test]
fn the_gains_are_those_of_the_kernel() {
    let constants = Path::new().bbr.constants;
    assert_eq!((constants.high_gain, constants.drain_gain), (739, 88));
    assert_eq!((constants.cwnd_gain, constants.bw_rtts), (512, 10));
    assert_eq!((constants.min_rtt_window, constants.dip), (10_000, 200));
    assert_eq!(constants.margin, 1);
}

/// 2.5 * 256 + 1 = 641 and 256 / 2.5 = 102; with 10 segments of 1000 bytes in 100 ms, 1677 * 641000
/// >> 8 = 4199050, times 950000 >> 24 is 237768 bytes a second.
#[test]
fn parameters_set_gains_and_lengths() {
    let mut path = of(&[
        ("high_gain", 2.5),
        ("cwnd_gain", 3.0),
        ("pacing_margin_percent", 5.0),
        ("min_rtt_win_sec", 2.5),
        ("probe_rtt_mode_ms", 50.0),
        ("bw_rtts", 3.0),
    ]);
    let constants = path.bbr.constants;
    assert_eq!((constants.high_gain, constants.drain_gain), (641, 102));
    assert_eq!((constants.cwnd_gain, constants.dip), (768, 50));
    assert_eq!(constants.min_rtt_window, 2_500);
    assert_eq!(path.tcp.pacing_rate, 237_768);
    path.round(100, |_, _| {});
    for _ in 0..3 {
        path.round(50, |_, _| {});
        assert_eq!(path.bbr.bw(), 16_777);
    }
    path.round(50, |_, _| {});
    assert_eq!(path.bbr.bw(), 8_388, "three rounds on, it is forgotten");
}

/// A rate that the application limited neither fills the pipe nor lowers the model.
#[test]
fn the_applications_limits_are_not_the_paths() {
    let mut path = Path::in_probe_bw();
    for _ in 0..20 {
        path.round(5, |_, sample| sample.is_app_limited = 1);
    }
    assert_eq!(path.bbr.bw(), 16_777);
    path.round(5, |_, _| {});
    assert!(path.bbr.bw() < 16_777, "ten rounds on, the rate counts");
}

/// Acknowledgements that come in bursts widen the window by what a burst is above the rate, up to
/// 100 ms of it. A round in one acknowledgement: 100 segments, of which 16777 * 100000 >> 24 are
/// allowed; ten rounds after, one segment at a time, one and one of rounding.
#[test]
fn bursts_of_acknowledgements_are_added_to_the_window() {
    let mut path = Path::in_probe_bw();
    assert_eq!(path.bbr.extra_window(), 99);
    path.pass(200); // a silence ends the burst
    for _ in 0..1_100 {
        path.pass(1);
        let tcp = &mut path.tcp;
        tcp.delivered += 1;
        tcp.delivered_mstamp = tcp.tcp_mstamp;
        let single = RateSample {
            prior_delivered: tcp.delivered - 100,
            delivered: 100,
            interval_us: 100_000,
            rtt_us: 100_000,
            acked_sacked: 1,
            prior_in_flight: 100,
            ..RateSample::default()
        };
        path.bbr.cong_control(tcp, 0, 0, &single);
    }
    assert_eq!(path.bbr.extra_window(), 2);
}

/// After an idle time the rate is the model's, without a gain: 16777 as 989987 bytes a second.
#[test]
fn a_restart_paces_at_the_models_rate() {
    let mut path = Path::in_probe_bw();
    path.tcp.app_limited = 1;
    path.tcp.pacing_rate = 5;
    path.pass(50);
    path.bbr.cwnd_event(&mut path.tcp, CaEvent::TxStart);
    assert_eq!(path.tcp.pacing_rate, 989_987);
    assert!(path.bbr.idle_restart);
}
