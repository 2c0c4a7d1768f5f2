//! Pacing: departures at the rate that a variant asks for.

mod common;

use cclab_cc::{AckSample, Config, Congestion, CongestionControl, CongestionSample, Cx};
use cclab_tcp::limits::Limit;
use cclab_tcp::profile::Recovery;
use cclab_units::{Rate, Time};
use common::*;

/// A window of 100 segments that leave a millisecond apart: 1000 bytes of payload, which is what
/// a rate counts, at 8 Mbit/s.
struct Steady;

impl CongestionControl for Steady {
    fn on_ack(&mut self, _: &AckSample, _: &mut Cx<'_>) {}
    fn on_congestion(&mut self, _: Congestion, _: &CongestionSample, _: &mut Cx<'_>) {}
    fn on_undo(&mut self, _: &mut Cx<'_>) {}
    fn cwnd(&self) -> u64 {
        100 * MSS
    }
    fn ssthresh(&self) -> u64 {
        u64::MAX
    }
    fn pacing_rate(&self) -> Option<Rate> {
        Rate::from_bps(MSS * 8 * 1_000)
    }
}

fn steady(_: &Config) -> Box<dyn CongestionControl> {
    Box::new(Steady)
}

fn script(segments: u64) -> Script {
    let sender = sender_with(profile("rfc"), Recovery::NewReno, steady, false, ISN);
    Script::establish(sender, false, segments)
}

#[test]
fn segments_leave_at_the_rate() {
    let mut s = script(100);
    assert_eq!(s.sent(100), fresh(0..1));
    for n in 1..50 {
        assert_eq!(s.timer(100 + n), fresh(n..n + 1));
    }
    let limits = s.sender.limits();
    assert_eq!(limits.spent(Limit::Pacing, ms(149)), ms(49));
}

/// A poll before its time changes nothing, and a late one does not owe a burst.
#[test]
fn late_wake_ups_make_no_bursts() {
    let mut s = script(100);
    assert_eq!(s.sent(100), fresh(0..1));
    assert!(
        s.sender
            .poll_transmit(ms(101) - Time::from_nanos(1))
            .is_none()
    );
    assert_eq!(s.sent(110), fresh(1..2));
    assert_eq!(s.timer(111), fresh(2..3));
}

/// Retransmissions are paced as well.
#[test]
fn retransmissions_are_paced() {
    let mut s = script(5);
    let mut at = 100;
    s.sent(at);
    while s.sender.snd_nxt() < 5 * MSS {
        at += 1;
        s.timer(at);
    }
    s.ack(300, 0, &[]);
    s.ack(301, 0, &[]);
    s.ack(302, 0, &[]);
    assert_eq!(s.sent(302), again(&[0]));
    s.ack(302, 1, &[]); // a partial acknowledgement: the next hole
    assert_eq!(s.sent(302), nothing());
    assert_eq!(s.timer(303), again(&[1]));
}
