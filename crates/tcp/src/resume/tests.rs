//! The worked examples of RFC 9959, and its bounds.

use super::*;

/// The packets of RFC 9959, appendix B: ten begin, 300 are remembered of a path of 100 ms.
struct Flow {
    resume: Resume,
    seen: Seen,
}

fn ms(n: u64) -> Time {
    Time::from_millis(n)
}

impl Flow {
    fn new() -> Flow {
        let remembered = Remembered {
            window: 300,
            rtt: ms(100),
        };
        let seen = Seen {
            now: ms(200),
            una: 0,
            highest: 0,
            snd_nxt: 10,
            delivered: 0,
            in_flight: 10,
            cwnd: 10,
            min_rtt: ms(100),
            rtt: ms(120),
            congested: false,
            timed_out: false,
            waiting: true,
        };
        let resume = Resume::new(remembered, 10, 1);
        Flow { resume, seen }
    }

    fn acked(&mut self, packets: u64) -> Order {
        let seen = &mut self.seen;
        seen.una += packets;
        seen.highest = seen.una;
        seen.delivered += packets;
        seen.in_flight -= packets;
        self.resume.on_ack(&self.seen)
    }

    fn sent(&mut self, packets: u64) -> Order {
        self.seen.snd_nxt += packets;
        self.seen.in_flight += packets;
        self.resume.on_departure(&self.seen)
    }

    /// The first window is acknowledged, and 29 packets are in flight when there is more to send
    /// than the window allows.
    fn unvalidated() -> Flow {
        let mut flow = Flow::new();
        flow.seen.waiting = false;
        flow.acked(10);
        flow.seen.cwnd = 29;
        assert_eq!(flow.sent(29), Order::Leave);
        assert_eq!(flow.resume.on_ack(&flow.seen), Order::Leave);
        flow.seen.waiting = true;
        assert_eq!(flow.resume.on_ack(&flow.seen), Order::Jump(150));
        flow.seen.cwnd = 150;
        flow
    }

    fn phase(&self) -> Phase {
        self.resume.phase
    }
}

/// The first example: 121 packets leave in the phase Unvalidated, spread over a round trip of 120 ms;
/// the first of them to be acknowledged, the 30th, ends it; the last of them, all.
#[test]
fn what_is_not_lost_is_validated() {
    let mut flow = Flow::unvalidated();
    // 150 bytes in 120 ms.
    assert_eq!(flow.resume.pace(), Rate::from_bps(10_000));
    assert_eq!(flow.sent(120), Order::Leave);
    assert_eq!(flow.resume.pipe(&flow.seen), 29);
    // What left before is acknowledged: slow start would have 179 in flight.
    assert_eq!(flow.acked(29), Order::Limit(150));
    assert_eq!(flow.phase(), Phase::Unvalidated);
    assert_eq!(flow.acked(1), Order::Set(119));
    assert_eq!(
        (flow.phase(), flow.resume.pace()),
        (Phase::Validating, None)
    );
    // 30 acknowledged, the first of them not validated.
    assert_eq!(flow.resume.pipe(&flow.seen), 30);
    flow.sent(40);
    assert_eq!(flow.acked(118), Order::Leave);
    flow.seen.now = ms(500);
    assert_eq!(flow.acked(1), Order::End);
    let resumed = Resumed {
        jumped: Some(ms(200)),
        validated: Some(ms(500)),
        retreated: None,
    };
    assert_eq!(flow.resume.resumed, resumed);
}

/// The phase ends as well when all has left that it lets go, and after a round trip.
#[test]
fn the_phase_lasts_a_round_trip_at_most() {
    let mut flow = Flow::unvalidated();
    assert_eq!(flow.sent(121), Order::Set(150));
    assert_eq!(flow.phase(), Phase::Validating);
    let mut slow = Flow::unvalidated();
    slow.seen.now = ms(320);
    assert_eq!(slow.sent(50), Order::Leave);
    slow.seen.now = ms(321);
    assert_eq!(slow.sent(50), Order::Set(129));
}

/// The second example: 50 packets leave where 121 may. The window is what is in flight.
#[test]
fn a_window_that_is_not_used_is_given_back() {
    let mut flow = Flow::unvalidated();
    flow.sent(50);
    flow.acked(29);
    flow.seen.now = ms(321);
    assert_eq!(flow.resume.on_ack(&flow.seen), Order::Set(50));
    assert_eq!(flow.phase(), Phase::Validating);
    // No more is in flight than was before: that was known to fit.
    let mut idle = Flow::unvalidated();
    idle.sent(20);
    idle.acked(29);
    assert_eq!(idle.acked(1), Order::Settle(30));
    assert_eq!(idle.phase(), Phase::Over);
}

/// The third example: a loss in the first phase.
#[test]
fn a_loss_before_the_jump_leaves_the_connection_as_any_other() {
    let mut flow = Flow::new();
    flow.seen.congested = true;
    assert_eq!(flow.acked(9), Order::End);
    flow.seen.congested = false;
    assert_eq!(flow.acked(1), Order::Leave);
    assert_eq!(flow.resume.resumed, Resumed::default());
}

/// The fourth example: of the 121 packets the 35th is lost. 34 of them are acknowledged, with the 29
/// before them 63, and half of that is 31. When all are, 149: the text says 120, without the 29,
/// and that the threshold is no more than half of what is counted.
#[test]
fn a_loss_behind_the_jump_halves_what_was_validated() {
    let mut flow = Flow::unvalidated();
    flow.sent(121);
    flow.acked(29 + 34);
    assert_eq!(flow.resume.pipe(&flow.seen), 63);
    flow.seen.congested = true;
    flow.seen.now = ms(450);
    assert_eq!(flow.resume.on_ack(&flow.seen), Order::Retreat(31));
    // The rest are acknowledged selectively.
    flow.seen.delivered += 86;
    flow.seen.in_flight -= 87;
    flow.seen.highest = flow.seen.snd_nxt;
    assert_eq!(flow.resume.on_ack(&flow.seen), Order::Hold(31));
    flow.seen.una = flow.seen.snd_nxt;
    assert_eq!(flow.resume.on_ack(&flow.seen), Order::Hold(31));
    flow.seen.congested = false;
    assert_eq!(flow.resume.pipe(&flow.seen), 149);
    assert_eq!(flow.resume.on_ack(&flow.seen), Order::Threshold(74));
    assert_eq!(flow.phase(), Phase::Over);
    assert_eq!(flow.resume.resumed.retreated, Some(ms(450)));
    assert_eq!(flow.resume.resumed.validated, None);
}

/// The window is the first window at least.
#[test]
fn a_retreat_ends_at_the_first_window() {
    let mut flow = Flow::new();
    assert_eq!(flow.acked(10), Order::Jump(150));
    flow.seen.cwnd = 150;
    flow.sent(140);
    flow.seen.congested = true;
    assert_eq!(flow.acked(12), Order::Retreat(10));
}

/// Section 4.2.1: half the remembered round trip is another path's, and more than ten times.
#[test]
fn another_path_is_not_resumed() {
    let order = |min_rtt| {
        let mut flow = Flow::new();
        flow.seen.min_rtt = min_rtt;
        flow.acked(10)
    };
    assert_eq!(order(ms(50)), Order::End);
    assert_eq!(order(Time::from_micros(50_001)), Order::Jump(150));
    assert_eq!(order(ms(1_000)), Order::Jump(150));
    assert_eq!(order(ms(1_001)), Order::End);
    // The round trip shrinks behind the jump.
    let mut flow = Flow::unvalidated();
    flow.sent(121);
    let mut flow = Flow {
        resume: Flow::unvalidated().resume,
        ..flow
    };
    flow.seen.min_rtt = ms(50);
    assert_eq!(flow.resume.on_ack(&flow.seen), Order::Retreat(14));
}

/// Half of what is remembered is no jump for a window that is as large.
#[test]
fn a_window_that_has_grown_so_far_does_not_jump() {
    let mut flow = Flow::new();
    flow.seen.waiting = false;
    flow.acked(10);
    flow.seen.waiting = true;
    flow.seen.cwnd = 150;
    assert_eq!(flow.resume.on_ack(&flow.seen), Order::End);
}

#[test]
fn a_timeout_ends_it() {
    let mut flow = Flow::unvalidated();
    flow.sent(121);
    flow.seen.congested = true;
    flow.seen.timed_out = true;
    flow.seen.now = ms(900);
    assert_eq!(flow.resume.on_ack(&flow.seen), Order::End);
    assert_eq!(flow.resume.resumed.retreated, Some(ms(900)));
}
