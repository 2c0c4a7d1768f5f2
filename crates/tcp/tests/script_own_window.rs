//! A variant that owns its window: recovery finds losses and repairs them, the window is the
//! variant's; and what such a variant is told.

mod common;

use std::cell::RefCell;

use cclab_cc::{
    AckSample, Config, Congestion, CongestionControl, CongestionSample, Cx, LostSegment, Maker,
    Repair, WindowInRecovery,
};
use cclab_tcp::profile::Recovery;
use cclab_tcp::{Fault, Sender, sender::State};
use cclab_units::{Rate, Time};
use common::*;

thread_local! {
    static LOST: RefCell<Vec<LostSegment>> = const { RefCell::new(Vec::new()) };
    static ACKS: RefCell<Vec<AckSample>> = const { RefCell::new(Vec::new()) };
    static RTT: RefCell<Option<Time>> = const { RefCell::new(None) };
}

/// A window of 20 segments, whatever happens.
struct Twenty;

impl CongestionControl for Twenty {
    fn on_established(&mut self, rtt: Option<Time>, _: &mut Cx<'_>) {
        RTT.set(rtt);
    }
    fn on_lost(&mut self, segment: &LostSegment, _: &mut Cx<'_>) {
        LOST.with_borrow_mut(|lost| lost.push(*segment));
    }
    fn on_ack(&mut self, ack: &AckSample, _: &mut Cx<'_>) {
        ACKS.with_borrow_mut(|acks| acks.push(*ack));
    }
    fn on_congestion(&mut self, _: Congestion, _: &CongestionSample, _: &mut Cx<'_>) {}
    fn on_undo(&mut self, _: &mut Cx<'_>) {}
    fn cwnd(&self) -> u64 {
        20 * MSS
    }
    fn ssthresh(&self) -> u64 {
        u64::MAX
    }
}

fn script(window: WindowInRecovery) -> Script {
    let profile = profile("linux-6.12");
    let build = |_: &Config| -> Box<dyn CongestionControl> { Box::new(Twenty) };
    let sender = Sender::new(cclab_tcp::Config {
        window,
        ..config(profile, Recovery::RackPrr, Maker::Own(build), false, ISN)
    });
    let mut script = Script::establish(sender, false, 100);
    assert_eq!(script.sent(100), fresh(0..20));
    script
}

#[test]
fn the_window_in_force_is_the_variants_own() {
    let mut s = script(WindowInRecovery::Own);
    assert_eq!(RTT.take(), Some(ms(100)));
    s.ack(200, 0, &[(1, 4)]);
    // Three of twenty arrived, one is lost: the copy and three new ones fill the window again.
    assert_eq!(s.sender.window(), 20 * MSS);
    let mut expected = again(&[0]);
    expected.extend(fresh(20..23));
    assert_eq!(s.sent(200), expected);
    assert_eq!(s.sender.board().in_flight(), 20 * MSS);
    let ack = ACKS.with_borrow(|acks| acks[acks.len() - 1]);
    assert_eq!(ack.repair, Repair::Losses);
    assert_eq!((ack.newly_delivered, ack.newly_lost), (3 * MSS, MSS));
    assert_eq!((ack.lost, ack.in_flight), (MSS, 16 * MSS));
    let rate = ack.rate.expect("a sample during recovery");
    // Segment 3 left as the fourth, before anything was lost.
    assert_eq!((rate.tx_in_flight, rate.lost), (4 * MSS, MSS));
    assert_eq!((rate.delivered, rate.interval), (3 * MSS, ms(100)));
    let lost = LOST.take();
    let first = LostSegment {
        len: MSS,
        tx_in_flight: MSS,
        lost: MSS,
        app_limited: false,
    };
    assert_eq!(lost, [first]);
    // The copy arrives: what it tells is of its own departure, with the window full.
    s.ack(300, 4, &[]);
    let ack = ACKS.with_borrow(|acks| acks[acks.len() - 1]);
    let rate = ack.rate.expect("a sample of the copy");
    // By it the sixteen that left 100 ms before are lost.
    assert_eq!((rate.tx_in_flight, rate.lost), (17 * MSS, 16 * MSS));
    assert_eq!(ack.repair, Repair::Losses); // until all that was outstanding is acknowledged
}

#[test]
fn recovery_shrinks_the_window_of_others() {
    let mut s = script(WindowInRecovery::Stack);
    s.ack(200, 0, &[(1, 4)]);
    assert!(s.sender.window() < 20 * MSS);
    assert!(LOST.with_borrow(Vec::is_empty), "told to nobody else");
}

#[test]
fn a_timeout_is_told_as_such() {
    let mut s = script(WindowInRecovery::Own);
    let at = s.due().expect("the probe");
    s.timer(at);
    let at = s.due().expect("the retransmission timer");
    s.timer(at);
    let lost = LOST.take();
    assert_eq!(lost.len(), 21, "all, and the probe: a new segment");
    // Segment 7 left as the eighth, and is the eighth that was lost since.
    assert_eq!((lost[7].tx_in_flight, lost[7].lost), (8 * MSS, 8 * MSS));
    s.ack(at + 100, 1, &[]);
    let ack = ACKS.with_borrow(|acks| acks[acks.len() - 1]);
    assert_eq!(ack.repair, Repair::Timeout);
}

/// Holds its window until segment 3 is acknowledged, then returns what it was built with.
struct Until3 {
    done: bool,
    cwnd: u64,
    rate: Option<Rate>,
}

impl CongestionControl for Until3 {
    fn on_ack(&mut self, ack: &AckSample, _: &mut Cx<'_>) {
        self.done = ack.snd_una >= 3 * MSS;
    }
    fn on_congestion(&mut self, _: Congestion, _: &CongestionSample, _: &mut Cx<'_>) {}
    fn on_undo(&mut self, _: &mut Cx<'_>) {}
    fn cwnd(&self) -> u64 {
        if self.done { self.cwnd } else { 4 * MSS }
    }
    fn ssthresh(&self) -> u64 {
        u64::MAX
    }
    fn pacing_rate(&self) -> Option<Rate> {
        self.rate.filter(|_| self.done)
    }
}

type Build = fn(&Config) -> Box<dyn CongestionControl>;

fn fault_of(build: Build) -> Fault {
    let sender = sender_with(profile("rfc"), Recovery::RackPrr, build, false, ISN);
    let mut s = Script::establish(sender, false, 100);
    assert_eq!(s.sent(100), fresh(0..4));
    s.ack(200, 2, &[]);
    assert_eq!(s.sender.fault(), None);
    s.ack(201, 3, &[]);
    assert_eq!(s.sender.state(), State::Aborted);
    assert_eq!(s.due(), None);
    assert_eq!(s.sent(202), nothing());
    s.sender.fault().expect("nonsense")
}

#[test]
fn nonsense_ends_the_connection() {
    let cases: [(Build, &str); 4] = [
        (
            |_| broken(0, None),
            "a congestion window of 0 bytes (or one that is no number)",
        ),
        (
            |_| broken(f64::INFINITY as u64, None),
            "a congestion window of 18446744073709551615 bytes",
        ),
        (
            |_| broken(MSS, Rate::from_bps(1)),
            "a pacing rate of 1bit/s",
        ),
        (
            |_| broken(MSS, Rate::from_bps(2_000_000_000_000_000)),
            "a pacing rate of 2000000Gbit/s",
        ),
    ];
    for (build, what) in cases {
        assert_eq!(fault_of(build).to_string(), what);
    }
}

fn broken(cwnd: u64, rate: Option<Rate>) -> Box<dyn CongestionControl> {
    Box::new(Until3 {
        done: false,
        cwnd,
        rate,
    })
}

/// Losses of what left during recovery are repaired by a new episode that begins as the first
/// ends. The echo of a retransmission of the first is older than those of the second, and yet no
/// sign that an original came late.
#[test]
fn an_echo_of_an_earlier_episodes_retransmission_undoes_nothing() {
    let mut s = script(WindowInRecovery::Own);
    s.ack(200, 0, &[(1, 4)]);
    let mut expected = again(&[0]);
    expected.extend(fresh(20..23)); // during recovery
    assert_eq!(s.sent(200), expected);
    // All of the first flight but segment 0 arrived; of the new ones 20 is lost, too.
    s.ack(210, 0, &[(1, 20)]);
    s.sent(210);
    s.ack(301, 0, &[(21, 23), (1, 20)]);
    assert_eq!(s.sent(301)[..1], again(&[20])[..]);
    // The copy of 0 ends the first episode; the one of 20 is on its way. Segment 23, which left at
    // 210, was lost: that shows 102 ms later, as long as the copy of 0 took.
    s.ack_echo(302, 20, &[(24, 27), (21, 23)], 200);
    assert!(s.sender.in_recovery());
    assert!(s.sent(302).iter().all(|&(_, _, again)| !again));
    assert_eq!(s.timer(315)[..1], again(&[23])[..]); // by the timer, 2 ms and a tick later
    s.ack_echo(401, 23, &[(24, 27)], 301); // older than the copy of 23
    assert!(s.sender.in_recovery());
    assert_eq!(s.sender.counters().undos, 0);
}
