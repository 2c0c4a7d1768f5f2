//! Flows that remember an earlier connection on their path (RFC 9959), over a network.

mod common;

use cclab_spec::{Limit, ListedPackets, Loss, LossModel, Place, Remembered, Scenario};
use cclab_trace::schema::{FlowSummary, Resumption};
use cclab_units::Time;

use common::{dumbbell, flow, link, run};

/// The path of a satellite: 100 Mbit/s, 600 ms, and a queue of so many milliseconds.
fn satellite(cc: &str, window: Option<u64>, queue_ms: u64) -> Scenario {
    let queue = Limit::Bytes(queue_ms * 12_500);
    let bottleneck = link(Some(100_000_000), Time::from_millis(300), queue);
    let mut one = flow("x", cc);
    one.transfer = Some(20_000_000);
    one.rwnd = Some(64_000_000);
    one.sndbuf = Some(128_000_000);
    one.remembered = window.map(|window| Remembered {
        window,
        rtt: Time::from_millis(600),
    });
    dumbbell("linux-6.12", bottleneck, vec![one], Time::from_secs(60))
}

fn flow_of(scenario: &Scenario) -> FlowSummary {
    run(scenario, 1).flows.swap_remove(0)
}

fn seconds(time: Option<Time>) -> f64 {
    time.expect("it happened").as_secs_f64()
}

/// The handshake and the first window take a round trip each; half of 7.5 MB leaves spread over the
/// third, and is acknowledged by the end of the fourth.
#[test]
fn a_remembered_window_saves_the_round_trips_of_slow_start() {
    for cc in ["cubic", "reno", "vegas", "bbr", "bbr3"] {
        let with = flow_of(&satellite(cc, Some(7_500_000), 600));
        let without = flow_of(&satellite(cc, None, 600));
        let resumption = with.resumption.expect("it remembers");
        let jumped = seconds(resumption.jumped);
        assert!((jumped - 1.2).abs() < 0.01, "{cc}: {jumped}");
        let validated = seconds(resumption.validated);
        assert!((2.3..2.5).contains(&validated), "{cc}: {validated}");
        assert_eq!(resumption.retreated, None, "{cc}");
        assert_eq!(without.resumption, None);
        // Slow start from ten segments to half the product takes eight round trips.
        let saved = seconds(without.ended) - seconds(with.ended);
        assert!(saved > 5.0 * 0.6, "{cc}: {saved} s");
    }
}

/// 75 MB remembered of a path that now holds 15 MB, its queue included: the jump loses, and the window
/// is half of what was delivered.
#[test]
fn a_path_that_has_become_slower_makes_it_retreat() {
    for cc in ["cubic", "reno", "bbr", "bbr3"] {
        let mut scenario = satellite(cc, Some(75_000_000), 100);
        scenario.flows[0].transfer = Some(60_000_000);
        let with = flow_of(&scenario);
        let resumption = with.resumption.expect("it remembers");
        assert!(resumption.jumped.is_some(), "{cc}");
        let retreated = seconds(resumption.retreated);
        // Half of it would leave at 500 Mbit/s; the queue of 100 ms is full after 25 ms.
        assert!((1.8..2.0).contains(&retreated), "{cc}: {retreated}");
        assert_eq!(resumption.validated, None, "{cc}");
        assert!(with.ended.is_some() && !with.aborted, "{cc}");
        assert_eq!(with.bytes_received, 60_000_000);
    }
}

/// What the jump lets go is spread over a round trip: a queue of 20 ms at the link's rate is never full,
/// as it would be if the window left at once.
#[test]
fn the_jump_is_paced() {
    for cc in ["cubic", "reno"] {
        let mut scenario = satellite(cc, Some(7_500_000), 20);
        scenario.flows[0].transfer = Some(3_700_000);
        let with = flow_of(&scenario);
        assert!(with.resumption.expect("it remembers").validated.is_some());
        assert_eq!(with.retransmits, 0, "{cc}");
    }
}

/// Whose window the stack does not keep, and which do not do what they are told.
#[test]
fn variants_that_cannot_resume_are_refused_by_name() {
    let refused = |cc: &str, stack: &str| {
        let mut scenario = satellite(cc, Some(7_500_000), 600);
        scenario.stack = stack.into();
        let found = cclab_sim::unsupported(&scenario).into_iter();
        let found = found.map(|one| format!("{}: {}", one.path, one.what));
        found.collect::<Vec<String>>().join("; ")
    };
    for cc in ["cubic", "dctcp", "bbr", "bbr3"] {
        assert_eq!(refused(cc, "linux-6.12"), "", "{cc}");
    }
    for cc in ["bbr", "bbr3"] {
        assert_eq!(refused(cc, "rfc"), "", "{cc}");
    }
    // One has a window of its own, the other a `cong_control`.
    for cc in ["copa", "prague"] {
        let what = format!(
            "flow.x.remembered: what {cc} remembers, which sets its window itself (use a variant whose \
             window the stack keeps, such as cubic, or bbr or bbr3)"
        );
        assert_eq!(refused(cc, "linux-6.12"), what);
    }
    assert_eq!(
        refused("cubic", "ns2"),
        "flow.x.remembered: what cubic remembers on the stack ns2 (leave the `stack` out: that of Linux \
         keeps the window)"
    );
}

/// A round trip of less than half the one remembered, or the loss of a segment of the first window.
#[test]
fn another_path_or_a_loss_leaves_the_flow_as_any_other() {
    let mut near = satellite("cubic", Some(7_500_000), 600);
    near.network.bottleneck.delay = Time::from_millis(149);
    let mut near_without = near.clone();
    near_without.flows[0].remembered = None;
    let mut lossy = satellite("cubic", Some(7_500_000), 600);
    lossy.network.bottleneck.loss = vec![Loss {
        at: Place::Router,
        model: LossModel::Packets(ListedPackets {
            packets: vec![4],
            flow: None,
        }),
    }];
    let mut lossy_without = lossy.clone();
    lossy_without.flows[0].remembered = None;
    for (with, without) in [(near, near_without), (lossy, lossy_without)] {
        let with = flow_of(&with);
        let without = flow_of(&without);
        assert_eq!(with.resumption, Some(Resumption::default()));
        assert_eq!(with.ended, without.ended);
        assert_eq!(with.segments_sent, without.segments_sent);
    }
}
