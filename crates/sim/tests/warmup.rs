//! What is counted after the warm-up is what was counted after it, event by event.

mod common;

use cclab_spec::{Limit, Scenario};
use cclab_trace::schema::{AckEvent, QueueEvent, RunSummary};
use cclab_trace::{Event, Histogram, Probe};
use cclab_units::Time;

use common::{dumbbell, flow, link, run_with};

/// An instant at which nothing else happens.
const WARMUP: Time = Time::from_nanos(4_000_000_123);

/// Keeps acknowledgements and departures.
#[derive(Default)]
struct Seen {
    acks: Vec<(Time, AckEvent)>,
    queue: Vec<(Time, QueueEvent)>,
}

impl Probe for Seen {
    fn wants_acks(&self, _: Time) -> bool {
        true
    }
    fn wants_queue(&self, _: Time) -> bool {
        true
    }
    fn record(&mut self, now: Time, event: Event<'_>) {
        match event {
            Event::Ack(row) => self.acks.push((now, row)),
            Event::Queue(row) => self.queue.push((now, row)),
            _ => {}
        }
    }
}

fn two_flows(queue: &str, warmup: Time) -> Scenario {
    let delay = Time::from_millis(10);
    let mut bottleneck = link(Some(10_000_000), delay, Limit::Packets(60));
    bottleneck.queue.kind = queue.into();
    let late = flow("late", "reno").with(|flow| flow.duration = Some(Time::from_secs(3)));
    let flows = vec![flow("long", "cubic"), late];
    let mut scenario = dumbbell("linux-6.12", bottleneck, flows, Time::from_secs(10));
    scenario.warmup = warmup;
    scenario
}

fn seen(queue: &str, warmup: Time) -> (RunSummary, Seen) {
    let mut seen = Seen::default();
    let summary = run_with(&two_flows(queue, warmup), 1, &mut seen);
    (summary, seen)
}

fn histogram(values: impl Iterator<Item = Time>) -> Histogram {
    let mut histogram = Histogram::new();
    values.for_each(|value| histogram.record(value.as_nanos()));
    histogram
}

/// First in, first out, whose departures are foreseen, and a discipline that is asked for each.
#[test]
fn round_trips_and_waits_after_the_warm_up_are_those_that_came_after_it() {
    for queue in ["droptail", "codel"] {
        let (summary, seen) = seen(queue, WARMUP);
        for (link, summary) in (0..).zip(&summary.links).take(2) {
            let own = seen.queue.iter().filter(|(_, event)| event.link == link);
            let waits = own.filter(|(at, _)| *at > WARMUP);
            let waits = histogram(waits.filter_map(|(_, event)| event.sojourn));
            assert!(waits.count() > 1000, "{queue} {link}");
            assert_eq!(summary.warm_sojourn, waits, "{queue} {link}");
        }
        for (index, flow) in (0..).zip(&summary.flows) {
            let own = seen.acks.iter().filter(|(_, ack)| ack.flow == index);
            let later: Vec<&AckEvent> = own
                .filter(|(at, _)| *at > WARMUP)
                .map(|(_, ack)| ack)
                .collect();
            let rtts = histogram(later.iter().filter_map(|ack| ack.rtt));
            assert_eq!(flow.warm_rtt, rtts, "{queue} {}", flow.name);
            let srtts = histogram(later.iter().filter_map(|ack| ack.srtt));
            let mean = srtts.mean().map(|ns| Time::from_nanos(ns as u64));
            assert_eq!(flow.warm_srtt_mean, mean, "{queue} {}", flow.name);
            // The late one is over by then.
            assert_eq!(rtts.count() > 1000, flow.name == "long", "{queue}");
        }
    }
}

#[test]
fn without_a_warm_up_nothing_is_counted_twice_and_with_one_all_else_is_the_same() {
    let (plain, _) = seen("droptail", Time::ZERO);
    let (mut warm, _) = seen("droptail", WARMUP);
    for flow in &plain.flows {
        assert_eq!((flow.warm_rtt.count(), flow.warm_srtt_mean), (0, None));
    }
    assert!(
        plain
            .links
            .iter()
            .all(|link| link.warm_sojourn.count() == 0)
    );
    for flow in &mut warm.flows {
        (flow.warm_rtt, flow.warm_srtt_mean) = (Histogram::new(), None);
    }
    for link in &mut warm.links {
        link.warm_sojourn = Histogram::new();
    }
    // The instant of sampling is one event more.
    warm.events = plain.events;
    assert_eq!(warm, plain);
}
