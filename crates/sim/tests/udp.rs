//! Flows over UDP against closed forms and small sums.

mod common;

use cclab_spec::{Datagrams, Flow, Limit, Link, Place, Reorder, Scenario, Video};
use cclab_trace::schema::{Carrier, DropEvent, Frames};
use cclab_trace::{Event, Probe};
use cclab_units::Time;
use common::{TOPOLOGIES, dumbbell, flow, link, loss, outage, rate, rewire, run, run_with};

fn ms(ms: u64) -> Time {
    Time::from_millis(ms)
}

/// Datagrams of 972 bytes, which are 1,000 on a link without framing, one every `gap`.
fn every(gap: Time) -> Flow {
    let bps = 972 * 8 * 1_000_000_000 / gap.as_nanos();
    udp(Datagrams::ConstantRate {
        rate: rate(bps),
        payload: 972,
    })
}

fn udp(source: Datagrams) -> Flow {
    flow("u", "").with(|flow| {
        flow.cc = String::new();
        flow.udp = Some(source);
    })
}

/// A bottleneck on which 1,000 bytes take a millisecond.
fn slow(delay: Time, limit: u64) -> Link {
    link(Some(8_000_000), delay, Limit::Packets(limit))
}

#[test]
fn an_idle_path_delays_by_transmission_and_propagation() {
    for topology in TOPOLOGIES {
        let one = every(ms(10)).with(|flow| flow.duration = Some(ms(1_000)));
        let mut scenario = dumbbell("rfc", slow(ms(20), 10), vec![one], ms(2_000));
        rewire(&mut scenario, topology);
        let hops = match topology {
            cclab_spec::Topology::ParkingLot => match scenario.flows[0].crosses {
                None => 3,
                Some([first, last]) => u64::from(last - first + 1),
            },
            _ => 1,
        };
        let found = run(&scenario, 1).flows.swap_remove(0);
        let datagrams = &found.datagrams;
        assert_eq!(found.transport, Carrier::Udp);
        assert_eq!((datagrams.sent, datagrams.received), (100, 100));
        assert_eq!((datagrams.lost(), datagrams.in_flight), (0, 0));
        assert_eq!(found.bytes_received, 97_200);
        assert_eq!(
            datagrams.delay.mean(),
            Some((21_000_000 * hops) as f64),
            "{topology:?}"
        );
        assert_eq!(datagrams.jitter, Some(Time::ZERO));
        assert_eq!(found.started, Some(Time::ZERO));
        assert_eq!(found.first_byte, Some(ms(21 * hops)));
        assert_eq!(found.ended, Some(ms(990)));
    }
}

#[test]
fn what_the_link_does_not_carry_is_lost() {
    // D/D/1/K: two come while one leaves, so that half of them are lost once the queue is full, and
    // the rest waits for the queue of ten, and for what is left of a transmission.
    let one = every(Time::from_micros(500));
    let scenario = dumbbell("rfc", slow(ms(20), 10), vec![one], ms(20_000));
    let found = run(&scenario, 1);
    let datagrams = &found.flows[0].datagrams;
    assert_eq!(datagrams.lost(), found.links[0].queue_drops);
    assert!(datagrams.in_flight > 20, "{}", datagrams.in_flight);
    let loss = datagrams.lost() as f64 / (datagrams.lost() + datagrams.received) as f64;
    assert!((loss - 0.5).abs() < 0.001, "{loss}");
    let median = datagrams.delay.quantile(0.5).expect("arrivals");
    assert!((30.0e6..31.3e6).contains(&median), "{median}");
    // Payload at the rate of the link: 0.972 of 8 Mbit/s.
    let (first, last) = datagrams.first.zip(datagrams.last).expect("arrivals");
    let goodput = datagrams.received_bytes as f64 * 8.0 / (last - first).as_secs_f64();
    assert!((goodput / 7.776e6 - 1.0).abs() < 0.001, "{goodput}");
}

#[test]
fn what_is_on_its_way_at_the_end_is_not_lost() {
    let scenario = dumbbell("rfc", slow(ms(500), 10), vec![every(ms(10))], ms(1_000));
    let datagrams = run(&scenario, 1).flows.swap_remove(0).datagrams;
    // Sent at 0 to 1,000 ms; there by the end are those sent until 499 ms.
    assert_eq!((datagrams.received, datagrams.lost()), (50, 0));
    assert_eq!(datagrams.sent, datagrams.received + datagrams.in_flight);
}

#[test]
fn a_transfer_ends_the_run_when_all_of_it_is_there() {
    let one = every(ms(10)).with(|flow| flow.transfer = Some(5_000));
    let mut scenario = dumbbell("rfc", slow(ms(20), 10), vec![one], ms(1));
    scenario.duration = None;
    let found = run(&scenario, 1);
    let flow = &found.flows[0];
    // Five full ones and 140 bytes, which are 168 on the link.
    assert_eq!((flow.datagrams.sent, flow.bytes_received), (6, 5_000));
    assert_eq!(flow.ended, Some(ms(50)));
    assert_eq!(found.end, ms(70) + Time::from_micros(168));
    // If the last is lost, the run waits a second for it.
    scenario.network.bottleneck.outage = vec![outage(Place::Router, ms(45), ms(100))];
    let found = run(&scenario, 1);
    assert_eq!(found.flows[0].datagrams.lost(), 1);
    assert_eq!(found.end, ms(1_050));
}

#[test]
fn copies_are_counted_and_received_once() {
    let mut bottleneck = slow(ms(5), 100);
    bottleneck.duplicate = Some(0.2);
    let one = every(ms(5)).with(|flow| flow.duration = Some(ms(5_000)));
    let scenario = dumbbell("rfc", bottleneck, vec![one], ms(6_000));
    let found = run(&scenario, 3);
    let datagrams = &found.flows[0].datagrams;
    assert_eq!((datagrams.sent, datagrams.received), (1_000, 1_000));
    assert_eq!(datagrams.duplicates, found.links[0].duplicates);
    assert!(datagrams.duplicates > 100, "{}", datagrams.duplicates);
    assert_eq!(found.flows[0].bytes_received, 972_000);
}

#[test]
fn overtaken_ones_are_counted() {
    let mut bottleneck = slow(ms(5), 100);
    bottleneck.reorder = Some(Reorder {
        probability: 0.1,
        delay: ms(12),
    });
    let one = every(ms(5)).with(|flow| flow.duration = Some(ms(10_000)));
    let scenario = dumbbell("rfc", bottleneck, vec![one], ms(11_000));
    let datagrams = run(&scenario, 3).flows.swap_remove(0).datagrams;
    assert_eq!((datagrams.received, datagrams.lost()), (2_000, 0));
    // One that is held back by 12 ms is overtaken by the two that follow within 10 ms, unless both are
    // held back as well: 0.1 * (1 - 0.01) of 2,000, with a standard deviation of 13.
    let expected = 198.0;
    assert!(
        (datagrams.reordered as f64 - expected).abs() < 50.0,
        "{}",
        datagrams.reordered
    );
}

fn video(deadline: Time) -> Datagrams {
    Datagrams::Video(Video {
        frame_rate: 25.0,
        i_frame: 9_720,
        p_frame: 972,
        group: 5,
        deadline,
        payload: 972,
    })
}

fn watched(deadline: Time, change: impl Fn(&mut Scenario)) -> Frames {
    let one = udp(video(deadline)).with(|flow| flow.duration = Some(ms(4_000)));
    let mut scenario = dumbbell("rfc", slow(ms(20), 100), vec![one], ms(5_000));
    change(&mut scenario);
    run(&scenario, 1).flows[0].frames
}

#[test]
fn a_frame_takes_as_long_as_its_datagrams_one_after_the_other() {
    // An I frame is ten datagrams of 1 ms: the last is there after 30 ms.
    let found = watched(ms(30), |_| {});
    let expected = Frames {
        sent: 100,
        complete: 100,
        shown: 100,
        ..Frames::default()
    };
    assert_eq!(found, expected);
    let found = watched(ms(30) - Time::from_nanos(1), |_| {});
    assert_eq!((found.late, found.complete), (20, 100));
    // P frames are there after 21 ms, and what they need was by then.
    assert_eq!((found.shown, found.freezes), (80, 0));
}

#[test]
fn an_outage_freezes_the_picture() {
    let found = watched(ms(100), |scenario| {
        scenario.network.bottleneck.outage = vec![outage(Place::Router, ms(1_010), ms(500))];
    });
    // Lost: those made at 1,040 to 1,480 ms, and what is left of the I frame made at 1,000 ms, if
    // anything is: its datagrams had entered the queue before. The P frames until the next I frame, at
    // 1,600 ms, have nothing to build on: from 1,000 to 1,600 ms the picture stands.
    assert_eq!((found.lost, found.late), (12, 0));
    assert_eq!((found.freezes, found.frozen), (1, ms(600)));
    assert_eq!(found.shown, 100 - 14);
}

/// The offsets of lost datagrams.
#[derive(Default)]
struct Drops(Vec<DropEvent>);

impl Probe for Drops {
    fn wants_drops(&self, _: Time) -> bool {
        true
    }
    fn record(&mut self, _: Time, event: Event<'_>) {
        if let Event::Drop(drop) = event {
            self.0.push(drop);
        }
    }
}

#[test]
fn a_probe_sees_what_was_lost_and_changes_nothing() {
    let mut bottleneck = slow(ms(20), 10);
    bottleneck.loss = vec![loss(Place::Router, 0.1)];
    let flows = vec![every(ms(4)), flow("t", "reno")];
    let scenario = dumbbell("rfc", bottleneck, flows, ms(5_000));
    let mut drops = Drops::default();
    let seen = run_with(&scenario, 7, &mut drops);
    assert_eq!(seen.flows, run(&scenario, 7).flows);
    let own: Vec<u64> = drops
        .0
        .iter()
        .filter(|drop| drop.flow == 0)
        .map(|drop| drop.offset)
        .collect();
    assert_eq!(own.len() as u64, seen.flows[0].datagrams.lost());
    assert!(own.len() > 50 && own.iter().all(|offset| offset.is_multiple_of(972)));
    assert!(own.windows(2).all(|pair| pair[0] < pair[1]));
}

#[test]
fn another_flow_leaves_the_dice_of_a_source_alone() {
    let drawn = || {
        udp(Datagrams::OnOff {
            rate: rate(1_000_000),
            on: ms(100),
            off: ms(100),
            constant: false,
            payload: 500,
        })
        .with(|flow| flow.duration = Some(ms(10_000)))
    };
    let of = |flows: Vec<Flow>| {
        let wide = link(Some(1_000_000_000), ms(5), Limit::Packets(10_000));
        let found = run(&dumbbell("linux-6.12", wide, flows, ms(11_000)), 4);
        let flow = &found.flows[0];
        (flow.datagrams.sent, flow.ended, flow.first_byte)
    };
    let alone = of(vec![drawn()]);
    let other = drawn().named("v");
    assert_eq!(alone, of(vec![drawn(), other, flow("t", "cubic")]));
    assert!(alone.0 > 500, "{alone:?}");
}

#[test]
fn datagrams_that_left_after_the_warm_up_are_counted_apart() {
    // Two come while one leaves during the first second, and one in two milliseconds afterwards: only
    // the first loses any. A datagram leaves at each instant at which both are told apart.
    let busy = every(Time::from_micros(500)).with(|flow| flow.duration = Some(ms(1_000)));
    let mut calm = every(ms(2)).named("calm");
    calm.start.at = ms(2_000);
    let scenario = Scenario {
        warmup: ms(3_000),
        ..dumbbell("rfc", slow(ms(20), 10), vec![busy, calm], ms(5_000))
    };
    let found = run(&scenario, 1).flows;
    assert!(found[0].datagrams.lost() > 900);
    assert_eq!(found[0].warm_datagrams.sent, 0);
    let [whole, warm] = [&found[1].datagrams, &found[1].warm_datagrams];
    assert_eq!((whole.sent, warm.sent), (1_500, 1_000));
    assert_eq!((whole.lost(), warm.lost()), (0, 0));
    // 21 ms after they left: those of the last 21 are on their way.
    assert_eq!(warm.received + warm.in_flight, 1_000);
    assert_eq!(warm.delay.mean(), Some(21e6));
    assert_eq!(warm.first, Some(ms(3_021)));
    // Without a warm-up there is nothing to say.
    let scenario = Scenario {
        warmup: Time::ZERO,
        ..scenario
    };
    let found = run(&scenario, 1).flows;
    assert_eq!(
        found[1].warm_datagrams,
        cclab_trace::schema::Datagrams::default().into()
    );
}
