//! Whether packets are looked at changes nothing of what else is told.

mod common;

use cclab_spec::{Datagrams, Limit, Place, Scenario, Sizes, Traffic};
use cclab_trace::schema::RunSummary;
use cclab_trace::{Event, Probe};
use cclab_units::Time;

use common::{dumbbell, flow, link, loss, rate, run_with, traffic};

/// Wants nothing of packets, and keeps what it is told all the same.
struct Told {
    looks: bool,
    events: Vec<String>,
}

impl Probe for Told {
    fn looks_at_packets(&self) -> bool {
        self.looks
    }
    fn record(&mut self, now: Time, event: Event<'_>) {
        self.events.push(format!("{now:?} {event:?}"));
    }
}

/// Two flows, one of which ends, beside transfers, with losses on the way.
fn scenario(queue: &str) -> Scenario {
    let mut bottleneck = link(Some(20_000_000), Time::from_millis(10), Limit::Packets(40));
    bottleneck.queue.kind = queue.into();
    bottleneck.loss = vec![loss(Place::Receiver, 0.002)];
    let short = flow("short", "bbr").with(|flow| flow.transfer = Some(2_000_000));
    let flows = vec![flow("long", "cubic"), short];
    let mut scenario = dumbbell("linux-6.12", bottleneck, flows, Time::from_secs(8));
    scenario.warmup = Time::from_secs(2);
    scenario.trace.interval = Time::from_millis(100);
    scenario.traffic = vec![Traffic {
        cc: Some("reno".into()),
        sizes: Some(Sizes::Fixed { bytes: 20_000 }),
        ..traffic("web", "poisson", &[("flows_per_second", 5.0)])
    }];
    scenario
}

/// What a run tells, and its summary, in which the simulator's steps are not counted: looking takes some of
/// its own.
fn told(scenario: &Scenario, looks: bool) -> (RunSummary, Vec<String>) {
    let events = Vec::new();
    let mut told = Told { looks, events };
    let summary = RunSummary {
        events: 0,
        ..run_with(scenario, 1, &mut told)
    };
    (summary, told.events)
}

#[test]
fn whoever_looks_at_packets_is_told_the_same() {
    for queue in ["droptail", "fq_codel"] {
        let scenario = scenario(queue);
        let (summary, events) = told(&scenario, true);
        let (unseen_summary, unseen_events) = told(&scenario, false);
        assert!(summary.links.iter().any(|link| link.random_drops > 0));
        assert!(events.iter().any(|event| event.contains("Transfer(")));
        assert_eq!(events, unseen_events, "{queue}");
        assert_eq!(summary, unseen_summary, "{queue}");
    }
}

/// What became of datagrams is known from what is seen of losses.
#[test]
fn datagrams_that_are_lost_are_known_to_who_does_not_look() {
    let mut scenario = scenario("droptail");
    scenario.flows.push(flow("calls", "").with(|flow| {
        flow.cc = String::new();
        flow.udp = Some(Datagrams::ConstantRate {
            rate: rate(2_000_000),
            payload: 972,
        });
    }));
    let (summary, _) = told(&scenario, false);
    assert!(summary.flows[2].datagrams.lost() > 0);
    assert_eq!(summary, told(&scenario, true).0);
}
