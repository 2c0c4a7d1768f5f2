//! Linux's stack where it keeps the window: which hooks it calls, in which order, and the window
//! that it keeps. What is expected follows from `net/ipv4/tcp_*.c` of Linux 6.12, by name.

mod common;

use std::sync::{Arc, Mutex};

use cclab_cc::Maker;
use cclab_interface::{AckSample, CaEvent, CaState, CongestionOps, PacingStatus, RateSample, Tcp};
use cclab_tcp::Sender;
use cclab_tcp::profile::{CoarseTimer, Profile, Recovery};
use common::*;

type Calls = Arc<Mutex<Vec<String>>>;

/// Reno that writes down how it is called.
struct Recorder(Calls);

impl Recorder {
    fn note(&self, call: String) {
        self.0.lock().expect("one thread").push(call);
    }
}

impl CongestionOps for Recorder {
    fn init(&mut self, tcp: &mut Tcp) {
        self.note(format!("init {}", tcp.snd_cwnd));
    }

    fn ssthresh(&mut self, tcp: &mut Tcp) -> u32 {
        self.note(format!("ssthresh {}", tcp.packets_in_flight()));
        tcp.reno_ssthresh()
    }

    fn cong_avoid(&mut self, tcp: &mut Tcp, _ack: u32, acked: u32) {
        self.note(format!("cong_avoid {acked}"));
        tcp.reno_cong_avoid(acked);
    }

    fn set_state(&mut self, tcp: &mut Tcp, new: CaState) {
        self.note(format!("{:?} to {new:?}", tcp.ca()));
    }

    fn cwnd_event(&mut self, tcp: &mut Tcp, event: CaEvent) {
        self.note(format!("{event:?} {}", tcp.snd_cwnd));
    }

    fn in_ack_event(&mut self, _tcp: &mut Tcp, flags: u32) {
        self.note(format!("flags {flags}"));
    }

    fn pkts_acked(&mut self, tcp: &mut Tcp, sample: &AckSample) {
        let AckSample {
            pkts_acked, rtt_us, ..
        } = sample;
        self.note(format!("acked {pkts_acked} in {rtt_us} {:?}", tcp.ca()));
    }

    fn undo_cwnd(&mut self, tcp: &mut Tcp) -> u32 {
        self.note("undo".to_owned());
        tcp.reno_undo_cwnd()
    }
}

struct Linux {
    s: Script,
    calls: Calls,
}

impl Linux {
    fn of(mut profile: Profile, ecn: bool, segments: u64) -> Linux {
        profile.bursts = None; // each segment leaves as soon as it may
        profile.timer = CoarseTimer::EXACT;
        let calls = Calls::default();
        let log = calls.clone();
        let maker = Maker::File(Arc::new(move |_| Box::new(Recorder(log.clone()))));
        let sender = Sender::new(config(profile, Recovery::RackPrr, maker, ecn, ISN));
        Linux {
            s: Script::establish(sender, ecn, segments),
            calls,
        }
    }

    /// Ten segments in flight from 100 ms on, of `segments`.
    fn new(segments: u64) -> Linux {
        let mut linux = Linux::of(profile("linux-6.12"), false, segments);
        let in_flight = segments.min(10);
        assert_eq!(linux.s.sent(100), fresh(0..in_flight));
        linux.calls();
        linux
    }

    /// What was called since this was asked last.
    fn calls(&mut self) -> Vec<String> {
        std::mem::take(&mut *self.calls.lock().expect("one thread"))
    }

    /// Window and threshold, in segments.
    fn window(&self) -> (u64, u64) {
        (self.s.cwnd() / MSS, self.s.ssthresh() / MSS)
    }
}

const UNLIMITED: u64 = u64::MAX / MSS;

/// `tcp_init_transfer`; the acknowledgement that tells the window finds nothing outstanding, so that
/// of all hooks only `in_ack_event` hears of it (`no_queue` of `tcp_ack`): slow path, window
/// updated. The first segment leaves with nothing in flight (`tcp_event_data_sent`).
#[test]
fn a_connection_begins() {
    let mut l = Linux::of(profile("linux-6.12"), false, 100);
    assert_eq!(l.s.sent(100), fresh(0..10));
    assert_eq!(l.calls(), ["init 10", "flags 3", "TxStart 10"]);
}

/// `tcp_ack` on its fast path: `pkts_acked`, `in_ack_event` (window updated), `cong_avoid`.
/// Ten of ten were in flight: the window limited the sender (`tcp_cwnd_validate`).
#[test]
fn an_ordinary_acknowledgement() {
    let mut l = Linux::new(100);
    l.s.ack(200, 2, &[]);
    assert_eq!(
        l.calls(),
        ["acked 2 in 100000 Open", "flags 2", "cong_avoid 2"]
    );
    assert_eq!(l.window(), (12, UNLIMITED));
    assert_eq!(l.s.sent(200), fresh(10..14));
    assert_eq!(l.calls(), Vec::<String>::new());
}

/// `tcp_clean_rtx_queue` calls `pkts_acked` before `tcp_fastretrans_alert` moves the state: the
/// first SACK finds Open. Three SACKed segments show the loss; `tcp_init_cwnd_reduction` asks for
/// the threshold when it is marked, and the state changes after.
///
/// PRR: 12 out, 3 SACKed, 1 lost: 8 in flight; ceil(5 * 1 / 10) = 1 may leave.
#[test]
fn losses_are_told_in_order() {
    let mut l = Linux::new(100);
    l.s.ack(201, 0, &[(1, 2)]);
    assert_eq!(
        l.calls(),
        ["acked 0 in 101000 Open", "flags 1", "Open to Disorder"]
    );
    assert_eq!(l.s.sent(201), fresh(10..11));
    l.s.ack(202, 0, &[(1, 3)]);
    assert_eq!(l.calls(), ["acked 0 in 102000 Disorder", "flags 1"]);
    assert_eq!(l.s.sent(202), fresh(11..12));
    l.s.ack(203, 0, &[(1, 4)]);
    assert_eq!(
        l.calls(),
        [
            "acked 0 in 103000 Disorder",
            "flags 1",
            "ssthresh 8",
            "Disorder to Recovery"
        ]
    );
    assert_eq!(l.window(), (9, 5));
    assert_eq!(l.s.sent(203), again(&[0]));
    // One leaves for two delivered: 9 - 1 in flight, ceil(5 * 2 / 10) - 1 = 0.
    l.s.ack(204, 0, &[(1, 5)]);
    assert_eq!((l.window(), l.s.sent(204)), ((8, 5), nothing()));
    // ceil(5 * 3 / 10) - 1 = 1.
    l.s.ack(205, 0, &[(1, 6)]);
    assert_eq!((l.window(), l.s.sent(205)), ((8, 5), fresh(12..13)));
    l.calls();
    // The end, without a round trip measured: 0 left twice. `tcp_try_undo_recovery` opens, then
    // `tcp_end_cwnd_reduction` sets the window to the threshold, and it may grow: 7 are delivered,
    // of which 5 make a segment.
    l.s.ack(303, 12, &[]);
    assert_eq!(
        l.calls(),
        [
            "acked 12 in -1 Recovery",
            "flags 2",
            "Recovery to Open",
            "CompleteCwr 5",
            "cong_avoid 7"
        ]
    );
    assert_eq!(l.window(), (6, 5));
}

/// `tcp_enter_loss`: marks, threshold, event, state. All left longer ago than a round trip: nothing
/// is in flight, the window is one; and what leaves again starts a transmission
/// (`tcp_event_data_sent`). The timeout is an RTT and 200 ms after the probe.
#[test]
fn a_timeout_is_told_in_order() {
    let mut l = Linux::new(10);
    assert_eq!(l.s.timer(302), again(&[9]));
    assert_eq!(l.calls(), Vec::<String>::new());
    assert_eq!(l.s.timer(602), again(&[0]));
    assert_eq!(
        l.calls(),
        ["ssthresh 0", "Loss 10", "Open to Loss", "TxStart 1"]
    );
    assert_eq!(l.window(), (1, 5));
    // Again: `icsk_retransmits` keeps the threshold.
    assert_eq!(l.s.timer(1_202), again(&[0]));
    assert_eq!(l.calls(), ["Loss to Loss", "TxStart 1"]);
    assert_eq!(l.window(), (1, 5));
}

/// A timeout during Recovery reduces nothing more (`high_seq` is not reached), and the window is
/// what is in flight and one: 10 left 53 ms ago, less than `rack.rtt_us`.
#[test]
fn a_timeout_in_recovery_keeps_the_threshold() {
    let mut l = Linux::new(10);
    l.s.ack(203, 0, &[(1, 4)]);
    assert_eq!(l.s.sent(203), again(&[0])); // this copy is lost too
    l.s.ack(209, 0, &[(1, 10)]);
    assert_eq!(l.window().1, 5);
    l.s.sender.write(11 * MSS);
    assert_eq!(l.s.sent(450), fresh(10..11));
    l.calls();
    let due = l.s.due().expect("the timer");
    assert!((500..550).contains(&due));
    assert_eq!(l.s.timer(due), again(&[0]));
    assert_eq!(l.calls(), ["Recovery to Loss"]);
    assert_eq!(l.window(), (2, 5));
}

/// `tcp_try_undo_loss` by the echo of what left at first: the window and the threshold are those of
/// before, and what is delivered counts for growth at once: 10 and 10.
#[test]
fn an_undo_by_the_echo() {
    let mut l = Linux::new(10);
    l.s.timer(302);
    l.s.timer(602);
    l.calls();
    l.s.ack_echo(700, 10, &[], 100);
    assert_eq!(
        l.calls(),
        [
            "acked 10 in 600000 Loss",
            "flags 2",
            "undo",
            "Loss to Open",
            "cong_avoid 10"
        ]
    );
    assert_eq!(l.window(), (20, UNLIMITED));
    assert_eq!(l.s.sender.counters().undos, 1);
}

/// Without an undo, the echo still measures what left twice (`tcp_ack_update_rtt`): 0 left again at
/// 602 and its acknowledgement came 98 ms later. One delivered: slow start to two.
#[test]
fn the_echo_measures_a_retransmission() {
    let mut l = Linux::new(10);
    l.s.timer(302);
    l.s.timer(602);
    l.calls();
    l.s.ack_echo(700, 1, &[], 602);
    assert_eq!(
        l.calls(),
        ["acked 1 in 98000 Loss", "flags 2", "cong_avoid 1"]
    );
    assert_eq!(l.window(), (2, 5));
    assert_eq!(l.s.sent(700), again(&[1, 2]));
}

/// `tcp_try_undo_dsack`: what was sent again is reported as a duplicate. The threshold comes back
/// only if it was larger: here it was unlimited. The duplicate counts as delivered, but only
/// acknowledged data lets the window grow (`tcp_may_raise_cwnd`).
#[test]
fn an_undo_by_a_report_of_duplicates() {
    let mut l = Linux::new(100);
    l.s.ack(203, 0, &[(1, 4)]);
    assert_eq!(l.s.sent(203), [again(&[0]), fresh(10..11)].concat()); // ceil(5 * 3 / 10) = 2
    l.s.ack(210, 4, &[]); // the original, late
    l.s.sent(210);
    l.calls();
    l.s.ack(303, 4, &[(0, 1)]);
    assert_eq!(
        l.calls(),
        [
            "acked 0 in -1 Recovery",
            "flags 1",
            "undo",
            "Recovery to Open"
        ]
    );
    assert_eq!(l.window(), (10, UNLIMITED));
}

/// `tcp_enter_cwr`: an echo reduces by PRR, one leaves for two; no growth; and the reduction is
/// complete when something beyond is acknowledged (`tcp_fastretrans_alert`, D).
#[test]
fn a_mark_reduces_over_a_round_trip() {
    let mut l = Linux::of(profile("linux-6.12"), true, 100);
    assert_eq!(l.s.sent(100), fresh(0..10));
    l.calls();
    l.s.ece = true;
    l.s.ack(200, 1, &[]);
    assert_eq!(
        l.calls(),
        [
            "acked 1 in 100000 Open",
            "flags 7",
            "ssthresh 9",
            "Open to Cwr"
        ]
    );
    assert_eq!((l.window(), l.s.sent(200)), ((10, 5), fresh(10..11)));
    assert!(l.s.packets[0].has(cclab_packet::flags::CWR));
    l.s.ece = false;
    // 9 in flight, ceil(5 * 2 / 10) - 1 = 0; then 8 in flight and ceil(5 * 3 / 10) - 1 = 1.
    l.s.ack(201, 2, &[]);
    assert_eq!((l.window(), l.s.sent(201)), ((9, 5), nothing()));
    l.s.ack(202, 3, &[]);
    assert_eq!((l.window(), l.s.sent(202)), ((9, 5), fresh(11..12)));
    l.s.ack(203, 10, &[]); // up to the end of what was out: not yet beyond
    l.s.sent(203);
    l.calls();
    l.s.ack(300, 11, &[]);
    let calls = l.calls();
    assert_eq!(calls[2..], ["CompleteCwr 5", "Cwr to Open", "cong_avoid 1"]);
    assert_eq!(l.window(), (5, 5));
}

/// `tcp_slow_start_after_idle_check`: 1100 ms after the last departure, at an RTO of 300 ms, the
/// window of 20 is halved down to the initial one; the event comes before.
#[test]
fn an_idle_time_restarts_the_window() {
    let mut l = Linux::new(10);
    l.s.ack(200, 10, &[]);
    assert_eq!(l.window(), (20, UNLIMITED));
    l.calls();
    l.s.sender.write(40 * MSS);
    assert_eq!(l.s.sent(1_200), fresh(10..20));
    assert_eq!(l.calls(), ["CwndRestart 20", "TxStart 10"]);
}

/// `tcp_cwnd_application_limited`: for a timeout (300 ms) without growth below the window, halfway
/// to what was used. Eight of 20 are used, the initial window of 10 counts: (20 + 10) / 2. The
/// threshold of slow start stays unlimited (`tcp_current_ssthresh`).
#[test]
fn a_window_that_is_not_used_shrinks() {
    let mut l = Linux::new(10);
    l.s.ack(200, 10, &[]);
    l.s.sender.write(16 * MSS);
    assert_eq!(l.s.sent(201), fresh(10..16));
    assert_eq!(l.s.timer(403), again(&[15]));
    assert_eq!(l.window(), (20, UNLIMITED));
    l.s.sender.write(18 * MSS);
    assert_eq!(l.s.sent(510), fresh(16..18));
    assert_eq!(l.window(), (15, UNLIMITED));
}

/// `tcp_process_tlp_ack`: the probe repaired the loss, which reduces at once.
#[test]
fn a_loss_that_a_probe_repaired() {
    let mut l = Linux::new(10);
    l.s.ack(200, 9, &[]);
    assert_eq!(l.window(), (19, UNLIMITED));
    assert_eq!(l.s.timer(500), again(&[9]));
    l.s.ack(600, 10, &[]);
    l.s.sender.write(11 * MSS);
    assert_eq!(l.s.sent(600), fresh(10..11));
    l.calls();
    let before = l.window().0;
    l.s.ack(700, 11, &[]);
    assert_eq!(
        l.calls()[2..],
        [
            "ssthresh 0",
            "Open to Cwr",
            &format!("CompleteCwr {}", before / 2),
            "Cwr to Open",
            "cong_avoid 1"
        ]
    );
    assert_eq!(l.window().1, before / 2);
}

/// F-RTO: an acknowledgement after the timeout lets new data go first (`REXMIT_NEW`), two by slow
/// start; then 1 arrives, which left once: the timeout was a mistake (`tcp_process_loss`, step 3.b).
/// The window of before, 10, grows by what is delivered.
#[test]
fn a_spurious_timeout_shows_by_what_left_once() {
    let mut l = Linux::new(100);
    assert_eq!(l.s.timer(302), fresh(10..11));
    assert_eq!(l.s.timer(602), again(&[0]));
    l.s.ack(700, 1, &[]);
    assert_eq!((l.window(), l.s.sent(700)), ((2, 5), fresh(11..13)));
    l.calls();
    l.s.ack(701, 2, &[]);
    assert_eq!(
        l.calls()[2..],
        ["undo", "Loss to Open", "cong_avoid 1"].map(String::from)
    );
    assert_eq!(l.window(), (11, UNLIMITED));
    assert_eq!(l.s.sent(701), nothing());
    assert_eq!(l.s.sender.board().lost(), 0);
}

/// F-RTO, step 3.a: after the new data a duplicate shows that the timeout was genuine, and what was
/// lost leaves again. 11 left before 12, a round trip ago, and is lost, too: nothing is in flight.
#[test]
fn a_genuine_timeout_shows_by_a_sack_of_the_new_data() {
    let mut l = Linux::new(100);
    assert_eq!(l.s.timer(302), fresh(10..11));
    assert_eq!(l.s.timer(602), again(&[0]));
    l.s.ack(700, 1, &[]);
    assert_eq!(l.s.sent(700), fresh(11..13));
    l.s.ack(800, 1, &[(12, 13)]);
    assert_eq!(l.window(), (2, 5));
    assert_eq!(l.s.sent(800), again(&[1, 2]));
    assert!(l.s.sender.in_recovery());
}

/// `tcp_may_raise_cwnd`: where what is late was late by more than three segments
/// (`tcp_check_sack_reordering`: 0 arrived after 5), any delivery lets the window grow, not only
/// what is acknowledged cumulatively.
#[test]
fn a_sack_lets_the_window_grow_where_reordering_is_large() {
    let mut l = Linux::new(100);
    l.s.ack(201, 0, &[(5, 6)]);
    assert_eq!(l.calls().last().expect("calls"), "Open to Disorder");
    l.s.sent(201);
    l.s.ack(202, 1, &[(5, 6)]);
    l.s.sent(202);
    l.calls();
    let before = l.window().0;
    l.s.ack(203, 1, &[(7, 8), (5, 6)]);
    assert_eq!(
        l.calls(),
        ["acked 0 in 103000 Disorder", "flags 1", "cong_avoid 1"]
    );
    assert_eq!(l.window().0, before + 1);
}

/// `tcp_enter_loss` in CWR: the mark reduced the window for the data that is outstanding, and
/// `high_seq` is not reached: no further reduction.
#[test]
fn a_timeout_after_a_mark_keeps_the_threshold() {
    let mut l = Linux::of(profile("linux-6.12"), true, 10);
    assert_eq!(l.s.sent(100), fresh(0..10));
    l.s.ece = true;
    l.s.ack(200, 1, &[]);
    assert_eq!(l.window(), (10, 5));
    assert_eq!(l.s.timer(402), again(&[9])); // probes leave in CWR, too
    l.calls();
    let due = l.s.due().expect("the timer");
    assert_eq!(l.s.timer(due), again(&[1]));
    assert_eq!(l.calls(), ["Cwr to Loss", "TxStart 1"]);
    assert_eq!(l.window(), (1, 5));
}

/// A SYN that left three times leaves a window of one segment (`tcp_init_transfer`); `init` is told
/// once, of that.
#[test]
fn a_lost_syn_leaves_one_segment() {
    let calls = Calls::default();
    let log = calls.clone();
    let maker = Maker::File(Arc::new(move |_| Box::new(Recorder(log.clone()))));
    let mut sender = Sender::new(config(
        profile("linux-6.12"),
        Recovery::RackPrr,
        maker,
        false,
        ISN,
    ));
    sender.connect(ms(0));
    for at in [0, 1_000, 2_000] {
        sender.on_timer(ms(at));
        assert!(sender.poll_transmit(ms(at)).is_some());
    }
    sender.on_packet(ms(2_100), &syn_ack(false, ms(2_000)));
    assert_eq!(sender.cwnd(), MSS);
    assert_eq!(*calls.lock().expect("one thread"), ["init 1"]);
}

/// A variant that controls window and rate itself.
struct Controller(Arc<Mutex<Vec<RateSample>>>);

impl CongestionOps for Controller {
    fn init(&mut self, tcp: &mut Tcp) {
        tcp.pacing_status = PacingStatus::Needed as u32;
        tcp.pacing_rate = 1_000_000;
    }

    fn ssthresh(&mut self, tcp: &mut Tcp) -> u32 {
        tcp.snd_ssthresh
    }

    fn cong_avoid(&mut self, _tcp: &mut Tcp, _ack: u32, _acked: u32) {
        unreachable!("it controls");
    }

    fn has_cong_control(&self) -> bool {
        true
    }

    fn cong_control(&mut self, tcp: &mut Tcp, _ack: u32, _flag: u32, sample: &RateSample) {
        tcp.snd_cwnd = 12;
        self.0.lock().expect("one thread").push(*sample);
    }
}

/// `tcp_rate_gen`: two of ten that left together 100 ms ago; the SYN is the first delivered. The
/// stack leaves the window alone, in Recovery too (`tcp_cong_control`): 12 out, 3 lost.
#[test]
fn a_variant_that_controls_is_told_rates() {
    let samples = Arc::new(Mutex::new(Vec::new()));
    let log = samples.clone();
    let maker = Maker::File(Arc::new(move |_| Box::new(Controller(log.clone()))));
    let mut profile = profile("linux-6.12");
    profile.bursts = None;
    profile.timer = CoarseTimer::EXACT;
    let sender = Sender::new(config(profile, Recovery::RackPrr, maker, false, ISN));
    let mut s = Script::establish(sender, false, 100);
    assert_eq!(s.sent(100), fresh(0..10)); // the first ten are not paced
    assert_eq!(
        s.sender.pacing_rate().map(|rate| rate.bps()),
        Some(8_000_000)
    );
    s.ack(200, 2, &[]);
    let sample = samples.lock().expect("one thread")[0];
    assert_eq!(
        sample,
        RateSample {
            prior_mstamp: 10_100_000, // the modules' clock had run for 10 s
            prior_delivered: 1,
            delivered: 2,
            interval_us: 100_000,
            rcv_interval_us: 100_000,
            rtt_us: 100_000,
            acked_sacked: 2,
            prior_in_flight: 10,
            last_end_seq: ISN.wrapping_add(1 + 2 * MSS as u32),
            is_app_limited: 1, // the first write found nothing unsent (`tcp_rate_check_app_limited`)
            ..RateSample::default()
        }
    );
    assert_eq!(s.cwnd(), 12 * MSS);
    s.ack(201, 2, &[(5, 10)]);
    assert!(s.sender.in_recovery());
    let sample = *samples
        .lock()
        .expect("one thread")
        .last()
        .expect("one more");
    assert_eq!((sample.losses, sample.acked_sacked), (3, 5));
    assert_eq!(s.cwnd(), 12 * MSS);
}
